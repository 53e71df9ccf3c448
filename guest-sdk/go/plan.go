package gristmill

import "strings"

// Plan takes what a transform reads, looks up and gives. What its methods return are handles for Process.
//
// A method that fails, because of a missing column or one of another type, keeps the first such error in the plan and
// returns a handle that is not to be used. It is reported when the plan function returns without an error of its own,
// which therefore need not ask for it; where it wants to, [Plan.Err] tells.
type Plan struct {
	setup   *Setup
	planned Planned
	err     error
}

// In is a column to read in Process, viewed as C.
type In[C any] struct {
	place int
	view  func(Array) C
}

// Out is a column to compute in Process, made by B.
type Out[B ColumnBuilder] struct {
	output, place int
	builder       func(capacity int) B
}

// Output is an output of the plan.
type Output struct {
	plan     *Plan
	place    int
	computed int
}

// Lookup is a column of a dictionary that the runner joins.
type Lookup struct {
	place int
	field Field
}

// Type is the type that the dictionary has the column in.
func (l Lookup) Type() DataType { return l.field.Type }

// Err is the first error of the plan so far.
func (p *Plan) Err() error { return p.err }

func (p *Plan) fail(code, message string) {
	if p.err == nil {
		p.err = &Failure{code, message}
	}
}

// Read asks for an input column. It fails with "missing-column" or "wrong-type".
//
// Reading a column or a look-up twice costs nothing: it crosses the boundary once.
func (p *Plan) Read[C any, B ColumnBuilder](column string, kind Kind[C, B]) In[C] {
	return read(p, PlannedColumn{From: FromInput, Column: column, Field: p.input(column)}, kind)
}

// ReadLookup asks for a look-up. It fails with "wrong-type".
func (p *Plan) ReadLookup[C any, B ColumnBuilder](lookup Lookup, kind Kind[C, B]) In[C] {
	return read(p, PlannedColumn{From: FromLookup, Lookup: lookup.place, Field: lookup.field}, kind)
}

// ReadOperation asks for the operation of each row, an [Operation] as a number.
func (p *Plan) ReadOperation() In[Column[uint8]] {
	return read(p, PlannedColumn{From: FromOperation, Field: Required("operation", Uint8.dataType)}, Uint8)
}

func read[C any, B ColumnBuilder](p *Plan, column PlannedColumn, kind Kind[C, B]) In[C] {
	if p.err == nil {
		p.err = kind.check(&column.Field)
	}
	for place, other := range p.planned.Reads {
		if other.sameSource(column) {
			return In[C]{place, kind.view}
		}
	}
	p.planned.Reads = append(p.planned.Reads, column)
	return In[C]{len(p.planned.Reads) - 1, kind.view}
}

// Lookup looks up a dictionary's column value by the input column key. It is null where the dictionary has no such key.
// The values cross the boundary only if they are read. It fails with "missing-dictionary" or "missing-column".
func (p *Plan) Lookup(dictionary, key, value string) Lookup {
	p.input(key)
	found, err := p.setup.Dictionary(dictionary)
	if err != nil && p.err == nil {
		p.err = err
	}
	field, ok := find(found.Fields, value)
	if !ok {
		p.fail("missing-column", "dictionary `"+dictionary+"` has no column `"+value+"`")
	}
	field.Nullable = true
	for place, other := range p.planned.Lookups {
		if other.Dictionary == dictionary && other.Key == key && other.Value.Name == value {
			return Lookup{place, field}
		}
	}
	p.planned.Lookups = append(p.planned.Lookups, PlannedLookup{dictionary, key, field})
	return Lookup{len(p.planned.Lookups) - 1, field}
}

// Output adds an output. Stages normalize and migrate have one, "records"; stage map has one for each target table.
func (p *Plan) Output(name string) *Output {
	p.planned.Outputs = append(p.planned.Outputs, PlannedOutput{Name: name})
	return &Output{plan: p, place: len(p.planned.Outputs) - 1}
}

// Forward adds an input column under its own name; its values do not cross the boundary. It fails with
// "missing-column".
func (o *Output) Forward(columns ...string) {
	for _, column := range columns {
		o.ForwardAs(column, column)
	}
}

// ForwardAs adds an input column under another name.
func (o *Output) ForwardAs(name, column string) {
	o.add(PlannedColumn{From: FromInput, Column: column, Field: o.plan.input(column).named(name)})
}

// ForwardLookup adds a look-up; its values do not cross the boundary.
func (o *Output) ForwardLookup(name string, lookup Lookup) {
	o.add(PlannedColumn{From: FromLookup, Lookup: lookup.place, Field: lookup.field.named(name)})
}

// ForwardOperation adds the operation of each row as a column of uint8.
func (o *Output) ForwardOperation(name string) {
	o.add(PlannedColumn{From: FromOperation, Field: Required(name, Uint8.dataType)})
}

// Compute adds a column that Process computes and that may hold nulls.
func (o *Output) Compute[C any, B ColumnBuilder](name string, kind Kind[C, B]) Out[B] {
	return compute(o, Optional(name, kind.dataType), kind)
}

// ComputeRequired adds a column that Process computes and that never holds nulls.
func (o *Output) ComputeRequired[C any, B ColumnBuilder](name string, kind Kind[C, B]) Out[B] {
	return compute(o, Required(name, kind.dataType), kind)
}

func compute[C any, B ColumnBuilder](o *Output, field Field, kind Kind[C, B]) Out[B] {
	o.add(PlannedColumn{From: Computed, Field: field})
	o.computed++
	return Out[B]{o.place, o.computed - 1, kind.builder}
}

func (o *Output) add(column PlannedColumn) {
	planned := &o.plan.planned.Outputs[o.place]
	for _, other := range planned.Columns {
		if other.Field.Name == column.Field.Name {
			o.plan.fail("duplicate-column", "output `"+planned.Name+"` has two columns named `"+column.Field.Name+"`")
		}
	}
	planned.Columns = append(planned.Columns, column)
}

func (f Field) named(name string) Field {
	f.Name = name
	return f
}

func (p *Plan) input(column string) Field {
	field, ok := p.setup.Column(column)
	if !ok {
		var names []string
		for _, field := range p.setup.Input {
			names = append(names, field.Name)
		}
		p.fail("missing-column", "the input has no column `"+column+"`; it has "+strings.Join(names, ", "))
	}
	return field
}
