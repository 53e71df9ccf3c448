//! `gristmill dlq`.

use super::Common;
use super::live::{show_progress, stop_signal};
use super::output::{Answer, Exit, Failure, grouped, table};
use super::setup::{self, Folders, Stores};
use super::status::known_task;
use crate::connect;
use crate::drive::dead_letters::{self, Replay, Replayed};
use crate::drive::{LocalLease, Progress, RunError, time};
use crate::publish::Published;
use crate::store::state::{self, DeadLetterRow, LetterFilter, TaskVersionRow};
use clap::{Subcommand, ValueEnum};
use gristmill_core::cursor::Cursor;
use gristmill_core::dead_letter::{LetterState, RecordPosition};
use gristmill_core::id::{PartitionId, TaskId, TaskVersion};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// List the dead letters of a task, oldest first
    List {
        task: TaskId,
        /// Only those that failed last with this class
        #[arg(long)]
        class: Option<String>,
        /// Only those that failed last with this code
        #[arg(long)]
        code: Option<String>,
        /// Only those of this state
        #[arg(long, default_value = "open")]
        status: StateChoice,
        /// Show at most N
        #[arg(long, value_name = "N", default_value_t = 100)]
        limit: usize,
    },
    /// Show a dead letter: where it is, its first and its last failure; never what it holds
    Show { id: i64 },
    /// Put open dead letters through a task version once more; the task may run meanwhile
    Replay {
        task: TaskId,
        /// Only these
        ids: Vec<i64>,
        /// Only those that failed last with this class
        #[arg(long)]
        class: Option<String>,
        /// Only those that failed last with this code
        #[arg(long)]
        code: Option<String>,
        /// Whose code they go through [default: the latest version]
        #[arg(long, value_name = "N")]
        version: Option<u32>,
    },
    /// Decide to do without open dead letters: they no longer count against the task's limit
    Discard {
        #[arg(required_unless_present = "task")]
        ids: Vec<i64>,
        /// All open ones of this task with --class or --code
        #[arg(long, conflicts_with = "ids")]
        task: Option<TaskId>,
        #[arg(long, requires = "task")]
        class: Option<String>,
        #[arg(long, requires = "task")]
        code: Option<String>,
    },
}

/// Which letters are listed.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum StateChoice {
    Open,
    Replayed,
    Discarded,
    All,
}

impl StateChoice {
    fn state(self) -> Option<LetterState> {
        match self {
            Self::Open => Some(LetterState::Open),
            Self::Replayed => Some(LetterState::Replayed),
            Self::Discarded => Some(LetterState::Discarded),
            Self::All => None,
        }
    }
}

pub async fn dlq(common: &Common, verb: Verb) -> Result<Answer, Failure> {
    let stores = Stores::existing(common).await?;
    match verb {
        Verb::List { task, class, code, status, limit } => {
            let filter = LetterFilter { state: status.state(), class, code, ids: None };
            list(&stores, task, filter, limit).await
        }
        Verb::Show { id } => show(&stores, id).await,
        Verb::Replay { task, ids, class, code, version } => {
            let task = known_task(&stores.state.tasks().await?, task)?;
            if !ids.is_empty() {
                open_letters(&stores, &ids, Some(&task)).await?;
            }
            let ids = (!ids.is_empty()).then_some(ids);
            let filter = LetterFilter { state: Some(LetterState::Open), class, code, ids };
            replay(common, stores, task, filter, version.map(TaskVersion::new)).await
        }
        Verb::Discard { ids, task, class, code } => {
            let chosen = match task {
                None => open_letters(&stores, &ids, None).await?,
                Some(task) => {
                    if class.is_none() && code.is_none() {
                        return Err(Failure::usage(
                            "discarding all dead letters of a task takes a class or a code",
                            "add --class or --code, or name the letters",
                        ));
                    }
                    let task = known_task(&stores.state.tasks().await?, task)?;
                    let filter = LetterFilter { state: Some(LetterState::Open), class, code, ids: None };
                    stores.state.dead_letters(&task, &filter, 0, usize::MAX).await?
                }
            };
            discard(common, &stores, chosen).await
        }
    }
}

async fn list(stores: &Stores, task: TaskId, filter: LetterFilter, limit: usize) -> Result<Answer, Failure> {
    let task = known_task(&stores.state.tasks().await?, task)?;
    let letters = stores.state.dead_letters(&task, &filter, 0, limit).await?;
    let total = stores.state.dead_letter_count(&task, &filter).await?;
    let json: Vec<_> = letters.iter().map(letter_json).collect();
    let json = json!({ "task": task, "total": total, "deadLetters": json });
    if letters.is_empty() {
        let which = filter.state.map_or(String::new(), |state| format!("{} ", state.as_str().to_lowercase()));
        return Ok(Answer::done(format!("no {which}dead letters\n"), json));
    }
    let heading = [
        "id",
        "state",
        "at",
        "class",
        "code",
        "column",
        "where",
        "version",
        "batch",
        "first failed",
        "last failed",
        "replays",
    ];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    rows.extend(letters.iter().map(|letter| {
        let failure = letter.failure();
        vec![
            letter.id.to_string(),
            state_of(letter).into(),
            failure.refused_at.clone(),
            failure.class.clone(),
            failure.code.clone(),
            failure.field.clone().unwrap_or_else(|| "-".into()),
            letter.position.to_string(),
            failure.task_version.to_string(),
            letter.batch_id.to_string(),
            time(letter.first.at),
            time(failure.at),
            letter.replay_count.to_string(),
        ]
    }));
    let mut text = table(&rows);
    let left = total.saturating_sub(letters.len() as u64);
    if left > 0 {
        text += &format!("and {} more: raise --limit\n", grouped(left));
    }
    Ok(Answer::done(text, json))
}

/// An open letter that no longer counts is moot: its record was judged anew, or set aside with its batch.
fn state_of(letter: &DeadLetterRow) -> &'static str {
    match letter.state {
        LetterState::Open if letter.counts => "open",
        LetterState::Open => "superseded",
        LetterState::Replayed => "replayed",
        LetterState::Discarded => "discarded",
    }
}

fn letter_json(letter: &DeadLetterRow) -> Value {
    let failure = |failure: &state::Failure| {
        json!({
            "taskVersion": failure.task_version, "refusedAt": failure.refused_at, "class": failure.class,
            "code": failure.code, "field": failure.field, "message": failure.message, "failedAt": failure.at,
        })
    };
    json!({
        "id": letter.id, "task": letter.task_id, "state": state_of(letter), "schemaId": letter.schema_id,
        "batchId": letter.batch_id, "output": letter.output, "position": letter.position,
        "first": failure(&letter.first), "last": failure(letter.failure()),
        "replayCount": letter.replay_count, "settledBy": letter.settled_by,
    })
}

async fn show(stores: &Stores, id: i64) -> Result<Answer, Failure> {
    let Some(letter) = stores.state.dead_letter(id).await? else {
        return Err(unknown(&[format!("there is no dead letter {id}")]));
    };
    let place = match &letter.position {
        RecordPosition::Source { object_sequence, record, .. } => {
            format!("{}, record {record} of file version {object_sequence}", letter.position)
        }
        RecordPosition::Batch { .. } => letter.position.to_string(),
    };
    let mut rows = vec![
        vec!["dead letter".to_owned(), format!("{id} of {}, {}", letter.task_id, state_of(&letter))],
        vec!["where".into(), place],
        vec!["batch".into(), letter.batch_id.to_string()],
        vec!["schema".into(), letter.schema_id.to_string()],
    ];
    rows.extend(letter.output.iter().map(|output| vec!["output".into(), output.clone()]));
    rows.push(vec!["replays".into(), letter.replay_count.to_string()]);
    rows.extend(letter.settled_by.iter().map(|batch| vec!["replayed by".into(), format!("batch {batch}")]));
    let mut text = table(&rows);
    text += &format!("\nfirst failure\n{}", failure_text(&letter.first));
    if let Some(last) = &letter.last {
        text += &format!("\nlast failure\n{}", failure_text(last));
    }
    Ok(Answer::done(text, letter_json(&letter)))
}

fn failure_text(failure: &state::Failure) -> String {
    let mut rows = vec![
        vec!["  when".to_owned(), time(failure.at)],
        vec!["  version".into(), failure.task_version.to_string()],
        vec!["  refused at".into(), failure.refused_at.clone()],
        vec!["  class".into(), failure.class.clone()],
        vec!["  code".into(), failure.code.clone()],
    ];
    rows.extend(failure.field.iter().map(|field| vec!["  column".into(), field.clone()]));
    rows.push(vec!["  message".into(), failure.message.clone()]);
    table(&rows)
}

fn unknown(problems: &[String]) -> Failure {
    Failure::usage(problems.join("; "), "they are listed by `gristmill dlq list <task> --status all`")
}

/// The letters of some ids, which must all be open and, where a task is given, its own.
async fn open_letters(stores: &Stores, ids: &[i64], task: Option<&TaskId>) -> Result<Vec<DeadLetterRow>, Failure> {
    let (mut letters, mut problems) = (Vec::new(), Vec::new());
    for id in ids {
        match stores.state.dead_letter(*id).await? {
            None => problems.push(format!("there is no dead letter {id}")),
            Some(letter) if task.is_some_and(|task| *task != letter.task_id) => {
                problems.push(format!("dead letter {id} is one of task {}", letter.task_id));
            }
            Some(letter) if letter.state != LetterState::Open || !letter.counts => {
                problems.push(format!("dead letter {id} is {}", state_of(&letter)));
            }
            Some(letter) => letters.push(letter),
        }
    }
    if problems.is_empty() { Ok(letters) } else { Err(unknown(&problems)) }
}

async fn discard(common: &Common, stores: &Stores, letters: Vec<DeadLetterRow>) -> Result<Answer, Failure> {
    let mut by_task = BTreeMap::<TaskId, Vec<i64>>::new();
    for letter in letters {
        by_task.entry(letter.task_id).or_default().push(letter.id);
    }
    let mut discarded = 0;
    for (task, ids) in by_task {
        // Under the lease: no replay may be about to settle what is discarded.
        let locks = Folders::of(common).locks();
        let lease = LocalLease::claim(&stores.state, &locks, &task, &PartitionId::dead_letters()).await?;
        let on_their_way = stores.state.letters_on_their_way(&ids).await?;
        if !on_their_way.is_empty() {
            lease.release().await?;
            let ids: Vec<_> = on_their_way.iter().map(ToString::to_string).collect();
            return Err(Failure::usage(
                format!("dead letters {} are on their way to the target in a stored batch", ids.join(", ")),
                format!("finish the replay that was interrupted: `gristmill dlq replay {task}`"),
            ));
        }
        discarded += stores.state.discard_letters(lease.tenure(), &ids).await?;
        lease.release().await?;
    }
    let text = format!("{}\n", counted(discarded, "discarded"));
    Ok(Answer::done(text, json!({ "discarded": discarded })))
}

fn counted(letters: u64, what: &str) -> String {
    let noun = if letters == 1 { "dead letter" } else { "dead letters" };
    format!("{} {noun} {what}", grouped(letters))
}

async fn replay(
    common: &Common,
    stores: Stores,
    task: TaskId,
    filter: LetterFilter,
    version: Option<TaskVersion>,
) -> Result<Answer, Failure> {
    let loader = stores.loader(setup::host(common, None)?);
    let latest = stores.state.latest_version(&task).await?;
    let Some(number) = version.or(latest) else {
        return Err(Failure::usage("the task has no version", "publish its pipeline"));
    };
    let version = loader.version(&task, number).await?;
    let pipeline = loader.pipeline(&version)?;
    let published = Arc::new(loader.published(&version, &pipeline).await?);
    let sink = connect::sink(&pipeline).map_err(|error| Failure::from(RunError::Sink { error, batch: None }))?;
    let spool = setup::spool(common)?;
    let locks = Folders::of(common).locks();
    let lease = LocalLease::claim(&stores.state, &locks, &task, &PartitionId::dead_letters()).await?;
    let progress = Arc::new(Progress::default());
    let work = Replay {
        loader,
        batches: stores.batches,
        lease,
        sink,
        version: version.clone(),
        published,
        open_rereader: Box::new(move |published: &Published, read: &Cursor, state: &BTreeMap<String, String>| {
            connect::rereader(&published.settings.source, published.source_schema.clone(), &spool, read, state)
        }),
        stop: stop_signal(),
        progress: progress.clone(),
    };
    let shown = show_progress(common, progress);
    let done = dead_letters::replay(work, &filter).await;
    shown.finish();
    Ok(answer(&version, done?))
}

fn answer(version: &TaskVersionRow, done: Replayed) -> Answer {
    let Replayed { replayed, failed_again, not_tried, summary } = done;
    let mut text = format!("{} with version {}\n", counted(replayed, "replayed"), version.version);
    let failed: u64 = failed_again.values().sum();
    if failed > 0 {
        let each = failed_again.iter().map(|((class, code), n)| match class == code {
            true => format!("{} {class}", grouped(*n)),
            false => format!("{} {class} ({code})", grouped(*n)),
        });
        text += &format!("{} failed again: {}\n", grouped(failed), each.collect::<Vec<_>>().join(", "));
    }
    for (why, letters) in &not_tried {
        let ids = letters.iter().take(5).map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let more = if letters.len() > 5 { ", …" } else { "" };
        text += &format!("{} not tried: {why} ({ids}{more})\n", grouped(letters.len() as u64));
    }
    if summary.interrupted {
        text += "interrupted: go on with the same command\n";
    }
    let failed_again: Vec<_> =
        failed_again.iter().map(|((class, code), n)| json!({ "class": class, "code": code, "count": n })).collect();
    let exit = match (summary.interrupted, failed_again.is_empty() && not_tried.is_empty()) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Done,
        (false, false) => Exit::Failed,
    };
    let not_tried: Vec<_> =
        not_tried.iter().map(|(why, letters)| json!({ "reason": why, "deadLetters": letters })).collect();
    let json = json!({
        "taskVersion": version.version, "replayed": replayed, "failedAgain": failed_again, "notTried": not_tried,
        "summary": summary,
    });
    Answer { exit, text, json }
}
