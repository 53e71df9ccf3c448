package main

import (
	"strings"
	"testing"
	"time"
)

const whole = `203.0.113.7 - ann [10/Oct/2025:13:55:36 -0700] "GET /a/b?page=2&token=x HTTP/1.1" 200 2326 ` +
	`"https://Search.example/find?q=me" "Mozilla/5.0 (say \"hi\") Firefox/120.0"`

func TestParseLine(t *testing.T) {
	got, problem := parseLine(whole)
	if problem != nil {
		t.Fatal(problem)
	}
	want := line{
		client: "203.0.113.7", method: "GET", target: "/a/b?page=2&token=x", referrer: "https://Search.example/find?q=me",
		agent: `Mozilla/5.0 (say \"hi\") Firefox/120.0`, status: 200, bytes: 2326, hasBytes: true,
	}
	if at := time.Date(2025, 10, 10, 20, 55, 36, 0, time.UTC); !got.at.Equal(at) {
		t.Error(got.at)
	}
	if got.at = want.at; got != want {
		t.Errorf("got %+v", got)
	}
}

func TestLinesThatCannotBeRead(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     *problem
	}{
		{whole, "", noLine},
		{whole, "203.0.113.7", noLine},
		{" [10", " 10", noLine},
		{"0700] ", "0700 ", noLine},
		{`"GET`, `GET`, noLine},
		{`" "Mozilla`, ` "Mozilla`, noLine},
		{"Oct", "Okt", badTime},
		{"10/Oct", "32/Oct", badTime},
		{"GET ", "get ", badRequest},
		{" HTTP/1.1", "", badRequest},
		{"GET /a/b?page=2&token=x HTTP/1.1", `\x16\x03\x01`, badRequest},
		{" 200 ", " 99 ", badStatus},
		{" 200 ", " OK ", badStatus},
		{" 2326 ", " -1 ", badBytes},
		{" 2326 ", " many ", badBytes},
	} {
		text := strings.Replace(whole, c.from, c.to, 1)
		if _, problem := parseLine(text); problem != c.want {
			t.Errorf("%s: got %v, want %v", text, problem, c.want)
		}
	}
}

func TestFamilies(t *testing.T) {
	for agent, want := range map[string]string{
		"Mozilla/5.0 Chrome/120.0 Safari/537.36":         "chrome",
		"Mozilla/5.0 Chrome/120 Safari/537.36 Edg/120.0": "edge",
		"Mozilla/5.0 Version/17.2 Safari/605.1.15":       "safari",
		"Mozilla/5.0 (compatible; Googlebot/2.1; +x)":    "bot",
		"curl/8.5.0": "tool",
		"-":          "other",
		"Mozilla/5.0 (X11; rv:120.0) Gecko Firefox/120.0": "firefox",
	} {
		if got := familyOf(agent); got != want {
			t.Errorf("%s is %s, not %s", agent, got, want)
		}
	}
}
