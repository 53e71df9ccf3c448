package gristmilltest

import (
	"fmt"
	"math/bits"
	"unicode/utf8"

	"gristmill"
)

// Check says what is wrong with a column: nothing, if it keeps the contract. It checks as the runner does.
func Check(array gristmill.Array) error {
	of, length, buffers := array.Type(), array.Len(), array.Buffers()
	wrong := func(format string, values ...any) error {
		return fmt.Errorf("column `%s` (%s): %s", array.Field().Name, of, fmt.Sprintf(format, values...))
	}
	nulls := array.Data().Nulls()
	if of.ID != gristmill.TypeNull {
		switch validity := buffers[0]; {
		case len(validity) == 0 && nulls != 0:
			return wrong("%d nulls without a validity buffer", nulls)
		case len(validity) == 0:
		case len(validity) != (length+7)/8:
			return wrong("%d bytes of validity for %d values", len(validity), length)
		default:
			valid := 0
			for i, b := range validity {
				if last := length - 8*i; last < 8 {
					b &= 1<<last - 1
				}
				valid += bits.OnesCount8(b)
			}
			if length-valid != nulls {
				return wrong("%d nulls, but a null count of %d", length-valid, nulls)
			}
		}
	}
	children := array.Children()
	switch of.ID {
	case gristmill.TypeNull, gristmill.TypeStruct, gristmill.TypeFixedSizeList:
	case gristmill.TypeBoolean:
		if len(buffers[1]) != (length+7)/8 {
			return wrong("%d bytes of values for %d", len(buffers[1]), length)
		}
	case gristmill.TypeUtf8, gristmill.TypeLargeUtf8, gristmill.TypeBinary, gristmill.TypeLargeBinary:
		if problem := checkOffsets(of.ID, buffers[1], length, len(buffers[2])); problem != "" {
			return wrong("%s", problem)
		}
		for i := range length {
			start, end := span(of.ID, buffers[1], i)
			isText := of.ID == gristmill.TypeUtf8 || of.ID == gristmill.TypeLargeUtf8
			if isText && !array.IsNull(i) && !utf8.Valid(buffers[2][start:end]) {
				return wrong("value %d is not UTF-8", i)
			}
		}
	case gristmill.TypeList, gristmill.TypeLargeList, gristmill.TypeMap:
		if problem := checkOffsets(of.ID, buffers[1], length, children[0].Len()); problem != "" {
			return wrong("%s", problem)
		}
	default:
		if len(buffers[1]) != length*of.Width() {
			return wrong("%d bytes of values, not %d", len(buffers[1]), length*of.Width())
		}
	}
	for _, child := range children {
		expected := child.Len()
		switch of.ID {
		case gristmill.TypeStruct:
			expected = length
		case gristmill.TypeFixedSizeList:
			expected = length * int(of.Size)
		}
		if child.Len() != expected {
			return wrong("child `%s` has %d values, not %d", child.Field().Name, child.Len(), expected)
		}
		if err := Check(child); err != nil {
			return err
		}
	}
	return nil
}

func checkOffsets(id gristmill.TypeID, offsets []byte, length, end int) string {
	width := 4
	switch id {
	case gristmill.TypeLargeUtf8, gristmill.TypeLargeBinary, gristmill.TypeLargeList:
		width = 8
	}
	if len(offsets) != width*(length+1) {
		return fmt.Sprintf("%d bytes of offsets for %d values", len(offsets), length)
	}
	last := 0
	for i := range length {
		start, next := span(id, offsets, i)
		if start != last || next < start {
			return fmt.Sprintf("offsets do not rise from 0 to %d", end)
		}
		last = next
	}
	if last != end {
		return fmt.Sprintf("offsets do not rise from 0 to %d", end)
	}
	return ""
}
