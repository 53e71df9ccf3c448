//! Medians and spreads of a few rounds.

use serde::Serialize;

/// The rounds of one figure.
#[derive(Debug, Clone, Serialize)]
pub struct Rounds {
    pub median: f64,
    pub least: f64,
    pub most: f64,
    pub rounds: usize,
}

impl Rounds {
    /// Panics if there are none: a measure without rounds is a bug.
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        let median = match values.len() % 2 {
            0 => f64::midpoint(values[middle - 1], values[middle]),
            _ => values[middle],
        };
        Self { median, least: values[0], most: values[values.len() - 1], rounds: values.len() }
    }
}

/// Rounds of a ratio of two figures that were taken in turns.
pub fn ratios(over: &[f64], under: &[f64]) -> Rounds {
    Rounds::of(over.iter().zip(under).map(|(over, under)| over / under).collect())
}

/// The ratio of the fastest rounds: what other work on the machine disturbs least. Both in seconds.
pub fn fastest(over: &[f64], under: &[f64]) -> f64 {
    let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
    least(over) / least(under)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(Rounds::of(vec![3.0, 1.0, 2.0]).median, 2.0);
        assert_eq!(Rounds::of(vec![4.0, 1.0, 2.0, 3.0]).median, 2.5);
        assert_eq!(ratios(&[2.0, 9.0, 4.0], &[1.0, 3.0, 2.0]).median, 2.0);
        assert_eq!(fastest(&[2.0, 9.0, 4.0], &[1.0, 3.0, 2.0]), 2.0);
    }
}
