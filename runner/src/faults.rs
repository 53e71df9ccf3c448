//! Named points where a test can kill the process.
//!
//! One point stands before and one after every durable step. They exist only with the feature `faults`, which release
//! builds never have; without it [`reach`] is empty. `GRISTMILL_FAULT=<point>[:<n>]` aborts the process the n-th time
//! that it reaches the point (default: the first), without running any destructor: what `kill -9` would leave.

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
    ReceiptBefore = "receipt-before",
    ReceiptAfter = "receipt-after",
    CheckpointBefore = "checkpoint-before",
    CheckpointAfter = "checkpoint-after",
}

#[cfg(not(feature = "faults"))]
#[inline(always)]
pub fn reach(_point: FaultPoint) {}

#[cfg(feature = "faults")]
pub fn reach(point: FaultPoint) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static ARMED: OnceLock<Option<(String, u64)>> = OnceLock::new();
    static HITS: AtomicU64 = AtomicU64::new(0);

    let armed = ARMED.get_or_init(|| {
        let text = std::env::var("GRISTMILL_FAULT").ok()?;
        let (name, nth) = text.split_once(':').unwrap_or((&text, "1"));
        let known = FaultPoint::ALL.iter().any(|p| p.name() == name);
        assert!(known, "GRISTMILL_FAULT names no fault point: {name}");
        Some((name.to_owned(), nth.parse().expect("GRISTMILL_FAULT=<point>:<n>")))
    });
    if let Some((name, nth)) = armed
        && name == point.name()
        && HITS.fetch_add(1, Ordering::SeqCst) + 1 == *nth
    {
        eprintln!("fault point {name} reached {nth} time(s): aborting");
        std::process::abort();
    }
}
