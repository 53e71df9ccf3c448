//! What is wrong with a pipeline file, where, and what to write instead.

use super::mask::masked;
use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteSpanContents, SourceCode, SourceSpan, SpanContents,
};
use serde::Serialize;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// A stretch of the pipeline file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Span {
    /// Bytes before it.
    pub offset: usize,
    /// Its length in bytes.
    pub len: usize,
}

/// A mistake, before it is tied to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    pub span: Option<Span>,
    pub message: String,
    pub hint: Option<String>,
}

impl Problem {
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        Self { span: Some(span), message: message.into(), hint: None }
    }
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// The text of a pipeline file as it may be shown: secrets in it are masked, at the same length.
#[derive(Debug, Clone)]
pub(super) struct Shown {
    file: Arc<str>,
    text: Arc<str>,
}

impl Shown {
    pub fn new(path: &Path, text: &str) -> Self {
        Self { file: path.display().to_string().into(), text: masked(text).into() }
    }

    pub fn diagnosis(&self, problem: Problem) -> Diagnosis {
        let place = problem.span.map(|span| Place::new(&self.text, span));
        Diagnosis { shown: self.clone(), place, message: problem.message, hint: problem.hint }
    }
}

#[derive(Debug, Clone, Copy)]
struct Place {
    span: Span,
    line: usize,
    column: usize,
}

impl Place {
    fn new(text: &str, span: Span) -> Self {
        let before = text.get(..span.offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.matches('\n').count() + 1;
        Self { span, line, column: before[line_start..].chars().count() + 1 }
    }
}

/// One mistake in a pipeline file. Never holds a secret: values of variables and credentials do not get into it.
#[derive(Debug, Clone)]
pub struct Diagnosis {
    shown: Shown,
    place: Option<Place>,
    message: String,
    hint: Option<String>,
}

impl Diagnosis {
    /// The pipeline file, as it was named.
    pub fn file(&self) -> &str {
        &self.shown.file
    }
    /// From 1; none if the mistake has no place in the file.
    pub fn line(&self) -> Option<usize> {
        self.place.map(|place| place.line)
    }
    /// Characters, from 1.
    pub fn column(&self) -> Option<usize> {
        self.place.map(|place| place.column)
    }
    pub fn message(&self) -> &str {
        &self.message
    }
    /// What to write instead.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The message with the line at fault, the place in it, and the hint.
    pub fn render(&self, style: Style) -> String {
        let theme = match style {
            Style::Plain => GraphicalTheme::unicode_nocolor(),
            Style::Colour => GraphicalTheme::unicode(),
        };
        let handler = GraphicalReportHandler::new_themed(theme).with_width(120).with_context_lines(1);
        let mut text = String::new();
        match handler.render_report(&mut text, self) {
            Ok(()) => text,
            // Drawing into a `String` fails only if the snippet cannot be read: the message still counts.
            Err(fmt::Error) => format!("{self}\n"),
        }
    }
}

/// How to draw a diagnosis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// For files, logs and pipes.
    Plain,
    /// For terminals.
    Colour,
}

impl fmt::Display for Diagnosis {
    /// The message; without a place in the file, after the file's name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some(_) => f.write_str(&self.message),
            None => write!(f, "{}: {}", self.shown.file, self.message),
        }
    }
}
impl std::error::Error for Diagnosis {}

impl miette::Diagnostic for Diagnosis {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.hint.as_ref().map(|hint| Box::new(hint) as Box<dyn fmt::Display>)
    }
    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.place.as_ref().map(|_| self as &dyn SourceCode)
    }
    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let Span { offset, len } = self.place?.span;
        Some(Box::new(std::iter::once(LabeledSpan::new(None, offset, len))))
    }
}

impl SourceCode for Diagnosis {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        lines_before: usize,
        lines_after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, miette::MietteError> {
        let contents = self.shown.text.read_span(span, lines_before, lines_after)?;
        // The header reads `file:line:column`: it takes the column from a read without context, and would count bytes.
        let column = match self.place {
            Some(place) if lines_before == 0 => place.column - 1,
            _ => contents.column(),
        };
        let file = self.shown.file.to_string();
        let (data, span, line, lines) = (contents.data(), *contents.span(), contents.line(), contents.line_count());
        Ok(Box::new(MietteSpanContents::new_named(file, data, span, line, column, lines)))
    }
}

impl Serialize for Diagnosis {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Form<'a> {
            file: &'a str,
            line: Option<usize>,
            column: Option<usize>,
            message: &'a str,
            hint: Option<&'a str>,
        }
        let (file, message) = (self.file(), self.message());
        Form { file, line: self.line(), column: self.column(), message, hint: self.hint() }.serialize(serializer)
    }
}

/// Everything that was found wrong with a pipeline file, in its order; at least one.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct Diagnoses(Vec<Diagnosis>);

impl Diagnoses {
    pub(super) fn new(shown: &Shown, mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|problem| problem.span);
        Self(problems.into_iter().map(|problem| shown.diagnosis(problem)).collect())
    }
    pub fn all(&self) -> &[Diagnosis] {
        &self.0
    }
    /// All of them, one below the other.
    pub fn render(&self, style: Style) -> String {
        self.0.iter().map(|diagnosis| diagnosis.render(style)).collect::<Vec<_>>().join("\n")
    }
}

impl From<Diagnosis> for Diagnoses {
    fn from(diagnosis: Diagnosis) -> Self {
        Self(vec![diagnosis])
    }
}

/// One line for each.
impl fmt::Display for Diagnoses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnosis) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            let (file, line, column) = (diagnosis.file(), diagnosis.line(), diagnosis.column());
            write!(f, "{separator}{file}:")?;
            if let (Some(line), Some(column)) = (line, column) {
                write!(f, "{line}:{column}:")?;
            }
            write!(f, " {}", diagnosis.message)?;
        }
        Ok(())
    }
}
impl std::error::Error for Diagnoses {}

#[cfg(test)]
mod tests {
    use super::*;

    fn diagnosis(text: &str, at: &str) -> Diagnosis {
        let span = Span { offset: text.find(at).unwrap(), len: at.len() };
        Shown::new(Path::new("p.yaml"), text).diagnosis(Problem::new(span, "no").hint("yes"))
    }

    #[test]
    fn places_count_lines_and_characters_from_one() {
        let found = diagnosis("a: 1\né: [ü, x]\n", "x");
        assert_eq!((found.line(), found.column()), (Some(2), Some(8)));
        assert_eq!(Diagnoses::from(found.clone()).to_string(), "p.yaml:2:8: no");
        let json = serde_json::to_value(&found).unwrap();
        let expected = serde_json::json!({ "file": "p.yaml", "line": 2, "column": 8, "message": "no", "hint": "yes" });
        assert_eq!(json, expected);
    }

    #[test]
    fn plain_drawings_have_no_escapes_and_no_secrets() {
        let text = "sink:\n  url: s3://key:hunter2@bucket/x\n  passwd: hunter2\n";
        let plain = diagnosis(text, "bucket").render(Style::Plain);
        assert!(!plain.contains('\u{1b}') && !plain.contains("hunter2"), "{plain}");
        assert!(plain.contains("p.yaml:2:") && plain.contains("help: yes"), "{plain}");
        assert!(diagnosis(text, "bucket").render(Style::Colour).contains('\u{1b}'));
    }
}
