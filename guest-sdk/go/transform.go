package gristmill

// Transform works batch by batch on whole columns. For a first transform, or one that is not hot, [RowTransform] is
// simpler.
//
//   - A row that cannot be transformed is a reject ([Outputs.Reject]), never a panic and never an error. In stages
//     normalize and migrate it is left out of the selection too.
//   - Process gives every computed column of the plan, with one value for each output row.
//   - Rejects and failures do not say what a row holds: they are kept and shown to operators.
//   - Nothing is kept from batch to batch: each is done by a fresh instance.
//
// A panic ends the call. The runner tries again, then isolates the rows at fault as dead letters.
type Transform interface {
	// Process transforms one batch. An error, best a [*Failure], says that the whole call cannot be done.
	Process(batch *Batch, out *Outputs) error
}

// PlanFunc reads the configuration and declares columns, look-ups and outputs. It returns the transform, which holds
// the handles. It depends on the setup alone: the runner plans again for every batch, in a fresh instance, and refuses
// a component whose plans differ.
type PlanFunc func(setup *Setup, plan *Plan) (Transform, error)

var exported PlanFunc

// Export makes a transform the component. Call it once, in an init function of package main.
func Export(plan PlanFunc) {
	if exported != nil {
		panic("a component exports one transform")
	}
	exported = plan
}
