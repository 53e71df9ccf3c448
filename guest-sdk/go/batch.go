package gristmill

import "strconv"

// Batch is the rows of one call, with the columns that the plan reads.
type Batch struct {
	rows   int
	arrays []Array
}

func newBatch(planned *Planned, rows int, columns ArrayData) (*Batch, error) {
	nodes, buffers := 0, 0
	for i := range planned.Reads {
		n, b := planned.Reads[i].Field.Type.Layout()
		nodes += n
		buffers += b
	}
	if len(columns.Nodes) != nodes || len(columns.Buffers) != buffers {
		return nil, &Failure{"bad-batch", "the batch has " + strconv.Itoa(len(columns.Nodes)) + " nodes and " +
			strconv.Itoa(len(columns.Buffers)) + " buffers, the plan reads " + strconv.Itoa(nodes) + " and " +
			strconv.Itoa(buffers)}
	}
	batch := &Batch{rows: rows, arrays: make([]Array, 0, len(planned.Reads))}
	for i := range planned.Reads {
		array := firstArray(&planned.Reads[i].Field, &columns)
		if array.Len() != rows {
			message := "column `" + array.field.Name + "` does not have " + strconv.Itoa(rows) + " rows"
			return nil, &Failure{"bad-batch", message}
		}
		batch.arrays = append(batch.arrays, array)
	}
	return batch, nil
}

// Rows is the number of rows.
func (b *Batch) Rows() int { return b.rows }

// Column is a view of a column.
func (b *Batch) Column[C any](column In[C]) C { return column.view(b.arrays[column.place]) }
