package gristmilltest

import (
	"reflect"
	"strings"
	"testing"

	"gristmill"
)

func TestCheckFindsWhatBreaksTheContract(t *testing.T) {
	node := func(length, nulls uint32) []gristmill.Node {
		return []gristmill.Node{{Length: length, Nulls: nulls}}
	}
	text, list := gristmill.Utf8.Type(), gristmill.ListOf(gristmill.Int8.Type())
	cases := []struct {
		problem string
		of      gristmill.DataType
		data    gristmill.ArrayData
	}{
		{"1 nulls without a validity buffer", text, gristmill.ArrayData{Nodes: node(1, 1), Buffers: [][]byte{nil, make([]byte, 8), nil}}},
		{"2 bytes of validity for 1 values", text, gristmill.ArrayData{Nodes: node(1, 0), Buffers: [][]byte{{1, 0}, make([]byte, 8), nil}}},
		{"1 nulls, but a null count of 0", text, gristmill.ArrayData{Nodes: node(1, 0), Buffers: [][]byte{{0}, make([]byte, 8), nil}}},
		{"4 bytes of offsets for 1 values", text, gristmill.ArrayData{Nodes: node(1, 0), Buffers: [][]byte{nil, make([]byte, 4), nil}}},
		{"offsets do not rise from 0 to 1", text, gristmill.ArrayData{Nodes: node(1, 0), Buffers: [][]byte{nil, {0, 0, 0, 0, 2, 0, 0, 0}, {'a'}}}},
		{"value 0 is not UTF-8", text, gristmill.ArrayData{Nodes: node(1, 0), Buffers: [][]byte{nil, {0, 0, 0, 0, 1, 0, 0, 0}, {0xff}}}},
		{"3 bytes of values, not 4", gristmill.Int32.Type(), gristmill.ArrayData{Nodes: node(1, 0), Buffers: [][]byte{nil, make([]byte, 3)}}},
		{"2 bytes of values for 8", gristmill.Boolean.Type(), gristmill.ArrayData{Nodes: node(8, 0), Buffers: [][]byte{nil, {0, 0}}}},
		{"offsets do not rise from 0 to 2", list, gristmill.ArrayData{
			Nodes: append(node(1, 0), node(2, 0)...), Buffers: [][]byte{nil, {0, 0, 0, 0, 1, 0, 0, 0}, nil, {1, 2}},
		}},
		{"child `a` has 1 values, not 2", gristmill.StructOf(gristmill.Optional("a", gristmill.Int8.Type())), gristmill.ArrayData{
			Nodes: append(node(2, 0), node(1, 0)...), Buffers: [][]byte{nil, nil, {1}},
		}},
	}
	for _, c := range cases {
		field := gristmill.Optional("column", c.of)
		if err := Check(gristmill.NewArray(&field, c.data)); err == nil || !strings.Contains(err.Error(), c.problem) {
			t.Errorf("got %v, want %s", err, c.problem)
		}
	}
}

func TestFromCSV(t *testing.T) {
	table := FromCSV("a,skipped,b,c,d\n1,x,\"q, \"\"r\"\"\",1.50,true\nNA,x,,NA,NA\n", "NA",
		gristmill.Optional("d", gristmill.Boolean.Type()), gristmill.Required("b", gristmill.Utf8.Type()),
		gristmill.Optional("a", gristmill.Int16.Type()), gristmill.Optional("c", gristmill.Decimal128(9, 2).Type()))
	if got := table.String(); got != "a | b | c | d\n1 | q, \"r\" | 150 | true\nnull |  | null | null\n" {
		t.Error(got)
	}
	if got := table.Values("a"); !reflect.DeepEqual(got, []any{int64(1), nil}) {
		t.Error(got)
	}
}

func TestValuesThatDoNotFitPanic(t *testing.T) {
	for _, c := range []struct {
		of    gristmill.DataType
		value any
	}{
		{gristmill.Int8.Type(), 128},
		{gristmill.Int8.Type(), -129},
		{gristmill.Uint8.Type(), 256},
		{gristmill.Uint8.Type(), -1},
		{gristmill.Int64.Type(), "1"},
		{gristmill.Utf8.Type(), 1},
		{gristmill.Float64.Type(), 1},
		{gristmill.FixedSizeBinary(2).Type(), []byte("abc")},
		{gristmill.FixedSizeList(gristmill.Int8, 2).Type(), []any{1}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v is no %s", c.value, c.of)
				}
			}()
			NewTable().Column("column", c.of, c.value)
		}()
	}
}
