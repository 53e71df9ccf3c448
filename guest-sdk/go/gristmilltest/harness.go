package gristmilltest

import (
	"errors"
	"fmt"
	"slices"

	"gristmill"
)

// Harness is the setup of a transform under test.
type Harness struct {
	// Stage is normalize where it is empty.
	Stage gristmill.Stage
	// Config is the stage's configuration, one JSON object. Empty is {}.
	Config       string
	Dictionaries []Dictionary
	// Operations of the input rows. Inserts where it is nil.
	Operations []gristmill.Operation
}

// Dictionary is a table that is looked up by its column Key.
type Dictionary struct {
	Name, Key string
	Table     *Table
}

// Result is what a run gave.
type Result struct {
	outputs map[string]output
	// Rejects in the order given.
	Rejects  []gristmill.RejectedRow
	Messages []string
}

type output struct {
	table      *Table
	rows       []int
	operations []gristmill.Operation
}

// ErrContract says that what a transform gave breaks the contract: the runner would refuse it.
var ErrContract = errors.New("the contract is broken")

func broken(format string, values ...any) error {
	return fmt.Errorf("%w: %s", ErrContract, fmt.Sprintf(format, values...))
}

// Run plans and processes the input as one batch. It fails with the transform's own [*gristmill.Failure] or with
// [ErrContract].
func (h Harness) Run(plan gristmill.PlanFunc, input *Table) (*Result, error) {
	planned, err := plan.Plan(h.Setup(input))
	if err != nil {
		return nil, err
	}
	processed, err := plan.Process(h.Setup(input), input.rows, h.columns(planned, input))
	if err != nil {
		return nil, err
	}
	return h.apply(planned, input, processed)
}

// Setup is what the runner gives to a plan.
func (h Harness) Setup(input *Table) *gristmill.Setup {
	setup := &gristmill.Setup{Stage: h.stage(), ConfigJSON: h.Config, Input: input.Fields()}
	if h.Config == "" {
		setup.ConfigJSON = "{}"
	}
	for _, dictionary := range h.Dictionaries {
		setup.Dictionaries = append(setup.Dictionaries, gristmill.Dictionary{
			Name: dictionary.Name, Key: dictionary.Key, Fields: dictionary.Table.Fields(),
		})
	}
	return setup
}

func (h Harness) stage() gristmill.Stage {
	if h.Stage == "" {
		return gristmill.StageNormalize
	}
	return h.Stage
}

// Columns are those that the transform's plan reads of the input: for a benchmark of [gristmill.PlanFunc.Process].
func (h Harness) Columns(plan gristmill.PlanFunc, input *Table) (gristmill.ArrayData, error) {
	planned, err := plan.Plan(h.Setup(input))
	if err != nil {
		return gristmill.ArrayData{}, err
	}
	return h.columns(planned, input), nil
}

func (h Harness) columns(planned *gristmill.Planned, input *Table) gristmill.ArrayData {
	var columns gristmill.ArrayData
	for _, column := range planned.Reads {
		data := h.source(planned, column, input)
		columns.Nodes = append(columns.Nodes, data.Nodes...)
		columns.Buffers = append(columns.Buffers, data.Buffers...)
	}
	return columns
}

func (h Harness) source(planned *gristmill.Planned, column gristmill.PlannedColumn, input *Table) gristmill.ArrayData {
	switch column.From {
	case gristmill.FromLookup:
		return h.join(planned.Lookups[column.Lookup], input)
	case gristmill.FromOperation:
		var values []any
		for row := range input.rows {
			values = append(values, uint8(h.operation(row)))
		}
		return build(column.Field.Type, values)
	default:
		return input.column(column.Column).data
	}
}

func (h Harness) operation(row int) gristmill.Operation {
	if h.Operations == nil {
		return gristmill.Insert
	}
	return h.Operations[row]
}

func (h Harness) join(lookup gristmill.PlannedLookup, input *Table) gristmill.ArrayData {
	at := slices.IndexFunc(h.Dictionaries, func(d Dictionary) bool { return d.Name == lookup.Dictionary })
	dictionary := h.Dictionaries[at]
	found := map[any]any{}
	values := dictionary.Table.Values(lookup.Value.Name)
	for i, key := range dictionary.Table.Values(dictionary.Key) {
		found[key] = values[i]
	}
	var joined []any
	for _, key := range input.Values(lookup.Key) {
		if key == nil {
			joined = append(joined, nil)
		} else {
			joined = append(joined, found[key])
		}
	}
	return build(lookup.Value.Type, joined)
}

func (h Harness) apply(planned *gristmill.Planned, input *Table, processed *gristmill.Processed) (*Result, error) {
	result := &Result{map[string]output{}, processed.Rejects, processed.Messages}
	rejected := map[int]bool{}
	for _, reject := range processed.Rejects {
		if reject.Row < 0 || reject.Row >= input.rows {
			return nil, broken("a reject of row %d of %d", reject.Row, input.rows)
		}
		rejected[reject.Row] = true
	}
	for place, given := range processed.Outputs {
		name := planned.Outputs[place].Name
		var rows []int
		for row := range given.Rows {
			if given.Selection != nil {
				row = int(given.Selection[row])
			}
			if row >= input.rows {
				return nil, broken("output `%s`: it selects row %d of %d", name, row, input.rows)
			}
			if rejected[row] && h.stage() != gristmill.StageMap {
				return nil, broken("output `%s`: it selects the rejected row %d", name, row)
			}
			rows = append(rows, row)
		}
		table, err := h.table(planned, planned.Outputs[place], given, input, rows)
		if err != nil {
			return nil, err
		}
		operations := given.Operations
		if operations == nil {
			for _, row := range rows {
				operations = append(operations, h.operation(row))
			}
		}
		result.outputs[name] = output{table, rows, operations}
	}
	return result, nil
}

func (h Harness) table(
	planned *gristmill.Planned, output gristmill.PlannedOutput, given gristmill.ProcessedOutput, input *Table, rows []int,
) (*Table, error) {
	table := NewTable()
	rest := given.Columns
	for _, column := range output.Columns {
		if column.From != gristmill.Computed {
			table.Data(column.Field, take(column.Field, h.source(planned, column, input), rows))
			continue
		}
		nodes, buffers := column.Field.Type.Layout()
		if len(rest.Nodes) < nodes || len(rest.Buffers) < buffers {
			return nil, broken("output `%s`: column `%s` is not whole", output.Name, column.Field.Name)
		}
		data := gristmill.ArrayData{Nodes: rest.Nodes[:nodes], Buffers: rest.Buffers[:buffers]}
		rest.Nodes, rest.Buffers = rest.Nodes[nodes:], rest.Buffers[buffers:]
		if err := Check(gristmill.NewArray(&column.Field, data)); err != nil {
			return nil, broken("output `%s`: %v", output.Name, err)
		}
		table.Data(column.Field, data)
	}
	if len(rest.Nodes) > 0 || len(rest.Buffers) > 0 {
		return nil, broken("output `%s`: it has more columns than the plan", output.Name)
	}
	return table, nil
}

// Output is all columns of an output, forwarded ones included. It panics where there is no such output.
func (r *Result) Output(name string) *Table { return r.output(name).table }

// InputRows are the input rows that the rows of an output come from.
func (r *Result) InputRows(name string) []int { return r.output(name).rows }

// Operations are those of the rows of an output.
func (r *Result) Operations(name string) []gristmill.Operation { return r.output(name).operations }

func (r *Result) output(name string) output {
	output, ok := r.outputs[name]
	if !ok {
		panic("no output " + name)
	}
	return output
}
