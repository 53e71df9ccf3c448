package main

import (
	"errors"
	"reflect"
	"testing"

	"gristmill"
	"gristmill/gristmilltest"
)

var decimal = gristmill.Decimal128(precision, scale).Type()

func run(t *testing.T, harness gristmilltest.Harness, input *gristmilltest.Table) *gristmilltest.Result {
	t.Helper()
	codes := gristmilltest.NewTable().
		Column("code", gristmill.Utf8.Type(), "AT").
		Column("name", gristmill.Utf8.Type(), "Austria").
		Column("weight", gristmill.Int64.Type(), 9)
	harness.Dictionaries = []gristmilltest.Dictionary{{Name: "codes", Key: "code", Table: codes}}
	result, err := harness.Run(plan, input)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func check(t *testing.T, table *gristmilltest.Table, want string) {
	t.Helper()
	if got := table.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func ids(count int) *gristmilltest.Table {
	var values []any
	for i := range count {
		values = append(values, i)
	}
	return gristmilltest.NewTable().Column("id", gristmill.Int64.Type(), values...)
}

func TestTextsAndLookUps(t *testing.T) {
	input := ids(6).
		Column("code", gristmill.Utf8.Type(), "AT", "XX", nil, "AT", "AT", "AT").
		Column("text", gristmill.Utf8.Type(), " Ab Cdefghij-KÉ ", nil, "   ", "Rejecting", " REJECT ", "\tA")
	result := run(t, gristmilltest.Harness{}, input)
	check(t, result.Output("records"), "id | name | weight | text | text_state\n"+
		"0 | Austria | 9 | ab cdefghij-kÉ | 2\n1 | null | -1 | null | 0\n2 | null | -1 |  | 1\n"+
		"3 | Austria | 9 | rejecting | 2\n5 | Austria | 9 | \ta | 2\n")
	want := gristmill.Reject{Code: "refused", Field: "text", Message: "the text asks to be refused"}
	if len(result.Rejects) != 1 || result.Rejects[0].Reject != want || result.Messages[0] != "1 of 6 rows rejected" {
		t.Error(result.Rejects, result.Messages)
	}
}

func TestDecimals(t *testing.T) {
	most, _ := gristmill.ParseDecimal("9999999999999999999999999999.9999999999", scale)
	input := ids(6).
		Column("amount", decimal, 15_000_000_000, -1, most, most, nil, most.Neg()).
		Column("fee", decimal, 0, -1, 1, most, 1, 1)
	result := run(t, gristmilltest.Harness{}, input)
	check(t, result.Output("records"), "id | total | negated | order | amount_text\n"+
		"0 | 15000000000 | -15000000000 | 1 | 1.5000000000\n"+
		"1 | -2 | 1 | 0 | -0.0000000001\n"+
		"4 | null | null | null | null\n"+
		"5 | -99999999999999999999999999999999999998 | 99999999999999999999999999999999999999 | -1 | -9999999999999999999999999999.9999999999\n")
	if len(result.Rejects) != 2 || result.Rejects[0].Row != 2 || result.Rejects[1].Row != 3 {
		t.Error(result.Rejects)
	}
}

func TestNumbersAndTimes(t *testing.T) {
	input := ids(4).
		Column("at", gristmill.Timestamp(gristmill.Microsecond, "Asia/Tokyo").Type(), 86_400_000_001, -1, nil, 0).
		Column("count", gristmill.Int64.Type(), int64(1<<63-5), -1, nil, int64(1<<63-4)).
		Column("numbers", gristmill.ListOf(gristmill.Int64.Type()), []any{1, nil, 2}, []any{}, nil, nil)
	result := run(t, gristmilltest.Harness{Config: `{"step": 4}`}, input)
	check(t, result.Output("records"), "id | day | time | next | mixed | sum\n"+
		"0 | 1 | 1 | 9223372036854775807 | 9223372036854775660 | 3\n1 | -1 | 86399999999 | 3 | -24 | 0\n"+
		"2 | null | null | null | null | null\n")
	if len(result.Rejects) != 1 || result.Rejects[0].Row != 3 || result.Rejects[0].Field != "count" {
		t.Error(result.Rejects)
	}
}

func TestNestedColumns(t *testing.T) {
	place := gristmill.StructOf(
		gristmill.Optional("city", gristmill.Utf8.Type()), gristmill.Optional("score", gristmill.Int32.Type()),
	)
	visits := gristmill.ListOf(gristmill.StructOf(
		gristmill.Optional("page", gristmill.Utf8.Type()), gristmill.Optional("seconds", gristmill.Int32.Type()),
	))
	input := ids(3).
		Column("text", gristmill.Utf8.Type(), "a", "reject", "b").
		Column("data", gristmill.Binary.Type(), []byte{1, 2, 3}, nil, []byte{}).
		Column("place", place, []any{"Wien", 1}, []any{nil, 2}, nil).
		Column("visits", visits, []any{[]any{"p", 1}, nil}, nil, []any{})
	check(t, run(t, gristmilltest.Harness{}, input).Output("records"),
		"id | text | text_state | reversed | city | visits\n0 | a | 2 | 030201 | Wien | [[p, 1], null]\n2 | b | 2 |  | null | []\n")
}

func TestMigrateGivesEveryColumnBack(t *testing.T) {
	input := ids(2).
		Field(gristmill.Required("b", gristmill.Boolean.Type()), true, false).
		Column("m", gristmill.MapOf(gristmill.Utf8.Type(), gristmill.Int8.Type()), []gristmilltest.Entry{{"a", 1}}, nil)
	output := run(t, gristmilltest.Harness{Stage: gristmill.StageMigrate}, input).Output("records")
	check(t, output, input.String())
	if !reflect.DeepEqual(output.Fields(), input.Fields()) {
		t.Error(output.Fields())
	}
}

func TestMap(t *testing.T) {
	input := ids(5).
		Column("code", gristmill.Utf8.Type(), "AT", nil, nil, nil, nil).
		Column("tags", gristmill.ListOf(gristmill.Utf8.Type()), []any{" A ", nil}, nil, []any{"b"}, []any{"c"}, []any{"d"}).
		Column("quantity", gristmill.Int32.Type(), 1, 1, 0, -1, nil)
	operations := []gristmill.Operation{gristmill.Update, gristmill.Insert, gristmill.Insert, gristmill.Insert, gristmill.Delete}
	result := run(t, gristmilltest.Harness{Stage: gristmill.StageMap, Operations: operations}, input)
	check(t, result.Output("orders"), "id | operation | name | tag_count\n"+
		"4 | 2 | null | 1\n3 | 0 | null | 1\n2 | 0 | null | 1\n1 | 0 | null | null\n0 | 1 | Austria | 2\n")
	check(t, result.Output("items"), "id | position | tag | quantity\n0 | 0 | a | 1\n0 | 1 | null | 1\n2 | 0 | b | 0\n4 | 0 | d | null\n")
	want := []gristmill.Operation{gristmill.Insert, gristmill.Update, gristmill.Delete, gristmill.Delete}
	if got := result.Operations("items"); !reflect.DeepEqual(got, want) {
		t.Error(got)
	}
	if len(result.Rejects) != 1 || result.Rejects[0].Code != "negative" || result.Messages != nil {
		t.Error(result.Rejects, result.Messages)
	}
}

func TestPlansThatFail(t *testing.T) {
	for _, c := range []struct {
		code, config string
		input        *gristmilltest.Table
	}{
		{"bad-config", `{"step": 1001}`, ids(1)},
		{"bad-config", `{"step": 1.5}`, ids(1)},
		{"bad-config", `{"step": "1"}`, ids(1)},
		{"bad-config", `{"step": null}`, ids(1)},
		{"missing-column", `{}`, gristmilltest.NewTable().Column("text", gristmill.Utf8.Type(), "a")},
		{"wrong-type", `{}`, gristmilltest.NewTable().Column("id", gristmill.Utf8.Type(), "a")},
		{"wrong-type", `{}`, ids(1).Column("text", gristmill.Binary.Type(), []byte{})},
		{"wrong-type", `{}`, ids(1).Column("at", gristmill.Timestamp(gristmill.Second, "").Type(), 1)},
		{"wrong-type", `{}`, ids(1).Column("visits", gristmill.ListOf(gristmill.Int8.Type()), nil)},
	} {
		_, err := gristmilltest.Harness{Config: c.config}.Run(plan, c.input)
		if failure, ok := errors.AsType[*gristmill.Failure](err); !ok || failure.Code != c.code {
			t.Errorf("%s: got %v, want %s", c.config, err, c.code)
		}
	}
}

func TestRaise(t *testing.T) {
	defer func() {
		if recover() != "asked to raise" {
			t.Error("no panic")
		}
	}()
	run(t, gristmilltest.Harness{}, ids(1).Column("text", gristmill.Utf8.Type(), " RAISE "))
}
