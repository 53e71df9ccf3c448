//! Just enough CSV for test data.

/// Splits a text into rows of fields. Quoted fields may hold commas, line ends and doubled quotes.
pub(super) fn rows(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut field)),
            '\r' if !quoted => {}
            '\n' if !quoted => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            c => field.push(c),
        }
    }
    if !field.is_empty() || !row.is_empty() {
        row.push(field);
        rows.push(row);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::rows;

    #[test]
    fn quotes_and_last_lines() {
        let expected = vec![vec!["a", "b,\"c\"\n"], vec!["", "d"]];
        assert_eq!(rows("a,\"b,\"\"c\"\"\n\"\r\n,d"), expected);
    }
}
