package gristmill

import (
	"errors"
	"strings"
	"testing"
)

func TestAPanicSaysWhatAndWhere(t *testing.T) {
	guarded := func(panics func()) (err error) {
		defer guard(&err)
		panics()
		return nil
	}
	if err := guarded(func() {}); err != nil {
		t.Error(err)
	}
	cases := map[string]func(){
		"asked to raise":      func() { panic("asked to raise") },
		"no idea":             func() { panic(errors.New("no idea")) },
		"index out of range":  func() { _ = make([]int, 1)[len(t.Name())] },
		"a panic":             func() { panic(struct{}{}) },
		"a null list has no":  func() { b := List(Int8).NewBuilder(1); b.Items().Append(1); b.AppendNull() },
		"int32":               func() { panic(Int32.Type()) },
		"nil pointer derefer": func() { var f *Field; _ = f.Name },
	}
	for text, panics := range cases {
		failure := guarded(panics).(*Failure)
		if failure.Code != "exception" || !strings.Contains(failure.Message, text) {
			t.Errorf("got %v, want %s", failure, text)
		}
		// The place is this function's, also where the SDK panicked below it.
		if !strings.Contains(failure.Message, "TestAPanicSaysWhatAndWhere") || !strings.Contains(failure.Message, " at exception_test.go:") {
			t.Error(failure)
		}
	}
}
