package gristmill

import "math"

// RowOutputs takes the output rows of a [RowTransform].
type RowOutputs struct {
	input   int
	outputs []*OutputRow
	// What was wrong with a row that ended without saying so.
	fault *Reject
}

// OutputRow is one output row in the making. It ends when the next row of its output begins or when Row returns; cells
// that were not set are null.
//
// A setter that does not fit keeps its fault in the input row, which is then rejected, however Row ends: with
// "wrong-type" for a value of another sort than the column or a column that the plan does not compute, "out-of-range"
// for one that the column cannot hold, "missing-value" for a null in a required column. A cell that is set twice keeps
// the first value.
type OutputRow struct {
	out     *RowOutputs
	fields  []Field
	columns []scalarBuilder
	// Input rows of the rows so far, the one in hand excluded.
	rows       []uint32
	operations []Operation
	open       bool
	next       int
	// Rows before the input row in hand.
	before int
}

// scalarBuilder is a builder that can take back values.
type scalarBuilder interface {
	ColumnBuilder
	truncate(length int)
}

func newRowOutputs(computed [][]Field, capacity int) *RowOutputs {
	out := &RowOutputs{}
	for _, fields := range computed {
		output := &OutputRow{out: out, fields: fields, rows: make([]uint32, 0, capacity)}
		for _, field := range fields {
			output.columns = append(output.columns, newScalarBuilder(field.Type, capacity))
		}
		out.outputs = append(out.outputs, output)
	}
	return out
}

func newScalarBuilder(of DataType, capacity int) scalarBuilder {
	switch of.ID {
	case TypeBoolean:
		return newBoolBuilder(capacity)
	case TypeInt8:
		return newBuilder[int8](capacity)
	case TypeInt16:
		return newBuilder[int16](capacity)
	case TypeInt32, TypeDate32, TypeTime32:
		return newBuilder[int32](capacity)
	case TypeInt64, TypeDate64, TypeTime64, TypeTimestamp, TypeDuration:
		return newBuilder[int64](capacity)
	case TypeUint8:
		return newBuilder[uint8](capacity)
	case TypeUint16:
		return newBuilder[uint16](capacity)
	case TypeUint32:
		return newBuilder[uint32](capacity)
	case TypeUint64:
		return newBuilder[uint64](capacity)
	case TypeFloat16:
		return newBuilder[Half](capacity)
	case TypeFloat32:
		return newBuilder[float32](capacity)
	case TypeFloat64:
		return newBuilder[float64](capacity)
	case TypeDecimal128:
		return newBuilder[Int128](capacity)
	case TypeDecimal256:
		return newBuilder[Int256](capacity)
	case TypeUtf8:
		return newTextsBuilder[int32](capacity)
	case TypeLargeUtf8:
		return newTextsBuilder[int64](capacity)
	case TypeBinary:
		return newByteStringsBuilder[int32](capacity)
	case TypeLargeBinary:
		return newByteStringsBuilder[int64](capacity)
	case TypeFixedSizeBinary:
		return newFixedBytesBuilder(int(of.Size), capacity)
	default:
		return newNullBuilder(capacity)
	}
}

// Row begins a row of an output.
func (o *RowOutputs) Row(output *Output) *OutputRow {
	row := o.outputs[output.place]
	row.end()
	row.open, row.next = true, 0
	return row
}

func (o *RowOutputs) begin(input int) {
	o.input, o.fault = input, nil
	for _, output := range o.outputs {
		output.before = len(output.rows)
	}
}

func (o *RowOutputs) endRows() {
	for _, output := range o.outputs {
		output.end()
	}
}

func (o *RowOutputs) takeBack() {
	for _, output := range o.outputs {
		for _, column := range output.columns {
			column.truncate(output.before)
		}
		output.rows = output.rows[:output.before]
		output.operations = output.operations[:min(output.before, len(output.operations))]
	}
}

func (o *RowOutputs) finish(outputs *Outputs) {
	for place, output := range o.outputs {
		pending := &outputs.outputs[place]
		for column, builder := range output.columns {
			pending.columns[column] = builder
		}
		pending.selection = &Selection{output.rows}
		if len(output.operations) > 0 {
			pending.operations = &Operations{output.operations}
		}
	}
}

func (o *RowOutputs) fail(reject *Reject) {
	if o.fault == nil {
		o.fault = reject
	}
}

// Operation sets what the row does to the target; otherwise it is the operation of its input row. The rows of an output
// set it all or none: a row that differs is rejected with "mixed-operations".
func (r *OutputRow) Operation(operation Operation) *OutputRow {
	if len(r.operations) == len(r.rows) {
		r.operations = append(r.operations, operation)
	} else {
		r.out.fail(mixedOperations())
	}
	return r
}

func mixedOperations() *Reject {
	return &Reject{Code: "mixed-operations", Message: "some rows of this output set their operation and some do not"}
}

func (r *OutputRow) end() {
	if !r.open {
		return
	}
	r.open = false
	for place, column := range r.columns {
		if column.Len() == len(r.rows) {
			column.AppendNull()
			if !r.fields[place].Nullable {
				r.out.fail(missing(r.fields[place].Name))
			}
		}
	}
	if len(r.operations) > 0 && len(r.operations) == len(r.rows) {
		r.out.fail(mixedOperations())
	}
	r.rows = append(r.rows, uint32(r.out.input))
}

// column finds a builder. It is nil where the plan does not compute the column or the cell is set already.
func (r *OutputRow) column(name string) scalarBuilder {
	place := r.next
	if place >= len(r.fields) || r.fields[place].Name != name {
		for place = range r.fields {
			if r.fields[place].Name == name {
				break
			}
		}
		if len(r.fields) == 0 || r.fields[place].Name != name {
			r.out.fail(&Reject{"wrong-type", name, "the transform's plan does not compute this column"})
			return nil
		}
	}
	r.next = place + 1
	if r.columns[place].Len() != len(r.rows) {
		return nil
	}
	return r.columns[place]
}

func (r *OutputRow) wrongType(name string) {
	r.out.fail(&Reject{"wrong-type", name, "the value is of another sort than the output column"})
}

func (r *OutputRow) outOfRange(name string) {
	r.out.fail(&Reject{"out-of-range", name, "the output column cannot hold the value"})
}

// SetNull sets a cell to null, as leaving it out does.
func (r *OutputRow) SetNull(column string) *OutputRow {
	if builder := r.column(column); builder != nil {
		// The place that column found.
		if field := &r.fields[r.next-1]; !field.Nullable {
			r.out.fail(missing(column))
		}
		builder.AppendNull()
	}
	return r
}

// SetText sets a cell of a text column.
func (r *OutputRow) SetText(column, value string) *OutputRow {
	switch builder := r.column(column).(type) {
	case nil:
	case *TextBuilder:
		builder.Append(value)
	case *LargeTextBuilder:
		builder.Append(value)
	default:
		r.wrongType(column)
	}
	return r
}

// SetBytes sets a cell of a column of byte strings.
func (r *OutputRow) SetBytes(column string, value []byte) *OutputRow {
	switch builder := r.column(column).(type) {
	case nil:
	case *BytesBuilder:
		builder.Append(value)
	case *LargeBytesBuilder:
		builder.Append(value)
	case *FixedBytesBuilder:
		if len(value) != builder.width {
			r.outOfRange(column)
			return r
		}
		builder.Append(value)
	default:
		r.wrongType(column)
	}
	return r
}

// SetBool sets a cell of a boolean column.
func (r *OutputRow) SetBool(column string, value bool) *OutputRow {
	switch builder := r.column(column).(type) {
	case nil:
	case *BoolBuilder:
		builder.Append(value)
	default:
		r.wrongType(column)
	}
	return r
}

// SetInt sets a cell of a column of integers, dates, times, timestamps or durations.
func (r *OutputRow) SetInt(column string, value int64) *OutputRow {
	switch builder := r.column(column).(type) {
	case nil:
	case *Builder[int8]:
		appendInt(r, column, builder, value)
	case *Builder[int16]:
		appendInt(r, column, builder, value)
	case *Builder[int32]:
		appendInt(r, column, builder, value)
	case *Builder[int64]:
		builder.Append(value)
	case *Builder[uint8]:
		appendInt(r, column, builder, value)
	case *Builder[uint16]:
		appendInt(r, column, builder, value)
	case *Builder[uint32]:
		appendInt(r, column, builder, value)
	case *Builder[uint64]:
		appendInt(r, column, builder, value)
	default:
		r.wrongType(column)
	}
	return r
}

func appendInt[T int8 | int16 | int32 | uint8 | uint16 | uint32 | uint64](
	r *OutputRow, column string, builder *Builder[T], value int64,
) {
	if int64(T(value)) != value || value < 0 && T(value) > 0 {
		r.outOfRange(column)
		return
	}
	builder.Append(T(value))
}

// SetFloat sets a cell of a column of floats, rounded to what the column holds.
func (r *OutputRow) SetFloat(column string, value float64) *OutputRow {
	switch builder := r.column(column).(type) {
	case nil:
	case *Builder[float64]:
		builder.Append(value)
	case *Builder[float32]:
		if narrow := float32(value); math.IsInf(float64(narrow), 0) && !math.IsInf(value, 0) {
			r.outOfRange(column)
		} else {
			builder.Append(narrow)
		}
	case *Builder[Half]:
		builder.Append(ToHalf(float32(value)))
	default:
		r.wrongType(column)
	}
	return r
}

// SetDecimal sets a cell of a column of decimals to an unscaled value.
func (r *OutputRow) SetDecimal(column string, value Int128) *OutputRow {
	switch builder := r.column(column).(type) {
	case nil:
	case *Builder[Int128]:
		builder.Append(value)
	case *Builder[Int256]:
		builder.Append(ToInt256(value))
	default:
		r.wrongType(column)
	}
	return r
}
