package gristmill_test

import (
	"os"
	"strings"
	"testing"
)

// The README's code is what the tests run.
func TestReadme(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	tested := read("example_test.go") + read("rows_test.go")
	blocks := strings.Split(read("README.md"), "```go\n")[1:]
	for _, block := range blocks {
		code, _, _ := strings.Cut(block, "```")
		if !strings.Contains(tested, code) {
			t.Errorf("no test runs this:\n%s", code)
		}
	}
	if len(blocks) < 3 {
		t.Errorf("%d blocks of code", len(blocks))
	}
}
