package gristmill

import "errors"

// A Planned is a plan as the runner gets it.
type Planned struct {
	// Reads are the columns that Process receives, in this order.
	Reads   []PlannedColumn
	Lookups []PlannedLookup
	Outputs []PlannedOutput
}

// Source is where a column comes from.
type Source uint8

const (
	// FromInput is the input column PlannedColumn.Column.
	FromInput Source = iota
	// FromLookup is the look-up at PlannedColumn.Lookup in Planned.Lookups.
	FromLookup
	// FromOperation is the operation of each row.
	FromOperation
	// Computed is what Process gives.
	Computed
)

// PlannedColumn is a column that a plan reads or gives.
type PlannedColumn struct {
	Field  Field
	From   Source
	Column string
	Lookup int
}

func (c PlannedColumn) sameSource(other PlannedColumn) bool {
	return c.From == other.From && c.Column == other.Column && c.Lookup == other.Lookup
}

// PlannedLookup is a column of a dictionary, joined on an input column.
type PlannedLookup struct {
	Dictionary, Key string
	Value           Field
}

// PlannedOutput is an output of a plan.
type PlannedOutput struct {
	Name    string
	Columns []PlannedColumn
}

// Computed are the fields of the columns that Process gives.
func (o PlannedOutput) Computed() []Field {
	var fields []Field
	for _, column := range o.Columns {
		if column.From == Computed {
			fields = append(fields, column.Field)
		}
	}
	return fields
}

// Processed is what Process gives, as the runner gets it.
type Processed struct {
	Outputs  []ProcessedOutput
	Rejects  []RejectedRow
	Messages []string
}

// ProcessedOutput is the rows of one output.
type ProcessedOutput struct {
	Rows int
	// Selection has the input row of each output row. It is nil where that is every input row, in order.
	Selection []uint32
	// Operations are nil where each output row has that of its input row.
	Operations []Operation
	// Columns are the computed ones.
	Columns ArrayData
}

// RejectedRow is a reject and the input row that it is about.
type RejectedRow struct {
	Row int
	Reject
}

// Plan is the contract's function of that name, without WASM: for tests and benchmarks.
func (f PlanFunc) Plan(setup *Setup) (*Planned, error) {
	_, plan, err := f.run(setup)
	if err != nil {
		return nil, err
	}
	return &plan.planned, nil
}

// Process is the contract's function of that name, without WASM: for tests and benchmarks. Columns holds those that
// the plan reads.
func (f PlanFunc) Process(setup *Setup, rows int, columns ArrayData) (*Processed, error) {
	transform, plan, err := f.run(setup)
	if err != nil {
		return nil, err
	}
	batch, err := newBatch(&plan.planned, rows, columns)
	if err != nil {
		return nil, err
	}
	outputs := newOutputs(&plan.planned, rows)
	if err := transform.Process(batch, outputs); err != nil {
		if failure, ok := errors.AsType[*Failure](err); ok {
			return nil, failure
		}
		return nil, &Failure{"failed", "Process returned an error that is no *gristmill.Failure; its text is left out, " +
			"because it may hold values of rows"}
	}
	return outputs.finish(&plan.planned), nil
}

func (f PlanFunc) run(setup *Setup) (Transform, *Plan, error) {
	plan := &Plan{setup: setup}
	transform, err := f(setup, plan)
	if err == nil {
		err = plan.err
	}
	if err == nil {
		return transform, plan, nil
	}
	if _, ok := errors.AsType[*Failure](err); !ok {
		err = &Failure{"failed", err.Error()}
	}
	return nil, nil, err
}
