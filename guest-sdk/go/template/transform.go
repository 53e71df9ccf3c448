package main

import (
	"strings"

	"gristmill"
)

// transform trims names and rejects rows without one.
type transform struct {
	name    gristmill.In[gristmill.TextColumn]
	records *gristmill.Output
	trimmed gristmill.Out[*gristmill.TextBuilder]
}

// plan says what the transform reads and what it gives.
func plan(setup *gristmill.Setup, p *gristmill.Plan) (gristmill.Transform, error) {
	if err := setup.RequireStage("{{stage}}"); err != nil {
		return nil, err
	}
	t := &transform{}
	t.name = p.Read("name", gristmill.Utf8)
	t.records = p.Output("records")
	t.records.Forward("id")
	t.trimmed = t.records.ComputeRequired("name", gristmill.Utf8)
	return t, nil
}

// Process transforms one batch.
func (t *transform) Process(batch *gristmill.Batch, out *gristmill.Outputs) error {
	names := batch.Column(t.name)
	selection, trimmed := out.Select(t.records), out.Column(t.trimmed)
	for row := range batch.Rows() {
		name, _ := names.Get(row)
		name = strings.TrimSpace(name)
		if name == "" {
			out.Reject(row, gristmill.Reject{Code: "missing-name", Field: "name", Message: "the name is empty"})
			continue
		}
		selection.Append(row)
		trimmed.Append(name)
	}
	return nil
}
