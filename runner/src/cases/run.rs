//! One case through the host.

use super::digests::Digests;
use super::manifest::{Case, Folder, Rows};
use super::write::reject_line;
use super::{generate, input};
use crate::content::digest_outputs;
use crate::host::{
    Component, Fault, Host, HostLimits, PlanError, Reject, RejectKind, Selection, StageOutput, StageRows,
};
use arrow::array::{BinaryArray, RecordBatch, UInt8Array};
use gristmill_core::digest::Digest;
use std::time::{Duration, Instant};

/// What a transform made of a case.
pub(super) struct Made {
    pub input_rows: usize,
    /// None: it failed, as the case says that it must.
    pub rows: Option<MadeRows>,
    pub elapsed: Duration,
}

pub(super) struct MadeRows {
    /// Name and rows of each output, in the order of the plan.
    pub outputs: Vec<(String, StageRows)>,
    /// Rows that the transform refused.
    pub rejects: Vec<Reject>,
    /// Rows on which it broke.
    pub poison: Vec<Reject>,
    pub messages: Vec<String>,
    pub digests: Digests,
}

/// Reads or generates the rows of a case, and their operations.
pub fn input(case: &Case) -> Result<(RecordBatch, UInt8Array), String> {
    match &case.rows {
        Rows::File(path, format) => {
            let table = input::read(path, *format, &case.null_values, case.columns.as_ref())?;
            Ok((table.rows, table.operations))
        }
        Rows::Generated(generate) => {
            let columns = case.columns.as_ref().ok_or("rows can only be generated where the columns are stated")?;
            generate::rows(generate, columns).map_err(|e| e.to_string())
        }
    }
}

pub(super) fn run(host: &Host, component: &Component, folder: &Folder, case: &Case) -> Result<Made, String> {
    let (rows, operations) = input(case)?;
    let host = match case.deadline {
        Some(deadline) => &host.with_limits(HostLimits { deadline, ..*host.limits() }).map_err(|e| e.to_string())?,
        None => host,
    };
    let clock = Instant::now();
    let made = |rows_made| Made { input_rows: rows.num_rows(), rows: rows_made, elapsed: clock.elapsed() };
    let planned = match host.plan(component, case.stage, &case.config_json, &rows.schema(), folder.dictionaries()) {
        Ok(planned) => planned,
        Err(PlanError::Refused { code, message, .. }) => return refused(case, &code, &message).map(|()| made(None)),
        Err(error) => return Err(error.to_string()),
    };
    let output = match planned.process(&rows, &operations) {
        Ok(output) => output,
        Err(error) => match &error.fault {
            Fault::Refused { code, message } => return refused(case, code, message).map(|()| made(None)),
            _ => return Err(error.to_string()),
        },
    };
    if let Some(expected) = &case.fails {
        return Err(format!("the case must fail with `{expected}`, and it does not fail"));
    }
    let StageOutput { outputs, rejects, messages } = output;
    let outputs: Vec<_> = planned.outputs().iter().map(|o| o.name.clone()).zip(outputs).collect();
    let (rejects, poison): (Vec<_>, Vec<_>) = rejects.into_iter().partition(|r| r.kind == RejectKind::ByTransform);
    let digests = digests(&outputs, &rejects);
    Ok(made(Some(MadeRows { outputs, rejects, poison, messages, digests })))
}

fn refused(case: &Case, code: &str, message: &str) -> Result<(), String> {
    match &case.fails {
        Some(expected) if expected == code => Ok(()),
        Some(expected) => Err(format!("the case must fail with `{expected}`, and fails with `{code}`: {message}")),
        None => Err(format!("the transform fails with `{code}`: {message}")),
    }
}

fn digests(outputs: &[(String, StageRows)], rejects: &[Reject]) -> Digests {
    let versions = outputs.iter().map(|(_, rows)| origins(rows));
    let versions: Vec<_> =
        versions.map(|origins| BinaryArray::from_iter_values(origins.iter().map(|row| row.to_be_bytes()))).collect();
    let described = outputs.iter().zip(&versions);
    let described = described.map(|((name, rows), versions)| (name.as_str(), &rows.rows, &rows.operations, versions));
    let rejects: String = rejects.iter().map(|reject| reject_line(reject) + "\n").collect();
    Digests { outputs: digest_outputs(described), rejects: Digest::of(rejects.as_bytes()) }
}

/// For each row of an output its input row.
pub(super) fn origins(rows: &StageRows) -> Vec<u32> {
    match &rows.selection {
        Selection::All => (0..rows.rows.num_rows() as u32).collect(),
        Selection::Rows(selected) => selected.values().to_vec(),
    }
}
