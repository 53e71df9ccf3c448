package gristmill_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"gristmill"
	"gristmill/gristmilltest"
)

type processFunc func(batch *gristmill.Batch, out *gristmill.Outputs) error

func (f processFunc) Process(batch *gristmill.Batch, out *gristmill.Outputs) error {
	return f(batch, out)
}

func nothing(*gristmill.Batch, *gristmill.Outputs) error { return nil }

func twoColumns() *gristmilltest.Table {
	return gristmilltest.NewTable().
		Column("id", gristmill.Int64.Type(), 1, 2, 3).
		Column("name", gristmill.Utf8.Type(), "a", nil, "c")
}

func failureOf(t *testing.T, err error) *gristmill.Failure {
	t.Helper()
	failure, ok := errors.AsType[*gristmill.Failure](err)
	if !ok {
		t.Fatalf("got %v, want a failure", err)
	}
	return failure
}

func TestPlanFailsWithItsFirstError(t *testing.T) {
	plans := map[string]func(*gristmill.Setup, *gristmill.Plan) error{
		"missing-column": func(_ *gristmill.Setup, p *gristmill.Plan) error {
			p.Read("nobody", gristmill.Int64)
			p.Read("id", gristmill.Utf8)
			return nil
		},
		"wrong-type": func(_ *gristmill.Setup, p *gristmill.Plan) error {
			p.Read("name", gristmill.Int64)
			return nil
		},
		"missing-dictionary": func(_ *gristmill.Setup, p *gristmill.Plan) error {
			lookup := p.Lookup("nobody", "id", "name")
			p.ReadLookup(lookup, gristmill.Utf8)
			p.Output("records").ForwardLookup("x", lookup)
			return nil
		},
		"duplicate-column": func(_ *gristmill.Setup, p *gristmill.Plan) error {
			p.Output("records").Forward("id", "id")
			return nil
		},
		"wrong-stage": func(setup *gristmill.Setup, _ *gristmill.Plan) error {
			return setup.RequireStage(gristmill.StageMigrate, gristmill.StageMap)
		},
		"bad-config": func(setup *gristmill.Setup, _ *gristmill.Plan) error {
			return setup.Config(&struct{ Known int }{})
		},
		"failed": func(*gristmill.Setup, *gristmill.Plan) error { return errors.New("no idea") },
		"own": func(*gristmill.Setup, *gristmill.Plan) error {
			return fmt.Errorf("while planning: %w", &gristmill.Failure{Code: "own", Message: "no"})
		},
	}
	for code, plan := range plans {
		t.Run(code, func(t *testing.T) {
			harness := gristmilltest.Harness{Config: `{"unknown": 1}`}
			_, err := harness.Run(func(setup *gristmill.Setup, p *gristmill.Plan) (gristmill.Transform, error) {
				return processFunc(nothing), plan(setup, p)
			}, twoColumns())
			if failure := failureOf(t, err); failure.Code != code {
				t.Errorf("got %v", failure)
			}
		})
	}
}

func TestConfigIsOneObjectOfKnownKeys(t *testing.T) {
	for text, ok := range map[string]bool{`{"step": 2}`: true, `{}`: true, `{"stp": 2}`: false, `{"step": 2} {}`: false, `x`: false} {
		config := struct {
			Step int `json:"step"`
		}{}
		setup := &gristmill.Setup{ConfigJSON: text}
		if err := setup.Config(&config); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestReadingTwiceCrossesOnce(t *testing.T) {
	plan := gristmill.PlanFunc(func(_ *gristmill.Setup, p *gristmill.Plan) (gristmill.Transform, error) {
		p.Read("id", gristmill.Int64)
		p.Read("id", gristmill.Any(gristmill.DataType{}))
		p.ReadOperation()
		p.ReadOperation()
		p.ReadLookup(p.Lookup("d", "id", "v"), gristmill.Utf8)
		p.ReadLookup(p.Lookup("d", "id", "v"), gristmill.Utf8)
		return nil, nil
	})
	dictionary := gristmilltest.NewTable().Column("k", gristmill.Int64.Type()).Column("v", gristmill.Utf8.Type())
	harness := gristmilltest.Harness{Dictionaries: []gristmilltest.Dictionary{{Name: "d", Key: "k", Table: dictionary}}}
	planned, err := plan.Plan(harness.Setup(twoColumns()))
	if err != nil || len(planned.Reads) != 3 || len(planned.Lookups) != 1 {
		t.Errorf("%+v %v", planned, err)
	}
}

// run plans an output "records" with a forwarded id and a required column, and processes two columns.
func run(stage gristmill.Stage, process func(out *gristmill.Outputs, records *gristmill.Output, n *gristmill.Builder[int64])) (*gristmilltest.Result, error) {
	plan := func(_ *gristmill.Setup, p *gristmill.Plan) (gristmill.Transform, error) {
		records := p.Output("records")
		records.Forward("id")
		n := records.ComputeRequired("n", gristmill.Int64)
		return processFunc(func(_ *gristmill.Batch, out *gristmill.Outputs) error {
			process(out, records, out.Column(n))
			return nil
		}), nil
	}
	return gristmilltest.Harness{Stage: stage}.Run(plan, twoColumns())
}

func TestRowsAreLeftOutRepeatedAndReordered(t *testing.T) {
	result, err := run(gristmill.StageNormalize, func(out *gristmill.Outputs, records *gristmill.Output, n *gristmill.Builder[int64]) {
		for i, row := range []int{2, 0, 2} {
			out.Select(records).Append(row)
			out.Operations(records).Append(gristmill.Operation(i))
			n.Append(int64(row))
		}
		out.Reject(1, gristmill.Reject{Code: "bad", Field: "name", Message: "no"})
		out.Message("hello")
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := result.Output("records").String(); got != "id | n\n3 | 2\n1 | 0\n3 | 2\n" {
		t.Error(got)
	}
	operations := []gristmill.Operation{gristmill.Insert, gristmill.Update, gristmill.Delete}
	if !reflect.DeepEqual(result.Operations("records"), operations) || !reflect.DeepEqual(result.InputRows("records"), []int{2, 0, 2}) {
		t.Error(result.Operations("records"), result.InputRows("records"))
	}
	want := []gristmill.RejectedRow{{Row: 1, Reject: gristmill.Reject{Code: "bad", Field: "name", Message: "no"}}}
	if !reflect.DeepEqual(result.Rejects, want) || !reflect.DeepEqual(result.Messages, []string{"hello"}) {
		t.Error(result.Rejects, result.Messages)
	}
}

func TestWhatTheRunnerWouldRefuseIsRefused(t *testing.T) {
	cases := map[string]func(out *gristmill.Outputs, records *gristmill.Output, n *gristmill.Builder[int64]){
		"selects the rejected row 1": func(out *gristmill.Outputs, _ *gristmill.Output, n *gristmill.Builder[int64]) {
			n.AppendAll([]int64{1, 2, 3})
			out.Reject(1, gristmill.Reject{Code: "bad"})
		},
		"selects row 3 of 3": func(out *gristmill.Outputs, records *gristmill.Output, n *gristmill.Builder[int64]) {
			n.Append(1)
			out.Select(records).Append(3)
		},
		"a reject of row 7 of 3": func(out *gristmill.Outputs, records *gristmill.Output, n *gristmill.Builder[int64]) {
			out.Select(records)
			out.Reject(7, gristmill.Reject{Code: "bad"})
		},
	}
	for problem, process := range cases {
		_, err := run(gristmill.StageNormalize, process)
		if !errors.Is(err, gristmilltest.ErrContract) || !strings.Contains(err.Error(), problem) {
			t.Errorf("got %v, want %s", err, problem)
		}
	}
	if _, err := run(gristmill.StageMap, cases["selects the rejected row 1"]); err != nil {
		t.Error("stage map may keep a rejected row in an output:", err)
	}
}

func TestMistakesOfATransformPanic(t *testing.T) {
	cases := map[string]func(out *gristmill.Outputs, records *gristmill.Output, n *gristmill.Builder[int64]){
		"has 1 values for 3 rows": func(_ *gristmill.Outputs, _ *gristmill.Output, n *gristmill.Builder[int64]) { n.Append(1) },
		"is required but holds nulls": func(_ *gristmill.Outputs, _ *gristmill.Output, n *gristmill.Builder[int64]) {
			n.AppendNull()
			n.AppendAll([]int64{2, 3})
		},
		"has 1 operations for 3 rows": func(out *gristmill.Outputs, records *gristmill.Output, n *gristmill.Builder[int64]) {
			n.AppendAll([]int64{1, 2, 3})
			out.Operations(records).Append(gristmill.Insert)
		},
	}
	for problem, process := range cases {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, problem) {
					t.Errorf("got %s, want %s", got, problem)
				}
			}()
			_, err := run(gristmill.StageNormalize, process)
			t.Error("no panic:", err)
		}()
	}
}

func TestAllRowsInOrderNeedNoSelection(t *testing.T) {
	plan := gristmill.PlanFunc(func(_ *gristmill.Setup, p *gristmill.Plan) (gristmill.Transform, error) {
		records := p.Output("records")
		records.Forward("id")
		return processFunc(func(batch *gristmill.Batch, out *gristmill.Outputs) error {
			for row := range batch.Rows() {
				out.Select(records).Append(row)
			}
			return nil
		}), nil
	})
	processed, err := plan.Process(gristmilltest.Harness{}.Setup(twoColumns()), 3, gristmill.ArrayData{})
	if err != nil || processed.Outputs[0].Selection != nil || processed.Outputs[0].Rows != 3 {
		t.Errorf("%+v %v", processed, err)
	}
}

func TestErrorsOfProcessKeepValuesOut(t *testing.T) {
	process := func(err error) error {
		_, got := gristmilltest.Harness{}.Run(func(*gristmill.Setup, *gristmill.Plan) (gristmill.Transform, error) {
			return processFunc(func(*gristmill.Batch, *gristmill.Outputs) error { return err }), nil
		}, twoColumns())
		return got
	}
	if failure := failureOf(t, process(errors.New("secret"))); failure.Code != "failed" || strings.Contains(failure.Message, "secret") {
		t.Error(failure)
	}
	own := &gristmill.Failure{Code: "own", Message: "no"}
	if failure := failureOf(t, process(own)); failure != own {
		t.Error(failure)
	}
}

func TestABatchThatThePlanDoesNotReadIsRefused(t *testing.T) {
	plan := gristmill.PlanFunc(func(_ *gristmill.Setup, p *gristmill.Plan) (gristmill.Transform, error) {
		p.Read("id", gristmill.Int64)
		return processFunc(nothing), nil
	})
	setup := gristmilltest.Harness{}.Setup(twoColumns())
	for _, columns := range []gristmill.ArrayData{
		{},
		{Nodes: []gristmill.Node{{Length: 2}}, Buffers: [][]byte{nil, make([]byte, 16)}},
	} {
		_, err := plan.Process(setup, 3, columns)
		if failure := failureOf(t, err); failure.Code != "bad-batch" {
			t.Error(failure)
		}
	}
}
