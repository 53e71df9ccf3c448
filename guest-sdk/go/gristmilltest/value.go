package gristmilltest

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"gristmill"
)

// build makes a column, in bytes, so that no builder of the SDK is needed to test one. It panics where a value is not
// of the type.
func build(of gristmill.DataType, values []any) gristmill.ArrayData {
	node := gristmill.Node{Length: uint32(len(values))}
	validity := make([]byte, (len(values)+7)/8)
	for i, value := range values {
		if value == nil {
			node.Nulls++
		} else {
			validity[i>>3] |= 1 << (i & 7)
		}
	}
	if node.Nulls == 0 {
		validity = nil
	}
	data := gristmill.ArrayData{Nodes: []gristmill.Node{node}}
	add := func(children ...gristmill.ArrayData) gristmill.ArrayData {
		for _, child := range children {
			data.Nodes = append(data.Nodes, child.Nodes...)
			data.Buffers = append(data.Buffers, child.Buffers...)
		}
		return data
	}
	data.Buffers = [][]byte{validity}
	switch of.ID {
	case gristmill.TypeNull:
		data.Buffers = nil
		if int(node.Nulls) != len(values) {
			panic("a column of nulls holds nothing else")
		}
		return data
	case gristmill.TypeBoolean:
		bits := make([]byte, (len(values)+7)/8)
		for i, value := range values {
			if value != nil && value.(bool) {
				bits[i>>3] |= 1 << (i & 7)
			}
		}
		data.Buffers = append(data.Buffers, bits)
		return data
	case gristmill.TypeUtf8, gristmill.TypeLargeUtf8, gristmill.TypeBinary, gristmill.TypeLargeBinary:
		var content []byte
		ends := []int{0}
		for _, value := range values {
			content = append(content, bytesOf(of, value)...)
			ends = append(ends, len(content))
		}
		data.Buffers = append(data.Buffers, offsets(of, ends), content)
		return data
	case gristmill.TypeList, gristmill.TypeLargeList, gristmill.TypeMap:
		var items []any
		ends := []int{0}
		for _, value := range values {
			switch value := value.(type) {
			case nil:
			case []any:
				items = append(items, value...)
			case []Entry:
				for _, entry := range value {
					items = append(items, entry[:])
				}
			default:
				panic(wrong(value, of))
			}
			ends = append(ends, len(items))
		}
		data.Buffers = append(data.Buffers, offsets(of, ends))
		return add(build(of.Children[0].Type, items))
	case gristmill.TypeFixedSizeList:
		var items []any
		for _, value := range values {
			list, ok := value.([]any)
			switch {
			case value == nil:
				list = make([]any, of.Size)
			case !ok || len(list) != int(of.Size):
				panic(wrong(value, of))
			}
			items = append(items, list...)
		}
		return add(build(of.Children[0].Type, items))
	case gristmill.TypeStruct:
		var members []gristmill.ArrayData
		for place, child := range of.Children {
			var column []any
			for _, value := range values {
				cells, ok := value.([]any)
				switch {
				case value == nil:
					column = append(column, nil)
				case !ok || len(cells) != len(of.Children):
					panic(wrong(value, of))
				default:
					column = append(column, cells[place])
				}
			}
			members = append(members, build(child.Type, column))
		}
		return add(members...)
	default:
		var content []byte
		for _, value := range values {
			content = appendFixed(content, of, value)
		}
		data.Buffers = append(data.Buffers, content)
		return data
	}
}

func wrong(value any, of gristmill.DataType) string {
	return fmt.Sprintf("%#v is no value of %s", value, of)
}

func bytesOf(of gristmill.DataType, value any) []byte {
	text := of.ID == gristmill.TypeUtf8 || of.ID == gristmill.TypeLargeUtf8
	switch value := value.(type) {
	case nil:
		return nil
	case string:
		if text {
			return []byte(value)
		}
	case []byte:
		if !text {
			return value
		}
	}
	panic(wrong(value, of))
}

func offsets(of gristmill.DataType, ends []int) []byte {
	var bytes []byte
	for _, end := range ends {
		switch of.ID {
		case gristmill.TypeLargeUtf8, gristmill.TypeLargeBinary, gristmill.TypeLargeList:
			bytes = binary.LittleEndian.AppendUint64(bytes, uint64(end))
		default:
			bytes = binary.LittleEndian.AppendUint32(bytes, uint32(end))
		}
	}
	return bytes
}

func appendFixed(bytes []byte, of gristmill.DataType, value any) []byte {
	width := of.Width()
	if value == nil {
		return append(bytes, make([]byte, width)...)
	}
	switch of.ID {
	case gristmill.TypeFixedSizeBinary:
		if value, ok := value.([]byte); ok && len(value) == width {
			return append(bytes, value...)
		}
		panic(wrong(value, of))
	case gristmill.TypeFloat16, gristmill.TypeFloat32, gristmill.TypeFloat64:
		float, ok := value.(float64)
		switch {
		case !ok:
			panic(wrong(value, of))
		case width == 2:
			return binary.LittleEndian.AppendUint16(bytes, uint16(gristmill.ToHalf(float32(float))))
		case width == 4:
			return binary.LittleEndian.AppendUint32(bytes, math.Float32bits(float32(float)))
		default:
			return binary.LittleEndian.AppendUint64(bytes, math.Float64bits(float))
		}
	}
	wide := integer(of, value)
	var whole []byte
	for _, part := range wide {
		whole = binary.LittleEndian.AppendUint64(whole, part)
	}
	sign := byte(0)
	if wide[3]>>63 == 1 {
		sign = 0xff
	}
	signed := of.ID < gristmill.TypeUint8 || of.ID > gristmill.TypeUint64
	for _, rest := range whole[width:] {
		if rest != sign || !signed && sign != 0 {
			panic(wrong(value, of))
		}
	}
	if width < 32 && signed && whole[width-1]>>7 != sign>>7 {
		panic(wrong(value, of))
	}
	return append(bytes, whole[:width]...)
}

func integer(of gristmill.DataType, value any) gristmill.Int256 {
	small := func(value int64) gristmill.Int256 { return gristmill.ToInt256(gristmill.ToInt128(value)) }
	switch value := value.(type) {
	case int:
		return small(int64(value))
	case int8:
		return small(int64(value))
	case int16:
		return small(int64(value))
	case int32:
		return small(int64(value))
	case int64:
		return small(value)
	case uint8:
		return small(int64(value))
	case uint16:
		return small(int64(value))
	case uint32:
		return small(int64(value))
	case uint64:
		return gristmill.Int256{value}
	case gristmill.Int128:
		return gristmill.ToInt256(value)
	case gristmill.Int256:
		return value
	default:
		panic(wrong(value, of))
	}
}

// read gives all values of a column.
func read(array gristmill.Array) []any {
	of, buffers, children := array.Type(), array.Buffers(), array.Children()
	var items [][]any
	for _, child := range children {
		items = append(items, read(child))
	}
	values := make([]any, array.Len())
	for i := range values {
		if array.IsNull(i) {
			continue
		}
		switch of.ID {
		case gristmill.TypeBoolean:
			values[i] = buffers[1][i>>3]>>(i&7)&1 == 1
		case gristmill.TypeUtf8, gristmill.TypeLargeUtf8:
			start, end := span(of.ID, buffers[1], i)
			values[i] = string(buffers[2][start:end])
		case gristmill.TypeBinary, gristmill.TypeLargeBinary:
			start, end := span(of.ID, buffers[1], i)
			values[i] = buffers[2][start:end]
		case gristmill.TypeList, gristmill.TypeLargeList:
			start, end := span(of.ID, buffers[1], i)
			values[i] = items[0][start:end:end]
		case gristmill.TypeMap:
			start, end := span(of.ID, buffers[1], i)
			entries := []Entry{}
			for _, entry := range items[0][start:end] {
				entries = append(entries, Entry(entry.([]any)))
			}
			values[i] = entries
		case gristmill.TypeFixedSizeList:
			size := int(of.Size)
			values[i] = items[0][i*size : (i+1)*size : (i+1)*size]
		case gristmill.TypeStruct:
			members := []any{}
			for _, member := range items {
				members = append(members, member[i])
			}
			values[i] = members
		default:
			width := of.Width()
			values[i] = readFixed(of.ID, buffers[1][i*width:(i+1)*width])
		}
	}
	return values
}

func span(id gristmill.TypeID, offsets []byte, i int) (start, end int) {
	switch id {
	case gristmill.TypeLargeUtf8, gristmill.TypeLargeBinary, gristmill.TypeLargeList:
		return int(binary.LittleEndian.Uint64(offsets[8*i:])), int(binary.LittleEndian.Uint64(offsets[8*i+8:]))
	default:
		return int(binary.LittleEndian.Uint32(offsets[4*i:])), int(binary.LittleEndian.Uint32(offsets[4*i+4:]))
	}
}

func readFixed(id gristmill.TypeID, bytes []byte) any {
	switch id {
	case gristmill.TypeFixedSizeBinary:
		return bytes
	case gristmill.TypeFloat16:
		return float64(gristmill.Half(binary.LittleEndian.Uint16(bytes)).Float32())
	case gristmill.TypeFloat32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(bytes)))
	case gristmill.TypeFloat64:
		return math.Float64frombits(binary.LittleEndian.Uint64(bytes))
	case gristmill.TypeUint64:
		return binary.LittleEndian.Uint64(bytes)
	case gristmill.TypeDecimal128:
		return gristmill.Int128{
			Low: binary.LittleEndian.Uint64(bytes), High: int64(binary.LittleEndian.Uint64(bytes[8:])),
		}
	case gristmill.TypeDecimal256:
		var wide gristmill.Int256
		for i := range wide {
			wide[i] = binary.LittleEndian.Uint64(bytes[8*i:])
		}
		if value, ok := wide.Int128(); ok {
			return value
		}
		return wide
	}
	var whole [8]byte
	copy(whole[:], bytes)
	signed := id < gristmill.TypeUint8 || id > gristmill.TypeUint64
	if signed && bytes[len(bytes)-1]>>7 == 1 {
		for i := len(bytes); i < 8; i++ {
			whole[i] = 0xff
		}
	}
	return int64(binary.LittleEndian.Uint64(whole[:]))
}

func format(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case string:
		return value
	case []byte:
		return fmt.Sprintf("%x", value)
	case float64:
		return strconv.FormatFloat(value, 'g', -1, 64)
	case []any:
		var items []string
		for _, item := range value {
			items = append(items, format(item))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case []Entry:
		var entries []string
		for _, entry := range value {
			entries = append(entries, format(entry[0])+": "+format(entry[1]))
		}
		return "{" + strings.Join(entries, ", ") + "}"
	default:
		return fmt.Sprint(value)
	}
}
