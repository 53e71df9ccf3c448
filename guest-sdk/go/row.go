package gristmill

import (
	"encoding/binary"
	"errors"
	"math"
	"unsafe"
)

// RowTransform sees one row at a time and reads and writes its cells by name. It is the shorter way and several times
// slower than a [Transform]; columns of lists, structs and maps are for [Transform] alone. Export it with [Rows].
type RowTransform interface {
	// Row writes the output rows that one input row makes: none, one or more, to any output.
	//
	// With a [*Reject] it rejects the input row, and with a [*Failure] it ends the call. Any other error rejects the row
	// with the code "failed" and without the error's text, which may hold a value. Whatever was written for a rejected
	// row is taken back.
	Row(row *Row, out *RowOutputs) error
}

// RowPlanFunc is a [PlanFunc] of a RowTransform. Rows show the columns that it reads: an input column under its name, a
// look-up as "dictionary.column".
type RowPlanFunc func(setup *Setup, plan *Plan) (RowTransform, error)

// Rows makes a transform of a row transform.
func Rows(plan RowPlanFunc) PlanFunc {
	return func(setup *Setup, p *Plan) (Transform, error) {
		transform, err := plan(setup, p)
		if err != nil || p.err != nil {
			return nil, err
		}
		t := &rowsTransform{transform: transform, planned: &p.planned}
		for _, column := range p.planned.Reads {
			name := column.Field.Name
			if column.From == FromLookup {
				name = p.planned.Lookups[column.Lookup].Dictionary + "." + name
			}
			t.names = append(t.names, name)
			if err := requireScalar(column.Field); err != nil {
				return nil, err
			}
		}
		for _, output := range p.planned.Outputs {
			computed := output.Computed()
			t.computed = append(t.computed, computed)
			for _, field := range computed {
				if err := requireScalar(field); err != nil {
					return nil, err
				}
			}
		}
		return t, nil
	}
}

func requireScalar(field Field) error {
	if field.Type.ID < TypeList {
		return nil
	}
	message := "column `" + field.Name + "` is " + field.Type.String() + ": nested columns have no row view"
	return &Failure{"wrong-type", message}
}

type rowsTransform struct {
	transform RowTransform
	planned   *Planned
	// Of the columns that are read.
	names []string
	// By output.
	computed [][]Field
}

func (t *rowsTransform) Process(batch *Batch, outputs *Outputs) error {
	row := &Row{names: t.names, columns: make([]cells, len(batch.arrays))}
	for place, array := range batch.arrays {
		row.columns[place] = newCells(array)
	}
	out := newRowOutputs(t.computed, batch.Rows())
	for i := range batch.Rows() {
		row.index, row.fault = i, nil
		out.begin(i)
		err := t.transform.Row(row, out)
		out.endRows()
		if err == nil && row.fault != nil {
			err = row.fault
		}
		if err == nil && out.fault != nil {
			err = out.fault
		}
		if err == nil {
			continue
		}
		if failure, ok := errors.AsType[*Failure](err); ok {
			return failure
		}
		out.takeBack()
		reject, ok := errors.AsType[*Reject](err)
		if !ok {
			reject = &Reject{Code: "failed", Message: "the transform returned an error that is no *gristmill.Reject"}
		}
		outputs.Reject(i, *reject)
	}
	out.finish(outputs)
	return nil
}

// Row is one input row.
//
// Every getter takes the name of a column. Where the cell is null, or the column is of another sort or not read by the
// plan, it returns zero and keeps the first such fault in the row, which is then rejected with "missing-value" or
// "wrong-type" and the column's name, however Row ends. [Row.Err] tells before. The getters that begin with Opt return
// false for a null instead.
type Row struct {
	index   int
	names   []string
	columns []cells
	// The place of the column after the one asked for last: rows ask for the same columns in the same order.
	next  int
	fault *Reject
}

// Index is the row's place in the batch.
func (r *Row) Index() int { return r.index }

// Err is the first fault of a getter in this row, as a [*Reject].
func (r *Row) Err() error {
	if r.fault == nil {
		return nil
	}
	return r.fault
}

// IsNull says whether a cell is null.
func (r *Row) IsNull(column string) bool {
	cells := r.cells(column)
	return cells != nil && cells.IsNull(r.index)
}

// Text is a text.
func (r *Row) Text(column string) string {
	value, ok := r.OptText(column)
	r.require(column, ok)
	return value
}

// OptText is a text, or false for a null.
func (r *Row) OptText(column string) (string, bool) { return get(r, column, "a text", (*cells).text) }

// Bytes are those of a byte string or a text. They are not to be changed.
func (r *Row) Bytes(column string) []byte {
	value, ok := r.OptBytes(column)
	r.require(column, ok)
	return value
}

// OptBytes are those of a byte string or a text, or false for a null.
func (r *Row) OptBytes(column string) ([]byte, bool) {
	return get(r, column, "a byte string", (*cells).byteString)
}

// Bool is a boolean.
func (r *Row) Bool(column string) bool {
	value, ok := r.OptBool(column)
	r.require(column, ok)
	return value
}

// OptBool is a boolean, or false, false for a null.
func (r *Row) OptBool(column string) (value, ok bool) {
	return get(r, column, "a boolean", (*cells).boolean)
}

// Int is any integer that fits, date, time, timestamp or duration.
func (r *Row) Int(column string) int64 {
	value, ok := r.OptInt(column)
	r.require(column, ok)
	return value
}

// OptInt is the same, or false for a null.
func (r *Row) OptInt(column string) (int64, bool) {
	return get(r, column, "an integer of 64 bits", (*cells).integer)
}

// Float is a float, or any integer.
func (r *Row) Float(column string) float64 {
	value, ok := r.OptFloat(column)
	r.require(column, ok)
	return value
}

// OptFloat is the same, or false for a null.
func (r *Row) OptFloat(column string) (float64, bool) {
	return get(r, column, "a number", (*cells).float)
}

// Decimal is the unscaled value of a decimal that fits 128 bits.
func (r *Row) Decimal(column string) Int128 {
	value, ok := r.OptDecimal(column)
	r.require(column, ok)
	return value
}

// OptDecimal is the same, or false for a null.
func (r *Row) OptDecimal(column string) (Int128, bool) {
	return get(r, column, "a decimal of 128 bits", (*cells).decimal)
}

func (r *Row) require(column string, ok bool) {
	if !ok {
		r.fail(missing(column))
	}
}

func get[T any](r *Row, column, sort string, value func(*cells, int) (T, bool)) (T, bool) {
	var none T
	cells := r.cells(column)
	if cells == nil || cells.IsNull(r.index) {
		return none, false
	}
	got, ok := value(cells, r.index)
	if !ok {
		r.fail(&Reject{"wrong-type", column, "the column does not hold " + sort})
		return none, false
	}
	return got, true
}

func (r *Row) fail(reject *Reject) {
	if r.fault == nil {
		r.fault = reject
	}
}

func missing(column string) *Reject { return &Reject{"missing-value", column, "the value is null"} }

// cells finds a column. It is nil, and the row at fault, where the plan does not read it.
func (r *Row) cells(column string) *cells {
	place := r.next
	if place >= len(r.names) || r.names[place] != column {
		place = placeOf(r.names, column)
		if place < 0 {
			r.fail(&Reject{"wrong-type", column, "the transform's plan does not read this column"})
			return nil
		}
	}
	r.next = place + 1
	return &r.columns[place]
}

func placeOf(names []string, name string) int {
	for place, other := range names {
		if other == name {
			return place
		}
	}
	return -1
}

// cells is a view of a column of any scalar type.
type cells struct {
	Validity
	id      TypeID
	width   int
	values  []byte // or offsets
	content []byte
}

func newCells(array Array) cells {
	c := cells{Validity: array.Validity(), id: array.Type().ID, width: array.Type().Width()}
	buffers := array.Buffers()
	if len(buffers) > 1 {
		c.values = buffers[1]
	}
	if len(buffers) > 2 {
		c.content = buffers[2]
	}
	return c
}

func (c *cells) byteString(i int) ([]byte, bool) {
	switch c.id {
	case TypeUtf8, TypeBinary:
		offsets := c.values[4*i : 4*i+8]
		return c.content[binary.LittleEndian.Uint32(offsets):binary.LittleEndian.Uint32(offsets[4:])], true
	case TypeLargeUtf8, TypeLargeBinary:
		offsets := c.values[8*i : 8*i+16]
		return c.content[binary.LittleEndian.Uint64(offsets):binary.LittleEndian.Uint64(offsets[8:])], true
	case TypeFixedSizeBinary:
		return c.values[i*c.width : (i+1)*c.width], true
	default:
		return nil, false
	}
}

func (c *cells) text(i int) (string, bool) {
	if c.id != TypeUtf8 && c.id != TypeLargeUtf8 {
		return "", false
	}
	value, ok := c.byteString(i)
	return unsafe.String(unsafe.SliceData(value), len(value)), ok
}

func (c *cells) boolean(i int) (value, ok bool) {
	if c.id != TypeBoolean {
		return false, false
	}
	return c.values[i>>3]>>(i&7)&1 == 1, true
}

// integer is false for a value that needs more than 64 bits, too.
func (c *cells) integer(i int) (int64, bool) {
	switch c.id {
	case TypeInt8:
		return int64(int8(c.values[i])), true
	case TypeUint8:
		return int64(c.values[i]), true
	case TypeInt16:
		return int64(int16(binary.LittleEndian.Uint16(c.values[2*i:]))), true
	case TypeUint16:
		return int64(binary.LittleEndian.Uint16(c.values[2*i:])), true
	case TypeInt32, TypeDate32, TypeTime32:
		return int64(int32(binary.LittleEndian.Uint32(c.values[4*i:]))), true
	case TypeUint32:
		return int64(binary.LittleEndian.Uint32(c.values[4*i:])), true
	case TypeInt64, TypeDate64, TypeTime64, TypeTimestamp, TypeDuration:
		return int64(binary.LittleEndian.Uint64(c.values[8*i:])), true
	case TypeUint64:
		value := binary.LittleEndian.Uint64(c.values[8*i:])
		return int64(value), value <= math.MaxInt64
	default:
		return 0, false
	}
}

func (c *cells) float(i int) (float64, bool) {
	switch c.id {
	case TypeFloat16:
		return float64(Half(binary.LittleEndian.Uint16(c.values[2*i:])).Float32()), true
	case TypeFloat32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(c.values[4*i:]))), true
	case TypeFloat64:
		return math.Float64frombits(binary.LittleEndian.Uint64(c.values[8*i:])), true
	case TypeUint64:
		return float64(binary.LittleEndian.Uint64(c.values[8*i:])), true
	default:
		value, ok := c.integer(i)
		return float64(value), ok
	}
}

func (c *cells) decimal(i int) (Int128, bool) {
	part := func(place int) uint64 { return binary.LittleEndian.Uint64(c.values[i*c.width+8*place:]) }
	switch c.id {
	case TypeDecimal128:
		return Int128{part(0), int64(part(1))}, true
	case TypeDecimal256:
		return Int256{part(0), part(1), part(2), part(3)}.Int128()
	default:
		return Int128{}, false
	}
}
