package main

import "gristmill"

// mapping makes orders and their items.
type mapping struct {
	tags      gristmill.In[gristmill.ListColumn[gristmill.TextColumn]]
	quantity  gristmill.In[gristmill.Column[int32]]
	operation gristmill.In[gristmill.Column[uint8]]

	orders   *gristmill.Output
	tagCount gristmill.Out[*gristmill.Builder[int32]]

	items    *gristmill.Output
	position gristmill.Out[*gristmill.Builder[int32]]
	tag      gristmill.Out[*gristmill.TextBuilder]
}

func planMap(setup *gristmill.Setup, p *gristmill.Plan) (gristmill.Transform, error) {
	if err := requireType(setup, "id", gristmill.Int64.Type()); err != nil {
		return nil, err
	}
	if err := requireType(setup, "code", gristmill.Utf8.Type()); err != nil {
		return nil, err
	}
	t := &mapping{
		tags:      p.Read("tags", gristmill.List(gristmill.Utf8)),
		quantity:  p.Read("quantity", gristmill.Int32),
		operation: p.ReadOperation(),
	}

	t.orders = p.Output("orders")
	t.orders.Forward("id")
	t.orders.ForwardOperation("operation")
	t.orders.ForwardLookup("name", p.Lookup("codes", "code", "name"))
	t.tagCount = t.orders.Compute("tag_count", gristmill.Int32)

	t.items = p.Output("items")
	t.items.Forward("id")
	t.position = t.items.ComputeRequired("position", gristmill.Int32)
	t.tag = t.items.Compute("tag", gristmill.Utf8)
	t.items.Forward("quantity")
	return t, nil
}

func (t *mapping) Process(batch *gristmill.Batch, out *gristmill.Outputs) error {
	tags := batch.Column(t.tags)

	orders, tagCount := out.Select(t.orders), out.Column(t.tagCount)
	for row := batch.Rows() - 1; row >= 0; row-- {
		orders.Append(row)
		start, end := tags.Range(row)
		tagCount.AppendOption(int32(end-start), tags.IsValid(row))
	}

	quantities, operations, texts := batch.Column(t.quantity), batch.Column(t.operation), tags.Items()
	folded := fold(texts)
	items, itemOperations := out.Select(t.items), out.Operations(t.items)
	position, tag := out.Column(t.position), out.Column(t.tag)
	for row := range batch.Rows() {
		quantity, ok := quantities.Get(row)
		if ok && quantity < 0 {
			out.Reject(row, gristmill.Reject{
				Code: "negative", Field: "quantity", Message: "the quantity is negative",
			})
			continue
		}
		if tags.IsNull(row) {
			continue
		}
		isDelete := gristmill.Operation(operations.Value(row)) == gristmill.Delete || ok && quantity == 0
		start, end := tags.Range(row)
		for item := start; item < end; item++ {
			items.Append(row)
			position.Append(int32(item - start))
			switch {
			case isDelete:
				itemOperations.Append(gristmill.Delete)
			case item == start:
				itemOperations.Append(gristmill.Insert)
			default:
				itemOperations.Append(gristmill.Update)
			}
			if texts.IsNull(item) {
				tag.AppendNull()
			} else {
				tag.AppendBytes(folded.value(item))
			}
		}
	}
	return nil
}
