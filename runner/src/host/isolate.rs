//! The search for the rows that make a call fail: whole, whole again, then halves, until rows fail alone.

use super::fault::{Fault, Isolation, IsolationEnd};
use super::limits::POISON_ROWS_MAX;
use std::ops::Range;

/// What came of a batch.
#[derive(Debug)]
pub(super) struct Isolated<T> {
    /// Parts that passed, ascending and apart.
    pub(super) parts: Vec<(Range<u32>, T)>,
    /// Rows that failed alone, ascending, with their faults. With the parts they make up the batch.
    pub(super) poison: Vec<(u32, Fault)>,
}

/// Calls with the whole batch and, if that fails twice, with ever smaller parts of it.
///
/// Parts may all pass where the whole did not: a batch too large for a limit is done in pieces. Where no row passes, or too
/// many fail, it is the guest and the batch fails. `out_of_time` is asked before each call of the search. `keep` counts what
/// each part returned: limits of a call alone would let many small parts return without bound what the whole may not.
pub(super) fn isolate<T>(
    rows: u32,
    mut call: impl FnMut(Range<u32>) -> Result<T, Fault>,
    mut keep: impl FnMut(&T) -> Result<(), Fault>,
    out_of_time: impl Fn() -> bool,
) -> Result<Isolated<T>, (Fault, Option<Isolation>)> {
    let mut last = Fault::Runner { message: "no call was made".into() };
    // Twice: a fault that a second fresh instance does not repeat costs nothing.
    for _ in 0..2 {
        match call(0..rows) {
            Ok(whole) => return Ok(Isolated { parts: vec![(0..rows, whole)], poison: Vec::new() }),
            Err(fault) if !fault.may_be_a_row() => return Err((fault, None)),
            Err(fault) => last = fault,
        }
    }
    let mut found = Isolated { parts: Vec::new(), poison: Vec::new() };
    let give_up = |fault: Fault, found: Isolated<T>, end: IsolationEnd| {
        let passed = found.parts.iter().map(|(range, _)| range.end - range.start).sum();
        let poison = found.poison.into_iter().map(|(row, _)| row).collect();
        Err((fault, Some(Isolation { rows, passed, poison, end })))
    };
    // Parts still to try, the next one last.
    let mut untried = halves(0..rows);
    while let Some(part) = untried.pop() {
        if out_of_time() {
            return give_up(last, found, IsolationEnd::OutOfTime);
        }
        match call(part.clone()) {
            Ok(output) => match keep(&output) {
                Ok(()) => found.parts.push((part, output)),
                Err(fault) => return give_up(fault, found, IsolationEnd::TooMuchOutput),
            },
            Err(fault) if !fault.may_be_a_row() => return give_up(fault, found, IsolationEnd::OtherFault),
            Err(fault) if part.len() == 1 => {
                last = fault.clone();
                found.poison.push((part.start, fault));
                if found.poison.len() > POISON_ROWS_MAX {
                    return give_up(last, found, IsolationEnd::TooManyRows);
                }
            }
            Err(fault) => {
                last = fault;
                untried.extend(halves(part));
            }
        }
    }
    if found.parts.is_empty() {
        return give_up(last, found, IsolationEnd::NoRowPassed);
    }
    Ok(found)
}

/// Both halves, the first one last. Nothing for a part that cannot be halved.
fn halves(part: Range<u32>) -> Vec<Range<u32>> {
    if part.len() < 2 {
        return Vec::new();
    }
    let middle = part.start + (part.end - part.start) / 2;
    vec![middle..part.end, part.start..middle]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::Cell;
    use std::collections::BTreeSet;

    fn trap() -> Fault {
        Fault::Trap { message: "unreachable".into(), backtrace: Vec::new() }
    }

    /// A guest that traps on some rows and for the rest returns the rows that it got.
    fn trapping_on(bad: &BTreeSet<u32>) -> impl FnMut(Range<u32>) -> Result<Vec<u32>, Fault> {
        |part| if part.clone().any(|row| bad.contains(&row)) { Err(trap()) } else { Ok(part.collect()) }
    }

    proptest! {
        #[test]
        fn exactly_the_rows_at_fault_are_found(rows in 1u32..3000, bad in proptest::collection::btree_set(0u32..3000, 0..20)) {
            let bad: BTreeSet<u32> = bad.into_iter().filter(|row| *row < rows).collect();
            let calls = Cell::new(0);
            let mut guest = trapping_on(&bad);
            let found = isolate(rows, |part| { calls.set(calls.get() + 1); guest(part) }, |_| Ok(()), || false);
            if bad.len() as u32 == rows {
                let (_, isolation) = found.unwrap_err();
                prop_assert_eq!(isolation.unwrap().passed, 0);
            } else if bad.len() > POISON_ROWS_MAX {
                let (fault, isolation) = found.unwrap_err();
                prop_assert_eq!(fault, trap());
                prop_assert_eq!(isolation.unwrap().end, IsolationEnd::TooManyRows);
            } else {
                let found = found.unwrap();
                let poison: Vec<u32> = found.poison.iter().map(|(row, _)| *row).collect();
                prop_assert_eq!(&poison, &bad.iter().copied().collect::<Vec<_>>());
                let passed: Vec<u32> = found.parts.into_iter().flat_map(|(_, rows)| rows).collect();
                prop_assert_eq!(passed, (0..rows).filter(|row| !bad.contains(row)).collect::<Vec<_>>());
            }
            // Each row at fault costs at most two calls for each halving.
            prop_assert!(calls.get() <= 2 + 2 * (bad.len() + 1) * 13, "{} calls", calls.get());
        }
    }

    #[test]
    fn a_fault_that_does_not_repeat_costs_one_retry() {
        let mut calls = 0;
        let found = isolate(
            10,
            |part| {
                calls += 1;
                if calls == 1 { Err(trap()) } else { Ok(part) }
            },
            |_| Ok(()),
            || false,
        )
        .unwrap();
        assert_eq!((calls, found.parts.len(), found.poison.len()), (2, 1, 0));
    }

    #[test]
    fn a_batch_too_large_for_a_limit_is_done_in_pieces() {
        let cap = Fault::OutputCap { output_max_bytes: 1 };
        let found =
            isolate(100, |part| if part.len() > 30 { Err(cap.clone()) } else { Ok(part) }, |_| Ok(()), || false)
                .unwrap();
        assert_eq!(found.parts.len(), 4);
        assert!(found.poison.is_empty());
    }

    #[test]
    fn what_the_parts_return_is_bounded_together() {
        let trap_of_the_whole = |part: Range<u32>| if part.len() > 25 { Err(trap()) } else { Ok(part) };
        let cap = Fault::OutputCap { output_max_bytes: 60 };
        let mut left = 60_u32;
        let keep = |part: &Range<u32>| {
            left = left.checked_sub(part.end - part.start).ok_or(cap.clone())?;
            Ok(())
        };
        let (fault, isolation) = isolate(100, trap_of_the_whole, keep, || false).unwrap_err();
        assert_eq!(fault, cap);
        let isolation = isolation.unwrap();
        assert_eq!((isolation.end, isolation.passed), (IsolationEnd::TooMuchOutput, 50));
    }

    #[test]
    fn a_guest_that_fails_on_every_row_is_at_fault_itself() {
        for rows in [0, 1, 2, 7] {
            let (fault, isolation) = isolate::<()>(rows, |_| Err(trap()), |_| Ok(()), || false).unwrap_err();
            assert_eq!(fault, trap());
            assert_eq!(isolation.unwrap().end, IsolationEnd::NoRowPassed);
        }
    }

    #[test]
    fn a_refusal_is_final() {
        let mut calls = 0;
        let refused = Fault::Refused { code: "no".into(), message: "no".into() };
        let result = isolate::<()>(
            10,
            |_| {
                calls += 1;
                Err(refused.clone())
            },
            |_| Ok(()),
            || false,
        );
        assert_eq!(result.unwrap_err(), (refused, None));
        assert_eq!(calls, 1);
    }

    #[test]
    fn time_bounds_the_search() {
        let calls = Cell::new(0);
        let bad = BTreeSet::from([999]);
        let mut guest = trapping_on(&bad);
        let result = isolate(
            1000,
            |part| {
                calls.set(calls.get() + 1);
                guest(part)
            },
            |_| Ok(()),
            || calls.get() >= 6,
        );
        let (_, isolation) = result.unwrap_err();
        let isolation = isolation.unwrap();
        assert_eq!(isolation.end, IsolationEnd::OutOfTime);
        assert_eq!((isolation.rows, isolation.passed), (1000, 750));
        assert_eq!(calls.get(), 6);
    }
}
