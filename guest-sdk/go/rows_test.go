package gristmill_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"gristmill"
	"gristmill/gristmilltest"
)

type trim struct{ records *gristmill.Output }

func planTrim(_ *gristmill.Setup, plan *gristmill.Plan) (gristmill.RowTransform, error) {
	plan.Read("name", gristmill.Utf8)
	plan.Read("quantity", gristmill.Int64)
	records := plan.Output("records")
	records.ComputeRequired("name", gristmill.Utf8)
	records.Compute("dozens", gristmill.Int64)
	return &trim{records}, nil
}

func (t *trim) Row(row *gristmill.Row, out *gristmill.RowOutputs) error {
	record := out.Row(t.records).SetText("name", strings.TrimSpace(row.Text("name")))
	if quantity, ok := row.OptInt("quantity"); ok {
		record.SetInt("dozens", quantity/12)
	}
	return nil
}

func TestRows(t *testing.T) {
	input := gristmilltest.FromCSV("name,quantity\n ann,25\n,1\nben,\n", "",
		gristmill.Optional("name", gristmill.Utf8.Type()), gristmill.Optional("quantity", gristmill.Int64.Type()))
	result, err := gristmilltest.Harness{}.Run(gristmill.Rows(planTrim), input)
	if err != nil {
		t.Fatal(err)
	}
	if got := result.Output("records").String(); got != "name | dozens\nann | 2\nben | null\n" {
		t.Error(got)
	}
	want := []gristmill.RejectedRow{{Row: 1, Reject: gristmill.Reject{Code: "missing-value", Field: "name", Message: "the value is null"}}}
	if !reflect.DeepEqual(result.Rejects, want) {
		t.Error(result.Rejects)
	}
}

type rowFunc struct {
	records *gristmill.Output
	row     func(records *gristmill.Output, row *gristmill.Row, out *gristmill.RowOutputs) error
}

func (f *rowFunc) Row(row *gristmill.Row, out *gristmill.RowOutputs) error {
	return f.row(f.records, row, out)
}

// runRows reads every column of the input and computes nullable columns of these fields.
func runRows(
	input *gristmilltest.Table, row func(records *gristmill.Output, row *gristmill.Row, out *gristmill.RowOutputs) error,
	fields ...gristmill.Field,
) (*gristmilltest.Result, error) {
	plan := func(setup *gristmill.Setup, p *gristmill.Plan) (gristmill.RowTransform, error) {
		for _, field := range setup.Input {
			p.Read(field.Name, gristmill.Any(field.Type))
		}
		records := p.Output("records")
		for _, field := range fields {
			if field.Nullable {
				records.Compute(field.Name, gristmill.Any(field.Type))
			} else {
				records.ComputeRequired(field.Name, gristmill.Any(field.Type))
			}
		}
		return &rowFunc{records, row}, nil
	}
	return gristmilltest.Harness{}.Run(gristmill.Rows(plan), input)
}

func TestEveryScalarTypeHasARowView(t *testing.T) {
	integers := []gristmill.DataType{
		gristmill.Int8.Type(), gristmill.Int16.Type(), gristmill.Int32.Type(), gristmill.Int64.Type(),
		gristmill.Uint8.Type(), gristmill.Uint16.Type(), gristmill.Uint32.Type(), gristmill.Uint64.Type(),
		gristmill.Date32.Type(), gristmill.Date64.Type(), gristmill.Time32(gristmill.Second).Type(),
		gristmill.Time64(gristmill.Microsecond).Type(), gristmill.Timestamp(gristmill.Second, "").Type(),
		gristmill.Duration(gristmill.Second).Type(),
	}
	copyCell := map[string]func(row *gristmill.Row, record *gristmill.OutputRow){
		"bool":  func(row *gristmill.Row, record *gristmill.OutputRow) { record.SetBool("out", row.Bool("in")) },
		"int":   func(row *gristmill.Row, record *gristmill.OutputRow) { record.SetInt("out", row.Int("in")) },
		"float": func(row *gristmill.Row, record *gristmill.OutputRow) { record.SetFloat("out", row.Float("in")) },
		"text":  func(row *gristmill.Row, record *gristmill.OutputRow) { record.SetText("out", row.Text("in")) },
		"bytes": func(row *gristmill.Row, record *gristmill.OutputRow) { record.SetBytes("out", row.Bytes("in")) },
		"decimal": func(row *gristmill.Row, record *gristmill.OutputRow) {
			record.SetDecimal("out", row.Decimal("in"))
		},
	}
	check := func(sort string, of gristmill.DataType, values ...any) {
		t.Helper()
		input := gristmilltest.NewTable().Column("in", of, append(values, nil)...)
		result, err := runRows(input, func(records *gristmill.Output, row *gristmill.Row, out *gristmill.RowOutputs) error {
			record := out.Row(records)
			if row.IsNull("in") {
				record.SetNull("out")
			} else {
				copyCell[sort](row, record)
			}
			return nil
		}, gristmill.Optional("out", of))
		if err != nil {
			t.Fatal(of, err)
		}
		if !reflect.DeepEqual(result.Output("records").Values("out"), input.Values("in")) {
			t.Errorf("%s: got %v, want %v", of, result.Output("records"), input)
		}
	}
	for _, of := range integers {
		check("int", of, 0, 127)
	}
	check("int", gristmill.Int16.Type(), -32768)
	check("bool", gristmill.Boolean.Type(), true, false)
	check("float", gristmill.Float16.Type(), 1.5)
	check("float", gristmill.Float32.Type(), 1.5)
	check("float", gristmill.Float64.Type(), 1.1)
	check("text", gristmill.Utf8.Type(), "", "é")
	check("text", gristmill.LargeUtf8.Type(), "a")
	check("bytes", gristmill.Binary.Type(), []byte("a"))
	check("bytes", gristmill.LargeBinary.Type(), []byte("a"))
	check("bytes", gristmill.FixedSizeBinary(1).Type(), []byte("a"))
	check("decimal", gristmill.Decimal128(38, 1).Type(), -5)
	check("decimal", gristmill.Decimal256(76, 1).Type(), -5)
	check("text", gristmill.Null.Type())
}

func TestARejectedRowTakesBackWhatItWrote(t *testing.T) {
	input := gristmilltest.NewTable().Column("n", gristmill.Int64.Type(), 0, 1, 2, 3, 4, 5)
	result, err := runRows(input, func(records *gristmill.Output, row *gristmill.Row, out *gristmill.RowOutputs) error {
		n := row.Int("n")
		for range n {
			record := out.Row(records).Operation(gristmill.Update)
			record.SetInt("small", n).SetText("text", "t").SetBool("flag", true)
		}
		switch n {
		case 1:
			return &gristmill.Reject{Code: "one", Message: "is refused"}
		case 2:
			return errors.New("secret")
		case 3:
			out.Row(records).SetInt("small", 1000)
		case 4:
			out.Row(records).SetText("small", "four")
		}
		return nil
	}, gristmill.Optional("small", gristmill.Int8.Type()), gristmill.Optional("text", gristmill.Utf8.Type()),
		gristmill.Optional("flag", gristmill.Boolean.Type()))
	if err != nil {
		t.Fatal(err)
	}
	if got := result.InputRows("records"); !reflect.DeepEqual(got, []int{5, 5, 5, 5, 5}) {
		t.Error(got)
	}
	if got := result.Output("records").Values("text"); len(got) != 5 {
		t.Error(got)
	}
	var rejects []string
	for _, reject := range result.Rejects {
		if strings.Contains(reject.Message, "secret") {
			t.Error("a reject holds the text of a foreign error")
		}
		rejects = append(rejects, reject.Code+" "+reject.Field)
	}
	if want := []string{"one ", "failed ", "out-of-range small", "wrong-type small"}; !reflect.DeepEqual(rejects, want) {
		t.Error(rejects)
	}
}

func TestFaultsOfCellsRejectTheRow(t *testing.T) {
	input := gristmilltest.NewTable().Column("text", gristmill.Utf8.Type(), "a").Column("none", gristmill.Int64.Type(), nil)
	cases := map[string]func(row *gristmill.Row, record *gristmill.OutputRow){
		"wrong-type text":      func(row *gristmill.Row, _ *gristmill.OutputRow) { row.Int("text") },
		"missing-value none":   func(row *gristmill.Row, _ *gristmill.OutputRow) { row.Int("none") },
		"wrong-type nobody":    func(row *gristmill.Row, _ *gristmill.OutputRow) { row.OptInt("nobody") },
		"wrong-type unplanned": func(_ *gristmill.Row, record *gristmill.OutputRow) { record.SetInt("unplanned", 1) },
		"missing-value out":    func(*gristmill.Row, *gristmill.OutputRow) {},
		"out-of-range out":     func(_ *gristmill.Row, record *gristmill.OutputRow) { record.SetInt("out", -1) },
	}
	for want, cell := range cases {
		result, err := runRows(input, func(records *gristmill.Output, row *gristmill.Row, out *gristmill.RowOutputs) error {
			cell(row, out.Row(records))
			return nil
		}, gristmill.Required("out", gristmill.Uint8.Type()))
		if err != nil {
			t.Fatal(err)
		}
		if len(result.Rejects) != 1 || result.Rejects[0].Code+" "+result.Rejects[0].Field != want {
			t.Errorf("got %v, want %s", result.Rejects, want)
		}
		if result.Output("records").Rows() != 0 {
			t.Error(want, "the row stays")
		}
	}
}

func TestOperationsAreSetByAllRowsOrNone(t *testing.T) {
	input := gristmilltest.NewTable().Column("n", gristmill.Int64.Type(), 0, 1)
	result, err := runRows(input, func(records *gristmill.Output, row *gristmill.Row, out *gristmill.RowOutputs) error {
		if record := out.Row(records); row.Index() == 0 {
			record.Operation(gristmill.Delete)
		}
		return nil
	})
	if err != nil || len(result.Rejects) != 1 || result.Rejects[0].Code != "mixed-operations" {
		t.Errorf("%+v %v", result, err)
	}
}

func TestRowErrIsTheFirstFault(t *testing.T) {
	input := gristmilltest.NewTable().Column("n", gristmill.Int64.Type(), 1, nil)
	seen := 0
	_, err := runRows(input, func(_ *gristmill.Output, row *gristmill.Row, _ *gristmill.RowOutputs) error {
		row.Int("n")
		if err := row.Err(); err != nil {
			return err
		}
		seen++
		return nil
	})
	if err != nil || seen != 1 {
		t.Error(seen, err)
	}
}

func TestNestedColumnsHaveNoRowView(t *testing.T) {
	input := gristmilltest.NewTable().Column("list", gristmill.ListOf(gristmill.Int8.Type()), []any{1})
	_, err := runRows(input, nil)
	if failure := failureOf(t, err); failure.Code != "wrong-type" {
		t.Error(failure)
	}
}
