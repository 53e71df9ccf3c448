//! Answers: text for people, JSON for machines, and the exit code.

use crate::config::{Diagnoses, Style};
use crate::drive::{Kind, RunError};
use crate::publish::PublishError;
use crate::store::StoreError;
use serde_json::{Value, json};
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use tracing_subscriber::EnvFilter;

/// How the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Done = 0,
    Failed = 1,
    Configuration = 2,
    /// Stopped for a person.
    Person = 3,
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// What a verb has to say.
#[derive(Debug)]
pub struct Answer {
    pub exit: Exit,
    pub text: String,
    pub json: Value,
}

impl Answer {
    pub fn done(text: impl Into<String>, json: Value) -> Self {
        Self { exit: Exit::Done, text: text.into(), json }
    }
}

/// Why a verb gave up.
#[derive(Debug)]
pub enum Failure {
    /// With positions in a file.
    Diagnoses(Diagnoses),
    Message {
        exit: Exit,
        what: String,
        fate: Option<String>,
        hint: String,
    },
    /// A failure after which there is still an answer to give.
    WithAnswer {
        failure: Box<Failure>,
        answer: Answer,
    },
}

impl Failure {
    pub fn usage(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Message { exit: Exit::Configuration, what: what.into(), fate: None, hint: hint.into() }
    }

    fn exit(&self) -> Exit {
        match self {
            Self::Diagnoses(_) => Exit::Configuration,
            Self::Message { exit, .. } => *exit,
            Self::WithAnswer { failure, .. } => failure.exit(),
        }
    }

    fn json(&self) -> Value {
        match self {
            Self::Diagnoses(diagnoses) => json!({ "diagnoses": diagnoses }),
            Self::Message { what, fate, hint, .. } => json!({ "message": what, "data": fate, "hint": hint }),
            Self::WithAnswer { failure, .. } => failure.json(),
        }
    }

    fn render(&self, style: Style) -> String {
        match self {
            Self::Diagnoses(diagnoses) => diagnoses.render(style),
            Self::Message { what, fate, hint, .. } => {
                let mut text = format!("{} {what}\n", paint(style, "1;31", "error:"));
                if let Some(fate) = fate {
                    text += &format!("  {} {fate}\n", paint(style, "1", "data:"));
                }
                text + &format!("  {} {hint}\n", paint(style, "1;36", "next:"))
            }
            Self::WithAnswer { failure, .. } => failure.render(style),
        }
    }
}

fn paint(style: Style, code: &str, text: &str) -> String {
    match style {
        Style::Colour => format!("\x1b[{code}m{text}\x1b[0m"),
        Style::Plain => text.to_owned(),
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let exit = match error.kind() {
            Kind::Transient | Kind::Fenced | Kind::Bug => Exit::Failed,
            Kind::Configuration => Exit::Configuration,
            Kind::Person => Exit::Person,
        };
        let mut what = error.to_string();
        if let RunError::TooManyDeadLetters { examples, .. } = &error {
            for letter in examples {
                let field = letter.field.as_ref().map(|f| format!(", column {f}")).unwrap_or_default();
                what += &format!("\n    {}: {} ({}{field})", letter.position, letter.message, letter.class);
            }
        }
        Self::Message { exit, what, fate: Some(error.fate()), hint: error.hint() }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        RunError::from(error).into()
    }
}

impl From<PublishError> for Failure {
    fn from(error: PublishError) -> Self {
        match error {
            PublishError::Pipeline(diagnoses) => Self::Diagnoses(diagnoses),
            PublishError::Store(e) => e.into(),
            // Nothing was read yet: what does not fit is the configuration's affair.
            PublishError::Source(e) => {
                let error = RunError::from(e);
                Self::Message {
                    exit: Exit::Configuration,
                    what: error.to_string(),
                    fate: Some("nothing was written".into()),
                    hint: error.hint(),
                }
            }
            PublishError::Host(e) => Self::Message {
                exit: Exit::Failed,
                what: e.to_string(),
                fate: None,
                hint: "see `gristmill doctor`".into(),
            },
        }
    }
}

impl From<Diagnoses> for Failure {
    fn from(diagnoses: Diagnoses) -> Self {
        Self::Diagnoses(diagnoses)
    }
}

/// Standard output and error, as the user wants them.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    json: bool,
}

impl Output {
    pub fn new(json: bool) -> Self {
        Self { json }
    }

    /// Prints the answer and gives the exit code.
    pub fn finish(self, answer: Result<Answer, Failure>) -> ExitCode {
        let (exit, text, json, failure) = match answer {
            Ok(Answer { exit, text, json }) => (exit, text, json, None),
            Err(Failure::WithAnswer { failure, answer }) => (failure.exit(), answer.text, answer.json, Some(*failure)),
            Err(failure) => (failure.exit(), String::new(), Value::Null, Some(failure)),
        };
        let mut out = std::io::stdout().lock();
        // A reader that has gone away (`| head`) is not an error of ours.
        let _ = if self.json {
            let answer = json!({
                "exit": exit as u8,
                "result": json,
                "error": failure.as_ref().map(Failure::json),
            });
            writeln!(out, "{answer:#}")
        } else {
            out.write_all(text.as_bytes())
        };
        if let (Some(failure), false) = (failure, self.json) {
            eprint!("{}", failure.render(style()));
        }
        exit.into()
    }
}

/// Colour only for a person at a terminal.
pub fn style() -> Style {
    let plain = std::env::var_os("NO_COLOR").is_some() || !std::io::stderr().is_terminal();
    if plain { Style::Plain } else { Style::Colour }
}

/// Logs go to standard error; standard output is for answers.
pub fn start_log(verbose: u8, quiet: bool) {
    let level = match (quiet, verbose) {
        (true, _) => "warn",
        (_, 0) => "gristmill=info,warn",
        (_, 1) => "gristmill=debug,warn",
        _ => "gristmill=trace,info",
    };
    let filter = EnvFilter::try_from_env("GRISTMILL_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(style() == Style::Colour)
        .with_target(false)
        .init();
}

/// `12,345,678`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 file`, `1,000 files`.
pub fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(n), if n == 1 { one } else { many })
}

/// A size in powers of 1024.
pub fn sized(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return counted(bytes, "byte", "bytes");
    }
    let mut size = bytes as f64 / 1024.0;
    for unit in UNITS {
        if size < 1024.0 {
            return format!("{size:.1} {unit}");
        }
        size /= 1024.0;
    }
    format!("{size:.1} PiB")
}

/// Columns that line up, the first row being the heading.
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|r| r.get(column)).map(|c| c.chars().count()).max().unwrap_or(0);
    let widths: Vec<_> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let line: Vec<_> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        text += line.join("  ").trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1000), "1,000");
        assert_eq!(grouped(12_345_678), "12,345,678");
    }

    #[test]
    fn sizes_are_short() {
        assert_eq!(
            [1, 1023, 1024, 1536, 5 << 30].map(sized),
            ["1 byte", "1,023 bytes", "1.0 KiB", "1.5 KiB", "5.0 GiB"]
        );
        assert_eq!(counted(1, "file", "files"), "1 file");
    }

    #[test]
    fn tables_line_up() {
        let rows = [vec!["a".into(), "bb".into()], vec!["ccc".into(), "d".into()]];
        assert_eq!(table(&rows), "a    bb\nccc  d\n");
    }
}
