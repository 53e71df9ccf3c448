// Package gristmill is for writing Gristmill transforms: typed columns in, typed columns out.
//
// A transform is a [PlanFunc], which declares columns, look-ups and outputs, and a [Transform], which works on batches.
// Package main of a project calls [Export] in an init function. Tests run natively with package gristmilltest.
package gristmill
