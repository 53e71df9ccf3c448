package main

import (
	"slices"
	"testing"

	"gristmill"
	"gristmill/gristmilltest"
)

func run(t *testing.T, config string, lines ...any) *gristmilltest.Result {
	t.Helper()
	var hosts, offsets []any
	for i := range lines {
		hosts, offsets = append(hosts, "web-1"), append(offsets, i)
	}
	input := gristmilltest.NewTable().
		Column("host", gristmill.Utf8.Type(), hosts...).
		Column("offset", gristmill.Int64.Type(), offsets...).
		Column("log", gristmill.Utf8.Type(), lines...)
	services := gristmilltest.NewTable().
		Column("host", gristmill.Utf8.Type(), "web-1").
		Column("service", gristmill.Utf8.Type(), "shop")
	harness := gristmilltest.Harness{
		Config:       config,
		Dictionaries: []gristmilltest.Dictionary{{Name: "hosts", Key: "host", Table: services}},
	}
	result, err := harness.Run(plan, input)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestRequestsAreTyped(t *testing.T) {
	dashes := `2001:db8:1:2::3 - - [01/Jan/2026:00:00:00 +0000] "POST /pay HTTP/2.0" 499 - "-" "-"`
	result := run(t, `{"keep_parameters": ["page"], "mask_clients": true}`, whole, dashes)
	want := "host | offset | service | at | client | method | path | query | status | bytes | referrer | agent\n" +
		"web-1 | 0 | shop | 1760129736000000 | 203.0.113.0/24 | GET | /a/b | page=2 | 200 | 2326 | search.example | firefox\n" +
		"web-1 | 1 | shop | 1767225600000000 | 2001:db8:1::/48 | POST | /pay | null | 499 | null | null | other\n"
	if got := result.Output("records").String(); got != want {
		t.Errorf("got %s", got)
	}
}

func TestWithoutConfigurationClientsStayAndQueriesGo(t *testing.T) {
	records := run(t, `{}`, whole).Output("records")
	if got := records.Values("client")[0]; got != "203.0.113.7" {
		t.Error(got)
	}
	if got := records.Values("query")[0]; got != nil {
		t.Error(got)
	}
}

func TestClientsThatAreNoAddressesAreMaskedWhole(t *testing.T) {
	masked := webLog{config: config{MaskClients: true}}
	for client, want := range map[string]string{
		"10.1.2.3": "10.1.2.0/24", "::ffff:10.1.2.3": "10.1.2.0/24", "fe80::1%eth0": "fe80::/48", "ann.example": "masked",
	} {
		if got := masked.clientOf(client); got != want {
			t.Errorf("%s is %s, not %s", client, got, want)
		}
	}
}

func TestBadLinesAreRejected(t *testing.T) {
	result := run(t, `{}`, nil, whole, "nonsense")
	reject := gristmill.Reject{Code: "bad-line", Field: "log", Message: "not a line of the combined log format"}
	want := []gristmill.RejectedRow{{Row: 0, Reject: reject}, {Row: 2, Reject: reject}}
	if !slices.Equal(result.Rejects, want) || result.Output("records").Rows() != 1 {
		t.Error(result.Rejects)
	}
}
