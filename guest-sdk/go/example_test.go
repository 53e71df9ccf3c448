package gristmill_test

import (
	"fmt"
	"math"
	"strings"

	"gristmill"
	"gristmill/gristmilltest"
)

type config struct {
	MaxAmount float64 `json:"max_amount"`
}

type orders struct {
	config  config
	name    gristmill.In[gristmill.TextColumn]
	amount  gristmill.In[gristmill.Column[float64]]
	rate    gristmill.In[gristmill.Column[float64]]
	records *gristmill.Output
	trimmed gristmill.Out[*gristmill.TextBuilder]
	cents   gristmill.Out[*gristmill.Builder[int64]]
}

func planOrders(setup *gristmill.Setup, plan *gristmill.Plan) (gristmill.Transform, error) {
	t := &orders{}
	if err := setup.Config(&t.config); err != nil {
		return nil, err
	}
	t.name = plan.Read("name", gristmill.Utf8)
	t.amount = plan.Read("amount", gristmill.Float64)
	t.rate = plan.ReadLookup(plan.Lookup("currencies", "currency", "rate"), gristmill.Float64)
	t.records = plan.Output("records")
	t.records.Forward("order_id")
	t.trimmed = t.records.Compute("name", gristmill.Utf8)
	t.cents = t.records.ComputeRequired("cents", gristmill.Int64)
	return t, nil
}

func (t *orders) Process(batch *gristmill.Batch, out *gristmill.Outputs) error {
	names, amounts, rates := batch.Column(t.name), batch.Column(t.amount), batch.Column(t.rate)
	selection, trimmed, cents := out.Select(t.records), out.Column(t.trimmed), out.Column(t.cents)
	for row := range batch.Rows() {
		amount, hasAmount := amounts.Get(row)
		rate, hasRate := rates.Get(row)
		if !hasAmount || !hasRate {
			out.Reject(row, gristmill.Reject{
				Code: "missing-amount", Field: "amount", Message: "no amount, or an unknown currency",
			})
			continue
		}
		if amount > t.config.MaxAmount {
			out.Reject(row, gristmill.Reject{Code: "too-large", Field: "amount", Message: "more than max_amount"})
			continue
		}
		selection.Append(row)
		name, ok := names.Get(row)
		trimmed.AppendOption(strings.TrimSpace(name), ok)
		cents.Append(int64(math.Round(amount * rate * 100)))
	}
	return nil
}

func Example() {
	input := gristmilltest.FromCSV("order_id,name,amount,currency\n7, ann ,10.0,USD\n8,ben,,USD\n9,cid,3.0,EUR\n", "",
		gristmill.Optional("order_id", gristmill.Int64.Type()),
		gristmill.Optional("name", gristmill.Utf8.Type()),
		gristmill.Optional("amount", gristmill.Float64.Type()),
		gristmill.Optional("currency", gristmill.Utf8.Type()))
	currencies := gristmilltest.NewTable().
		Column("code", gristmill.Utf8.Type(), "USD", "EUR").
		Column("rate", gristmill.Float64.Type(), 0.9, 1.0)
	harness := gristmilltest.Harness{
		Stage:        gristmill.StageNormalize,
		Config:       `{"max_amount": 1000}`,
		Dictionaries: []gristmilltest.Dictionary{{Name: "currencies", Key: "code", Table: currencies}},
	}
	result, err := harness.Run(planOrders, input)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(result.Output("records"))
	fmt.Println(result.Rejects[0].Row, result.Rejects[0].Code)
	// Output:
	// order_id | name | cents
	// 7 | ann | 900
	// 9 | cid | 300
	// 1 missing-amount
}
