//! The rows of one call.

use crate::build::ArrayData;
use crate::column::Array;
use crate::failure::Failure;
use crate::kind::Kind;
use crate::plan::{In, Read};
use crate::raw;

/// The columns that the plan reads, as received. Views borrow from it and copy nothing.
#[derive(Debug)]
pub struct Batch {
    rows: usize,
    columns: Vec<Received>,
    nodes: Vec<raw::Node>,
    buffers: Vec<Vec<u8>>,
}

#[derive(Debug)]
struct Received {
    read: Read,
    node: usize,
    buffer: usize,
}

impl Batch {
    pub(crate) fn from_raw(raw: raw::Batch, reads: &[Read]) -> Result<Self, Failure> {
        let (mut node, mut buffer) = (0, 0);
        let mut columns = Vec::with_capacity(reads.len());
        for read in reads {
            let layout = read.field.data_type.layout();
            columns.push(Received { read: read.clone(), node, buffer });
            node += layout.nodes;
            buffer += layout.buffers;
        }
        let (nodes, buffers) = (raw.columns.nodes, raw.columns.buffers);
        if nodes.len() != node || buffers.len() != buffer {
            let message = format!(
                "the batch has {} nodes and {} buffers, the plan reads {node} and {buffer}",
                nodes.len(),
                buffers.len()
            );
            return Err(Failure::new("bad-batch", message));
        }
        let rows = raw.rows as usize;
        if let Some(short) = columns.iter().find(|column| nodes[column.node].length as usize != rows) {
            let message = format!("column `{}` does not have {rows} rows", short.read.field.name);
            return Err(Failure::new("bad-batch", message));
        }
        Ok(Self { rows, columns, nodes, buffers })
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// A view of a column.
    pub fn column<K: Kind>(&self, column: In<K>) -> K::Column<'_> {
        K::view(self.array(column.place))
    }

    /// Moves a column out, to be handed back as a computed one without a copy. Its place is empty afterwards: reading
    /// it again panics.
    pub fn take<K: Kind>(&mut self, column: In<K>) -> ArrayData {
        let received = &self.columns[column.place];
        let layout = received.read.field.data_type.layout();
        let buffers = &mut self.buffers[received.buffer..][..layout.buffers];
        let nodes = &mut self.nodes[received.node..][..layout.nodes];
        let taken = ArrayData { nodes: nodes.to_vec(), buffers: buffers.iter_mut().map(std::mem::take).collect() };
        // A length that fits no buffer, so that a view of the empty place cannot pass for a column.
        nodes.iter_mut().for_each(|node| node.length = u32::MAX);
        taken
    }

    /// The columns in the order in which the plan reads them.
    pub(crate) fn arrays(&self) -> impl ExactSizeIterator<Item = Array<'_>> {
        (0..self.columns.len()).map(|place| self.array(place))
    }

    fn array(&self, place: usize) -> Array<'_> {
        let received = &self.columns[place];
        Array::new(&received.read.field, &self.nodes[received.node..], &self.buffers[received.buffer..])
    }
}
