//! The command line: one file for each verb.

mod batches;
mod doctor;
mod init;
mod output;
mod replay;
mod run;
mod setup;
mod status;
mod transform;
mod validate;

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
        after_help = "Examples:\n  gristmill run pipeline.yaml            until Ctrl-C\n  gristmill run --once pipeline.yaml     until the source has nothing new"
    )]
    Run(run::Args),
    /// Show where tasks stand: checkpoint, batches, dead letters, lease
    #[command(after_help = "Example:\n  gristmill status flights --json")]
    Status(status::Args),
    /// List, show, verify or set aside stored batches
    #[command(
        subcommand,
        after_help = "Examples:\n  gristmill batches list flights\n  gristmill batches verify flights"
    )]
    Batches(batches::Verb),
    /// Run stored batches again with the components of their manifests
    #[command(after_help = "Example:\n  gristmill replay flights --verify")]
    Replay(replay::Args),
    /// Start, build, test, inspect and measure transforms
    #[command(
        subcommand,
        after_help = "Example:\n  gristmill transform build transforms/rust/flights-map --out components"
    )]
    Transform(transform::Verb),
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
            Verb::Status(args) => status::status(&cli.common, args).await,
            Verb::Batches(verb) => batches::batches(&cli.common, verb).await,
            Verb::Replay(args) => replay::replay(&cli.common, args).await,

            Verb::Transform(verb) => tokio::task::block_in_place(|| transform::transform(&cli.common, verb)),
            Verb::Doctor(args) => doctor::doctor(&cli.common, args).await,
        }
    });
    // A second Ctrl-C ended the wait for blocking work; do not wait for it here either.
    runtime.shutdown_background();
    output.finish(answer)
}
