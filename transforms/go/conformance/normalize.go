package main

import (
	"bytes"
	"os"
	"strconv"

	"gristmill"
)

const (
	scale     = 10
	precision = 38
)

// normalize computes the columns whose inputs are there. Each part plans its own columns and computes them for the rows
// that are kept.
type normalize struct {
	records *gristmill.Output
	step    int64
	text    *gristmill.In[gristmill.TextColumn]
	amounts *amounts
	count   *gristmill.In[gristmill.Column[int64]]
	parts   []part
	// The batch's texts, once Process has them.
	folded folded
}

// part computes columns of the rows that are kept.
type part func(batch *gristmill.Batch, out *gristmill.Outputs, kept []int)

type amounts struct {
	amount, fee gristmill.In[gristmill.Column[gristmill.Int128]]
}

func planNormalize(setup *gristmill.Setup, p *gristmill.Plan, step int64) (gristmill.Transform, error) {
	t := &normalize{records: p.Output("records"), step: step}
	if err := requireType(setup, "id", gristmill.Int64.Type()); err != nil {
		return nil, err
	}
	t.records.Forward("id")
	has := func(column string) bool {
		_, ok := setup.Column(column)
		return ok
	}
	if has("code") {
		if err := requireType(setup, "code", gristmill.Utf8.Type()); err != nil {
			return nil, err
		}
		t.records.ForwardLookup("name", p.Lookup("codes", "code", "name"))
		t.parts = append(t.parts, t.planWeight(p))
	}
	if has("text") {
		text := p.Read("text", gristmill.Utf8)
		t.text = &text
		t.parts = append(t.parts, t.planText())
	}
	if has("amount") && has("fee") {
		decimal := gristmill.Decimal128(precision, scale)
		t.amounts = &amounts{p.Read("amount", decimal), p.Read("fee", decimal)}
		t.parts = append(t.parts, t.planAmounts())
	}
	if has("at") {
		t.parts = append(t.parts, t.planTime(p))
	}
	if has("count") {
		count := p.Read("count", gristmill.Int64)
		t.count = &count
		t.parts = append(t.parts, t.planCount())
	}
	if has("ratio") {
		t.parts = append(t.parts, t.planRatio(p))
	}
	if has("data") {
		t.parts = append(t.parts, t.planData(p))
	}
	if has("numbers") {
		t.parts = append(t.parts, t.planNumbers(p))
	}
	if has("place") {
		t.parts = append(t.parts, t.planPlace(p))
	}
	if has("visits") {
		t.parts = append(t.parts, t.planVisits(setup, p))
	}
	return t, nil
}

func (t *normalize) Process(batch *gristmill.Batch, out *gristmill.Outputs) error {
	if t.text != nil {
		t.folded = fold(batch.Column(*t.text))
	}
	selection := out.Select(t.records)
	kept := make([]int, 0, batch.Rows())
	for row, reason := range t.check(batch) {
		if reason != accepted {
			out.Reject(row, rejects[reason])
			continue
		}
		selection.Append(row)
		kept = append(kept, row)
	}
	for _, compute := range t.parts {
		compute(batch, out, kept)
	}
	if rejected := batch.Rows() - len(kept); rejected > 0 {
		out.Message(strconv.Itoa(rejected) + " of " + strconv.Itoa(batch.Rows()) + " rows rejected")
	}
	return nil
}

// reason is why a row is not accepted. Of several the first one counts.
type reason uint8

const (
	accepted reason = iota
	refused
	totalOverflows
	countOverflows
)

var rejects = [...]gristmill.Reject{
	refused:        {Code: "refused", Field: "text", Message: "the text asks to be refused"},
	totalOverflows: {Code: "overflow", Field: "amount", Message: "the total has more than 38 digits"},
	countOverflows: {Code: "overflow", Field: "count", Message: "the next count does not fit int64"},
}

// hoarded is what rows that ask for it keep of the instance's memory.
var hoarded [][]byte

// check gives each row's reason. It goes by column, the last reason first.
func (t *normalize) check(batch *gristmill.Batch) []reason {
	reasons := make([]reason, batch.Rows())
	if t.count != nil {
		counts := batch.Column(*t.count)
		for row, count := range counts.Values() {
			if next := count + t.step; (next < count) != (t.step < 0) && counts.IsValid(row) {
				reasons[row] = countOverflows
			}
		}
	}
	if t.amounts != nil {
		amounts, fees := batch.Column(t.amounts.amount), batch.Column(t.amounts.fee)
		for row, amount := range amounts.Values() {
			total, ok := amount.AddExact(fees.Value(row))
			if (!ok || !total.Fits(precision)) && amounts.IsValid(row) && fees.IsValid(row) {
				reasons[row] = totalOverflows
			}
		}
	}
	if t.text != nil {
		texts, folded := batch.Column(*t.text), t.folded
		for row := range reasons {
			switch value := folded.value(row); {
			case string(value) == "reject" && texts.IsValid(row):
				reasons[row] = refused
			case string(value) == "raise" && texts.IsValid(row):
				panic("asked to raise")
			case string(value) == "leave" && texts.IsValid(row):
				os.Exit(3)
			case string(value) == "hoard" && texts.IsValid(row):
				hoarded = append(hoarded, bytes.Repeat([]byte{1}, 1<<20))
			}
		}
	}
	return reasons
}
