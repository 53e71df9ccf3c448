package gristmill

import "strconv"

// ColumnBuilder is a column in the making.
type ColumnBuilder interface {
	// Len is the number of values so far, nulls included.
	Len() int
	// AppendNull adds a null.
	AppendNull()
	// Finish gives the column. The builder is not to be used any more.
	Finish() ArrayData
}

// Builder makes a column of fixed-width values.
type Builder[T Fixed] struct {
	values []T
	nulls  nullBits
}

func newBuilder[T Fixed](capacity int) *Builder[T] {
	return &Builder[T]{values: make([]T, 0, capacity)}
}

func (b *Builder[T]) Len() int { return len(b.values) }

// Append adds a value.
func (b *Builder[T]) Append(value T) { b.values = append(b.values, value) }

// AppendAll adds values, none of them null.
func (b *Builder[T]) AppendAll(values []T) { b.values = append(b.values, values...) }

func (b *Builder[T]) AppendNull() {
	b.nulls.add(len(b.values))
	var zero T
	b.values = append(b.values, zero)
}

// AppendOption adds a value where it is valid, else a null.
func (b *Builder[T]) AppendOption(value T, valid bool) {
	if !valid {
		b.nulls.add(len(b.values))
	}
	b.values = append(b.values, value)
}

func (b *Builder[T]) Finish() ArrayData {
	validity, nulls := b.nulls.finish(len(b.values))
	return newData(len(b.values), nulls, [][]byte{validity, bytesOf(b.values)})
}

func (b *Builder[T]) truncate(length int) {
	b.values = b.values[:length]
	b.nulls.truncate(length)
}

// BoolBuilder makes a column of booleans.
type BoolBuilder struct {
	bits   []byte
	length int
	nulls  nullBits
}

func newBoolBuilder(capacity int) *BoolBuilder {
	return &BoolBuilder{bits: make([]byte, 0, (capacity+7)/8)}
}

func (b *BoolBuilder) Len() int { return b.length }

// Append adds a value.
func (b *BoolBuilder) Append(value bool) {
	place := b.length & 7
	if place == 0 {
		b.bits = append(b.bits, 0)
	}
	if value {
		b.bits[len(b.bits)-1] |= 1 << place
	}
	b.length++
}

func (b *BoolBuilder) AppendNull() {
	b.nulls.add(b.length)
	b.Append(false)
}

// AppendOption adds a value where it is valid, else a null.
func (b *BoolBuilder) AppendOption(value, valid bool) {
	if !valid {
		b.nulls.add(b.length)
	}
	b.Append(value)
}

func (b *BoolBuilder) Finish() ArrayData {
	validity, nulls := b.nulls.finish(b.length)
	return newData(b.length, nulls, [][]byte{validity, b.bits})
}

func (b *BoolBuilder) truncate(length int) {
	b.length = length
	b.bits = b.bits[:(length+7)/8]
	if length&7 != 0 {
		b.bits[length>>3] &= 1<<(length&7) - 1
	}
	b.nulls.truncate(length)
}

// NullBuilder makes a column of nothing but nulls.
type NullBuilder struct{ length int }

func newNullBuilder(int) *NullBuilder { return new(NullBuilder) }

func (b *NullBuilder) Len() int { return b.length }

func (b *NullBuilder) AppendNull() { b.length++ }

func (b *NullBuilder) Finish() ArrayData { return newData(b.length, b.length, nil) }

func (b *NullBuilder) truncate(length int) { b.length = length }

// AnyBuilder takes a column that is finished already.
type AnyBuilder struct {
	dataType DataType
	data     ArrayData
}

// Set sets the column, such as an [Array.Data] of the batch. It has the kind's type.
func (b *AnyBuilder) Set(data ArrayData) { b.data = data }

func (b *AnyBuilder) Len() int {
	if b.data.Nodes == nil {
		return 0
	}
	return b.data.Len()
}

// AppendNull panics: the column is finished.
func (b *AnyBuilder) AppendNull() { panic("a finished column takes no more values") }

func (b *AnyBuilder) Finish() ArrayData {
	if b.data.Nodes == nil {
		return emptyData(b.dataType)
	}
	return b.data
}

// emptyData is a column of no values.
func emptyData(dataType DataType) ArrayData {
	own := make([][]byte, dataType.ownBuffers())
	switch dataType.ID {
	case TypeUtf8, TypeBinary, TypeList, TypeMap:
		own[1] = make([]byte, 4)
	case TypeLargeUtf8, TypeLargeBinary, TypeLargeList:
		own[1] = make([]byte, 8)
	}
	var children []ArrayData
	for _, child := range dataType.Children {
		children = append(children, emptyData(child.Type))
	}
	return newData(0, 0, own, children...)
}

// FixedBytesBuilder makes a column of byte strings of one width.
type FixedBytesBuilder struct {
	width, length int
	bytes         []byte
	nulls         nullBits
}

func newFixedBytesBuilder(width, capacity int) *FixedBytesBuilder {
	return &FixedBytesBuilder{width: width, bytes: make([]byte, 0, width*capacity)}
}

func (b *FixedBytesBuilder) Len() int { return b.length }

// Append adds a value. It panics unless the value has the column's width.
func (b *FixedBytesBuilder) Append(value []byte) {
	if len(value) != b.width {
		panic("a value of " + strconv.Itoa(len(value)) + " bytes in a column of width " + strconv.Itoa(b.width))
	}
	b.bytes = append(b.bytes, value...)
	b.length++
}

func (b *FixedBytesBuilder) AppendNull() {
	b.nulls.add(b.length)
	b.bytes = append(b.bytes, make([]byte, b.width)...)
	b.length++
}

func (b *FixedBytesBuilder) Finish() ArrayData {
	validity, nulls := b.nulls.finish(b.length)
	return newData(b.length, nulls, [][]byte{validity, b.bytes})
}

func (b *FixedBytesBuilder) truncate(length int) {
	b.length = length
	b.bytes = b.bytes[:length*b.width]
	b.nulls.truncate(length)
}
