//! The report: one entry for each figure, with its goal.

use crate::Failure;
use crate::machine::Machine;
use crate::places::Places;
use crate::stats::Rounds;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy)]
pub enum Goal {
    AtMost(f64),
    AtLeast(f64),
    /// Reported for its own sake.
    None,
}

#[derive(Debug, Serialize)]
pub struct Report {
    machine: Machine,
    quick: bool,
    figures: BTreeMap<String, Value>,
    #[serde(skip)]
    lines: Vec<String>,
}

impl Report {
    pub fn new(quick: bool) -> Self {
        Self { machine: Machine::now(), quick, figures: BTreeMap::new(), lines: Vec::new() }
    }

    /// `detail` is one JSON object.
    pub fn figure(&mut self, name: &str, unit: &str, rounds: &Rounds, goal: Goal, detail: Value) {
        let value = rounds.median;
        let (goal_text, met) = match goal {
            Goal::AtMost(most) => (format!("≤ {most}"), Some(value <= most)),
            Goal::AtLeast(least) => (format!("≥ {least}"), Some(value >= least)),
            Goal::None => (String::new(), None),
        };
        let mark = met.map_or("", |met| if met { "met" } else { "MISSED" });
        let digits = if value >= 1000.0 { 0 } else { 2 };
        let line = format!(
            "{name:<44}{value:>12.digits$} {unit:<10} {goal_text:<10} {mark:<7} ({:.digits$} … {:.digits$}, {} rounds)",
            rounds.least, rounds.most, rounds.rounds
        );
        eprintln!("{line}");
        self.lines.push(line);
        let entry =
            json!({ "value": value, "unit": unit, "rounds": rounds, "goal": goal_text, "met": met, "detail": detail });
        self.figures.insert(name.to_owned(), entry);
    }

    pub fn write(&self, places: &Places) -> Result<(), Failure> {
        let path = places.bench.join("report.json");
        std::fs::write(&path, serde_json::to_vec_pretty(self)?)?;
        let Machine { cores, cpu, memory_mib, kernel, load_at_start } = &self.machine;
        eprintln!("\n{cores} cores ({cpu}), {memory_mib} MiB, Linux {kernel}, load {load_at_start} at the start");
        if self.quick {
            eprintln!("--quick: fewer rows and rounds; these figures are not to be quoted");
        }
        self.lines.iter().for_each(|line| eprintln!("{line}"));
        eprintln!("written to {}", path.display());
        Ok(())
    }
}
