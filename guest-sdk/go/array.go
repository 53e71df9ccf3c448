package gristmill

import (
	"math/bits"
	"strconv"
	"unsafe"
)

// Node is the length and the null count of one array.
type Node struct{ Length, Nulls uint32 }

// ArrayData is a finished column: the nodes and buffers of its tree, depth first.
type ArrayData struct {
	Nodes   []Node
	Buffers [][]byte
}

// Len is the number of values.
func (d ArrayData) Len() int { return int(d.Nodes[0].Length) }

// Nulls is the number of nulls.
func (d ArrayData) Nulls() int { return int(d.Nodes[0].Nulls) }

// newData is a column with its own buffers and, behind them, its children.
func newData(length, nulls int, own [][]byte, children ...ArrayData) ArrayData {
	data := ArrayData{[]Node{{uint32(length), uint32(nulls)}}, own}
	for _, child := range children {
		data.Nodes = append(data.Nodes, child.Nodes...)
		data.Buffers = append(data.Buffers, child.Buffers...)
	}
	return data
}

// Array is a column of any type, untyped: its field, nodes and buffers as received.
type Array struct {
	field *Field
	data  ArrayData
}

// NewArray is a view of a finished column.
func NewArray(field *Field, data ArrayData) Array { return firstArray(field, &data) }

// firstArray takes the nodes and buffers of a field from the beginning of data.
func firstArray(field *Field, data *ArrayData) Array {
	nodes, buffers := field.Type.Layout()
	if len(data.Nodes) < nodes || len(data.Buffers) < buffers {
		panic("column " + field.Name + " is not whole")
	}
	array := Array{field, ArrayData{data.Nodes[:nodes:nodes], data.Buffers[:buffers:buffers]}}
	data.Nodes, data.Buffers = data.Nodes[nodes:], data.Buffers[buffers:]
	return array
}

// Field is the column's name, type and nullability.
func (a Array) Field() *Field { return a.field }

// Type is the column's type.
func (a Array) Type() *DataType { return &a.field.Type }

// Len is the number of values.
func (a Array) Len() int { return a.data.Len() }

// Data is the column as it may be given back, without a copy.
func (a Array) Data() ArrayData { return a.data }

// Buffers are the column's own, without its children's: validity first, then as in the contract.
func (a Array) Buffers() [][]byte { return a.data.Buffers[:a.field.Type.ownBuffers()] }

// Children are the column's members, in order; none unless it is nested.
func (a Array) Children() []Array {
	rest := ArrayData{a.data.Nodes[1:], a.data.Buffers[a.field.Type.ownBuffers():]}
	var children []Array
	for i := range a.field.Type.Children {
		children = append(children, firstArray(&a.field.Type.Children[i], &rest))
	}
	return children
}

// Validity says which values are not null.
func (a Array) Validity() Validity {
	validity := Validity{length: a.Len(), nulls: a.data.Nulls()}
	if a.field.Type.ID == TypeNull {
		validity.nulls = validity.length
	} else if bits := a.data.Buffers[0]; len(bits) > 0 {
		if len(bits) < (validity.length+7)/8 {
			panic("column " + a.field.Name + ": validity and length differ")
		}
		validity.bits = bits
	}
	return validity
}

// IsNull says whether value i is null.
func (a Array) IsNull(i int) bool { return a.Validity().IsNull(i) }

// Validity says which values of a column are not null.
type Validity struct {
	// Empty: no value is null, or all of a null column are.
	bits          []byte
	length, nulls int
}

// Len is the number of values.
func (v Validity) Len() int { return v.length }

// Nulls is the number of nulls.
func (v Validity) Nulls() int { return v.nulls }

// Bits has one bit for each value, from the least significant bit of byte 0. It is empty where no value is null.
func (v Validity) Bits() []byte { return v.bits }

// IsValid says whether value i is not null.
func (v Validity) IsValid(i int) bool {
	if len(v.bits) == 0 {
		return v.nulls == 0
	}
	return v.bits[i>>3]>>(i&7)&1 == 1
}

// IsNull says whether value i is null.
func (v Validity) IsNull(i int) bool { return !v.IsValid(i) }

// nullBits is the validity of a column in the making. It takes no room until the first null.
type nullBits struct {
	bits  []byte
	count int
}

func (n *nullBits) add(i int) {
	for len(n.bits) <= i>>3 {
		n.bits = append(n.bits, 0xff)
	}
	n.bits[i>>3] &^= 1 << (i & 7)
	n.count++
}

// truncate forgets the nulls from value length on.
func (n *nullBits) truncate(length int) {
	if n.count == 0 {
		return
	}
	if bytes := (length + 7) / 8; len(n.bits) > bytes {
		n.bits = n.bits[:bytes]
	}
	if last := length >> 3; last < len(n.bits) {
		n.bits[last] |= 0xff << (length & 7)
	}
	n.count = 0
	for _, b := range n.bits {
		n.count += bits.OnesCount8(^b)
	}
}

// finish gives the buffer and the null count.
func (n *nullBits) finish(length int) ([]byte, int) {
	if n.count == 0 {
		return nil, 0
	}
	for len(n.bits) < (length+7)/8 {
		n.bits = append(n.bits, 0xff)
	}
	return n.bits, n.count
}

// valuesOf reads a buffer as values of a fixed width. It holds at least length of them.
func valuesOf[T Fixed](array Array, buffer int, length int) []T {
	var zero T
	bytes := array.data.Buffers[buffer]
	if uint64(len(bytes)) < uint64(length)*uint64(unsafe.Sizeof(zero)) {
		panic("column " + array.field.Name + ": " + strconv.Itoa(len(bytes)) + " bytes for " +
			strconv.Itoa(length) + " values of " + strconv.Itoa(int(unsafe.Sizeof(zero))))
	}
	// The contract's numbers are little-endian, as on every machine that this SDK is for.
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(bytes))), length)
}

// bytesOf is the buffer that holds these values.
func bytesOf[T Fixed](values []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), len(values)*int(unsafe.Sizeof(zero)))
}
