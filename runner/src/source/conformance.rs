//! What every source must do, one function for each numbered rule of [`Source`].
//!
//! A source's tests build a [`Subject`] for each of its variants and run [`all`].

use super::{PageLimits, Poll, Rereader, Source, SourceError};
use crate::record::Page;
use arrow::array::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use gristmill_core::cursor::Cursor;
use gristmill_core::dead_letter::RecordPosition;
use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::time::Duration;

pub(crate) type Open = Box<dyn Fn() -> Box<dyn Source>>;

/// A source under test, over data that stays as it is: several objects, some records refused.
pub(crate) struct Subject {
    pub name: String,
    /// A new source over the same data, as after a restart.
    pub open: Open,
    /// All content of the source, as bytes by name.
    pub content: Box<dyn Fn() -> BTreeMap<String, Vec<u8>>>,
    /// The size of rows in memory, as the source counts it.
    pub bytes: fn(&RecordBatch) -> usize,
    /// Records that the source refuses.
    pub refused: usize,
    /// Texts of refused records that nobody may see.
    pub secrets: &'static [&'static str],
    /// A source whose object of this name is cut short, where the format can tell.
    pub cut: Option<(Open, &'static str)>,
}

/// Position → what was there.
type Records = BTreeMap<(u64, u64), String>;

const WIDE: PageLimits = PageLimits { max_rows: 1_000_000, max_bytes: 1 << 30, max_age: Duration::from_secs(1) };

const fn narrow(max_rows: usize, max_bytes: usize) -> PageLimits {
    PageLimits { max_rows, max_bytes, max_age: Duration::from_secs(1) }
}

/// All rules, in order.
pub(crate) async fn all(subject: &Subject) {
    rule_1_polls_are_repeatable(subject).await;
    rule_2_cursors_join_without_gap_or_overlap(subject).await;
    rule_3_refused_records_become_dead_letters(subject).await;
    rule_4_nothing_is_changed_or_made_durable(subject).await;
    rule_5_positions_order_the_records(subject).await;
    rule_6_pages_keep_to_the_limits(subject).await;
    rule_7_objects_cut_short_are_not_read(subject).await;
    rule_8_polls_are_cancel_safe(subject).await;
}

/// All pages from where the source stands.
pub(crate) async fn drain(source: &mut dyn Source, limits: PageLimits) -> Result<Vec<Page>, SourceError> {
    let mut pages = Vec::new();
    loop {
        match source.poll(limits).await? {
            Poll::Page(page) => pages.push(*page),
            Poll::Idle => return Ok(pages),
            Poll::Settling(wait) => panic!("settling for {wait:?} over data at rest"),
        }
    }
}

/// Every record of the pages at its position, refused ones by their class. Panics at a position that comes twice.
pub(crate) fn records(pages: &[Page]) -> Records {
    let mut records = Records::new();
    for page in pages {
        let options = FormatOptions::default().with_null("null");
        let columns: Vec<_> =
            page.rows.columns().iter().map(|c| ArrayFormatter::try_new(c, &options).unwrap()).collect();
        for (row, (sequence, record, object)) in positions(page).into_iter().enumerate() {
            let values: Vec<String> = columns.iter().map(|column| column.value(row).to_string()).collect();
            let line = page.origins.lines.as_ref().map(|lines| lines.value(row));
            let text = format!("{object} {line:?} {} {}", page.operations.value(row), values.join("|"));
            assert_eq!(records.insert((sequence, record), text), None, "record {record} of {object} came twice");
        }
        for letter in &page.dead_letters {
            let RecordPosition::Source { object, object_sequence, record, line } = &letter.position else {
                panic!("a dead letter of a source has a position in it: {letter:?}");
            };
            let text = format!("{object} {line:?} {} {:?}", letter.class, letter.field);
            assert_eq!(
                records.insert((*object_sequence, *record), text),
                None,
                "record {record} of {object} came twice"
            );
        }
    }
    records
}

/// (sequence, record, object) of each row.
fn positions(page: &Page) -> Vec<(u64, u64, &str)> {
    let runs = &page.origins.objects;
    assert!(runs.windows(2).all(|pair| pair[0].first_row < pair[1].first_row), "runs are in row order");
    assert_eq!(runs.first().map_or(0, |run| run.first_row), 0, "the first run starts at row 0");
    assert_eq!(page.origins.records.len(), page.rows.num_rows());
    assert_eq!(page.operations.len(), page.rows.num_rows());
    (0..page.rows.num_rows())
        .map(|row| {
            let run = runs.iter().rfind(|run| run.first_row <= row).expect("every row lies in a run");
            (run.object_sequence, page.origins.records.value(row), run.object.as_ref())
        })
        .collect()
}

/// The logical state after these pages.
pub(crate) fn state_after(pages: &[Page]) -> BTreeMap<String, String> {
    let mut state = BTreeMap::new();
    for (key, value) in pages.iter().flat_map(|page| &page.state) {
        match value {
            Some(value) => state.insert(key.clone(), value.clone()),
            None => state.remove(key),
        };
    }
    state
}

async fn everything(subject: &Subject) -> Records {
    let pages = drain((subject.open)().as_mut(), WIDE).await.unwrap();
    let records = records(&pages);
    assert!(records.len() > 10, "{}: too few records to tell anything", subject.name);
    records
}

pub(crate) async fn rule_1_polls_are_repeatable(subject: &Subject) {
    let expected = everything(subject).await;
    for limits in [WIDE, narrow(1, 1 << 30), narrow(7, 1 << 30), narrow(1_000_000, 64), narrow(5, 100)] {
        let pages = drain((subject.open)().as_mut(), limits).await.unwrap();
        assert_eq!(records(&pages), expected, "{}: {limits:?}", subject.name);
    }
}

pub(crate) async fn rule_2_cursors_join_without_gap_or_overlap(subject: &Subject) {
    let mut source = (subject.open)();
    source.resume(&Cursor::Start, BTreeMap::new()).await.unwrap();
    let pages = drain(source.as_mut(), narrow(4, 1 << 30)).await.unwrap();
    let expected = records(&pages);
    let mut cursor = Cursor::Start;
    for (place, page) in pages.iter().enumerate() {
        assert_eq!(page.cursor_from, cursor, "{}: page {place} does not join", subject.name);
        cursor = page.cursor_to.clone();
        let (before, _) = pages.split_at(place + 1);
        let mut restarted = (subject.open)();
        restarted.resume(&cursor, state_after(before)).await.unwrap();
        let rest = drain(restarted.as_mut(), narrow(9, 1 << 30)).await.unwrap();
        assert_eq!(rest.first().map_or(&cursor, |page| &page.cursor_from), &cursor, "{}", subject.name);
        let mut joined = records(before);
        for (position, record) in records(&rest) {
            assert_eq!(joined.insert(position, record), None, "{}: twice after page {place}", subject.name);
        }
        assert_eq!(joined, expected, "{}: resumed after page {place}", subject.name);
    }
}

pub(crate) async fn rule_3_refused_records_become_dead_letters(subject: &Subject) {
    let pages = drain((subject.open)().as_mut(), narrow(6, 1 << 30)).await.unwrap();
    let letters: Vec<_> = pages.iter().flat_map(|page| &page.dead_letters).collect();
    assert_eq!(letters.len(), subject.refused, "{}: {letters:#?}", subject.name);
    let shown = format!("{letters:?}{}", serde_json::to_string(&letters).unwrap());
    for secret in subject.secrets {
        assert!(!shown.contains(secret), "{}: {shown}", subject.name);
    }
}

pub(crate) async fn rule_4_nothing_is_changed_or_made_durable(subject: &Subject) {
    let before = (subject.content)();
    let first = everything(subject).await;
    assert_eq!((subject.content)(), before, "{}: the source was changed", subject.name);
    // All those pages were thrown away: they come again.
    assert_eq!(everything(subject).await, first, "{}", subject.name);
}

pub(crate) async fn rule_5_positions_order_the_records(subject: &Subject) {
    let pages = drain((subject.open)().as_mut(), narrow(5, 1 << 30)).await.unwrap();
    let all: Vec<_> = pages.iter().flat_map(positions).map(|(sequence, record, _)| (sequence, record)).collect();
    assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "{}: positions do not rise", subject.name);
}

pub(crate) async fn rule_6_pages_keep_to_the_limits(subject: &Subject) {
    for limits in [narrow(1, 1 << 30), narrow(3, 1 << 30), narrow(1000, 1), narrow(1000, 90), narrow(4, 200)] {
        for page in drain((subject.open)().as_mut(), limits).await.unwrap() {
            let rows = page.rows.num_rows();
            assert!(rows + page.dead_letters.len() <= limits.max_rows, "{}: {limits:?}: {rows} rows", subject.name);
            let bytes = (subject.bytes)(&page.rows);
            assert!(rows <= 1 || bytes <= limits.max_bytes, "{}: {limits:?}: {bytes} bytes", subject.name);
        }
    }
}

pub(crate) async fn rule_7_objects_cut_short_are_not_read(subject: &Subject) {
    let Some((open, object)) = &subject.cut else { return };
    let mut source = open();
    let error = loop {
        match source.poll(narrow(2, 1 << 30)).await {
            Ok(Poll::Page(page)) => {
                assert!(page.origins.objects.iter().all(|run| run.object.as_ref() != *object), "{}", subject.name);
                let letters = format!("{:?}", page.dead_letters);
                assert!(!letters.contains(object), "{}: {letters}", subject.name);
            }
            Ok(other) => panic!("{}: {other:?} instead of an error", subject.name),
            Err(error) => break error,
        }
    };
    match error {
        SourceError::Permanent { what, hint } => assert!(what.contains(object) && !hint.is_empty(), "{what}"),
        other => panic!("{}: {other:?}", subject.name),
    }
}

pub(crate) async fn rule_8_polls_are_cancel_safe(subject: &Subject) {
    let limits = narrow(3, 1 << 30);
    let expected = everything(subject).await;
    let mut source = (subject.open)();
    let mut pages: Vec<Page> = Vec::new();
    loop {
        for patience in 0..3 {
            let mut poll = source.poll(limits);
            let mut answered = false;
            for _ in 0..=patience {
                answered = poll_fn(|context| std::task::Poll::Ready(poll.as_mut().poll(context).is_ready())).await;
                if answered {
                    break;
                }
                tokio::task::yield_now().await;
            }
            // A poll that was fast enough to answer has told its page to nobody: start over from the last one kept.
            drop(poll);
            if answered {
                let cursor = pages.last().map_or(Cursor::Start, |page| page.cursor_to.clone());
                source = (subject.open)();
                source.resume(&cursor, state_after(&pages)).await.unwrap();
            }
        }
        match source.poll(limits).await.unwrap() {
            Poll::Page(page) => {
                let cursor = pages.last().map_or(&Cursor::Start, |page| &page.cursor_to);
                assert_eq!(&page.cursor_from, cursor, "{}", subject.name);
                pages.push(*page);
            }
            _ => break,
        }
    }
    assert_eq!(records(&pages), expected, "{}", subject.name);
}

/// Opens a [`Rereader`] over a subject's data, at a cursor and the state that goes with it.
pub(crate) type Reopen = Box<dyn Fn(&Cursor, &BTreeMap<String, String>) -> Box<dyn Rereader>>;

/// All rules of [`Rereader`]. Needs a runtime of several threads.
pub(crate) async fn all_of_rereaders(subject: &Subject, reopen: &Reopen) {
    let pages = drain((subject.open)().as_mut(), narrow(5, 1 << 30)).await.unwrap();
    rereader_rules_1_to_3_the_same_records_at_their_places(subject, reopen, &pages).await;
    rereader_rule_4_pages_keep_to_the_limits(subject, reopen, &pages).await;
}

/// The positions of all records, refused ones too, in order.
fn places(pages: &[Page]) -> Vec<RecordPosition> {
    let mut places = Vec::new();
    for page in pages {
        for (row, (object_sequence, record, object)) in positions(page).into_iter().enumerate() {
            let line = page.origins.lines.as_ref().map(|lines| lines.value(row));
            places.push(RecordPosition::Source { object: object.into(), object_sequence, record, line });
        }
        places.extend(page.dead_letters.iter().map(|letter| letter.position.clone()));
    }
    places.sort_by_key(|place| match place {
        RecordPosition::Source { object_sequence, record, .. } => (*object_sequence, *record),
        RecordPosition::Batch { .. } => panic!("a source's record lies in a batch: {place:?}"),
    });
    places
}

/// The pages of some positions, all of which must be there.
async fn reread(rereader: &mut dyn Rereader, places: &[RecordPosition], limits: PageLimits) -> Vec<Page> {
    let (mut pages, mut rest) = (Vec::new(), places);
    while !rest.is_empty() {
        let reread = rereader.reread(rest, limits).await.unwrap();
        assert!((1..=rest.len()).contains(&reread.answered), "{} of {}", reread.answered, rest.len());
        assert_eq!(reread.gone, []);
        assert_eq!(reread.page.rows.num_rows() + reread.page.dead_letters.len(), reread.answered);
        rest = &rest[reread.answered..];
        pages.push(reread.page);
    }
    pages
}

async fn rereader_rules_1_to_3_the_same_records_at_their_places(subject: &Subject, reopen: &Reopen, pages: &[Page]) {
    let places = places(pages);
    let expected = records(pages);
    // After each page, with what it leaves: also in the middle of an object.
    for read in 1..=pages.len() {
        let (read, _) = pages.split_at(read);
        let open = || reopen(&read[read.len() - 1].cursor_to, &state_after(read));
        let known: BTreeSet<_> = records(read).into_keys().collect();
        let known: Vec<_> = places
            .iter()
            .filter(|place| match place {
                RecordPosition::Source { object_sequence, record, .. } => known.contains(&(*object_sequence, *record)),
                RecordPosition::Batch { .. } => false,
            })
            .cloned()
            .collect();
        let every_third: Vec<_> = known.iter().step_by(3).cloned().collect();
        for some in [&known[..], &every_third, &known[known.len() - 1..]] {
            let again = reread(open().as_mut(), some, WIDE).await;
            let found = records(&again);
            assert_eq!(found.len(), some.len(), "{}", subject.name);
            for (place, record) in &found {
                assert_eq!(Some(record), expected.get(place), "{}", subject.name);
            }
            let shown = format!("{:?}", again.iter().flat_map(|page| &page.dead_letters).collect::<Vec<_>>());
            assert!(subject.secrets.iter().all(|secret| !shown.contains(secret)), "{}: {shown}", subject.name);
        }
    }
}

async fn rereader_rule_4_pages_keep_to_the_limits(subject: &Subject, reopen: &Reopen, pages: &[Page]) {
    let places = places(pages);
    let end = &pages[pages.len() - 1].cursor_to;
    for limits in [narrow(1, 1 << 30), narrow(3, 1 << 30), narrow(1000, 1), narrow(1000, 90), narrow(4, 200)] {
        let again = reread(reopen(end, &state_after(pages)).as_mut(), &places, limits).await;
        assert_eq!(records(&again), records(pages), "{}: {limits:?}", subject.name);
        for page in again {
            let rows = page.rows.num_rows();
            assert!(rows + page.dead_letters.len() <= limits.max_rows, "{}: {limits:?}: {rows} rows", subject.name);
            let bytes = (subject.bytes)(&page.rows);
            assert!(rows <= 1 || bytes <= limits.max_bytes, "{}: {limits:?}: {bytes} bytes", subject.name);
        }
    }
}
