package gristmill

import "strconv"

// ListBuilder makes a column of lists of the items that B makes.
type ListBuilder[B ColumnBuilder] = ListsBuilder[int32, B]

// LargeListBuilder makes a column of lists with 64-bit offsets.
type LargeListBuilder[B ColumnBuilder] = ListsBuilder[int64, B]

// ListsBuilder makes a column of lists: append items, then end the list. See [ListBuilder].
type ListsBuilder[O Offset, B ColumnBuilder] struct {
	offsets []O
	nulls   nullBits
	items   B
}

func newListsBuilder[O Offset, B ColumnBuilder](capacity int, items B) *ListsBuilder[O, B] {
	return &ListsBuilder[O, B]{offsets: make([]O, 1, capacity+1), items: items}
}

func (b *ListsBuilder[O, B]) Len() int { return len(b.offsets) - 1 }

// Items takes the items of the list in hand.
func (b *ListsBuilder[O, B]) Items() B { return b.items }

// End ends the list in hand: it has all items since the one before it.
func (b *ListsBuilder[O, B]) End() { b.offsets = append(b.offsets, O(b.items.Len())) }

// AppendNull adds a null list. It panics if there are items since the last list ended.
func (b *ListsBuilder[O, B]) AppendNull() {
	if int(b.offsets[b.Len()]) != b.items.Len() {
		panic("a null list has no items")
	}
	b.nulls.add(b.Len())
	b.End()
}

func (b *ListsBuilder[O, B]) Finish() ArrayData {
	validity, nulls := b.nulls.finish(b.Len())
	return newData(b.Len(), nulls, [][]byte{validity, bytesOf(b.offsets)}, b.items.Finish())
}

// FixedListBuilder makes a column of lists of one size: append items, then end the list.
type FixedListBuilder[B ColumnBuilder] struct {
	size, length int
	nulls        nullBits
	items        B
}

func (b *FixedListBuilder[B]) Len() int { return b.length }

// Items takes the items of the list in hand.
func (b *FixedListBuilder[B]) Items() B { return b.items }

// End ends the list in hand. It panics unless the list has its items.
func (b *FixedListBuilder[B]) End() {
	b.length++
	if b.items.Len() != b.length*b.size {
		panic("each list has " + strconv.Itoa(b.size) + " items")
	}
}

// AppendNull adds a null list. Its items are nulls.
func (b *FixedListBuilder[B]) AppendNull() {
	for range b.size {
		b.items.AppendNull()
	}
	b.nulls.add(b.length)
	b.End()
}

func (b *FixedListBuilder[B]) Finish() ArrayData {
	validity, nulls := b.nulls.finish(b.length)
	return newData(b.length, nulls, [][]byte{validity}, b.items.Finish())
}

// StructBuilder makes a column of structs. Every member takes a value for every struct, null ones included.
type StructBuilder struct {
	fields   []Field
	members  []ColumnBuilder
	length   int
	capacity int
	nulls    nullBits
}

// Member takes the values of a member. It panics where the type has no such member of this kind, or it was asked for
// before.
func (b *StructBuilder) Member[C any, B ColumnBuilder](name string, kind Kind[C, B]) B {
	for place := range b.fields {
		if field := &b.fields[place]; field.Name == name && field.Type.Equal(kind.dataType) && b.members[place] == nil {
			builder := kind.builder(b.capacity)
			b.members[place] = builder
			return builder
		}
	}
	panic("the struct has no member " + name + " of type " + kind.dataType.String() + ", or it was asked for before")
}

func (b *StructBuilder) Len() int { return b.length }

// Append adds a struct of the values that its members take.
func (b *StructBuilder) Append() { b.length++ }

func (b *StructBuilder) AppendNull() {
	b.nulls.add(b.length)
	b.length++
}

// Finish panics where a member has too few values or too many.
func (b *StructBuilder) Finish() ArrayData {
	validity, nulls := b.nulls.finish(b.length)
	var members []ArrayData
	for place, builder := range b.members {
		if builder == nil || builder.Len() != b.length {
			panic("member " + b.fields[place].Name + " needs one value for each of " + strconv.Itoa(b.length) + " structs")
		}
		members = append(members, builder.Finish())
	}
	return newData(b.length, nulls, [][]byte{validity}, members...)
}

// MapBuilder makes a column of maps: append keys and as many values, then end the map.
type MapBuilder[K, V ColumnBuilder] struct {
	offsets []int32
	nulls   nullBits
	keys    K
	values  V
}

func (b *MapBuilder[K, V]) Len() int { return len(b.offsets) - 1 }

// Keys takes the keys of the map in hand, none of them null.
func (b *MapBuilder[K, V]) Keys() K { return b.keys }

// Values takes the values of the map in hand.
func (b *MapBuilder[K, V]) Values() V { return b.values }

// End ends the map in hand. It panics unless there is a value for each key.
func (b *MapBuilder[K, V]) End() {
	if b.keys.Len() != b.values.Len() {
		panic("a map has a value for each key")
	}
	b.offsets = append(b.offsets, int32(b.keys.Len()))
}

// AppendNull adds a null map. It panics if there are keys since the last map ended.
func (b *MapBuilder[K, V]) AppendNull() {
	if int(b.offsets[b.Len()]) != b.keys.Len() {
		panic("a null map has no entries")
	}
	b.nulls.add(b.Len())
	b.End()
}

func (b *MapBuilder[K, V]) Finish() ArrayData {
	validity, nulls := b.nulls.finish(b.Len())
	entries := newData(b.keys.Len(), 0, [][]byte{nil}, b.keys.Finish(), b.values.Finish())
	return newData(b.Len(), nulls, [][]byte{validity, bytesOf(b.offsets)}, entries)
}
