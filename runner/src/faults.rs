//! Named points where a test can kill the process.
//!
//! One point stands before and one after every durable step. They exist only with the feature `faults`, which release
//! builds never have; without it [`reach`] is empty. `GRISTMILL_FAULT=<point>[:<n>]` aborts the process the n-th time
//! that it reaches the point (default: the first), without running any destructor: what `kill -9` would leave. With `=stop`
//! it is suspended instead, until it is sent SIGCONT.

macro_rules! fault_points {
    ($($(#[$doc:meta])* $variant:ident = $name:literal),+ $(,)?) => {
        /// A point before or after a durable step.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum FaultPoint { $($(#[$doc])* $variant),+ }

        impl FaultPoint {
            /// Every point: the crash tests go through all of them.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }
    };
}

fault_points! {
    ComponentStoreBefore = "component-store-before",
    ComponentStoreAfter = "component-store-after",
    SchemaFreezeBefore = "schema-freeze-before",
    SchemaFreezeAfter = "schema-freeze-after",
    TaskVersionBefore = "task-version-before",
    TaskVersionAfter = "task-version-after",
    /// What is met, planned, tried or done about a changed schema.
    SchemaChangeBefore = "schema-change-before",
    SchemaChangeAfter = "schema-change-after",
    ReplayBeginBefore = "replay-begin-before",
    ReplayBeginAfter = "replay-begin-after",
    ReplayEndBefore = "replay-end-before",
    ReplayEndAfter = "replay-end-after",
    LeaseClaimBefore = "lease-claim-before",
    LeaseClaimAfter = "lease-claim-after",
    SinkFenceBefore = "sink-fence-before",
    SinkFenceAfter = "sink-fence-after",
    BatchDataBefore = "batch-data-before",
    BatchDataAfter = "batch-data-after",
    BatchManifestBefore = "batch-manifest-before",
    BatchManifestAfter = "batch-manifest-after",
    BatchReadyBefore = "batch-ready-before",
    BatchReadyAfter = "batch-ready-after",
    /// Inside a sink that stores objects: before and after the data object.
    SinkDataBefore = "sink-data-before",
    SinkDataAfter = "sink-data-after",
    /// Inside every sink: before and after the one step that makes the batch visible.
    SinkCommitBefore = "sink-commit-before",
    SinkCommitAfter = "sink-commit-after",
    /// Inside every sink: before and after the one step that puts rebuilt tables in their places.
    SinkSwapBefore = "sink-swap-before",
    SinkSwapAfter = "sink-swap-after",
    ReceiptBefore = "receipt-before",
    ReceiptAfter = "receipt-after",
    CheckpointBefore = "checkpoint-before",
    CheckpointAfter = "checkpoint-after",
    /// What becomes of dead letters without a batch: failed again, or discarded.
    DeadLettersBefore = "dead-letters-before",
    DeadLettersAfter = "dead-letters-after",
}

#[cfg(not(feature = "faults"))]
#[inline(always)]
pub fn reach(_point: FaultPoint) {}

#[cfg(feature = "faults")]
pub fn reach(point: FaultPoint) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static ARMED: OnceLock<Option<Armed>> = OnceLock::new();
    static HITS: AtomicU64 = AtomicU64::new(0);

    if let Some(armed) = ARMED.get_or_init(Armed::from_environment)
        && armed.point == point
        && HITS.fetch_add(1, Ordering::SeqCst) + 1 == armed.nth
    {
        eprintln!("fault point {} reached for the {}. time", point.name(), armed.nth);
        if armed.stop {
            // A process that loses its time but keeps its memory: what a long pause makes of a lease holder.
            let pid = std::process::id().to_string();
            let _ = std::process::Command::new("kill").args(["-STOP", &pid]).status();
        } else {
            std::process::abort();
        }
    }
}

#[cfg(feature = "faults")]
struct Armed {
    point: FaultPoint,
    nth: u64,
    stop: bool,
}

#[cfg(feature = "faults")]
impl Armed {
    /// A variable that names no point is a mistake in a test: it must not pass as a run without faults.
    fn from_environment() -> Option<Self> {
        let text = std::env::var("GRISTMILL_FAULT").ok()?;
        let (rest, stop) = text.strip_suffix("=stop").map_or((text.as_str(), false), |rest| (rest, true));
        let (name, nth) = rest.split_once(':').unwrap_or((rest, "1"));
        let point = FaultPoint::ALL.iter().copied().find(|p| p.name() == name);
        match (point, nth.parse()) {
            (Some(point), Ok(nth)) => Some(Self { point, nth, stop }),
            _ => panic!("GRISTMILL_FAULT={text}: expected <point>[:<n>][=stop]"),
        }
    }
}
