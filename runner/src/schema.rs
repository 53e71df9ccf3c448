//! Arrow schemas from and to the logical schemas of the core.
