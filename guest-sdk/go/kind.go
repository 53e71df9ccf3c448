package gristmill

// Kind is a kind of column: a type of the contract, with the view C that reads it and the builder B that makes it.
type Kind[C any, B ColumnBuilder] struct {
	dataType DataType
	// Reads every type, whatever dataType is.
	any     bool
	view    func(Array) C
	builder func(capacity int) B
}

// Type is the type of columns of this kind.
func (k Kind[C, B]) Type() DataType { return k.dataType }

// View reads a column of this kind's type.
func (k Kind[C, B]) View(array Array) C { return k.view(array) }

// NewBuilder makes a column of this kind, with room for so many values. Outputs.Column is the way to those of a plan.
func (k Kind[C, B]) NewBuilder(capacity int) B { return k.builder(capacity) }

// check fails with "wrong-type" unless the field can be read as this kind.
func (k Kind[C, B]) check(field *Field) error {
	if k.any || readsAs(&field.Type, &k.dataType) {
		return nil
	}
	message := "column `" + field.Name + "` is " + field.Type.String() + ", not " + k.dataType.String()
	return &Failure{"wrong-type", message}
}

// readsAs says whether a column has a type in all that matters to a view. Zones, nullability and the names of items do
// not, and a struct may have more members than are asked for.
func readsAs(have, want *DataType) bool {
	if have.ID != want.ID || have.Precision != want.Precision || have.Scale != want.Scale || have.Unit != want.Unit ||
		have.Size != want.Size {
		return false
	}
	switch want.ID {
	case TypeStruct:
		for _, member := range want.Children {
			if found, ok := find(have.Children, member.Name); !ok || !readsAs(&found.Type, &member.Type) {
				return false
			}
		}
		return true
	case TypeMap:
		have, want := have.Children[0].Type.Children, want.Children[0].Type.Children
		return readsAs(&have[0].Type, &want[0].Type) && readsAs(&have[1].Type, &want[1].Type)
	case TypeList, TypeLargeList, TypeFixedSizeList:
		return readsAs(&have.Children[0].Type, &want.Children[0].Type)
	default:
		return true
	}
}

func fixed[T Fixed](dataType DataType) Kind[Column[T], *Builder[T]] {
	return Kind[Column[T], *Builder[T]]{dataType: dataType, view: viewColumn[T], builder: newBuilder[T]}
}

// The kinds of columns whose type has no parameters.
var (
	Null    = Kind[NullColumn, *NullBuilder]{DataType{ID: TypeNull}, false, viewNulls, newNullBuilder}
	Boolean = Kind[BoolColumn, *BoolBuilder]{DataType{ID: TypeBoolean}, false, viewBools, newBoolBuilder}

	Int8   = fixed[int8](DataType{ID: TypeInt8})
	Int16  = fixed[int16](DataType{ID: TypeInt16})
	Int32  = fixed[int32](DataType{ID: TypeInt32})
	Int64  = fixed[int64](DataType{ID: TypeInt64})
	Uint8  = fixed[uint8](DataType{ID: TypeUint8})
	Uint16 = fixed[uint16](DataType{ID: TypeUint16})
	Uint32 = fixed[uint32](DataType{ID: TypeUint32})
	Uint64 = fixed[uint64](DataType{ID: TypeUint64})

	Float16 = fixed[Half](DataType{ID: TypeFloat16})
	Float32 = fixed[float32](DataType{ID: TypeFloat32})
	Float64 = fixed[float64](DataType{ID: TypeFloat64})

	// Date32 counts days since 1970-01-01.
	Date32 = fixed[int32](DataType{ID: TypeDate32})
	// Date64 counts milliseconds since 1970-01-01.
	Date64 = fixed[int64](DataType{ID: TypeDate64})

	Utf8 = Kind[TextColumn, *TextBuilder]{
		DataType{ID: TypeUtf8}, false, viewTexts[int32], newTextsBuilder[int32],
	}
	LargeUtf8 = Kind[LargeTextColumn, *LargeTextBuilder]{
		DataType{ID: TypeLargeUtf8}, false, viewTexts[int64], newTextsBuilder[int64],
	}
	Binary = Kind[BytesColumn, *BytesBuilder]{
		DataType{ID: TypeBinary}, false, viewBytes[int32], newByteStringsBuilder[int32],
	}
	LargeBinary = Kind[LargeBytesColumn, *LargeBytesBuilder]{
		DataType{ID: TypeLargeBinary}, false, viewBytes[int64], newByteStringsBuilder[int64],
	}
)

// Decimal128 has unscaled values: -150 for -1.50 where scale is 2.
func Decimal128(precision uint8, scale int8) Kind[Column[Int128], *Builder[Int128]] {
	return fixed[Int128](DataType{ID: TypeDecimal128, Precision: precision, Scale: scale})
}

// Decimal256 has unscaled values.
func Decimal256(precision uint8, scale int8) Kind[Column[Int256], *Builder[Int256]] {
	return fixed[Int256](DataType{ID: TypeDecimal256, Precision: precision, Scale: scale})
}

// Time32 counts seconds or milliseconds since midnight.
func Time32(unit TimeUnit) Kind[Column[int32], *Builder[int32]] {
	return fixed[int32](DataType{ID: TypeTime32, Unit: unit})
}

// Time64 counts microseconds or nanoseconds since midnight.
func Time64(unit TimeUnit) Kind[Column[int64], *Builder[int64]] {
	return fixed[int64](DataType{ID: TypeTime64, Unit: unit})
}

// Timestamp counts since 1970-01-01T00:00:00, in UTC where there is a zone, else in local time. The zone is an IANA
// name or a fixed offset, or empty for none; columns of any zone can be read.
func Timestamp(unit TimeUnit, zone string) Kind[Column[int64], *Builder[int64]] {
	return fixed[int64](DataType{ID: TypeTimestamp, Unit: unit, Zone: zone})
}

// Duration counts units of time.
func Duration(unit TimeUnit) Kind[Column[int64], *Builder[int64]] {
	return fixed[int64](DataType{ID: TypeDuration, Unit: unit})
}

// FixedSizeBinary has byte strings of one width.
func FixedSizeBinary(width uint32) Kind[FixedBytesColumn, *FixedBytesBuilder] {
	return Kind[FixedBytesColumn, *FixedBytesBuilder]{
		dataType: DataType{ID: TypeFixedSizeBinary, Size: width},
		view:     viewFixedBytes,
		builder:  func(capacity int) *FixedBytesBuilder { return newFixedBytesBuilder(int(width), capacity) },
	}
}

// List has lists of nullable items.
func List[C any, B ColumnBuilder](items Kind[C, B]) Kind[ListColumn[C], *ListBuilder[B]] {
	return lists[int32](TypeList, items)
}

// LargeList has lists of nullable items, with 64-bit offsets.
func LargeList[C any, B ColumnBuilder](items Kind[C, B]) Kind[LargeListColumn[C], *LargeListBuilder[B]] {
	return lists[int64](TypeLargeList, items)
}

func lists[O Offset, C any, B ColumnBuilder](id TypeID, items Kind[C, B]) Kind[Lists[O, C], *ListsBuilder[O, B]] {
	return Kind[Lists[O, C], *ListsBuilder[O, B]]{
		dataType: DataType{ID: id, Children: []Field{Optional("item", items.dataType)}},
		view:     func(array Array) Lists[O, C] { return viewLists[O](array, items.view) },
		builder: func(capacity int) *ListsBuilder[O, B] {
			return newListsBuilder[O](capacity, items.builder(capacity))
		},
	}
}

// FixedSizeList has lists of size nullable items.
func FixedSizeList[C any, B ColumnBuilder](items Kind[C, B], size uint32) Kind[FixedListColumn[C], *FixedListBuilder[B]] {
	return Kind[FixedListColumn[C], *FixedListBuilder[B]]{
		dataType: DataType{ID: TypeFixedSizeList, Size: size, Children: []Field{Optional("item", items.dataType)}},
		view:     func(array Array) FixedListColumn[C] { return viewFixedLists(array, items.view) },
		builder: func(capacity int) *FixedListBuilder[B] {
			return &FixedListBuilder[B]{size: int(size), items: items.builder(capacity * int(size))}
		},
	}
}

// Struct has structs of these members. Columns that have more members, and in another order, can be read.
func Struct(members ...Field) Kind[StructColumn, *StructBuilder] {
	return Kind[StructColumn, *StructBuilder]{
		dataType: StructOf(members...),
		view:     viewStructs,
		builder: func(capacity int) *StructBuilder {
			return &StructBuilder{fields: members, members: make([]ColumnBuilder, len(members)), capacity: capacity}
		},
	}
}

// Map has maps from keys, never null, to nullable values.
func Map[KC, VC any, KB, VB ColumnBuilder](
	keys Kind[KC, KB], values Kind[VC, VB],
) Kind[MapColumn[KC, VC], *MapBuilder[KB, VB]] {
	return Kind[MapColumn[KC, VC], *MapBuilder[KB, VB]]{
		dataType: MapOf(keys.dataType, values.dataType),
		view:     func(array Array) MapColumn[KC, VC] { return viewMaps(array, keys.view, values.view) },
		builder: func(capacity int) *MapBuilder[KB, VB] {
			offsets := make([]int32, 1, capacity+1)
			return &MapBuilder[KB, VB]{
				offsets: offsets, keys: keys.builder(capacity), values: values.builder(capacity),
			}
		},
	}
}

// Any reads columns of every type, untyped, and gives back finished columns of this type.
func Any(dataType DataType) Kind[Array, *AnyBuilder] {
	return Kind[Array, *AnyBuilder]{
		dataType: dataType,
		any:      true,
		view:     func(array Array) Array { return array },
		builder:  func(int) *AnyBuilder { return &AnyBuilder{dataType: dataType} },
	}
}
