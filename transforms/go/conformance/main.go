// Command conformance is the transform that every SDK implements, by the rules in tests/conformance/README.md.
package main

import (
	"strconv"

	"gristmill"
)

func init() { gristmill.Export(plan) }

func main() {}

func plan(setup *gristmill.Setup, p *gristmill.Plan) (gristmill.Transform, error) {
	config := struct {
		Step step `json:"step"`
	}{Step: 1}
	if err := setup.Config(&config); err != nil {
		return nil, err
	}
	switch setup.Stage {
	case gristmill.StageNormalize:
		return planNormalize(setup, p, int64(config.Step))
	case gristmill.StageMigrate:
		return planMigrate(setup, p)
	default:
		return planMap(setup, p)
	}
}

// step is a whole number from -1000 to 1000.
type step int64

func (s *step) UnmarshalJSON(text []byte) error {
	value, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || value < -1000 || value > 1000 {
		return &gristmill.Failure{Code: "bad-config", Message: "`step` is a whole number from -1000 to 1000"}
	}
	*s = step(value)
	return nil
}

// requireType fails with "wrong-type" where an input column that is only forwarded has another type.
func requireType(setup *gristmill.Setup, column string, dataType gristmill.DataType) error {
	if field, ok := setup.Column(column); ok && !field.Type.Equal(dataType) {
		message := "column `" + column + "` is " + field.Type.String() + ", not " + dataType.String()
		return &gristmill.Failure{Code: "wrong-type", Message: message}
	}
	return nil
}
