// Package gristmilltest runs transforms natively, without WASM and without a runner: a [Harness] plans, gives a
// transform the columns that its plan reads, and checks and applies what it gives as the runner does.
package gristmilltest

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gristmill"
)

// Table is rows of typed columns.
//
// Values are nil for a null, bool, any integer type, float64, string, []byte, [gristmill.Int128] or
// [gristmill.Int256] for the unscaled values of decimals, []any for lists and, in the order of their members, for
// structs, and []Entry for maps.
type Table struct {
	rows    int
	columns []column
}

type column struct {
	field gristmill.Field
	data  gristmill.ArrayData
}

// Entry is a key of a map and its value.
type Entry [2]any

// NewTable is a table without columns.
func NewTable() *Table { return &Table{} }

// Column adds a nullable column and returns the table. It panics where a value is not of the type, or where their
// number differs from that of the other columns.
func (t *Table) Column(name string, dataType gristmill.DataType, values ...any) *Table {
	return t.Field(gristmill.Optional(name, dataType), values...)
}

// Field adds a column as Column does, but of any nullability.
func (t *Table) Field(field gristmill.Field, values ...any) *Table {
	return t.Data(field, build(field.Type, values))
}

// Data adds a finished column.
func (t *Table) Data(field gristmill.Field, data gristmill.ArrayData) *Table {
	if len(t.columns) == 0 {
		t.rows = data.Len()
	}
	if data.Len() != t.rows {
		panic(fmt.Sprintf("column %s has %d rows, not %d", field.Name, data.Len(), t.rows))
	}
	t.columns = append(t.columns, column{field, data})
	return t
}

// FromCSV reads CSV with a header. The columns of fields are read, in the order of the file, all others are left out. A
// cell that equals null is null. It panics on text that is not of its type; dates and times are numbers.
func FromCSV(text, null string, fields ...gristmill.Field) *Table {
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(records) == 0 {
		panic(fmt.Sprintf("no CSV with a header: %v", err))
	}
	table := NewTable()
	for place, name := range records[0] {
		at := slices.IndexFunc(fields, func(field gristmill.Field) bool { return field.Name == name })
		if at < 0 {
			continue
		}
		var values []any
		for _, record := range records[1:] {
			if record[place] == null {
				values = append(values, nil)
			} else {
				values = append(values, parse(record[place], fields[at].Type))
			}
		}
		table.Field(fields[at], values...)
	}
	return table
}

func parse(text string, of gristmill.DataType) any {
	switch of.ID {
	case gristmill.TypeUtf8, gristmill.TypeLargeUtf8:
		return text
	case gristmill.TypeBinary, gristmill.TypeLargeBinary, gristmill.TypeFixedSizeBinary:
		return []byte(text)
	case gristmill.TypeBoolean:
		value, err := strconv.ParseBool(text)
		return parsed(value, err == nil, text, of)
	case gristmill.TypeFloat16, gristmill.TypeFloat32, gristmill.TypeFloat64:
		value, err := strconv.ParseFloat(text, 64)
		return parsed(value, err == nil, text, of)
	case gristmill.TypeDecimal128, gristmill.TypeDecimal256:
		value, ok := gristmill.ParseDecimal(text, int(of.Scale))
		return parsed(value, ok, text, of)
	case gristmill.TypeUint64:
		value, err := strconv.ParseUint(text, 10, 64)
		return parsed(value, err == nil, text, of)
	default:
		value, err := strconv.ParseInt(text, 10, 64)
		return parsed(value, err == nil, text, of)
	}
}

func parsed(value any, ok bool, text string, of gristmill.DataType) any {
	if !ok {
		panic(fmt.Sprintf("%q is no %s", text, of))
	}
	return value
}

// Rows is the number of rows.
func (t *Table) Rows() int { return t.rows }

// Fields are those of the columns.
func (t *Table) Fields() []gristmill.Field {
	var fields []gristmill.Field
	for _, column := range t.columns {
		fields = append(fields, column.field)
	}
	return fields
}

// Array is a view of a column. It panics where there is none of this name.
func (t *Table) Array(name string) gristmill.Array {
	column := t.column(name)
	return gristmill.NewArray(&column.field, column.data)
}

// Values are those of a column: nil, bool, int64 for integers, dates and times, uint64 where the type is, float64,
// string, []byte, Int128 for decimals or Int256 where they need it, []any, []Entry.
func (t *Table) Values(name string) []any { return read(t.Array(name)) }

func (t *Table) column(name string) *column {
	for i := range t.columns {
		if t.columns[i].field.Name == name {
			return &t.columns[i]
		}
	}
	panic(fmt.Sprintf("no column %s in %v", name, t.Fields()))
}

// take is these rows of the table, in this order.
func take(field gristmill.Field, data gristmill.ArrayData, rows []int) gristmill.ArrayData {
	values := read(gristmill.NewArray(&field, data))
	var taken []any
	for _, row := range rows {
		taken = append(taken, values[row])
	}
	return build(field.Type, taken)
}

// String has a line for the names and one for each row, values between " | ".
func (t *Table) String() string {
	var text strings.Builder
	var columns [][]any
	for i := range t.columns {
		separate(&text, i)
		text.WriteString(t.columns[i].field.Name)
		columns = append(columns, t.Values(t.columns[i].field.Name))
	}
	text.WriteByte('\n')
	for row := range t.rows {
		for i, values := range columns {
			separate(&text, i)
			text.WriteString(format(values[row]))
		}
		text.WriteByte('\n')
	}
	return text.String()
}

func separate(text *strings.Builder, i int) {
	if i > 0 {
		text.WriteString(" | ")
	}
}
