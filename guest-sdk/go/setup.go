package gristmill

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
)

// Setup is what a transform knows before it sees rows.
type Setup struct {
	Stage Stage
	// ConfigJSON is the stage's configuration, one JSON object.
	ConfigJSON string
	// Input holds the input's columns. Names are unique.
	Input []Field
	// Dictionaries are those that the task pins.
	Dictionaries []Dictionary
}

// Dictionary is a table that look-ups search.
type Dictionary struct {
	Name string
	// Key is the column that look-ups match.
	Key    string
	Fields []Field
}

// RequireStage fails with "wrong-stage" for every stage that is not among these.
func (s *Setup) RequireStage(stages ...Stage) error {
	if slices.Contains(stages, s.Stage) {
		return nil
	}
	var served []string
	for _, stage := range stages {
		served = append(served, string(stage))
	}
	return &Failure{"wrong-stage", "this transform serves " + strings.Join(served, ", ") + ", not " + string(s.Stage)}
}

// Config decodes the stage's configuration with [encoding/json] into what config points to. It fails with
// "bad-config", also for a key that config has no field for, so that a mistyped key is found before the first row.
func (s *Setup) Config(config any) error {
	decoder := json.NewDecoder(strings.NewReader(s.ConfigJSON))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(config)
	if err == nil {
		if _, more := decoder.Token(); more != io.EOF {
			err = errors.New("more than one JSON value")
		}
	}
	if err != nil {
		return &Failure{"bad-config", err.Error()}
	}
	return nil
}

// Column is the input column of this name.
func (s *Setup) Column(name string) (Field, bool) { return find(s.Input, name) }

// Dictionary is the dictionary of this name. It fails with "missing-dictionary".
func (s *Setup) Dictionary(name string) (Dictionary, error) {
	for _, dictionary := range s.Dictionaries {
		if dictionary.Name == name {
			return dictionary, nil
		}
	}
	message := "the pipeline has no dictionary `" + name + "`: add it under transforms.dictionaries"
	return Dictionary{}, &Failure{"missing-dictionary", message}
}

func find(fields []Field, name string) (Field, bool) {
	for _, field := range fields {
		if field.Name == name {
			return field, true
		}
	}
	return Field{}, false
}
