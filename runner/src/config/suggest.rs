//! "Did you mean": the known word that is closest to what was written.

/// The nearest of `known`, if it is near enough to be a slip.
pub(super) fn nearest<'k>(written: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let plain = |word: &str| word.to_lowercase().replace(['-', ' '], "_");
    let written = plain(written);
    let slips_max = (written.chars().count() / 3).max(1);
    let written_len = written.chars().count();
    known
        .into_iter()
        // Words of very different lengths are not compared at all.
        .filter(|word| word.chars().count().abs_diff(written_len) <= slips_max)
        .map(|word| (slips(&written, &plain(word)), word))
        .filter(|(slips, _)| *slips <= slips_max)
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, word)| word)
}

/// A hint that names the nearest word, or all of them.
pub(super) fn hint<'k>(written: &str, what: &str, known: impl IntoIterator<Item = &'k str> + Clone) -> String {
    match nearest(written, known.clone()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("{what}: {}", known.into_iter().collect::<Vec<_>>().join(", ")),
    }
}

/// Letters to add, drop, change or swap with their neighbour to get from `a` to `b`.
fn slips(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before_last: Vec<usize> = vec![];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let change = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = change.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_other_words_are_not() {
        let known = ["url", "pattern", "format", "columns", "max_field_bytes"];
        for (written, meant) in [
            ("pattren", Some("pattern")),
            ("Format", Some("format")),
            ("max-field-bytes", Some("max_field_bytes")),
            ("uri", Some("url")),
            ("colums", Some("columns")),
            ("delimiter", None),
            ("", None),
        ] {
            assert_eq!(nearest(written, known), meant, "{written}");
        }
        assert_eq!(hint("zzzzzz", "known keys", ["a", "b"]), "known keys: a, b");
    }
}
