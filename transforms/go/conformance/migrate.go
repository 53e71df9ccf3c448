package main

import "gristmill"

// migrate gives every column back.
type migrate struct {
	in  []gristmill.In[gristmill.Array]
	out []gristmill.Out[*gristmill.AnyBuilder]
}

func planMigrate(setup *gristmill.Setup, p *gristmill.Plan) (gristmill.Transform, error) {
	t := &migrate{}
	records := p.Output("records")
	for _, field := range setup.Input {
		kind := gristmill.Any(field.Type)
		t.in = append(t.in, p.Read(field.Name, kind))
		if field.Nullable {
			t.out = append(t.out, records.Compute(field.Name, kind))
		} else {
			t.out = append(t.out, records.ComputeRequired(field.Name, kind))
		}
	}
	return t, nil
}

func (t *migrate) Process(batch *gristmill.Batch, out *gristmill.Outputs) error {
	for i := range t.in {
		out.Column(t.out[i]).Set(batch.Column(t.in[i]).Data())
	}
	return nil
}
