//! What may come back for a batch: one count for a call, and one for all calls that isolate its rows.

use super::bindings::Processed;
use super::fault::Fault;
use super::limits::{ADDED_ROW_BYTES, ADDED_ROWS_MAX};

/// What a result takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Cost {
    /// Bytes that the guest returned, and what the runner keeps for rows that it added.
    pub(super) returned_bytes: u64,
    /// Bytes of forwarded columns that are not the input's own.
    pub(super) forwarded_bytes: u64,
    /// Rows of each output beyond those of the input.
    pub(super) added_rows: u64,
}

impl Cost {
    /// Of everything that the guest returned for so many rows. Its bytes are no more than what the engine has counted.
    pub(super) fn of_result(processed: &Processed, input_rows: usize) -> Self {
        let mut cost = Self::default();
        for output in &processed.outputs {
            let buffers: usize = output.columns.buffers.iter().map(Vec::len).sum();
            let selection = output.selection.as_ref().map_or(0, |rows| size_of_val(rows.as_slice()));
            let operations = output.operations.as_ref().map_or(0, Vec::len);
            cost.returned_bytes += (buffers + selection + operations) as u64;
            cost.added_rows += u64::from(output.rows).saturating_sub(input_rows as u64);
        }
        for reject in &processed.rejects {
            let texts = reject.code.len() + reject.field.as_ref().map_or(0, String::len) + reject.message.len();
            cost.returned_bytes += texts as u64;
        }
        cost.returned_bytes += cost.added_rows * ADDED_ROW_BYTES;
        cost
    }

    const fn plus(self, more: Self) -> Self {
        Self {
            returned_bytes: self.returned_bytes.saturating_add(more.returned_bytes),
            forwarded_bytes: self.forwarded_bytes.saturating_add(more.forwarded_bytes),
            added_rows: self.added_rows.saturating_add(more.added_rows),
        }
    }
}

/// The most that may come back, and what has.
#[derive(Debug)]
pub(super) struct Budget {
    most: Cost,
    spent: Cost,
    output_max_bytes: usize,
}

impl Budget {
    pub(super) fn new(output_max_bytes: usize, input_bytes: usize) -> Self {
        let returned_bytes = output_max_bytes as u64;
        let forwarded_bytes = returned_bytes.saturating_add(2 * input_bytes as u64);
        let most = Cost { returned_bytes, forwarded_bytes, added_rows: ADDED_ROWS_MAX };
        Self { most, spent: Cost::default(), output_max_bytes }
    }

    /// Refuses what would exceed it, and counts it all the same: what follows is refused too.
    pub(super) fn charge(&mut self, cost: Cost) -> Result<(), Fault> {
        self.spent = self.spent.plus(cost);
        let Cost { returned_bytes, forwarded_bytes, added_rows } = self.spent;
        let fits = returned_bytes <= self.most.returned_bytes
            && forwarded_bytes <= self.most.forwarded_bytes
            && added_rows <= self.most.added_rows;
        if fits { Ok(()) } else { Err(Fault::OutputCap { output_max_bytes: self.output_max_bytes }) }
    }

    pub(super) const fn spent(&self) -> Cost {
        self.spent
    }
}

#[cfg(test)]
mod tests {
    use super::super::bindings::wit::{ColumnsResult, Node, Output};
    use super::*;

    fn result(rows: u32, buffer_bytes: usize) -> Processed {
        let columns = ColumnsResult {
            nodes: vec![Node { length: rows, null_count: 0 }],
            buffers: vec![vec![], vec![0; buffer_bytes]],
        };
        let output = Output { rows, selection: Some(vec![0; rows as usize]), operations: None, columns };
        Processed { outputs: vec![output], rejects: vec![], messages: vec![] }
    }

    #[test]
    fn rows_that_the_guest_added_cost_what_the_runner_keeps_for_them() {
        let none_added = Cost { returned_bytes: 5 + 4 * 10, ..Cost::default() };
        assert_eq!(Cost::of_result(&result(10, 5), 10), none_added);
        assert_eq!(Cost::of_result(&result(10, 5), 12), none_added);
        let three_added = Cost { returned_bytes: 5 + 4 * 10 + 3 * 32, added_rows: 3, ..Cost::default() };
        assert_eq!(Cost::of_result(&result(10, 5), 7), three_added);
    }

    #[test]
    fn each_part_of_the_budget_has_its_end() {
        let cap = Err(Fault::OutputCap { output_max_bytes: 100 });
        let ends = [
            Cost { returned_bytes: 100, ..Cost::default() },
            Cost { forwarded_bytes: 100 + 2 * 7, ..Cost::default() },
            Cost { added_rows: ADDED_ROWS_MAX, ..Cost::default() },
        ];
        let mut all = Budget::new(100, 7);
        for end in ends {
            assert_eq!(all.charge(end), Ok(()), "apart");
            let mut budget = Budget::new(100, 7);
            assert_eq!(budget.charge(end), Ok(()));
            assert_eq!(budget.charge(Cost::default()), Ok(()));
            assert_eq!(budget.charge(end), cap);
        }
        let one_more = Cost { returned_bytes: 1, ..Cost::default() };
        assert_eq!(all.charge(one_more), cap);
    }
}
