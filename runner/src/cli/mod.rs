//! The command line: one file for each verb.

mod batches;
mod dlq;
mod doctor;
mod gc;
mod init;
mod live;
mod output;
mod publish;
mod replay;
mod rollback;
mod run;
mod schema;
mod setup;
mod status;
mod tasks;
mod transform;
mod validate;
mod watch;

use clap::{Parser, Subcommand};
use output::{Exit, Output};
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs transformation pipelines whose code is versioned WebAssembly, and can prove which code made each row.
#[derive(Debug, Parser)]
#[command(
    name = "gristmill",
    version,
    max_term_width = 110,
    after_help = "Exit codes: 0 done, 1 failed, 2 bad usage or configuration, 3 stopped for a person, 130 interrupted.\n\
                  Start with `gristmill init` and `gristmill run --once pipeline.yaml`."
)]
struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    verb: Verb,
}

/// Where things are, and how to answer.
#[derive(Debug, clap::Args)]
struct Common {
    /// Folder for the runner's state, locks and caches
    #[arg(long, global = true, env = "GRISTMILL_STATE", default_value = ".gristmill", value_name = "DIR")]
    state: PathBuf,
    /// Where batches, components and dictionaries are kept: a folder or s3://bucket/prefix [default: store/ in --state]
    #[arg(long, global = true, env = "GRISTMILL_STORAGE", value_name = "URL")]
    storage: Option<String>,
    /// Folders with built components, name@version.wasm [default: components beside the pipeline, then ./components]
    #[arg(long, global = true, env = "GRISTMILL_COMPONENTS", value_delimiter = ':', value_name = "DIR")]
    components: Vec<PathBuf>,
    /// Folder for compiled components; they are code, hence private to this user [default: the user's cache folder]
    #[arg(long, global = true, env = "GRISTMILL_CACHE", value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Answer in JSON on standard output
    #[arg(long, global = true)]
    json: bool,
    /// Log more; GRISTMILL_LOG takes a filter such as `gristmill=debug`
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
    /// No progress and no log below warnings
    #[arg(short, long, global = true)]
    quiet: bool,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Write a small pipeline with sample data that runs as it is
    #[command(after_help = "Example:\n  gristmill init orders && cd orders && gristmill run --once pipeline.yaml")]
    Init(init::Args),
    /// Check a pipeline, its source, components and schemas; write nothing
    #[command(
        after_help = "Examples:\n  gristmill validate pipeline.yaml\n  gristmill validate --json-schema > pipeline.schema.json"
    )]
    Validate(validate::Args),
    /// Run a pipeline
    #[command(
        after_help = "Examples:\n  gristmill run pipeline.yaml            until Ctrl-C\n  gristmill run --once pipeline.yaml     until the source has nothing new\n  gristmill run --watch pipeline.yaml    and take what is edited at the next batch boundary"
    )]
    Run(run::Args),
    /// Put a pipeline in force as a new version, without running it
    #[command(
        after_help = "Examples:\n  gristmill publish pipeline.yaml\n  gristmill publish pipeline.yaml --components build/components"
    )]
    Publish(publish::Args),
    /// Put an earlier version in force again, after checking that all it needs is there
    #[command(
        after_help = "Examples:\n  gristmill rollback flights --to 2 --dry-run\n  gristmill rollback flights --to 2"
    )]
    Rollback(rollback::Args),
    /// List tasks and versions; say which code runs for which schema
    #[command(subcommand, after_help = "Examples:\n  gristmill tasks list\n  gristmill tasks show flights --version 3")]
    Tasks(tasks::Verb),
    /// Show where tasks stand: checkpoint, batches, dead letters, lease
    #[command(after_help = "Example:\n  gristmill status flights --json")]
    Status(status::Args),
    /// List, show, verify or set aside stored batches
    #[command(
        subcommand,
        after_help = "Examples:\n  gristmill batches list flights\n  gristmill batches verify flights"
    )]
    Batches(batches::Verb),
    /// Map stored batches again: to verify them, into another target, or with other code
    #[command(
        after_help = "Examples:\n  gristmill replay flights --verify\n  gristmill replay flights --pins original --into sqlite://copy.db\n  gristmill replay flights --pins current                 all of it, in tables that are swapped at the end\n  gristmill replay flights --pins version:2 --from 10 --to 12"
    )]
    Replay(replay::Args),
    /// List, show, check, plan and carry out changes of schemas
    #[command(
        subcommand,
        after_help = "Examples:\n  gristmill schema list\n  gristmill schema plan pipeline.yaml && gristmill schema validate flights && gristmill schema resume flights"
    )]
    Schema(schema::Verb),
    /// List, show, replay or discard dead letters
    #[command(
        subcommand,
        after_help = "Examples:\n  gristmill dlq list flights\n  gristmill dlq replay flights --class rejected      with the latest version\n  gristmill dlq discard 17 18"
    )]
    Dlq(dlq::Verb),
    /// Start, build, test, deploy, list and compare transforms
    #[command(
        subcommand,
        after_help = "Examples:\n  gristmill transform build transforms/rust/flights-map --out components\n  gristmill transform diff flights-map@1.1.0 flights-map@1.2.0 --task flights"
    )]
    Transform(transform::Verb),
    /// Show what in the store nothing refers to and, with --yes, remove it
    #[command(
        after_help = "Examples:\n  gristmill gc              what would be removed, and why\n  gristmill gc --yes"
    )]
    Gc(gc::Args),
    /// Check state, store, engine and, with a pipeline, what it works with
    #[command(after_help = "Example:\n  gristmill doctor pipeline.yaml")]
    Doctor(doctor::Args),
}

/// Parses the arguments, runs the verb, answers with its exit code.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    output::start_log(cli.common.verbose, cli.common.quiet);
    let output = Output::new(cli.common.json);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(e) => {
            eprintln!("error: cannot start: {e}");
            return Exit::Failed.into();
        }
    };
    let answer = runtime.block_on(async {
        match cli.verb {
            Verb::Init(args) => init::init(&args),
            Verb::Validate(args) => validate::validate(&cli.common, args).await,
            Verb::Run(args) => run::run(&cli.common, args).await,
            Verb::Publish(args) => publish::publish(&cli.common, args).await,
            Verb::Rollback(args) => rollback::rollback(&cli.common, args).await,
            Verb::Tasks(verb) => tasks::tasks(&cli.common, verb).await,
            Verb::Status(args) => status::status(&cli.common, args).await,
            Verb::Batches(verb) => batches::batches(&cli.common, verb).await,
            Verb::Replay(args) => replay::replay(&cli.common, args).await,
            Verb::Schema(verb) => schema::schema(&cli.common, verb).await,
            Verb::Dlq(verb) => dlq::dlq(&cli.common, verb).await,
            Verb::Transform(verb) => transform::transform(&cli.common, verb).await,
            Verb::Gc(args) => gc::gc(&cli.common, args).await,
            Verb::Doctor(args) => doctor::doctor(&cli.common, args).await,
        }
    });
    // A second Ctrl-C ended the wait for blocking work; do not wait for it here either.
    runtime.shutdown_background();
    output.finish(answer)
}
