package codegen

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen/ir"
)

// A Severity says whether a Diagnostic stops the compilation.
type Severity uint8

// The severities.
const (
	Error Severity = iota
	Warning
)

func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// A Diagnostic is one thing that is wrong with the user's source, or may be: What it is about, Why it is not possible,
// and what to do or write Instead (a whole clause such as "write x = min(x, e)"; "" where there is nothing to suggest).
type Diagnostic struct {
	Pos      ir.Pos
	Severity Severity
	What     string
	Why      string
	Instead  string
}

// Error returns "file.go:3:5: what: why; instead", with "warning: " before the what of a warning.
func (d Diagnostic) Error() string {
	var b strings.Builder
	if d.Pos != (ir.Pos{}) {
		b.WriteString(d.Pos.String() + ": ")
	}
	if d.Severity == Warning {
		b.WriteString("warning: ")
	}
	b.WriteString(d.What + ": " + d.Why)
	if d.Instead != "" {
		b.WriteString("; " + d.Instead)
	}
	return b.String()
}

// An ErrorList is all that is wrong with the source, sorted by position.
type ErrorList []Diagnostic

// Error returns the diagnostics, one a line.
func (l ErrorList) Error() string {
	lines := make([]string, len(l))
	for i, d := range l {
		lines[i] = d.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the diagnostics as errors.
func (l ErrorList) Unwrap() []error {
	out := make([]error, len(l))
	for i, d := range l {
		out[i] = d
	}
	return out
}

// sortedErrors returns list by position, each diagnostic once: a helper that two kernels call says everything twice.
func sortedErrors(list []Diagnostic) ErrorList {
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b Diagnostic) int {
		return cmp.Or(strings.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Col, b.Pos.Col), strings.Compare(a.What, b.What), strings.Compare(a.Why, b.Why))
	})
	return slices.Compact(out)
}
