package main

import (
	"encoding/binary"

	"gristmill"
)

// folded is a column of texts with small letters for A to Z. What is folded at once, all texts as one, costs a tenth of
// what it costs text by text.
type folded struct {
	offsets []int32
	content []byte
}

func fold(texts gristmill.TextColumn) folded {
	content := texts.Content()
	lower := make([]byte, 0, len(content)+8)
	for ; len(content) >= 8; content = content[8:] {
		lower = binary.LittleEndian.AppendUint64(lower, lowerWord(binary.LittleEndian.Uint64(content)))
	}
	var last [8]byte
	copy(last[:], content)
	lower = binary.LittleEndian.AppendUint64(lower, lowerWord(binary.LittleEndian.Uint64(last[:])))
	return folded{texts.Offsets(), lower}
}

// value is text i without the spaces at its ends.
func (f folded) value(i int) []byte {
	text := f.content[f.offsets[i]:f.offsets[i+1]]
	for len(text) > 0 && text[0] == ' ' {
		text = text[1:]
	}
	for len(text) > 0 && text[len(text)-1] == ' ' {
		text = text[:len(text)-1]
	}
	return text
}

// lowerWord makes small letters of A to Z in eight bytes at once.
func lowerWord(word uint64) uint64 {
	const each = 0x0101_0101_0101_0101
	sevenBits := word & (0x7f * each)
	// The high bit of each byte tells.
	atLeastA := sevenBits + (0x80-'A')*each
	afterZ := sevenBits + (0x7f-'Z')*each
	isCapital := atLeastA &^ afterZ &^ word & (0x80 * each)
	return word | isCapital>>2
}
