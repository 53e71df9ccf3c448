//! As much of Markdown as the tests need.

use std::fs;
use std::path::{Path, PathBuf};

/// A Markdown file.
pub struct Page {
    pub path: PathBuf,
    /// Its path below the root.
    pub name: String,
    pub text: String,
    pub blocks: Vec<Block>,
    /// Line and target.
    pub links: Vec<(usize, String)>,
    /// Line and text of inline code.
    pub codes: Vec<(usize, String)>,
    /// As they are linked to.
    pub headings: Vec<String>,
}

/// A fenced block.
pub struct Block {
    pub line: usize,
    pub language: String,
    options: Vec<String>,
    pub text: String,
}

/// All Markdown files below `root` that belong to the repository.
pub fn pages(root: &Path) -> Vec<Page> {
    let root = root.canonicalize().unwrap();
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            // Builds and the demo are not the repository's.
            if name.starts_with('.') || name == "target" {
                continue;
            }
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else if name.ends_with(".md") {
                let below = entry.path().strip_prefix(&root).unwrap().display().to_string();
                found.push(Page::read(entry.path(), below));
            }
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

impl Page {
    fn read(path: PathBuf, name: String) -> Self {
        let text = fs::read_to_string(&path).unwrap();
        let (mut blocks, mut links, mut codes, mut headings) =
            (Vec::<Block>::new(), Vec::new(), Vec::<(usize, String)>::new(), Vec::new());
        let (mut open, mut code_open) = (false, false);
        for (number, line) in (1..).zip(text.lines()) {
            match line.strip_prefix("```") {
                Some(_) if open => open = false,
                Some(info) => {
                    let mut words = info.split_whitespace().map(str::to_owned);
                    let language = words.next().unwrap_or_default();
                    blocks.push(Block { line: number, language, options: words.collect(), text: String::new() });
                    open = true;
                }
                None if open => {
                    let block = blocks.last_mut().unwrap();
                    block.text.push_str(line);
                    block.text.push('\n');
                }
                None => {
                    if let Some(heading) = line.strip_prefix('#') {
                        headings.push(slug(heading.trim_start_matches('#')));
                    }
                    // Inline code may go on in the next line of its paragraph.
                    let was_open = std::mem::take(&mut code_open) && !line.is_empty();
                    for (place, piece) in line.split('`').enumerate() {
                        code_open = (place % 2 == 1) != was_open;
                        match (code_open, place, codes.last_mut()) {
                            (true, 0, Some((_, code))) => *code = format!("{code} {}", piece.trim_start()),
                            (true, ..) => codes.push((number, piece.to_owned())),
                            (false, ..) => {}
                        }
                    }
                    let targets = line.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
                    links.extend(targets.map(|(target, _)| (number, target.to_owned())));
                }
            }
        }
        assert!(!open, "{name}: a fenced block does not end");
        Self { path, name, text, blocks, links, codes, headings }
    }

    /// Records of decisions tell of their time; the others of what there is.
    pub fn is_about_the_repository(&self) -> bool {
        !self.name.starts_with("docs/decisions/") && self.name != "CHANGELOG.md"
    }
}

/// A heading as GitHub links to it.
fn slug(heading: &str) -> String {
    let kept = |c: char| match c {
        ' ' => Some('-'),
        c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c.to_ascii_lowercase()),
        _ => None,
    };
    heading.trim().chars().filter_map(kept).collect()
}

impl Block {
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }

    /// Commands with what they print.
    pub fn steps(&self) -> Vec<(String, Vec<&str>)> {
        let mut steps: Vec<(String, Vec<&str>)> = Vec::new();
        for line in self.text.lines() {
            match (line.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => steps.push((command.to_owned(), Vec::new())),
                (None, Some((command, expected))) if expected.is_empty() && command.ends_with('\\') => {
                    command.push('\n');
                    command.push_str(line);
                }
                (None, Some((_, expected))) => expected.push(line.trim_end()),
                (None, None) => panic!("line {}: output before the first command", self.line),
            }
        }
        steps
    }
}

/// Whether lines are as expected; see the conventions.
pub fn matches(expected: &[&str], printed: &[&str]) -> bool {
    match (expected, printed) {
        ([], printed) => printed.is_empty(),
        (["…", rest @ ..], _) => (0..=printed.len()).any(|skipped| matches(rest, &printed[skipped..])),
        ([first, rest @ ..], [line, lines @ ..]) => matches_line(first, line) && matches(rest, lines),
        (_, []) => false,
    }
}

fn matches_line(expected: &str, line: &str) -> bool {
    match expected.split_once('…') {
        None => expected == line,
        Some((before, after)) => line.strip_prefix(before).is_some_and(|line| {
            let mut ends = line.char_indices().map(|(at, _)| at).chain([line.len()]);
            ends.any(|at| matches_line(after, &line[at..]))
        }),
    }
}

#[test]
fn expectations_match_lines_and_parts_of_lines() {
    assert!(matches(&["a", "…", "d … f"], &["a", "b", "c", "d 1.5 s f"]));
    assert!(matches(&["…"], &[]));
    for (expected, printed) in
        [(&["a"][..], &["b"][..]), (&["a"], &["a", "b"]), (&["a", "…", "c"], &["a"]), (&["x…y"], &["x"])]
    {
        assert!(!matches(expected, printed), "{expected:?} {printed:?}");
    }
    assert_eq!(slug(" Where is… the fence?"), "where-is-the-fence");
}
