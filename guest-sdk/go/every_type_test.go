package gristmill_test

import (
	"reflect"
	"testing"

	"gristmill"
	"gristmill/gristmilltest"
)

// copying reads a column as a kind and computes the same column, value by value.
type copying[C any, B gristmill.ColumnBuilder] struct {
	in   gristmill.In[C]
	out  gristmill.Out[B]
	copy func(from C, rows int, to B)
}

func (t *copying[C, B]) Process(batch *gristmill.Batch, out *gristmill.Outputs) error {
	t.copy(batch.Column(t.in), batch.Rows(), out.Column(t.out))
	return nil
}

// roundTrip sends values through a kind's view and builder and compares.
func roundTrip[C any, B gristmill.ColumnBuilder](
	t *testing.T, kind gristmill.Kind[C, B], copy func(from C, rows int, to B), values ...any,
) {
	t.Helper()
	plan := func(_ *gristmill.Setup, p *gristmill.Plan) (gristmill.Transform, error) {
		in := p.Read("column", kind)
		return &copying[C, B]{in, p.Output("records").Compute("column", kind), copy}, nil
	}
	for _, values := range [][]any{values, values[:1], nil} {
		input := gristmilltest.NewTable().Column("column", kind.Type(), values...)
		result, err := gristmilltest.Harness{}.Run(plan, input)
		if err != nil {
			t.Fatalf("%s: %v", kind.Type(), err)
		}
		output := result.Output("records")
		if !reflect.DeepEqual(output.Values("column"), input.Values("column")) {
			t.Errorf("%s: got %v, want %v", kind.Type(), output, input)
		}
	}
}

func fixed[T gristmill.Fixed](from gristmill.Column[T], rows int, to *gristmill.Builder[T]) {
	for row := range rows {
		to.AppendOption(from.Get(row))
	}
}

func texts[O gristmill.Offset](from gristmill.Texts[O], rows int, to *gristmill.TextsBuilder[O]) {
	for row := range rows {
		to.AppendOption(from.Get(row))
	}
}

func byteStrings[O gristmill.Offset](from gristmill.Bytes[O], rows int, to *gristmill.ByteStringsBuilder[O]) {
	for row := range rows {
		to.AppendOption(from.Get(row))
	}
}

func lists[O gristmill.Offset](
	from gristmill.Lists[O, gristmill.TextColumn], rows int, to *gristmill.ListsBuilder[O, *gristmill.TextBuilder],
) {
	for row := range rows {
		if from.IsNull(row) {
			to.AppendNull()
			continue
		}
		for item := range from.Each(row) {
			to.Items().AppendOption(from.Items().Get(item))
		}
		to.End()
	}
}

func TestEveryTypeGoesInAndOut(t *testing.T) {
	roundTrip(t, gristmill.Int8, fixed[int8], 127, nil, -128)
	roundTrip(t, gristmill.Int16, fixed[int16], 32767, nil, -32768)
	roundTrip(t, gristmill.Int32, fixed[int32], 1<<31-1, nil, -1<<31)
	roundTrip(t, gristmill.Int64, fixed[int64], 1<<62, nil, -1)
	roundTrip(t, gristmill.Uint8, fixed[uint8], 255, nil, 0)
	roundTrip(t, gristmill.Uint16, fixed[uint16], 65535, nil, 0)
	roundTrip(t, gristmill.Uint32, fixed[uint32], 1<<32-1, nil, 0)
	roundTrip(t, gristmill.Uint64, fixed[uint64], uint64(1<<64-1), nil, 0)
	roundTrip(t, gristmill.Float16, fixed[gristmill.Half], 1.5, nil, -65504.0)
	roundTrip(t, gristmill.Float32, fixed[float32], 1.5, nil, -0.25)
	roundTrip(t, gristmill.Float64, fixed[float64], 1.1, nil, -1e300)
	wide := gristmill.Int256{1, 2, 3, 4}
	roundTrip(t, gristmill.Decimal128(38, 2), fixed[gristmill.Int128], gristmill.ToInt128(-150), nil, 7)
	roundTrip(t, gristmill.Decimal256(76, 2), fixed[gristmill.Int256], wide, nil, -7)
	roundTrip(t, gristmill.Date32, fixed[int32], 19000, nil, -1)
	roundTrip(t, gristmill.Date64, fixed[int64], 86_400_000, nil, -86_400_000)
	roundTrip(t, gristmill.Time32(gristmill.Millisecond), fixed[int32], 1, nil, 86_399_999)
	roundTrip(t, gristmill.Time64(gristmill.Nanosecond), fixed[int64], 1, nil, 2)
	roundTrip(t, gristmill.Timestamp(gristmill.Microsecond, "+00:00"), fixed[int64], 1, nil, -1)
	roundTrip(t, gristmill.Duration(gristmill.Second), fixed[int64], 1, nil, -1)
	roundTrip(t, gristmill.Utf8, texts[int32], "", nil, "é", "a text of more than sixty-four bytes, which is copied in one go and not in words")
	roundTrip(t, gristmill.LargeUtf8, texts[int64], "a", nil, "b")
	roundTrip(t, gristmill.Binary, byteStrings[int32], []byte{0xff}, nil, []byte{})
	roundTrip(t, gristmill.LargeBinary, byteStrings[int64], []byte("ab"), nil, []byte("c"))
	roundTrip(t, gristmill.List(gristmill.Utf8), lists[int32], []any{"a", nil}, nil, []any{}, []any{"b"})
	roundTrip(t, gristmill.LargeList(gristmill.Utf8), lists[int64], []any{"a", nil}, nil, []any{}, []any{"b"})

	roundTrip(t, gristmill.Null, func(from gristmill.NullColumn, rows int, to *gristmill.NullBuilder) {
		for row := range rows {
			if !from.IsNull(row) {
				t.Error("a value in a column of nulls")
			}
			to.AppendNull()
		}
	}, nil, nil)
	booleans := func(from gristmill.BoolColumn, rows int, to *gristmill.BoolBuilder) {
		for row := range rows {
			to.AppendOption(from.Get(row))
		}
	}
	roundTrip(t, gristmill.Boolean, booleans, true, nil, false, true, true, nil, false, true, true, nil)
	roundTrip(t, gristmill.FixedSizeBinary(2),
		func(from gristmill.FixedBytesColumn, rows int, to *gristmill.FixedBytesBuilder) {
			for row := range rows {
				if value, ok := from.Get(row); ok {
					to.Append(value)
				} else {
					to.AppendNull()
				}
			}
		}, []byte("ab"), nil, []byte("cd"))
	roundTrip(t, gristmill.FixedSizeList(gristmill.Int16, 2),
		func(
			from gristmill.FixedListColumn[gristmill.Column[int16]], rows int,
			to *gristmill.FixedListBuilder[*gristmill.Builder[int16]],
		) {
			for row := range rows {
				if from.IsNull(row) {
					to.AppendNull()
					continue
				}
				for item := range from.Each(row) {
					to.Items().AppendOption(from.Items().Get(item))
				}
				to.End()
			}
		}, []any{1, nil}, nil, []any{3, 4})
	roundTrip(t, gristmill.Struct(
		gristmill.Optional("city", gristmill.Utf8.Type()), gristmill.Optional("score", gristmill.Int32.Type()),
	), func(from gristmill.StructColumn, rows int, to *gristmill.StructBuilder) {
		fromCity, toCity := from.Member("city", gristmill.Utf8), to.Member("city", gristmill.Utf8)
		fromScore, toScore := from.Member("score", gristmill.Int32), to.Member("score", gristmill.Int32)
		for row := range rows {
			toCity.AppendOption(fromCity.Get(row))
			toScore.AppendOption(fromScore.Get(row))
			if from.IsNull(row) {
				to.AppendNull()
			} else {
				to.Append()
			}
		}
	}, []any{"Rome", 1}, nil, []any{nil, 2})
	roundTrip(t, gristmill.Map(gristmill.Utf8, gristmill.Float64),
		func(
			from gristmill.MapColumn[gristmill.TextColumn, gristmill.Column[float64]], rows int,
			to *gristmill.MapBuilder[*gristmill.TextBuilder, *gristmill.Builder[float64]],
		) {
			for row := range rows {
				if from.IsNull(row) {
					to.AppendNull()
					continue
				}
				for entry := range from.Each(row) {
					to.Keys().Append(from.Keys().Value(entry))
					to.Values().AppendOption(from.Values().Get(entry))
				}
				to.End()
			}
		}, []gristmilltest.Entry{{"a", 1.5}, {"b", nil}}, nil, []gristmilltest.Entry{})
}

func TestTakeCopiesValuesOfEveryType(t *testing.T) {
	nested := gristmill.ListOf(gristmill.StructOf(
		gristmill.Optional("page", gristmill.Utf8.Type()),
		gristmill.Optional("pair", gristmill.FixedSizeList(gristmill.Int8, 2).Type()),
	))
	table := gristmilltest.NewTable().
		Column("null", gristmill.Null.Type(), nil, nil, nil).
		Column("bool", gristmill.Boolean.Type(), true, nil, false).
		Column("int", gristmill.Int32.Type(), 1, nil, 3).
		Column("text", gristmill.Utf8.Type(), "a", nil, "ccc").
		Column("bytes", gristmill.LargeBinary.Type(), []byte("a"), nil, []byte{}).
		Column("decimal", gristmill.Decimal256(40, 0).Type(), 1, nil, gristmill.Int256{0, 0, 9, 0}).
		Column("lists", gristmill.LargeList(gristmill.Int64).Type(), []any{1, 2}, nil, []any{}).
		Column("map", gristmill.MapOf(gristmill.Utf8.Type(), gristmill.Int8.Type()), []gristmilltest.Entry{{"a", 1}}, nil, nil).
		Column("nested", nested, []any{[]any{"p", []any{1, nil}}, nil}, nil, []any{[]any{nil, nil}})
	for _, field := range table.Fields() {
		for _, places := range [][]int{{2, 0, 0, 1}, {0, 2}, {}} {
			var want []any
			values := table.Values(field.Name)
			for _, place := range places {
				want = append(want, values[place])
			}
			taken := gristmill.NewArray(&field, table.Array(field.Name).Take(places))
			if err := gristmilltest.Check(taken); err != nil {
				t.Error(err)
			}
			got := gristmilltest.NewTable().Data(field, taken.Data()).Values(field.Name)
			if len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
				t.Errorf("%s %v: got %v, want %v", field.Name, places, got, want)
			}
		}
	}
}

func TestTypesHaveNamesThatPeopleCanRead(t *testing.T) {
	of := gristmill.ListOf(gristmill.StructOf(
		gristmill.Required("legs", gristmill.FixedSizeList(gristmill.Date32, 2).Type()),
		gristmill.Optional("notes", gristmill.MapOf(gristmill.Utf8.Type(), gristmill.Decimal128(9, 2).Type())),
		gristmill.Optional("at", gristmill.Timestamp(gristmill.Second, "UTC").Type()),
	))
	want := "list(struct(legs: fixed-size-list(date32, 2), notes: map(utf8, decimal128(9, 2)), at: timestamp(second, UTC)))"
	if of.String() != want {
		t.Error(of)
	}
}
