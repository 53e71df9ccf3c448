package gristmill

import (
	"iter"
	"unsafe"
)

// Fixed are the values of columns of a fixed width.
type Fixed interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64 | Half | Int128 | Int256
}

// Column is a view of a column of fixed-width values: numbers, dates, times, and the unscaled values of decimals. Like
// every view it copies nothing. What Value gives for a null is unspecified. Indexes past the end panic.
type Column[T Fixed] struct {
	Validity
	values   []T
	dataType *DataType
}

func viewColumn[T Fixed](array Array) Column[T] {
	return Column[T]{array.Validity(), valuesOf[T](array, 1, array.Len()), array.Type()}
}

// Type tells the scale of decimals, and the unit of times.
func (c Column[T]) Type() *DataType { return c.dataType }

// Value is value i.
func (c Column[T]) Value(i int) T { return c.values[i] }

// Get is value i. It is false for a null.
func (c Column[T]) Get(i int) (value T, ok bool) {
	return c.values[i], c.IsValid(i)
}

// Values are all of them, for bulk work beside [Validity]. They are not to be changed.
func (c Column[T]) Values() []T { return c.values }

// BoolColumn is a view of a column of booleans.
type BoolColumn struct {
	Validity
	values []byte
}

func viewBools(array Array) BoolColumn {
	return BoolColumn{array.Validity(), valuesOf[uint8](array, 1, (array.Len()+7)/8)}
}

// Value is value i.
func (c BoolColumn) Value(i int) bool { return c.values[i>>3]>>(i&7)&1 == 1 }

// Get is value i. It is false for a null.
func (c BoolColumn) Get(i int) (value, ok bool) { return c.Value(i), c.IsValid(i) }

// NullColumn is a column of nothing but nulls.
type NullColumn struct{ Validity }

func viewNulls(array Array) NullColumn { return NullColumn{array.Validity()} }

// Offset is how a column counts bytes or items: 32 bits, or 64 in types called large.
type Offset interface{ int32 | int64 }

// TextColumn is a view of a column of texts.
type TextColumn = Texts[int32]

// LargeTextColumn is a view of a column of texts with 64-bit offsets.
type LargeTextColumn = Texts[int64]

// Texts is a view of a column of texts, which are valid UTF-8. See [TextColumn].
type Texts[O Offset] struct{ Bytes[O] }

func viewTexts[O Offset](array Array) Texts[O] { return Texts[O]{viewBytes[O](array)} }

// Value is value i, without a copy.
func (c Texts[O]) Value(i int) string {
	value := c.Bytes.Value(i)
	return unsafe.String(unsafe.SliceData(value), len(value))
}

// Get is value i. It is false for a null.
func (c Texts[O]) Get(i int) (value string, ok bool) { return c.Value(i), c.IsValid(i) }

// BytesColumn is a view of a column of byte strings.
type BytesColumn = Bytes[int32]

// LargeBytesColumn is a view of a column of byte strings with 64-bit offsets.
type LargeBytesColumn = Bytes[int64]

// Bytes is a view of a column of byte strings. See [BytesColumn].
type Bytes[O Offset] struct {
	Validity
	offsets []O
	bytes   []byte
}

func viewBytes[O Offset](array Array) Bytes[O] {
	return Bytes[O]{array.Validity(), valuesOf[O](array, 1, array.Len()+1), array.data.Buffers[2]}
}

// Value is value i, without a copy. It is not to be changed.
func (c Bytes[O]) Value(i int) []byte { return c.bytes[c.offsets[i]:c.offsets[i+1]] }

// Get is value i. It is false for a null.
func (c Bytes[O]) Get(i int) (value []byte, ok bool) { return c.Value(i), c.IsValid(i) }

// Offsets are where each value starts in Content; the last one is where the last value ends.
func (c Bytes[O]) Offsets() []O { return c.offsets }

// Content is the bytes of all values, one behind the other.
func (c Bytes[O]) Content() []byte { return c.bytes }

// FixedBytesColumn is a view of a column of byte strings of one width.
type FixedBytesColumn struct {
	Validity
	width int
	bytes []byte
}

func viewFixedBytes(array Array) FixedBytesColumn {
	width := int(array.Type().Size)
	return FixedBytesColumn{array.Validity(), width, valuesOf[uint8](array, 1, array.Len()*width)}
}

// Width is the bytes of each value.
func (c FixedBytesColumn) Width() int { return c.width }

// Value is value i, without a copy. It is not to be changed.
func (c FixedBytesColumn) Value(i int) []byte { return c.bytes[i*c.width : (i+1)*c.width] }

// Get is value i. It is false for a null.
func (c FixedBytesColumn) Get(i int) (value []byte, ok bool) { return c.Value(i), c.IsValid(i) }

// ListColumn is a view of a column of lists, with items viewed as C.
type ListColumn[C any] = Lists[int32, C]

// LargeListColumn is a view of a column of lists with 64-bit offsets.
type LargeListColumn[C any] = Lists[int64, C]

// Lists is a view of a column of lists. See [ListColumn].
type Lists[O Offset, C any] struct {
	Validity
	offsets []O
	items   C
}

func viewLists[O Offset, C any](array Array, items func(Array) C) Lists[O, C] {
	return Lists[O, C]{array.Validity(), valuesOf[O](array, 1, array.Len()+1), items(array.Children()[0])}
}

// Items are those of all lists, one list behind the other.
func (c Lists[O, C]) Items() C { return c.items }

// Range says which of Items list i has: those from start up to, not including, end.
func (c Lists[O, C]) Range(i int) (start, end int) { return int(c.offsets[i]), int(c.offsets[i+1]) }

// Each gives the place in Items of each item of list i.
func (c Lists[O, C]) Each(i int) iter.Seq[int] { return places(c.Range(i)) }

// FixedListColumn is a view of a column of lists of one size, with items viewed as C.
type FixedListColumn[C any] struct {
	Validity
	size  int
	items C
}

func viewFixedLists[C any](array Array, items func(Array) C) FixedListColumn[C] {
	return FixedListColumn[C]{array.Validity(), int(array.Type().Size), items(array.Children()[0])}
}

// Size is the number of items of each list.
func (c FixedListColumn[C]) Size() int { return c.size }

// Items are those of all lists, one list behind the other.
func (c FixedListColumn[C]) Items() C { return c.items }

// Range says which of Items list i has: those from start up to, not including, end.
func (c FixedListColumn[C]) Range(i int) (start, end int) { return i * c.size, (i + 1) * c.size }

// Each gives the place in Items of each item of list i.
func (c FixedListColumn[C]) Each(i int) iter.Seq[int] { return places(c.Range(i)) }

// StructColumn is a view of a column of structs.
type StructColumn struct {
	Validity
	array Array
}

func viewStructs(array Array) StructColumn { return StructColumn{array.Validity(), array} }

// Member is a view of a member. Where the struct is null a member may have any value. It panics where there is no such
// member of this kind: name it in the [Struct] that the plan reads, so that the plan fails instead.
func (c StructColumn) Member[C any, B ColumnBuilder](name string, kind Kind[C, B]) C {
	for _, member := range c.array.Children() {
		if member.field.Name == name && kind.check(member.field) == nil {
			return kind.view(member)
		}
	}
	panic("struct " + c.array.field.Name + " has no member " + name + " of type " + kind.dataType.String())
}

// MapColumn is a view of a column of maps, with keys viewed as K and values viewed as V.
type MapColumn[K, V any] struct {
	Validity
	offsets []int32
	keys    K
	values  V
}

func viewMaps[K, V any](array Array, keys func(Array) K, values func(Array) V) MapColumn[K, V] {
	entries := array.Children()[0].Children()
	return MapColumn[K, V]{
		array.Validity(), valuesOf[int32](array, 1, array.Len()+1), keys(entries[0]), values(entries[1]),
	}
}

// Keys are those of all maps, one map behind the other.
func (c MapColumn[K, V]) Keys() K { return c.keys }

// Values are those of all maps, in the places of their keys.
func (c MapColumn[K, V]) Values() V { return c.values }

// Range says which of Keys and Values map i has: those from start up to, not including, end.
func (c MapColumn[K, V]) Range(i int) (start, end int) { return int(c.offsets[i]), int(c.offsets[i+1]) }

// Each gives the place in Keys and Values of each entry of map i.
func (c MapColumn[K, V]) Each(i int) iter.Seq[int] { return places(c.Range(i)) }

func places(start, end int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for place := start; place < end; place++ {
			if !yield(place) {
				return
			}
		}
	}
}
