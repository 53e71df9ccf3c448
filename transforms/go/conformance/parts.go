package main

import (
	"math"

	"gristmill"
)

func (t *normalize) planWeight(p *gristmill.Plan) part {
	in := p.ReadLookup(p.Lookup("codes", "code", "weight"), gristmill.Int64)
	weight := t.records.ComputeRequired("weight", gristmill.Int64)
	return func(batch *gristmill.Batch, out *gristmill.Outputs, kept []int) {
		found, weights := batch.Column(in), out.Column(weight)
		for _, row := range kept {
			if value, ok := found.Get(row); ok {
				weights.Append(value)
			} else {
				weights.Append(-1)
			}
		}
	}
}

func (t *normalize) planText() part {
	text := t.records.Compute("text", gristmill.Utf8)
	state := t.records.ComputeRequired("text_state", gristmill.Uint8)
	return func(batch *gristmill.Batch, out *gristmill.Outputs, kept []int) {
		in, texts, states := batch.Column(*t.text), out.Column(text), out.Column(state)
		for _, row := range kept {
			if in.IsNull(row) {
				texts.AppendNull()
				states.Append(0)
				continue
			}
			folded := t.folded.value(row)
			texts.AppendBytes(folded)
			states.Append(1 + uint8(min(len(folded), 1)))
		}
	}
}

func (t *normalize) planAmounts() part {
	total := t.records.Compute("total", gristmill.Decimal128(precision, scale))
	negated := t.records.Compute("negated", gristmill.Decimal128(precision, scale))
	order := t.records.Compute("order", gristmill.Int8)
	text := t.records.Compute("amount_text", gristmill.Utf8)
	return func(batch *gristmill.Batch, out *gristmill.Outputs, kept []int) {
		amounts, fees := batch.Column(t.amounts.amount), batch.Column(t.amounts.fee)
		totals, negateds := out.Column(total), out.Column(negated)
		orders, texts := out.Column(order), out.Column(text)
		for _, row := range kept {
			amount, hasAmount := amounts.Get(row)
			fee, hasFee := fees.Get(row)
			totals.AppendOption(amount.Add(fee), hasAmount && hasFee)
			orders.AppendOption(int8(amount.Cmp(fee)), hasAmount && hasFee)
			negateds.AppendOption(amount.Neg(), hasAmount)
			if hasAmount {
				texts.AppendFunc(func(to []byte) []byte { return amount.AppendDecimal(to, scale) })
			} else {
				texts.AppendNull()
			}
		}
	}
}

func (t *normalize) planTime(p *gristmill.Plan) part {
	const dayMicros = 86_400_000_000
	at := p.Read("at", gristmill.Timestamp(gristmill.Microsecond, ""))
	day := t.records.Compute("day", gristmill.Date32)
	time := t.records.Compute("time", gristmill.Time64(gristmill.Microsecond))
	return func(batch *gristmill.Batch, out *gristmill.Outputs, kept []int) {
		ats, days, times := batch.Column(at), out.Column(day), out.Column(time)
		for _, row := range kept {
			value, ok := ats.Get(row)
			dayOf, timeOf := value/dayMicros, value%dayMicros
			if timeOf < 0 {
				dayOf, timeOf = dayOf-1, timeOf+dayMicros
			}
			days.AppendOption(int32(dayOf), ok)
			times.AppendOption(timeOf, ok)
		}
	}
}

func (t *normalize) planCount() part {
	next := t.records.Compute("next", gristmill.Int64)
	mixed := t.records.Compute("mixed", gristmill.Int64)
	return func(batch *gristmill.Batch, out *gristmill.Outputs, kept []int) {
		counts, nexts, mixeds := batch.Column(*t.count), out.Column(next), out.Column(mixed)
		for _, row := range kept {
			count, ok := counts.Get(row)
			nexts.AppendOption(count+t.step, ok)
			mixeds.AppendOption(count*31+7, ok)
		}
	}
}

func (t *normalize) planRatio(p *gristmill.Plan) part {
	ratio := p.Read("ratio", gristmill.Float64)
	half := t.records.Compute("half", gristmill.Float64)
	finite := t.records.Compute("finite", gristmill.Boolean)
	return func(batch *gristmill.Batch, out *gristmill.Outputs, kept []int) {
		ratios, halves, finites := batch.Column(ratio), out.Column(half), out.Column(finite)
		for _, row := range kept {
			value, ok := ratios.Get(row)
			isNaN := math.IsNaN(value)
			finites.AppendOption(!isNaN && !math.IsInf(value, 0), ok)
			value *= 0.5
			if isNaN {
				value = math.Float64frombits(0x7FF8_0000_0000_0000)
			}
			halves.AppendOption(value, ok)
		}
	}
}

func (t *normalize) planData(p *gristmill.Plan) part {
	data := p.Read("data", gristmill.Binary)
	reversed := t.records.Compute("reversed", gristmill.Binary)
	return func(batch *gristmill.Batch, out *gristmill.Outputs, kept []int) {
		datas, reverseds := batch.Column(data), out.Column(reversed)
		for _, row := range kept {
			value, ok := datas.Get(row)
			if !ok {
				reverseds.AppendNull()
				continue
			}
			reverseds.AppendFunc(func(to []byte) []byte {
				for i := len(value) - 1; i >= 0; i-- {
					to = append(to, value[i])
				}
				return to
			})
		}
	}
}

func (t *normalize) planNumbers(p *gristmill.Plan) part {
	numbers := p.Read("numbers", gristmill.List(gristmill.Int64))
	sum := t.records.Compute("sum", gristmill.Int64)
	return func(batch *gristmill.Batch, out *gristmill.Outputs, kept []int) {
		lists, sums := batch.Column(numbers), out.Column(sum)
		items := lists.Items()
		for _, row := range kept {
			total := int64(0)
			start, end := lists.Range(row)
			for item := start; item < end; item++ {
				if value, ok := items.Get(item); ok {
					total += value
				}
			}
			sums.AppendOption(total, lists.IsValid(row))
		}
	}
}

func (t *normalize) planPlace(p *gristmill.Plan) part {
	members := gristmill.Struct(
		gristmill.Optional("city", gristmill.Utf8.Type()), gristmill.Optional("score", gristmill.Int32.Type()),
	)
	place := p.Read("place", members)
	city := t.records.Compute("city", gristmill.Utf8)
	return func(batch *gristmill.Batch, out *gristmill.Outputs, kept []int) {
		places, cities := batch.Column(place), out.Column(city)
		names := places.Member("city", gristmill.Utf8)
		for _, row := range kept {
			name, ok := names.Get(row)
			cities.AppendOption(name, ok && places.IsValid(row))
		}
	}
}

func (t *normalize) planVisits(setup *gristmill.Setup, p *gristmill.Plan) part {
	field, _ := setup.Column("visits")
	// What goes through unchanged needs no typed view, but it has to be of this type.
	p.Read("visits", gristmill.List(gristmill.Struct(
		gristmill.Optional("page", gristmill.Utf8.Type()), gristmill.Optional("seconds", gristmill.Int32.Type()),
	)))
	in := p.Read("visits", gristmill.Any(field.Type))
	visits := t.records.Compute("visits", gristmill.Any(field.Type))
	return func(batch *gristmill.Batch, out *gristmill.Outputs, kept []int) {
		column := batch.Column(in)
		if len(kept) == batch.Rows() {
			out.Column(visits).Set(column.Data())
		} else {
			out.Column(visits).Set(column.Take(kept))
		}
	}
}
