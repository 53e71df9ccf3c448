//! The tables of the reference page on compatibility, for the tests that keep them true.

const PAGE: &str = include_str!("../../../../docs/reference/compatibility.md");

/// The rows of the first table below a heading. Cells lose their backticks.
pub fn table(heading: &str) -> Vec<Vec<String>> {
    let below = PAGE.lines().skip_while(|line| line.trim_start_matches('#').trim() != heading);
    let rows = below.skip(1).take_while(|line| !line.starts_with('#')).skip_while(|line| !line.starts_with('|'));
    let rows: Vec<Vec<String>> = rows.take_while(|line| line.starts_with('|')).skip(2).map(cells).collect();
    assert!(!rows.is_empty(), "no table below `{heading}`");
    rows
}

fn cells(line: &str) -> Vec<String> {
    let line = line.trim().trim_start_matches('|').trim_end_matches('|');
    line.split('|').map(|cell| cell.trim().replace('`', "")).collect()
}

/// All of the page.
pub const fn page() -> &'static str {
    PAGE
}
