// Package diag has what the compiler says about a source: diagnostics with their positions.
package diag

import (
	"cmp"
	"fmt"
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
	Note // of explain: there is nothing to change
)

func (s Severity) String() string { return [...]string{"error", "warning", "note"}[s] }

// A Diagnostic is one thing that is wrong with the user's source, or may be: What it is about, Why
// it is not possible, and what to do or write Instead (a whole clause such as "write x = min(x,
// e)"; "" where there is nothing to suggest).
type Diagnostic struct {
	Pos      ir.Pos
	Severity Severity
	What     string
	Why      string
	Instead  string

	slice *ir.Var // of warnings about one slice the first is kept; nil once that is done
}

// Error returns "file.go:3:5: what: why; instead", with "warning: " before the what of a warning,
// "note: " before that of a note.
func (d Diagnostic) Error() string {
	var b strings.Builder
	if d.Pos != (ir.Pos{}) {
		b.WriteString(d.Pos.String() + ": ")
	}
	if d.Severity != Error {
		b.WriteString(d.Severity.String() + ": ")
	}
	b.WriteString(d.What + ": " + d.Why)
	if d.Instead != "" {
		b.WriteString("; " + d.Instead)
	}
	return b.String()
}

// OfSlice returns d as one of several about slice v, of which the first warning of a kind is kept.
func (d Diagnostic) OfSlice(v *ir.Var) Diagnostic {
	d.slice = v
	return d
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

// Sorted returns list by position, each diagnostic once: a helper that two kernels call says
// everything twice.
func Sorted(list []Diagnostic) ErrorList {
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b Diagnostic) int {
		return cmp.Or(comparePlaces(a.Pos, b.Pos), strings.Compare(a.What, b.What), strings.Compare(a.Why, b.Why))
	})
	return slices.Compact(out)
}

// Folded returns list with one warning for those that say the same of one slice: the first of them,
// which names the places of the others.
func Folded(list []Diagnostic) []Diagnostic {
	type subject struct {
		slice    *ir.Var
		what     string
		severity Severity
	}
	first, others := map[subject]int{}, map[int][]ir.Pos{}
	var out []Diagnostic
	for _, d := range list {
		what, _, _ := strings.Cut(d.What, " ")
		s := subject{d.slice, what, d.Severity}
		d.slice = nil
		i, known := first[s]
		switch {
		case s.slice == nil || s.severity == Error:
			out = append(out, d)
		case !known:
			first[s] = len(out)
			out = append(out, d)
		case before(d.Pos, out[i].Pos):
			others[i] = append(others[i], out[i].Pos)
			out[i] = d
		default:
			others[i] = append(others[i], d.Pos)
		}
	}
	for i, places := range others {
		slices.SortFunc(places, comparePlaces)
		places = slices.DeleteFunc(slices.Compact(places), func(p ir.Pos) bool { return p == out[i].Pos })
		if len(places) > 0 {
			out[i].Why += "; the same at " + placeList(places)
		}
	}
	return out
}

// placeList names the first of some places.
func placeList(places []ir.Pos) string {
	const most = 3
	var out []string
	for _, p := range places[:min(len(places), most)] {
		out = append(out, p.String())
	}
	if n := len(places) - most; n > 0 {
		out = append(out, fmt.Sprintf("%d more places", n))
	}
	return strings.Join(out, ", ")
}

func before(a, b ir.Pos) bool { return comparePlaces(a, b) < 0 }

func comparePlaces(a, b ir.Pos) int {
	return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
}

// Plural returns one for n = 1, else many.
func Plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
