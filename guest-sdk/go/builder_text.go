package gristmill

import (
	"encoding/binary"
	"unsafe"
)

// TextBuilder makes a column of texts.
type TextBuilder = TextsBuilder[int32]

// LargeTextBuilder makes a column of texts with 64-bit offsets.
type LargeTextBuilder = TextsBuilder[int64]

// BytesBuilder makes a column of byte strings.
type BytesBuilder = ByteStringsBuilder[int32]

// LargeBytesBuilder makes a column of byte strings with 64-bit offsets.
type LargeBytesBuilder = ByteStringsBuilder[int64]

// expectedBytes of a value get room at first; the room doubles when it is full.
const expectedBytes = 16

// stringsBuilder is what texts and byte strings have in common.
type stringsBuilder[O Offset] struct {
	offsets []O
	bytes   []byte
	nulls   nullBits
}

func newStringsBuilder[O Offset](capacity int) stringsBuilder[O] {
	offsets := make([]O, 1, capacity+1)
	return stringsBuilder[O]{offsets: offsets, bytes: make([]byte, 0, capacity*expectedBytes)}
}

func (b *stringsBuilder[O]) Len() int { return len(b.offsets) - 1 }

func (b *stringsBuilder[O]) AppendNull() {
	b.nulls.add(b.Len())
	b.endValue()
}

func (b *stringsBuilder[O]) endValue() { b.offsets = append(b.offsets, O(len(b.bytes))) }

// AppendFunc adds one value: what write appends to the slice that it gets and returns. It spares a value of its own
// in between:
//
//	builder.AppendFunc(func(text []byte) []byte { return strconv.AppendInt(text, number, 10) })
func (b *stringsBuilder[O]) AppendFunc(write func([]byte) []byte) {
	before := len(b.bytes)
	b.bytes = write(b.bytes)
	if len(b.bytes) < before {
		panic("a value never takes bytes from the one before it")
	}
	b.endValue()
}

func (b *stringsBuilder[O]) Finish() ArrayData {
	validity, nulls := b.nulls.finish(b.Len())
	return newData(b.Len(), nulls, [][]byte{validity, bytesOf(b.offsets), b.bytes})
}

func (b *stringsBuilder[O]) truncate(length int) {
	b.offsets = b.offsets[:length+1]
	b.bytes = b.bytes[:b.offsets[length]]
	b.nulls.truncate(length)
}

// TextsBuilder makes a column of texts, which must be valid UTF-8. See [TextBuilder].
type TextsBuilder[O Offset] struct{ stringsBuilder[O] }

func newTextsBuilder[O Offset](capacity int) *TextsBuilder[O] {
	return &TextsBuilder[O]{newStringsBuilder[O](capacity)}
}

// Append adds a value.
func (b *TextsBuilder[O]) Append(value string) {
	b.bytes = appendValue(b.bytes, unsafe.Slice(unsafe.StringData(value), len(value)))
	b.endValue()
}

// AppendBytes adds a value that is valid UTF-8.
func (b *TextsBuilder[O]) AppendBytes(value []byte) {
	b.bytes = appendValue(b.bytes, value)
	b.endValue()
}

// AppendOption adds a value where it is valid, else a null.
func (b *TextsBuilder[O]) AppendOption(value string, valid bool) {
	if valid {
		b.Append(value)
	} else {
		b.AppendNull()
	}
}

// ByteStringsBuilder makes a column of byte strings. See [BytesBuilder].
type ByteStringsBuilder[O Offset] struct{ stringsBuilder[O] }

func newByteStringsBuilder[O Offset](capacity int) *ByteStringsBuilder[O] {
	return &ByteStringsBuilder[O]{newStringsBuilder[O](capacity)}
}

// Append adds a value.
func (b *ByteStringsBuilder[O]) Append(value []byte) {
	b.bytes = appendValue(b.bytes, value)
	b.endValue()
}

// AppendOption adds a value where it is valid, else a null.
func (b *ByteStringsBuilder[O]) AppendOption(value []byte, valid bool) {
	if valid {
		b.Append(value)
	} else {
		b.AppendNull()
	}
}

// appendValue appends a value. Engines call out of the guest for a copy of a length that is not known when it is
// compiled, which costs more than a short value itself: those are copied in words, the last of which may overlap.
func appendValue(to, value []byte) []byte {
	length, size := len(to), len(value)
	if size >= 64 || size > cap(to)-length {
		return append(to, value...)
	}
	to = to[:length+size]
	rest := to[length:]
	switch {
	case size >= 8:
		for i := 0; i <= size-8; i += 8 {
			binary.LittleEndian.PutUint64(rest[i:], binary.LittleEndian.Uint64(value[i:]))
		}
		binary.LittleEndian.PutUint64(rest[size-8:], binary.LittleEndian.Uint64(value[size-8:]))
	case size >= 4:
		binary.LittleEndian.PutUint32(rest, binary.LittleEndian.Uint32(value))
		binary.LittleEndian.PutUint32(rest[size-4:], binary.LittleEndian.Uint32(value[size-4:]))
	default:
		for i, b := range value {
			rest[i] = b
		}
	}
	return to
}
