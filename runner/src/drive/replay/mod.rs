//! Stored batches, mapped again.
//!
//! * [`verify()`]: with the code of their manifests, compared with the receipts; nothing is written.
//! * [`elsewhere()`]: into another target, under their own ids; the state is left as it is.
//! * [`anew`]: with the code of a task version, as batches of a new epoch in the task's own target. A *rebuild* maps all of a
//!   history into tables beside those in use, which then take their place; a *repair* maps a part of it in place.
//!
//! All go on where they were when they are started again after a kill.

mod anew;
mod elsewhere;
mod scope;
mod vanished;
mod verify;

pub use anew::{Anew, Rewritten, begin, resume};
pub use elsewhere::{Elsewhere, elsewhere};
pub(super) use scope::repinned;
pub use scope::{Bound, PinChoice, Scope, check_chains};
pub(super) use verify::page_of;
pub use verify::{Different, Verified, verify};
