package gristmill

import (
	"slices"
	"strconv"
	"strings"
)

// Stage is what a transform is used for.
type Stage string

const (
	// StageNormalize makes change records of the source's columns. It has one output, "records".
	StageNormalize Stage = "normalize"
	// StageMigrate makes change records of one schema from those of another. It has one output, "records".
	StageMigrate Stage = "migrate"
	// StageMap makes rows of the target from change records. It has one output for each target table.
	StageMap Stage = "map"
)

// TimeUnit is the unit of a time, timestamp or duration.
type TimeUnit uint8

const (
	Second TimeUnit = iota
	Millisecond
	Microsecond
	Nanosecond
)

func (u TimeUnit) String() string {
	return [...]string{"second", "millisecond", "microsecond", "nanosecond"}[u]
}

// TypeID says which of the contract's types a [DataType] is.
type TypeID uint8

// The types of the contract, in its order.
const (
	TypeNull TypeID = iota
	TypeBoolean
	TypeInt8
	TypeInt16
	TypeInt32
	TypeInt64
	TypeUint8
	TypeUint16
	TypeUint32
	TypeUint64
	TypeFloat16
	TypeFloat32
	TypeFloat64
	TypeDecimal128
	TypeDecimal256
	TypeUtf8
	TypeLargeUtf8
	TypeBinary
	TypeLargeBinary
	TypeFixedSizeBinary
	TypeDate32
	TypeDate64
	TypeTime32
	TypeTime64
	TypeTimestamp
	TypeDuration
	TypeList
	TypeLargeList
	TypeFixedSizeList
	TypeStruct
	TypeMap
)

var typeNames = [...]string{
	"null", "boolean", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
	"float16", "float32", "float64", "decimal128", "decimal256", "utf8", "large-utf8", "binary", "large-binary",
	"fixed-size-binary", "date32", "date64", "time32", "time64", "timestamp", "duration",
	"list", "large-list", "fixed-size-list", "struct", "map",
}

func (id TypeID) String() string { return typeNames[id] }

// DataType is the type of a column. Take the type of a [Kind], or fill the fields in that the type has.
type DataType struct {
	ID TypeID
	// Precision and Scale of decimals: digits in all, and digits behind the point.
	Precision uint8
	Scale     int8
	// Unit of times, timestamps and durations.
	Unit TimeUnit
	// Zone of a timestamp: an IANA name or a fixed offset. Empty for local time.
	Zone string
	// Size is the bytes of a fixed-size-binary value, or the items of a fixed-size-list value.
	Size uint32
	// Sorted says that the keys of each value of a map are sorted.
	Sorted bool
	// Children of nested types: the item of a list, the members of a struct, the entries of a map. Entries are a
	// struct, never null, of the keys, never null, and the values.
	Children []Field
}

// Field is a named column, or a member of a nested one.
type Field struct {
	Name     string
	Type     DataType
	Nullable bool
}

// Optional is a field that may hold nulls.
func Optional(name string, dataType DataType) Field {
	return Field{Name: name, Type: dataType, Nullable: true}
}

// Required is a field that never holds nulls.
func Required(name string, dataType DataType) Field { return Field{Name: name, Type: dataType} }

// ListOf is the type of lists of nullable items.
func ListOf(items DataType) DataType {
	return DataType{ID: TypeList, Children: []Field{Optional("item", items)}}
}

// StructOf is the type of structs of these members.
func StructOf(members ...Field) DataType { return DataType{ID: TypeStruct, Children: members} }

// MapOf is the type of maps with nullable values and unsorted keys.
func MapOf(keys, values DataType) DataType {
	entries := StructOf(Required("key", keys), Optional("value", values))
	return DataType{ID: TypeMap, Children: []Field{Required("entries", entries)}}
}

// Equal says whether both are the same type, members' names included.
func (t DataType) Equal(other DataType) bool {
	return t.ID == other.ID && t.Precision == other.Precision && t.Scale == other.Scale && t.Unit == other.Unit &&
		t.Zone == other.Zone && t.Size == other.Size && t.Sorted == other.Sorted &&
		slices.EqualFunc(t.Children, other.Children, Field.Equal)
}

// Equal says whether both have the same name, type and nullability.
func (f Field) Equal(other Field) bool {
	return f.Name == other.Name && f.Nullable == other.Nullable && f.Type.Equal(other.Type)
}

// Width is the bytes of one value of a type of fixed width; 0 for all others, booleans included.
func (t DataType) Width() int {
	switch t.ID {
	case TypeInt8, TypeUint8:
		return 1
	case TypeInt16, TypeUint16, TypeFloat16:
		return 2
	case TypeInt32, TypeUint32, TypeFloat32, TypeDate32, TypeTime32:
		return 4
	case TypeInt64, TypeUint64, TypeFloat64, TypeDate64, TypeTime64, TypeTimestamp, TypeDuration:
		return 8
	case TypeDecimal128:
		return 16
	case TypeDecimal256:
		return 32
	case TypeFixedSizeBinary:
		return int(t.Size)
	default:
		return 0
	}
}

// ownBuffers is how many buffers a column of this type has itself, without its children.
func (t DataType) ownBuffers() int {
	switch t.ID {
	case TypeNull:
		return 0
	case TypeFixedSizeList, TypeStruct:
		return 1
	case TypeUtf8, TypeLargeUtf8, TypeBinary, TypeLargeBinary:
		return 3
	default:
		return 2
	}
}

// Layout is how many nodes and buffers a column of this type has, its children included.
func (t DataType) Layout() (nodes, buffers int) {
	nodes, buffers = 1, t.ownBuffers()
	for _, child := range t.Children {
		n, b := child.Type.Layout()
		nodes += n
		buffers += b
	}
	return nodes, buffers
}

// wellFormed says whether the type has the children that its sort asks for.
func (t DataType) wellFormed() bool {
	switch t.ID {
	case TypeList, TypeLargeList, TypeFixedSizeList:
		return len(t.Children) == 1
	case TypeMap:
		return len(t.Children) == 1 && t.Children[0].Type.ID == TypeStruct && len(t.Children[0].Type.Children) == 2
	case TypeStruct:
		return true
	default:
		return len(t.Children) == 0
	}
}

func (t DataType) String() string {
	switch t.ID {
	case TypeDecimal128, TypeDecimal256:
		return t.ID.String() + "(" + strconv.Itoa(int(t.Precision)) + ", " + strconv.Itoa(int(t.Scale)) + ")"
	case TypeFixedSizeBinary:
		return t.ID.String() + "(" + strconv.Itoa(int(t.Size)) + ")"
	case TypeTimestamp:
		if t.Zone != "" {
			return "timestamp(" + t.Unit.String() + ", " + t.Zone + ")"
		}
		return "timestamp(" + t.Unit.String() + ")"
	case TypeTime32, TypeTime64, TypeDuration:
		return t.ID.String() + "(" + t.Unit.String() + ")"
	case TypeList, TypeLargeList:
		return t.ID.String() + "(" + t.Children[0].Type.String() + ")"
	case TypeFixedSizeList:
		return "fixed-size-list(" + t.Children[0].Type.String() + ", " + strconv.Itoa(int(t.Size)) + ")"
	case TypeStruct:
		var members []string
		for _, member := range t.Children {
			members = append(members, member.Name+": "+member.Type.String())
		}
		return "struct(" + strings.Join(members, ", ") + ")"
	case TypeMap:
		entries := t.Children[0].Type.Children
		return "map(" + entries[0].Type.String() + ", " + entries[1].Type.String() + ")"
	default:
		return t.ID.String()
	}
}
