package mapping

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
)

// A Work is a kernel on its way to device code, a copy of its own, and what was decided about it on
// the way.
type Work struct {
	Kernel  *ir.Kernel
	target  string              // in errors: what the code is for
	Scratch map[*ir.Var]*ir.Var // variables of the kernel's sequential code that live in scratch memory

	tests     map[*ir.If]bool // made for a loop, which changes nothing that they look at
	decisions []Decision
	Notes     []diag.Diagnostic
	Errors    diag.ErrorList
}

// NewWork returns a copy of k that passes may change, for target.
func NewWork(k *ir.Kernel, target string) *Work {
	w := &Work{target: target, Scratch: map[*ir.Var]*ir.Var{}, tests: map[*ir.If]bool{}}
	own := *k
	own.Body = w.CopyOf(k.Body, &own.NumVars)
	w.Kernel = &own
	return w
}

// CopyOf copies list with variables and labels of its own; what lives across launches stays what it
// is.
func (l *Work) CopyOf(list []ir.Stmt, numVars *int) []ir.Stmt {
	return ir.Fresh(list, func(v *ir.Var) *ir.Var {
		if l.Scratch[v] != nil {
			return v
		}
		c := *v
		c.ID = *numVars
		*numVars++
		return &c
	}).CopyStmts(list)
}

// Local makes a new variable that is private to a thread.
func (l *Work) Local(name string, t *ir.Type, at ir.Pos) *ir.Var {
	return l.Variable(name, t, ir.Local, at)
}

// Variable adds a variable to the kernel.
func (l *Work) Variable(name string, t *ir.Type, space ir.Space, at ir.Pos) *ir.Var {
	v := &ir.Var{Name: name, Type: t, Space: space, ID: l.Kernel.NumVars, At: at}
	l.Kernel.NumVars++
	return v
}

// Refuse records an error of the user's.
func (l *Work) Refuse(at ir.Pos, what, why, instead string) {
	d := diag.Diagnostic{Pos: at, Severity: diag.Error, What: what, Why: why, Instead: instead}
	if !slices.Contains(l.Errors, d) {
		l.Errors = append(l.Errors, d)
	}
}

// NotYet records that a construct has no lowering yet.
func (l *Work) NotYet(at ir.Pos, what string) {
	l.Refuse(at, "kernel "+l.Kernel.Name, "not supported yet by "+l.target+": "+what, "")
}

// Note records what is slower than the author may expect.
func (l *Work) Note(at ir.Pos, what, why, instead string) {
	d := diag.Diagnostic{Pos: at, Severity: diag.Note, What: what, Why: why, Instead: instead}
	if !slices.Contains(l.Notes, d) {
		l.Notes = append(l.Notes, d)
	}
}

// A Decision says where lowering put something and why.
type Decision struct {
	At      ir.Pos
	Subject string // "loop i", "variable sum", "sequential code"
	Where   string // "threads of all teams", "team memory", "thread 0"
	Why     string
	Instead string // what the author can write to change it, "" for nothing
}

// String returns the decision as `gompss explain` prints it: position, subject, place, reason, and
// the way to change it.
func (d Decision) String() string {
	text := fmt.Sprintf("%s:%d:%d: %s -> %s: %s", d.At.File, d.At.Line, d.At.Col, d.Subject, d.Where, d.Why)
	if d.Instead != "" {
		text += "; to change it: " + d.Instead
	}
	return text
}

// Decide records a decision; lowering code twice to find its barriers records it once.
func (l *Work) Decide(at ir.Pos, subject, where, why, instead string) {
	d := Decision{At: at, Subject: subject, Where: where, Why: why, Instead: instead}
	if !slices.Contains(l.decisions, d) {
		l.decisions = append(l.decisions, d)
	}
}

// decided reports whether there is a decision for where something at a position runs.
func (l *Work) decided(at ir.Pos, where string) bool {
	return slices.ContainsFunc(l.decisions, func(d Decision) bool { return d.At == at && d.Where == where })
}

// Decided returns the decisions in source order.
func (l *Work) Decided() []Decision {
	slices.SortStableFunc(l.decisions, func(a, b Decision) int {
		return cmp.Or(strings.Compare(a.At.File, b.At.File), cmp.Compare(a.At.Line, b.At.Line), cmp.Compare(a.At.Col, b.At.Col),
			strings.Compare(a.Subject, b.Subject), strings.Compare(a.Where, b.Where), strings.Compare(a.Why, b.Why))
	})
	return l.decisions
}

// LastCopies gives body private copies of vars; last stores those of the last iteration.
func (l *Work) LastCopies(vars []*ir.Var, body []ir.Stmt, at ir.Pos) (decls, last, renamed []ir.Stmt) {
	if len(vars) == 0 {
		return nil, nil, body
	}
	copies := map[*ir.Var]*ir.Var{}
	for _, v := range vars {
		c := l.Local(v.Name, v.Type, v.At)
		copies[v] = c
		decls = append(decls, build.Decl(c, nil, at))
		last = append(last, build.Assign(build.Ref(v, at), build.Ref(c, at), at))
	}
	return decls, last, build.WithVars(copies).CopyStmts(body)
}
