package gristmill

import (
	"strings"
	"unsafe"
)

// The component's exports, as the canonical ABI has them. Pointers have 32 bits there and 64 in Go: addresses cross as
// uint32.

// retained keeps what the host points at until its call is over.
var retained struct {
	received [][]byte
	blocks   []block
	planned  *Planned
	result   *Processed
	failure  *Failure
}

// captureBytes of what a transform prints become messages.
const captureBytes = 4096

//go:wasmimport wasi_snapshot_preview1 gristmill_capture
func capture(buffer unsafe.Pointer, capacity uint32)

//go:wasmimport wasi_snapshot_preview1 gristmill_captured
func captured() uint32

//go:wasmexport cabi_realloc
func realloc(old unsafe.Pointer, oldSize, _, size uint32) unsafe.Pointer {
	// Go aligns memory by its size, and every size is a multiple of its type's alignment.
	received := make([]byte, size)
	if old != nil {
		copy(received, unsafe.Slice((*byte)(old), oldSize))
	}
	retained.received = append(retained.received, received)
	return unsafe.Pointer(unsafe.SliceData(received))
}

//go:wasmexport cabi_post_gristmill:transform/transform@0.1.0#plan
func postPlan(unsafe.Pointer) { release() }

//go:wasmexport cabi_post_gristmill:transform/transform@0.1.0#process
func postProcess(unsafe.Pointer) { release() }

func release() {
	clear(retained.received)
	clear(retained.blocks)
	retained.received, retained.blocks = retained.received[:0], retained.blocks[:0]
	retained.planned, retained.result, retained.failure = nil, nil, nil
}

//go:wasmexport gristmill:transform/transform@0.1.0#plan
func exportPlan(stage, config, configSize, input, inputCount, dictionaries, dictionaryCount uint32) unsafe.Pointer {
	planned, err := guardedPlan(liftSetup(stage, config, configSize, input, inputCount, dictionaries, dictionaryCount))
	if err != nil {
		return lowerFailure(err)
	}
	retained.planned = planned
	return lowerPlan(planned)
}

//go:wasmexport gristmill:transform/transform@0.1.0#process
func exportProcess(
	stage, config, configSize, input, inputCount, dictionaries, dictionaryCount uint32,
	rows, nodes, nodeCount, buffers, bufferCount uint32,
) unsafe.Pointer {
	setup := liftSetup(stage, config, configSize, input, inputCount, dictionaries, dictionaryCount)
	var printed [captureBytes]byte
	capture(unsafe.Pointer(&printed), captureBytes)
	result, err := guardedProcess(setup, int(rows), liftColumns(nodes, nodeCount, buffers, bufferCount))
	text := string(printed[:captured()])
	capture(nil, 0)
	if err != nil {
		return lowerFailure(err)
	}
	for line := range strings.Lines(text) {
		result.Messages = append(result.Messages, strings.ToValidUTF8(strings.TrimSuffix(line, "\n"), "\uFFFD"))
	}
	retained.result = result
	return lowerProcessed(result)
}

func guardedPlan(setup *Setup) (planned *Planned, err error) {
	defer guard(&err)
	if exported == nil {
		return nil, &Failure{"no-transform", "package main does not call gristmill.Export in an init function"}
	}
	return exported.Plan(setup)
}

func guardedProcess(setup *Setup, rows int, columns ArrayData) (processed *Processed, err error) {
	defer guard(&err)
	return exported.Process(setup, rows, columns)
}

// Sizes in bytes of the contract's records.
const (
	sizePair         = 8 // a string or a list: address and length
	sizeField        = 36
	sizeDictionary   = 24
	sizeColumnSource = 12
	sizeLookup       = 24
	sizeOutputColumn = 24
	sizeOutputPlan   = 16
	sizeOutput       = 44
	sizeReject       = 32
	sizeResult       = 28
)

// The receiving half.

func at(address uint32) unsafe.Pointer { return unsafe.Add(unsafe.Pointer(nil), address) }

func loadByte(address uint32) uint8 { return *(*uint8)(at(address)) }

func load(address uint32) uint32 { return *(*uint32)(at(address)) }

func loadBytes(address, size uint32) []byte { return unsafe.Slice((*byte)(at(address)), size) }

func loadString(address uint32) string { return loadText(load(address), load(address+4)) }

// loadText needs no copy: nobody writes what the host has sent.
func loadText(address, size uint32) string { return unsafe.String((*byte)(at(address)), size) }

func liftSetup(stage, config, configSize, input, inputCount, dictionaries, dictionaryCount uint32) *Setup {
	stages := [...]Stage{StageNormalize, StageMigrate, StageMap}
	setup := &Setup{Stage: stages[stage], ConfigJSON: loadText(config, configSize), Input: liftFields(input, inputCount)}
	for i := range dictionaryCount {
		address := dictionaries + i*sizeDictionary
		setup.Dictionaries = append(setup.Dictionaries, Dictionary{
			Name: loadString(address), Key: loadString(address + 8), Fields: liftFields(load(address+16), load(address+20)),
		})
	}
	return setup
}

func liftFields(address, count uint32) []Field {
	var fields []Field
	for end := address + count*sizeField; address < end; {
		var field Field
		field, address = liftField(address, end)
		fields = append(fields, field)
	}
	return fields
}

// liftField reads a tree, root first, and gives the address behind it.
func liftField(address, end uint32) (Field, uint32) {
	if address >= end {
		panic("the fields of the setup are not whole")
	}
	field := Field{Name: loadString(address), Type: liftType(address + 8), Nullable: loadByte(address+28) != 0}
	children := load(address + 32)
	address += sizeField
	for range children {
		var child Field
		child, address = liftField(address, end)
		field.Type.Children = append(field.Type.Children, child)
	}
	if !field.Type.wellFormed() {
		panic("the fields of the setup are not whole")
	}
	return field, address
}

func liftType(address uint32) DataType {
	of := DataType{ID: TypeID(loadByte(address))}
	address += 4
	switch of.ID {
	case TypeDecimal128, TypeDecimal256:
		of.Precision, of.Scale = loadByte(address), int8(loadByte(address+1))
	case TypeFixedSizeBinary, TypeFixedSizeList:
		of.Size = load(address)
	case TypeTime32, TypeTime64, TypeDuration:
		of.Unit = TimeUnit(loadByte(address))
	case TypeTimestamp:
		of.Unit = TimeUnit(loadByte(address))
		if loadByte(address+4) != 0 {
			of.Zone = loadString(address + 8)
		}
	case TypeMap:
		of.Sorted = loadByte(address) != 0
	}
	return of
}

func liftColumns(nodes, nodeCount, buffers, bufferCount uint32) ArrayData {
	columns := ArrayData{make([]Node, nodeCount), make([][]byte, bufferCount)}
	for i := range columns.Nodes {
		columns.Nodes[i] = Node{load(nodes), load(nodes + 4)}
		nodes += 8
	}
	for i := range columns.Buffers {
		columns.Buffers[i] = loadBytes(load(buffers), load(buffers+4))
		buffers += sizePair
	}
	return columns
}

// The sending half.

// block is memory that the host reads.
type block []byte

func newBlock(size int) block {
	memory := make(block, size)
	retained.blocks = append(retained.blocks, memory)
	return memory
}

func (b block) pointer() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

func addressOf(pointer unsafe.Pointer) uint32 { return uint32(uintptr(pointer)) }

func (b block) put(at int, value uint32) { *(*uint32)(unsafe.Pointer(&b[at : at+4][0])) = value }

func (b block) putPair(at int, pointer unsafe.Pointer, count int) {
	b.put(at, addressOf(pointer))
	b.put(at+4, uint32(count))
}

func (b block) putString(at int, text string) {
	b.putPair(at, unsafe.Pointer(unsafe.StringData(text)), len(text))
}

// putList lowers a list of records of one size.
func putList[T any](b block, at int, items []T, size int, lower func(item block, value *T)) {
	list := newBlock(len(items) * size)
	for i := range items {
		lower(list[i*size:(i+1)*size], &items[i])
	}
	b.putPair(at, list.pointer(), len(items))
}

func (b block) putColumns(at int, columns ArrayData) {
	putList(b, at, columns.Nodes, sizePair, func(item block, node *Node) {
		item.put(0, node.Length)
		item.put(4, node.Nulls)
	})
	putList(b, at+8, columns.Buffers, sizePair, func(item block, buffer *[]byte) {
		item.putPair(0, unsafe.Pointer(unsafe.SliceData(*buffer)), len(*buffer))
	})
}

func lowerFailure(err error) unsafe.Pointer {
	failure, ok := err.(*Failure)
	if !ok {
		failure = &Failure{"failed", err.Error()}
	}
	retained.failure = failure
	result := newBlock(sizeResult)
	result[0] = 1
	result.putString(4, failure.Code)
	result.putString(12, failure.Message)
	return result.pointer()
}

func lowerPlan(planned *Planned) unsafe.Pointer {
	result := newBlock(sizeResult)
	putList(result, 4, planned.Reads, sizeColumnSource, func(item block, column *PlannedColumn) {
		item.putSource(0, column)
	})
	putList(result, 12, planned.Lookups, sizeLookup, func(item block, lookup *PlannedLookup) {
		item.putString(0, lookup.Dictionary)
		item.putString(8, lookup.Key)
		item.putString(16, lookup.Value.Name)
	})
	putList(result, 20, planned.Outputs, sizeOutputPlan, func(item block, output *PlannedOutput) {
		item.putString(0, output.Name)
		putList(item, 8, output.Columns, sizeOutputColumn, lowerOutputColumn)
	})
	return result.pointer()
}

func (b block) putSource(at int, column *PlannedColumn) {
	b[at] = uint8(column.From)
	switch column.From {
	case FromInput:
		b.putString(at+4, column.Column)
	case FromLookup:
		b.put(at+4, uint32(column.Lookup))
	}
}

func lowerOutputColumn(item block, column *PlannedColumn) {
	if column.From == Computed {
		item[0] = 1
		putList(item, 4, column.Field.tree(nil), sizeField, lowerField)
		return
	}
	item.putString(4, column.Field.Name)
	item.putSource(12, column)
}

// tree appends the field and its children, depth first.
func (f *Field) tree(fields []*Field) []*Field {
	fields = append(fields, f)
	for i := range f.Type.Children {
		fields = f.Type.Children[i].tree(fields)
	}
	return fields
}

func lowerField(item block, field **Field) {
	of := &(*field).Type
	item.putString(0, (*field).Name)
	item[8] = uint8(of.ID)
	switch of.ID {
	case TypeDecimal128, TypeDecimal256:
		item[12], item[13] = of.Precision, uint8(of.Scale)
	case TypeFixedSizeBinary, TypeFixedSizeList:
		item.put(12, of.Size)
	case TypeTime32, TypeTime64, TypeDuration:
		item[12] = uint8(of.Unit)
	case TypeTimestamp:
		item[12] = uint8(of.Unit)
		if of.Zone != "" {
			item[16] = 1
			item.putString(20, of.Zone)
		}
	case TypeMap:
		if of.Sorted {
			item[12] = 1
		}
	}
	if (*field).Nullable {
		item[28] = 1
	}
	item.put(32, uint32(len(of.Children)))
}

func lowerProcessed(processed *Processed) unsafe.Pointer {
	result := newBlock(sizeResult)
	putList(result, 4, processed.Outputs, sizeOutput, func(item block, output *ProcessedOutput) {
		item.put(0, uint32(output.Rows))
		if output.Selection != nil {
			item[4] = 1
			item.putPair(8, unsafe.Pointer(unsafe.SliceData(output.Selection)), len(output.Selection))
		}
		if output.Operations != nil {
			item[16] = 1
			item.putPair(20, unsafe.Pointer(unsafe.SliceData(output.Operations)), len(output.Operations))
		}
		item.putColumns(28, output.Columns)
	})
	putList(result, 12, processed.Rejects, sizeReject, func(item block, reject *RejectedRow) {
		item.put(0, uint32(reject.Row))
		item.putString(4, reject.Code)
		if reject.Field != "" {
			item[12] = 1
			item.putString(16, reject.Field)
		}
		item.putString(24, reject.Message)
	})
	putList(result, 20, processed.Messages, sizePair, func(item block, message *string) { item.putString(0, *message) })
	return result.pointer()
}
