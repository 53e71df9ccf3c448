//! The plan of a transform: what it reads, what it looks up and what it gives.

use crate::failure::Failure;
use crate::kind::Kind;
use crate::raw;
use crate::setup::Setup;
use crate::types::{DataType, Field};
use std::fmt;
use std::marker::PhantomData;

/// Builds the plan. Everything that it hands out is a handle to use in `process`.
///
/// Reading a column or a look-up twice costs nothing: it crosses the boundary once.
#[derive(Debug)]
pub struct Plan<'s> {
    setup: &'s Setup,
    reads: Vec<Read>,
    lookups: Vec<Lookup>,
    outputs: Vec<OutputPlan>,
}

/// A column that `process` receives.
#[derive(Debug, Clone)]
pub(crate) struct Read {
    pub source: Source,
    pub field: Field,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    Input(String),
    Lookup(usize),
    Operation,
}

#[derive(Debug, Clone)]
pub(crate) struct Lookup {
    pub dictionary: String,
    pub key: String,
    pub value: Field,
}

#[derive(Debug)]
pub(crate) struct OutputPlan {
    pub name: String,
    pub columns: Vec<OutputColumn>,
    /// How many of the columns are computed.
    pub computed: usize,
}

#[derive(Debug)]
pub(crate) enum OutputColumn {
    Forwarded { source: Source, field: Field },
    Computed(Field),
}

impl OutputColumn {
    pub fn field(&self) -> &Field {
        match self {
            Self::Forwarded { field, .. } | Self::Computed(field) => field,
        }
    }
}

/// A column to read in `process`.
pub struct In<K> {
    pub(crate) place: usize,
    kind: PhantomData<K>,
}

impl<K> Clone for In<K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K> Copy for In<K> {}
impl<K> fmt::Debug for In<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "In({})", self.place)
    }
}

/// A column to compute in `process`.
#[derive(Debug, Clone)]
pub struct Out<K> {
    pub(crate) output: Output,
    /// Among the output's computed columns.
    pub(crate) place: usize,
    pub(crate) kind: K,
}

impl<K: Kind> Out<K> {
    /// A builder of the column's type, with room for this many values.
    pub fn builder(&self, capacity: usize) -> K::Builder {
        self.kind.builder(capacity)
    }
    /// The output that the column belongs to.
    pub fn output(&self) -> Output {
        self.output
    }
}

/// An output of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Output(pub(crate) usize);

/// A look-up of the plan: a dictionary's column, joined by the runner.
#[derive(Debug, Clone)]
pub struct LookupColumn {
    place: usize,
    field: Field,
}

impl LookupColumn {
    /// The type that the dictionary has the column in.
    pub fn data_type(&self) -> &DataType {
        &self.field.data_type
    }
}

impl<'s> Plan<'s> {
    pub(crate) fn new(setup: &'s Setup) -> Self {
        Self { setup, reads: Vec::new(), lookups: Vec::new(), outputs: Vec::new() }
    }

    /// Reads an input column. Fails with `missing-column` or `wrong-type`.
    pub fn read<K: Kind>(&mut self, column: &str) -> Result<In<K>, Failure> {
        let field = self.input(column)?.clone();
        self.add_read(Source::Input(column.to_owned()), field)
    }

    /// Reads the operation of each row: 0 insert, 1 update, 2 delete.
    pub fn read_operation(&mut self) -> In<crate::UInt8> {
        match self.add_read(Source::Operation, operation_field("operation")) {
            Ok(place) => place,
            Err(_) => unreachable!("operations are uint8"),
        }
    }

    /// Reads a look-up. Fails with `wrong-type`.
    pub fn read_lookup<K: Kind>(&mut self, lookup: &LookupColumn) -> Result<In<K>, Failure> {
        self.add_read(Source::Lookup(lookup.place), lookup.field.clone())
    }

    fn add_read<K: Kind>(&mut self, source: Source, field: Field) -> Result<In<K>, Failure> {
        if !K::accepts(&field.data_type) {
            let message = format!("column `{}` is {}, not {}", field.name, field.data_type, K::NAME);
            return Err(Failure::new("wrong-type", message));
        }
        let place = self.reads.iter().position(|read| read.source == source).unwrap_or_else(|| {
            self.reads.push(Read { source, field });
            self.reads.len() - 1
        });
        Ok(In { place, kind: PhantomData })
    }

    /// Looks up a dictionary's column `value` by the input column `key`: null where the dictionary has no such key.
    /// Fails with `missing-dictionary` or `missing-column`. The value crosses the boundary only if it is read.
    pub fn lookup(&mut self, dictionary: &str, key: &str, value: &str) -> Result<LookupColumn, Failure> {
        self.input(key)?;
        let field = self.setup.dictionary(dictionary)?.fields.iter().find(|field| field.name == value);
        let Some(field) = field else {
            let message = format!("dictionary `{dictionary}` has no column `{value}`");
            return Err(Failure::new("missing-column", message));
        };
        let field = Field { nullable: true, ..field.clone() };
        let same = |l: &Lookup| l.dictionary == dictionary && l.key == key && l.value.name == value;
        let place = self.lookups.iter().position(same).unwrap_or_else(|| {
            let lookup = Lookup { dictionary: dictionary.into(), key: key.into(), value: field.clone() };
            self.lookups.push(lookup);
            self.lookups.len() - 1
        });
        Ok(LookupColumn { place, field })
    }

    /// Adds an output. Stages normalize and migrate have one, `records`; stage map has one for each target table.
    pub fn output(&mut self, name: &str) -> Output {
        self.outputs.push(OutputPlan { name: name.to_owned(), columns: Vec::new(), computed: 0 });
        Output(self.outputs.len() - 1)
    }

    /// The next column of the output is an input column, under its own name; it does not cross the boundary.
    pub fn forward(&mut self, output: Output, column: &str) -> Result<(), Failure> {
        self.forward_as(output, column, column)
    }

    /// The next column of the output is an input column under another name.
    pub fn forward_as(&mut self, output: Output, name: &str, column: &str) -> Result<(), Failure> {
        let field = Field { name: name.to_owned(), ..self.input(column)?.clone() };
        self.add_column(output, OutputColumn::Forwarded { source: Source::Input(column.to_owned()), field })
    }

    /// The next column of the output is a look-up; it does not cross the boundary.
    pub fn forward_lookup(&mut self, output: Output, name: &str, lookup: &LookupColumn) -> Result<(), Failure> {
        let field = Field { name: name.to_owned(), ..lookup.field.clone() };
        self.add_column(output, OutputColumn::Forwarded { source: Source::Lookup(lookup.place), field })
    }

    /// The next column of the output is the operation of each row, as uint8.
    pub fn forward_operation(&mut self, output: Output, name: &str) -> Result<(), Failure> {
        let field = operation_field(name);
        self.add_column(output, OutputColumn::Forwarded { source: Source::Operation, field })
    }

    /// The next column of the output is computed by `process` and may hold nulls.
    pub fn compute<K: Kind>(&mut self, output: Output, name: &str, kind: K) -> Result<Out<K>, Failure> {
        let field = Field::new(name, kind.data_type());
        self.add_computed(output, field, kind)
    }

    /// The next column of the output is computed by `process` and never holds nulls.
    pub fn compute_required<K: Kind>(&mut self, output: Output, name: &str, kind: K) -> Result<Out<K>, Failure> {
        let field = Field::required(name, kind.data_type());
        self.add_computed(output, field, kind)
    }

    fn add_computed<K: Kind>(&mut self, output: Output, field: Field, kind: K) -> Result<Out<K>, Failure> {
        let place = self.outputs[output.0].computed;
        self.add_column(output, OutputColumn::Computed(field))?;
        self.outputs[output.0].computed += 1;
        Ok(Out { output, place, kind })
    }

    fn add_column(&mut self, output: Output, column: OutputColumn) -> Result<(), Failure> {
        let output = &mut self.outputs[output.0];
        let name = &column.field().name;
        if output.columns.iter().any(|other| other.field().name == *name) {
            let message = format!("output `{}` has two columns named `{name}`", output.name);
            return Err(Failure::new("duplicate-column", message));
        }
        output.columns.push(column);
        Ok(())
    }

    fn input(&self, column: &str) -> Result<&'s Field, Failure> {
        self.setup.input_field(column).ok_or_else(|| {
            let names = self.setup.input().iter().map(|field| field.name.as_str()).collect::<Vec<_>>().join(", ");
            Failure::new("missing-column", format!("the input has no column `{column}`; it has {names}"))
        })
    }

    pub(crate) fn reads(&self) -> &[Read] {
        &self.reads
    }
    pub(crate) fn outputs(&self) -> &[OutputPlan] {
        &self.outputs
    }
    pub(crate) fn lookup_dictionary(&self, place: usize) -> &str {
        &self.lookups[place].dictionary
    }

    pub(crate) fn finish(self) -> Finished {
        Finished { reads: self.reads, lookups: self.lookups, outputs: self.outputs }
    }
}

/// A plan that takes no more columns.
#[derive(Debug)]
pub(crate) struct Finished {
    pub reads: Vec<Read>,
    pub lookups: Vec<Lookup>,
    pub outputs: Vec<OutputPlan>,
}

impl Finished {
    pub fn to_raw(&self) -> raw::Plan {
        let lookup = |l: &Lookup| raw::Lookup {
            dictionary: l.dictionary.clone(),
            key: l.key.clone(),
            value: l.value.name.clone(),
        };
        raw::Plan {
            reads: self.reads.iter().map(|read| read.source.to_raw()).collect(),
            lookups: self.lookups.iter().map(lookup).collect(),
            outputs: self.outputs.iter().map(OutputPlan::to_raw).collect(),
        }
    }
}

impl OutputPlan {
    fn to_raw(&self) -> raw::OutputPlan {
        let column = |column: &OutputColumn| match column {
            OutputColumn::Forwarded { source, field } => {
                raw::OutputColumn::Forwarded(raw::ForwardedColumn { name: field.name.clone(), source: source.to_raw() })
            }
            OutputColumn::Computed(field) => raw::OutputColumn::Computed(field.to_tree()),
        };
        raw::OutputPlan { name: self.name.clone(), columns: self.columns.iter().map(column).collect() }
    }

    pub fn computed_fields(&self) -> impl Iterator<Item = &Field> {
        self.columns.iter().filter_map(|column| match column {
            OutputColumn::Computed(field) => Some(field),
            OutputColumn::Forwarded { .. } => None,
        })
    }
}

impl Source {
    fn to_raw(&self) -> raw::ColumnSource {
        match self {
            Self::Input(name) => raw::ColumnSource::Input(name.clone()),
            Self::Lookup(place) => raw::ColumnSource::Lookup(*place as u32),
            Self::Operation => raw::ColumnSource::Operation,
        }
    }
}

fn operation_field(name: &str) -> Field {
    Field::required(name, DataType::UInt8)
}
