package cprint

import (
	"github.com/gompss/gompss/codegen/ir"
)

// A Target is a loop or block that a jump may name. C has break and continue for the innermost
// loop; all other jumps are gotos to a label right after the body (Next) or after the whole
// statement (End). A body with a Next label gets braces of its own, so that no goto passes a
// declaration of the scope that it jumps to.
type Target struct {
	Label     *ir.Label
	Loop      bool
	Next, End string
}

// Jumps are the statements of a function that its jumps may name, and the labels of its gotos.
type Jumps struct {
	Labels Names
	// AsLoop reports whether an If is printed as a loop.
	AsLoop  func(*ir.If) bool
	targets []*Target
}

// NewJumps begins a function in which no label has a reserved name.
func NewJumps(reserved map[string]bool, asLoop func(*ir.If) bool) Jumps {
	j := Jumps{Labels: NewNames(nil, reserved), AsLoop: asLoop}
	j.Labels.Push()
	return j
}

// Leave prints a jump out of the statement with this label; ok is false where there is none.
func (j *Jumps) Leave(l *ir.Label) (text string, ok bool) {
	if t := j.innermost(); t != nil && t.Label == l {
		return "break", true
	}
	if t := j.targetOf(l); t != nil && t.End != "" {
		return "goto " + t.End, true
	}
	return "", false
}

// Again prints a jump to the next iteration; ok is false where there is no such statement.
func (j *Jumps) Again(l *ir.Label) (text string, ok bool) {
	t := j.targetOf(l)
	if t != nil && t.Next != "" {
		return "goto " + t.Next, true
	}
	return "continue", t != nil
}

func (j *Jumps) targetOf(l *ir.Label) *Target {
	for i := len(j.targets) - 1; i >= 0; i-- {
		if j.targets[i].Label == l {
			return j.targets[i]
		}
	}
	return nil
}

func (j *Jumps) innermost() *Target {
	for i := len(j.targets) - 1; i >= 0; i-- {
		if j.targets[i].Loop {
			return j.targets[i]
		}
	}
	return nil
}

// Enter makes the target of a statement with these lists. direct means that C's continue has the
// effect of Go's.
func (j *Jumps) Enter(l *ir.Label, loop, direct bool, lists ...[]ir.Stmt) *Target {
	t := &Target{Label: l, Loop: loop}
	var to reach
	for _, list := range lists {
		to |= j.reach(l, list, 0)
	}
	if l != nil && (to&leaves != 0 && !loop || to&leavesFar != 0) {
		t.End = j.label(l, "end")
	}
	if l != nil && (to&continuesFar != 0 || to&continues != 0 && !direct) {
		t.Next = j.label(l, "next")
	}
	j.Push(t)
	return t
}

// Push enters a statement.
func (j *Jumps) Push(t *Target) { j.targets = append(j.targets, t) }

// Pop leaves the innermost one.
func (j *Jumps) Pop() { j.targets = j.targets[:len(j.targets)-1] }

// label makes a name for a goto, unique in the function.
func (j *Jumps) label(l *ir.Label, what string) string {
	if l.Name != "" {
		what = Identifier(l.Name) + "_" + what
	}
	return j.Labels.Fresh(what)
}

// A reach describes how the statements inside a body jump to its label; far jumps come from inside
// another loop.
type reach uint8

const (
	leaves reach = 1 << iota
	leavesFar
	continues
	continuesFar
)

// reach returns how list, inside so many other loops, jumps to l.
func (j *Jumps) reach(l *ir.Label, list []ir.Stmt, depth int) reach {
	var out reach
	note := func(to *ir.Label, near, far reach) {
		if to == l && depth > 0 {
			near |= far
		}
		if to == l {
			out |= near
		}
	}
	for _, s := range list {
		inner := depth
		switch s := s.(type) {
		case *ir.Break:
			note(s.Label, leaves, leavesFar)
		case *ir.Continue:
			note(s.Label, continues, continuesFar)
		case *ir.For, *ir.While:
			inner++
		case *ir.If:
			if j.AsLoop != nil && j.AsLoop(s) {
				inner++
			}
		}
		ir.Lists(s, func(list []ir.Stmt) { out |= j.reach(l, list, inner) })
	}
	return out
}
