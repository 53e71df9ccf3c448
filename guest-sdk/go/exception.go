package gristmill

import (
	"path"
	"runtime"
	"strconv"
	"strings"
)

// guard turns a panic into the failure "exception", with which the runner does as with a trap: it tries again, then
// isolates the rows at fault. Called by defer.
func guard(err *error) {
	if problem := recover(); problem != nil {
		*err = &Failure{"exception", panicText(problem) + panicPlace()}
	}
}

func panicText(problem any) string {
	switch problem := problem.(type) {
	case error:
		return problem.Error()
	case string:
		return problem
	case interface{ String() string }:
		return problem.String()
	default:
		return "a panic"
	}
}

// panicPlace is where the transform's own code was when it panicked, or called what did.
func panicPlace() string {
	var callers [32]uintptr
	// Without Callers, panicPlace and guard.
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers[:])])
	for {
		frame, more := frames.Next()
		if frame.Function != "" && !strings.HasPrefix(frame.Function, "runtime.") && !ofSDK(frame) {
			return " (" + frame.Function + " at " + path.Base(frame.File) + ":" + strconv.Itoa(frame.Line) + ")"
		}
		if !more {
			return ""
		}
	}
}

func ofSDK(frame runtime.Frame) bool {
	return strings.HasPrefix(frame.Function, "gristmill.") && !strings.HasSuffix(frame.File, "_test.go")
}
