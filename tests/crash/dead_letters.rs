//! A replay of dead letters killed at every fault point, for every sink, then started again.

use super::invariants;
use crate::harness::{Row, Target, Workspace};
use gristmill::faults::FaultPoint;

/// Values that the source refuses as too long, that map refuses, and that nobody can take; the second version takes the
/// first two kinds. The replay passes windows of four letters, and makes several batches of each kind.
fn workspace(target: Target) -> Workspace {
    let workspace = Workspace::new();
    for file in 0..3 {
        let long = |n: usize| format!("{n}{}\n", "x".repeat(40));
        let text = format!("value\na{file}\npoison\n{}b{file}\n{}1,2\n", long(file), long(file + 10));
        workspace.write(&format!("data/{file}.csv"), text);
    }
    publish(&workspace, target, 20, "reject-poison");
    publish(&workspace, target, 1000, "behave");
    assert_eq!(workspace.state::<i64>("SELECT count(*) FROM dead_letter"), 12);
    workspace
}

fn publish(workspace: &Workspace, target: Target, max_field_bytes: usize, behaviour: &str) {
    workspace.write(
        "pipeline.yaml",
        format!(
            "version: 1\ntask: crash\nschema: crash-v1\nsource:\n  files: {{ url: data/, format: csv, columns: {{ value: utf8 }}, max_field_bytes: {max_field_bytes} }}\n\
             identity: [value]\nsource_version: position\ntransforms:\n  map: {{ component: hostile@0.1.0, config: {{ do: {behaviour} }} }}\n\
             batch: {{ max_rows: 4 }}\nsink:\n  {}\ndead_letters: {{ max_records: 20 }}\n",
            target.yaml()
        ),
    );
    workspace.run().expect(0);
}

const REPLAY: [&str; 4] = ["dlq", "--json", "replay", "crash"];

/// All that must be the same however a replay was interrupted.
#[derive(Debug, PartialEq)]
struct Converged {
    rows: Vec<Row>,
    letters: Vec<String>,
    source: String,
}

fn converged(workspace: &Workspace, target: Target) -> Converged {
    // By their places: ids depend on which half of the run that refused them was faster.
    let letters = "SELECT group_concat(letter, '; ') FROM (
        SELECT b.sequence || ' ' || d.position || ' ' || class || ' ' || ifnull(last_class, '-') || ' ' || d.state AS letter
        FROM dead_letter d JOIN batch b USING (batch_id) ORDER BY 1)";
    Converged {
        rows: target.rows(workspace, "records"),
        letters: workspace.state::<String>(letters).split("; ").map(str::to_owned).collect(),
        source: workspace.state("SELECT cursor || version || last_sequence FROM checkpoint WHERE partition_id = 'all'"),
    }
}

/// What holds at every moment: a letter is settled by one batch, which is committed and carries it, and once.
fn settled_once(workspace: &Workspace) {
    let count = |sql: &str| workspace.state::<i64>(sql);
    let carried = "SELECT count(*) FROM dead_letter d WHERE state = 'REPLAYED' AND (
        SELECT count(DISTINCT w.batch_id) FROM dead_letter_row w JOIN batch b USING (batch_id)
        WHERE w.dead_letter_id = d.id AND b.state = 'COMMITTED') <> 1";
    assert_eq!(count(carried), 0, "a letter was carried by two committed batches, or by none");
    let by_it = "SELECT count(*) FROM dead_letter d WHERE state = 'REPLAYED' AND NOT EXISTS (
        SELECT 1 FROM dead_letter_row w JOIN batch b USING (batch_id)
        WHERE w.dead_letter_id = d.id AND b.batch_id = d.settled_by AND b.state = 'COMMITTED')";
    assert_eq!(count(by_it), 0, "a letter was settled by a batch that does not carry it");
    let open = "SELECT count(*) FROM dead_letter d JOIN dead_letter_row w ON w.dead_letter_id = d.id JOIN batch b ON b.batch_id = w.batch_id
        WHERE d.state = 'OPEN' AND b.state = 'COMMITTED'";
    assert_eq!(count(open), 0, "a letter is open whose batch is committed");
    assert_eq!(count("SELECT count(*) FROM dead_letter WHERE state = 'REPLAYED' AND replay_count <> 1"), 0);
}

/// Points that a replay of dead letters passes.
fn passes(target: Target, point: FaultPoint) -> bool {
    use FaultPoint::*;
    match point {
        LeaseClaimBefore | LeaseClaimAfter | SinkFenceBefore | SinkFenceAfter | BatchDataBefore | BatchDataAfter
        | BatchManifestBefore | BatchManifestAfter | BatchReadyBefore | BatchReadyAfter | SinkCommitBefore
        | SinkCommitAfter | ReceiptBefore | ReceiptAfter | CheckpointBefore | CheckpointAfter | DeadLettersBefore
        | DeadLettersAfter => true,
        SinkDataBefore | SinkDataAfter => target == Target::Parquet,
        _ => false,
    }
}

#[test]
fn a_replay_of_dead_letters_killed_at_every_fault_point() {
    let (mut kills, mut lost, mut doubled) = (0, 0, 0);
    for target in Target::ALL {
        let reference = workspace(target);
        let before = converged(&reference, target);
        let answer = reference.gristmill(&REPLAY).expect(1).result();
        assert_eq!((&answer["replayed"], &answer["failedAgain"][0]["count"]), (&9.into(), &3.into()));
        invariants::hold(&reference, target);
        settled_once(&reference);
        let expected = converged(&reference, target);
        assert_eq!((before.rows.len(), expected.rows.len()), (6, 13), "six long values, and poison");
        assert_eq!(without_times(&before.source), without_times(&expected.source), "the source's checkpoint stands");

        for point in FaultPoint::ALL.iter().copied().filter(|point| passes(target, *point)) {
            let nths: &[u32] = if super::once_only(point) { &[1] } else { &[1, 3] };
            for nth in nths {
                let workspace = workspace(target);
                let fault = format!("{}:{nth}", point.name());
                let killed = workspace.with_fault(&REPLAY, &fault);
                assert_eq!(killed.code, None, "{target:?} {fault}: the process should have died\n{}", killed.stderr);
                invariants::hold(&workspace, target);
                settled_once(&workspace);

                if *nth == 1 {
                    // The task itself does not mind.
                    workspace.run().expect(0);
                }
                workspace.gristmill(&REPLAY).expect(1);
                invariants::hold(&workspace, target);
                settled_once(&workspace);
                let found = converged(&workspace, target);
                lost += expected.rows.iter().filter(|row| !found.rows.contains(row)).count();
                doubled += found.rows.len().saturating_sub(expected.rows.len());
                assert_eq!((&found.rows, &found.letters), (&expected.rows, &expected.letters), "{target:?} {fault}");
                assert_eq!(without_times(&found.source), without_times(&expected.source), "{target:?} {fault}");
                kills += 1;
            }
        }
    }
    println!("{kills} kills of a replay of dead letters: lost {lost}, doubled {doubled}");
}

/// Modification times belong to the copies of the files.
fn without_times(source: &str) -> String {
    let cut = source.find("\"modified\"").unwrap_or(source.len());
    let rest = &source[cut..];
    format!("{}{}", &source[..cut], rest.split_once(',').map_or("", |(_, rest)| rest))
}

/// What is on its way cannot be discarded; what nobody carries can.
#[test]
fn letters_on_their_way_are_not_discarded() {
    for target in Target::ALL {
        let workspace = workspace(target);
        workspace.with_fault(&REPLAY, "batch-ready-after:1");
        let carried = "SELECT dead_letter_id FROM dead_letter_row LIMIT 1";
        let id = workspace.state::<i64>(carried).to_string();
        let refused = workspace.gristmill(&["dlq", "discard", &id]).expect(2).stderr;
        assert!(refused.contains("on their way") && refused.contains("dlq replay crash"), "{refused}");
        workspace.gristmill(&["dlq", "discard", "--task", "crash", "--class", "field-count"]).expect(0);
        workspace.gristmill(&REPLAY).expect(0);
        settled_once(&workspace);

        // A batch that is set aside gives its letters back.
        let workspace = self::workspace(target);
        workspace.with_fault(&REPLAY, "sink-commit-before:1");
        let batch: String = workspace.state("SELECT batch_id FROM batch WHERE partition_id = 'dead-letters'");
        let said = workspace.gristmill(&["batches", "quarantine", &batch]).expect(0).stdout;
        assert!(said.contains("open again"), "{said}");
        workspace.gristmill(&REPLAY).expect(1);
        settled_once(&workspace);
        assert_eq!(target.rows(&workspace, "records").len(), 13);
    }
}
