package gristmill

// Take copies these values of the column, in this order. Places may be left out and repeated.
func (a Array) Take(places []int) ArrayData {
	of, buffers, validity := a.Type(), a.Buffers(), a.Validity()
	var nulls nullBits
	if validity.nulls > 0 && of.ID != TypeNull {
		for i, place := range places {
			if validity.IsNull(place) {
				nulls.add(i)
			}
		}
	}
	bits, count := nulls.finish(len(places))
	switch of.ID {
	case TypeNull:
		return newData(len(places), len(places), nil)
	case TypeBoolean:
		values := newBoolBuilder(len(places))
		for _, place := range places {
			values.Append(buffers[1][place>>3]>>(place&7)&1 == 1)
		}
		return newData(len(places), count, [][]byte{bits, values.bits})
	case TypeUtf8, TypeBinary:
		return takeStrings[int32](a, places, bits, count)
	case TypeLargeUtf8, TypeLargeBinary:
		return takeStrings[int64](a, places, bits, count)
	case TypeList, TypeMap:
		return takeLists[int32](a, places, bits, count)
	case TypeLargeList:
		return takeLists[int64](a, places, bits, count)
	case TypeStruct:
		var members []ArrayData
		for _, member := range a.Children() {
			members = append(members, member.Take(places))
		}
		return newData(len(places), count, [][]byte{bits}, members...)
	case TypeFixedSizeList:
		size := int(of.Size)
		items := make([]int, 0, len(places)*size)
		for _, place := range places {
			for item := place * size; item < (place+1)*size; item++ {
				items = append(items, item)
			}
		}
		return newData(len(places), count, [][]byte{bits}, a.Children()[0].Take(items))
	default:
		width := of.Width()
		values := make([]byte, 0, len(places)*width)
		for _, place := range places {
			values = append(values, buffers[1][place*width:(place+1)*width]...)
		}
		return newData(len(places), count, [][]byte{bits, values})
	}
}

func takeStrings[O Offset](a Array, places []int, validity []byte, nulls int) ArrayData {
	from, to := viewBytes[O](a), newStringsBuilder[O](len(places))
	for _, place := range places {
		to.bytes = append(to.bytes, from.Value(place)...)
		to.endValue()
	}
	return newData(len(places), nulls, [][]byte{validity, bytesOf(to.offsets), to.bytes})
}

func takeLists[O Offset](a Array, places []int, validity []byte, nulls int) ArrayData {
	from := valuesOf[O](a, 1, a.Len()+1)
	offsets := make([]O, 1, len(places)+1)
	var items []int
	for _, place := range places {
		for item := from[place]; item < from[place+1]; item++ {
			items = append(items, int(item))
		}
		offsets = append(offsets, O(len(items)))
	}
	return newData(len(places), nulls, [][]byte{validity, bytesOf(offsets)}, a.Children()[0].Take(items))
}
