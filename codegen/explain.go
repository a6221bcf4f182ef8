package codegen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen/ir"
)

// A Decision says where lowering put something and why.
type Decision struct {
	At      ir.Pos
	Subject string // "loop i", "variable sum", "sequential code"
	Where   string // "threads of all teams", "team memory", "thread 0"
	Why     string
	Instead string // what the author can write to change it, "" for nothing
}

// String returns the decision as `gompss explain` prints it: position, subject, place, reason, and the way to change it.
func (d Decision) String() string {
	text := fmt.Sprintf("%s:%d:%d: %s -> %s: %s", d.At.File, d.At.Line, d.At.Col, d.Subject, d.Where, d.Why)
	if d.Instead != "" {
		text += "; to change it: " + d.Instead
	}
	return text
}

// Explain returns the decisions as text, one a line in source order, after the kernel's name and its launches.
func (r *Lowering) Explain() string {
	var b strings.Builder
	n := len(r.Program.Launches)
	fmt.Fprintf(&b, "kernel %s: %d %s", r.Program.Name, n, plural(n, "launch", "launches"))
	if s := len(r.Program.Scratch); s > 0 {
		fmt.Fprintf(&b, ", %d %s", s, plural(s, "piece of scratch memory", "pieces of scratch memory"))
	}
	b.WriteString("\n")
	for _, d := range r.Decisions {
		b.WriteString("  " + d.String() + "\n")
	}
	return b.String()
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// decide records a decision; lowering code twice to find its barriers records it once.
func (l *lowering) decide(at ir.Pos, subject, where, why, instead string) {
	d := Decision{At: at, Subject: subject, Where: where, Why: why, Instead: instead}
	if !slices.Contains(l.decisions, d) {
		l.decisions = append(l.decisions, d)
	}
}

// decided returns the decisions in source order.
func (l *lowering) decided() []Decision {
	slices.SortStableFunc(l.decisions, func(a, b Decision) int {
		return cmp.Or(strings.Compare(a.At.File, b.At.File), cmp.Compare(a.At.Line, b.At.Line), cmp.Compare(a.At.Col, b.At.Col),
			strings.Compare(a.Subject, b.Subject), strings.Compare(a.Where, b.Where), strings.Compare(a.Why, b.Why))
	})
	return l.decisions
}

// because names the directive that asked for something, or the compiler's own choice.
func because(d *ir.Directive) string {
	if d.Text == "" {
		return "the compiler proved its iterations independent"
	}
	return "\"" + d.Text + "\" says so"
}
