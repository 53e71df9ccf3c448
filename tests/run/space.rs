//! A full disk stops the task with the reason; with room it goes on.

use super::orders::{self, lines, orders};
use crate::harness::Workspace;
use std::path::PathBuf;
use std::process::Command;

/// A file system of a fixed size. Needs the right to mount, which CI has.
struct SmallDisk {
    at: tempfile::TempDir,
}

impl SmallDisk {
    fn new(megabytes: u32) -> Self {
        let at = tempfile::tempdir().unwrap();
        let size = format!("size={megabytes}m");
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(at.path()).status().unwrap();
        assert!(mounted.success(), "this test mounts a small tmpfs: run it as root");
        Self { at }
    }

    /// Leaves only `kilobytes` free.
    fn fill(&self, kilobytes: u64) -> PathBuf {
        let filler = self.at.path().join("filler");
        let output = Command::new("df").args(["--output=avail", "-k"]).arg(self.at.path()).output().unwrap();
        let free: u64 = String::from_utf8(output.stdout).unwrap().lines().nth(1).unwrap().trim().parse().unwrap();
        std::fs::write(&filler, vec![1_u8; ((free - kilobytes) * 1024) as usize]).unwrap();
        filler
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.at.path()).status();
    }
}

#[test]
fn a_full_disk_stops_with_the_reason_and_a_run_with_room_goes_on() {
    for full in ["state", "target"] {
        let disk = SmallDisk::new(16);
        let small = Workspace::inside(disk.at.path());
        let workspace = orders::workspace("batch: { max_rows: 2000 }\n");
        workspace.write(
            "data/a.csv",
            (0..20_000).fold(orders::HEADER.to_owned(), |text, id| text + &orders::line(id, &format!("name {id}"), 1)),
        );
        let state = small.path("state");
        let pipeline = std::fs::read_to_string(workspace.path("pipeline.yaml")).unwrap();
        let args = match full {
            "state" => vec!["--state", state.to_str().unwrap()],
            _ => {
                let target = format!("sqlite://{}", small.path("target.db").display());
                workspace.write("pipeline.yaml", pipeline.replace("sqlite://target.db", &target));
                vec![]
            }
        };
        let run = [args.as_slice(), &["run", "--once", "pipeline.yaml"]].concat();

        let filler = disk.fill(700);
        let answer = workspace.gristmill(&run).expect(3);
        assert!(answer.stderr.contains("no space") || answer.stderr.contains("is full"), "{full}: {}", answer.stderr);
        assert!(answer.stderr.contains("make room"), "{full}: {}", answer.stderr);

        std::fs::remove_file(filler).unwrap();
        workspace.gristmill(&run).expect(0);
        if full == "state" {
            assert_eq!(orders(&workspace).len(), 20_000);
        } else {
            let target = rusqlite::Connection::open(small.path("target.db")).unwrap();
            let rows: i64 = target.query_row("SELECT count(*) FROM orders", [], |row| row.get(0)).unwrap();
            assert_eq!(rows, 20_000);
        }
    }
}

#[test]
fn few_rows_need_little() {
    let disk = SmallDisk::new(4);
    let workspace = Workspace::inside(disk.at.path());
    workspace.write("pipeline.yaml", orders::pipeline(""));
    workspace.write("data/a.csv", lines(0..100, "a", 1));
    workspace.run().expect(0);
    assert_eq!(orders(&workspace).len(), 100);
}
