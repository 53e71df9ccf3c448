package gristmill

import "strconv"

// Operation is what a change record does.
type Operation uint8

const (
	Insert Operation = iota
	Update
	Delete
)

// Outputs takes the columns, selections and rejects of one call.
type Outputs struct {
	rows     int
	outputs  []pendingOutput
	rejects  []RejectedRow
	messages []string
}

type pendingOutput struct {
	selection  *Selection
	operations *Operations
	columns    []ColumnBuilder
}

func newOutputs(planned *Planned, rows int) *Outputs {
	outputs := &Outputs{rows: rows, outputs: make([]pendingOutput, len(planned.Outputs))}
	for i, output := range planned.Outputs {
		outputs.outputs[i].columns = make([]ColumnBuilder, len(output.Computed()))
	}
	return outputs
}

// Column takes the values of a computed column: one for each row of its output.
func (o *Outputs) Column[B ColumnBuilder](column Out[B]) B {
	place := &o.outputs[column.output].columns[column.place]
	if *place == nil {
		builder := column.builder(o.rows)
		*place = builder
		return builder
	}
	return (*place).(B)
}

// Select takes the input row of each row of an output. An output whose selection is not asked for has one row for each
// input row, in order.
func (o *Outputs) Select(output *Output) *Selection {
	pending := &o.outputs[output.place]
	if pending.selection == nil {
		pending.selection = &Selection{make([]uint32, 0, o.rows)}
	}
	return pending.selection
}

// Operations takes the operation of each row of an output. Where it is not asked for, rows have those of their input
// rows.
func (o *Outputs) Operations(output *Output) *Operations {
	pending := &o.outputs[output.place]
	if pending.operations == nil {
		pending.operations = &Operations{make([]Operation, 0, o.rows)}
	}
	return pending.operations
}

// Reject does not accept an input row. Stages normalize and migrate leave it out of the selection too.
func (o *Outputs) Reject(row int, reject Reject) {
	o.rejects = append(o.rejects, RejectedRow{row, reject})
}

// Message says something to the operator. The runner keeps the first few messages and cuts long ones.
func (o *Outputs) Message(message string) { o.messages = append(o.messages, message) }

// Selection is the input rows that an output's rows come from. Rows may be left out, repeated and reordered.
type Selection struct{ rows []uint32 }

// Append adds an output row that comes from this input row.
func (s *Selection) Append(row int) { s.rows = append(s.rows, uint32(row)) }

// Len is the number of output rows so far.
func (s *Selection) Len() int { return len(s.rows) }

// isAll says whether it is every input row, in order. Then nothing needs to cross, and the runner need not copy.
func (s *Selection) isAll(rows int) bool {
	if len(s.rows) != rows {
		return false
	}
	for i, row := range s.rows {
		if i != int(row) {
			return false
		}
	}
	return true
}

// Operations is the operations of an output's rows.
type Operations struct{ operations []Operation }

// Append adds the operation of the next output row.
func (o *Operations) Append(operation Operation) { o.operations = append(o.operations, operation) }

// finish checks what the types cannot. A mistake here is the transform's own, so it panics.
func (o *Outputs) finish(planned *Planned) *Processed {
	processed := &Processed{Rejects: o.rejects, Messages: o.messages}
	for i, pending := range o.outputs {
		name := planned.Outputs[i].Name
		output := ProcessedOutput{Rows: o.rows}
		if pending.selection != nil && !pending.selection.isAll(o.rows) {
			output.Selection, output.Rows = pending.selection.rows, pending.selection.Len()
		}
		for place, field := range planned.Outputs[i].Computed() {
			builder := pending.columns[place]
			if builder == nil {
				panic("column `" + field.Name + "` of output `" + name + "` was not given")
			}
			data := builder.Finish()
			if data.Len() != output.Rows {
				panic("column `" + field.Name + "` of output `" + name + "` has " + strconv.Itoa(data.Len()) +
					" values for " + strconv.Itoa(output.Rows) + " rows")
			}
			if data.Nulls() > 0 && !field.Nullable {
				panic("column `" + field.Name + "` of output `" + name + "` is required but holds nulls")
			}
			output.Columns.Nodes = append(output.Columns.Nodes, data.Nodes...)
			output.Columns.Buffers = append(output.Columns.Buffers, data.Buffers...)
		}
		if pending.operations != nil {
			output.Operations = pending.operations.operations
			if len(output.Operations) != output.Rows {
				panic("output `" + name + "` has " + strconv.Itoa(len(output.Operations)) + " operations for " +
					strconv.Itoa(output.Rows) + " rows")
			}
		}
		processed.Outputs = append(processed.Outputs, output)
	}
	return processed
}
