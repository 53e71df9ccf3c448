// Just enough CSV for test data.

/** Splits a text into rows of fields. Quoted fields may hold commas, line ends and doubled quotes. */
export function csvRows(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let field = "";
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i]!;
    if (c === '"' && quoted && text[i + 1] === '"') {
      i++;
      field += '"';
    } else if (c === '"') {
      quoted = !quoted;
    } else if (c === "," && !quoted) {
      row.push(field);
      field = "";
    } else if (c === "\n" && !quoted) {
      rows.push([...row, field]);
      row = [];
      field = "";
    } else if (c !== "\r" || quoted) {
      field += c;
    }
  }
  if (field !== "" || row.length > 0) rows.push([...row, field]);
  return rows;
}
