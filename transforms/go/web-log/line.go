package main

import (
	"strconv"
	"strings"
	"time"
)

// line is one line of the combined log format:
//
//	client ident user [time] "method target protocol" status bytes "referrer" "agent"
type line struct {
	client, method, target, referrer, agent string
	at                                      time.Time
	status                                  int16
	// Sent to the client. hasBytes is false where the server wrote a dash.
	bytes    int64
	hasBytes bool
}

// problem is why a line cannot be read: the code of the reject and its message.
type problem struct{ code, message string }

var (
	noLine     = &problem{"bad-line", "not a line of the combined log format"}
	badTime    = &problem{"bad-time", "the time is not written as 02/Jan/2006:15:04:05 -0700"}
	badRequest = &problem{"bad-request", "the request is not a method, a target and a protocol"}
	badStatus  = &problem{"bad-status", "the status is not a number from 100 to 599"}
	badBytes   = &problem{"bad-bytes", "the number of bytes is neither a number nor a dash"}
)

func parseLine(text string) (line, *problem) {
	var l line
	client, rest, ok := strings.Cut(text, " ")
	if !ok {
		return l, noLine
	}
	l.client = client
	if _, rest, ok = strings.Cut(rest, " ["); !ok {
		return l, noLine
	}
	at, rest, ok := strings.Cut(rest, "] ")
	if !ok {
		return l, noLine
	}
	request, rest, ok := quoted(rest)
	if !ok {
		return l, noLine
	}
	status, rest, _ := strings.Cut(rest, " ")
	bytes, rest, ok := strings.Cut(rest, " ")
	if !ok {
		return l, noLine
	}
	if l.referrer, rest, ok = quoted(rest); !ok {
		return l, noLine
	}
	if l.agent, _, ok = quoted(rest); !ok {
		return l, noLine
	}

	var err error
	if l.at, err = time.Parse("02/Jan/2006:15:04:05 -0700", at); err != nil {
		return l, badTime
	}
	if l.method, l.target, ok = splitRequest(request); !ok {
		return l, badRequest
	}
	number, err := strconv.ParseInt(status, 10, 16)
	if err != nil || number < 100 || number > 599 {
		return l, badStatus
	}
	l.status = int16(number)
	if bytes != "-" {
		if l.bytes, err = strconv.ParseInt(bytes, 10, 64); err != nil || l.bytes < 0 {
			return l, badBytes
		}
		l.hasBytes = true
	}
	return l, nil
}

// quoted takes a text in quotes from the beginning, and the space behind it. Servers write a quote inside as \".
func quoted(text string) (value, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		return "", text, false
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return text[1:i], strings.TrimPrefix(text[i+1:], " "), true
		}
	}
	return "", text, false
}

func splitRequest(request string) (method, target string, ok bool) {
	method, rest, _ := strings.Cut(request, " ")
	target, protocol, _ := strings.Cut(rest, " ")
	return method, target, isMethod(method) && target != "" && strings.HasPrefix(protocol, "HTTP/")
}

func isMethod(text string) bool {
	for _, letter := range []byte(text) {
		if letter < 'A' || letter > 'Z' {
			return false
		}
	}
	return text != ""
}

// families of agents, the first that is named in an agent's text. Chrome also names Safari, and Edge both.
var families = []struct{ word, family string }{
	{"bot", "bot"}, {"crawler", "bot"}, {"spider", "bot"}, {"curl/", "tool"}, {"wget/", "tool"}, {"python", "tool"},
	{"go-http-client", "tool"}, {"edg/", "edge"}, {"firefox/", "firefox"}, {"chrome/", "chrome"}, {"safari/", "safari"},
}

func familyOf(agent string) string {
	agent = strings.ToLower(agent)
	for _, f := range families {
		if strings.Contains(agent, f.word) {
			return f.family
		}
	}
	return "other"
}
