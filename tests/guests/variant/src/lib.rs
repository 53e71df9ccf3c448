//! Passes its input on, changed in the ways that are written into the component itself: tests overwrite [`MARK`] in the bytes of the
//! built component and get another version of the same transform, with another digest, without building anything.
//!
//! It serves every stage; its one output is `orders` at stage map and `records` elsewhere. The column `name` is computed,
//! all others are forwarded. Each letter in the mark is one change:
//!
//! * `u` the name in upper case
//! * `r` rejects rows whose name is `reject`, `d` drops those whose name is `drop`, `x` emits those whose name is `twice` twice
//! * `c` one more column, `length`: the length of the name
//! * `i` renames the first column to `identity`
//! * `t` traps on every row
//! * `p` reads a column that no input has

use gristmill_guest::{
    Batch, Failure, In, Int32, Out, Output, Outputs, Plan, Reject, Selection, Setup, Stage, Transform, Utf8,
};

/// What a test overwrites: `gristmill-variant:` and eight letters.
#[used]
static MARK: [u8; 26] = *b"gristmill-variant:........";

/// Read past the optimizer: it must not know what the mark says.
fn has(change: u8) -> bool {
    std::hint::black_box(&MARK)[18..].contains(&change)
}

pub struct Variant {
    name: In<Utf8>,
    output: Output,
    computed: Out<Utf8>,
    length: Option<Out<Int32>>,
}

impl Transform for Variant {
    fn plan(setup: &Setup, plan: &mut Plan<'_>) -> Result<Self, Failure> {
        let output = plan.output(if setup.stage() == Stage::Map { "orders" } else { "records" });
        if has(b'p') {
            plan.read::<Utf8>("no_such_column")?;
        }
        let name = plan.read::<Utf8>("name")?;
        let mut computed = None;
        for (place, field) in setup.input().iter().enumerate() {
            match field.name.as_str() {
                "name" => computed = Some(plan.compute(output, "name", Utf8)?),
                first if place == 0 && has(b'i') => plan.forward_as(output, "identity", first)?,
                other => plan.forward(output, other)?,
            }
        }
        let length = if has(b'c') { Some(plan.compute(output, "length", Int32)?) } else { None };
        let computed = computed.ok_or_else(|| Failure::new("bad-input", "the input has no column `name`"))?;
        Ok(Self { name, output, computed, length })
    }

    fn process(&self, batch: Batch, outputs: &mut Outputs) -> Result<(), Failure> {
        assert!(!has(b't'), "the mark says so");
        let names = batch.column(self.name);
        let mut selection = Selection::with_capacity(batch.rows());
        let mut computed = self.computed.builder(batch.rows());
        let mut lengths = Vec::with_capacity(batch.rows());
        for row in 0..batch.rows() {
            let name = names.get(row);
            let times = match name {
                Some("reject") if has(b'r') => {
                    outputs.reject(row, Reject::new("unwanted", "the name says so").field("name"));
                    0
                }
                Some("drop") if has(b'd') => 0,
                Some("twice") if has(b'x') => 2,
                _ => 1,
            };
            for _ in 0..times {
                selection.push(row);
                lengths.push(name.map(|name| name.len() as i32));
                match name {
                    Some(name) if has(b'u') => computed.push(&name.to_uppercase()),
                    name => computed.push_option(name),
                }
            }
        }
        outputs.set(&self.computed, computed);
        if let Some(length) = &self.length {
            let mut built = length.builder(lengths.len());
            lengths.into_iter().for_each(|value| built.push_option(value));
            outputs.set(length, built);
        }
        outputs.select(self.output, selection);
        Ok(())
    }
}

gristmill_guest::export!(Variant);
