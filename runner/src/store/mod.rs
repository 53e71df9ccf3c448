//! Durable state: batches, checkpoints, leases, receipts.
