package main

import (
	"slices"
	"testing"

	"gristmill"
	"gristmill/gristmilltest"
)

func TestNamesAreTrimmed(t *testing.T) {
	input := gristmilltest.FromCSV("id,name\n1, Ada \n2,\n", "",
		gristmill.Optional("id", gristmill.Int64.Type()), gristmill.Optional("name", gristmill.Utf8.Type()))
	result, err := gristmilltest.Harness{Stage: "{{stage}}"}.Run(plan, input)
	if err != nil {
		t.Fatal(err)
	}
	if got := result.Output("records").String(); got != "id | name\n1 | Ada\n" {
		t.Error(got)
	}
	want := gristmill.RejectedRow{
		Row: 1, Reject: gristmill.Reject{Code: "missing-name", Field: "name", Message: "the name is empty"},
	}
	if !slices.Equal(result.Rejects, []gristmill.RejectedRow{want}) {
		t.Error(result.Rejects)
	}
}
