package ir

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// A CheckKind says which of Go's rules a kernel broke.
type CheckKind uint8

// The kinds of checks, and the meaning of Index and Length of their errors.
const (
	IndexCheck   CheckKind = iota // an index out of range; the index and the length
	SliceCheck                    // a bound of a slice expression out of range; the bound and its limit
	DivisorCheck                  // an integer division by zero
	CountCheck                    // a negative shift count; the count, where the device knows it
	PointerCheck                  // a use of a nil pointer
	StepCheck                     // a step that never ends its loop; the step
)

// sentinel is the error that errors.Is knows the kind as.
func (k CheckKind) sentinel() error {
	return [...]error{ErrBounds, ErrBounds, ErrDivide, ErrShift, ErrNil, ErrStep}[k]
}

// A CheckError is a check of a kernel that failed: where Go panics. The access was not made. It has
// one text on every device, and errors.Is knows it as ErrBounds, ErrDivide, ErrShift, ErrNil or
// ErrStep.
//
// The text has the file and the line but no column, and no number that Go's run time does not
// report: a negative index is without the length, a negative shift count without the count. The
// fields have all that the device knows.
type CheckError struct {
	Kernel string
	At     Pos // without a column where a Go function failed
	Kind   CheckKind
	// the slice, slice expression, divisor, count, pointer or step as Go text, "" where the device
	// does not know it
	What     string
	Among    []string // sorted candidates for What on the line: see Kernel.Locate
	Index    int64    // index of an access; or a bound, count or step
	Length   int64    // length of the indexed slice or array; or the limit of a bound
	Unsigned bool     // Index is a uint64
}

func (e *CheckError) Error() string {
	return fmt.Sprintf("%s: %s: %s", Pos{File: e.At.File, Line: e.At.Line}, e.Kernel, e.Mistake())
}

// Mistake is the text without the place: "x: index 5 out of range: length 5".
func (e *CheckError) Mistake() string {
	subject := e.What
	if last := len(e.Among) - 1; last > 0 {
		subject = strings.Join(e.Among[:last], ", ") + " or " + e.Among[last]
	} else if last == 0 {
		subject = e.Among[0]
	}
	if subject != "" {
		subject += ": "
	}
	return subject + e.broken()
}

// broken is the rule that is broken, with its numbers.
func (e *CheckError) broken() string {
	switch e.Kind {
	case IndexCheck:
		return e.outside("index", "length")
	case SliceCheck:
		return e.outside("slice bound", "limit")
	case StepCheck:
		return fmt.Sprintf("%v: %d", ErrStep, e.Index)
	}
	return e.Kind.sentinel().Error()
}

func (e *CheckError) outside(number, limit string) string {
	switch {
	case e.negative():
		return fmt.Sprintf("%s %d out of range", number, e.Index)
	case e.Unsigned:
		return fmt.Sprintf("%s %d out of range: %s %d", number, uint64(e.Index), limit, e.Length)
	}
	return fmt.Sprintf("%s %d out of range: %s %d", number, e.Index, limit, e.Length)
}

func (e *CheckError) negative() bool { return e.Index < 0 && !e.Unsigned }

// Unwrap returns the sentinel of the kind.
func (e *CheckError) Unwrap() error { return e.Kind.sentinel() }

// Locate sets the name of the kernel and Among, so that e has the same text on every device. The
// stack of a Go function has lines but no columns, so Among has all candidates that follow from the
// source of the kernel and the arguments of the launch: the operands of the checked operations of
// e's kind on e's line. Arrays and slice parameters of another length than that of e are no
// candidates, nor are constant indices other than that of e, and induction variables that do not
// reach it. Without candidates, What remains the name. Among is not nil afterwards.
func (k *Kernel) Locate(e *CheckError, args Values) {
	e.Kernel = k.Name
	l := &locator{kernel: k, fault: e, args: Values{}, counters: map[*Var]span{}, parts: map[*Var][]part{}}
	assigned := Assigned(k.Body)
	for v, x := range args {
		if !assigned.Has(v) {
			l.args[v] = x
		}
	}
	l.search()
	if l.unsigned && e.negative() {
		e.Unsigned = true
		l.search()
	}
	slices.Sort(l.found)
	e.Among = slices.Compact(l.found)
}

// A locator collects the candidates for the operand of a failed check.
type locator struct {
	kernel   *Kernel
	fault    *CheckError
	args     Values          // arguments of the launch, without those that the kernel assigns
	counters map[*Var]span   // the variables of loops that count up, and the known ranges of their values
	parts    map[*Var][]part // of the arrays of dist_ clauses
	found    []string
	unsigned bool // the index of all candidates is a uint64
}

// A part is the part of the array of a dist_ clause that an iteration owns. Indices into its copy
// in on-chip memory start at the start of the part.
type part struct {
	text   string
	length int64
}

// search walks the kernel and every function that it calls.
func (l *locator) search() {
	l.found = []string{}
	Inspect(l.kernel.Body, l.stmt, l.expr)
	for _, f := range l.kernel.Funcs {
		Inspect(f.Body, l.stmt, l.expr)
	}
}

func (l *locator) stmt(s Stmt) {
	if x, ok := s.(*Atomic); ok && l.here(x.At) {
		l.operator(x.Op, x.Place.Type(), x.Value)
	}
	if x, ok := s.(*For); ok {
		l.counters[x.Var] = l.spanOf(x)
		l.partsOf(x)
		if l.fault.Kind == StepCheck && l.here(x.At) {
			l.add(x.Step, nil)
		}
	}
}

// partsOf notes the parts of the arrays of x that accelerators keep on chip: those of constant
// length.
func (l *locator) partsOf(x *For) {
	if x.Directive == nil {
		return
	}
	for _, a := range x.Directive.DistArrays {
		if c, ok := a.Chunk.(*Const); ok {
			l.parts[a.Var] = append(l.parts[a.Var], part{a.Part(x.Var), int64(c.Bits)})
		}
	}
}

// atLeast reports whether e is a constant that is no less than n.
func atLeast(e Expr, n int64) bool {
	c, ok := e.(*Const)
	return ok && int64(c.Bits) >= n
}

func (l *locator) expr(e Expr) {
	if !l.here(e.Pos()) {
		return
	}
	switch e := e.(type) {
	case *Index:
		l.index(e)
	case *Reslice:
		l.slice(e)
	case *Binary:
		l.operator(e.Op, e.T, e.Y)
	case *Deref:
		if l.fault.Kind == PointerCheck && l.checked(e.Checked) {
			l.add(e.X, nil)
		}
	}
}

// here reports whether a position is on the line of the error.
func (l *locator) here(at Pos) bool { return at.File == l.fault.At.File && at.Line == l.fault.At.Line }

// checked reports whether an operation with this mark can fail; in a kernel with check(none) it has
// no mark but can.
func (l *locator) checked(mark bool) bool { return mark || l.kernel.Target.NoBounds }

func (l *locator) index(e *Index) {
	if l.fault.Kind != IndexCheck || !l.checked(e.Checked) {
		return
	}
	if r, ok := e.X.(*Ref); ok {
		for _, p := range l.parts[r.Var] {
			if p.length == l.fault.Length {
				l.found = append(l.found, p.text)
			}
		}
	}
	c, constant := e.I.(*Const)
	n, known := l.length(e.X)
	switch {
	case constant && int64(c.Bits) != l.fault.Index:
	case known && !l.fault.negative() && n != l.fault.Length:
	case !l.reaches(e.I):
	default:
		l.add(e.X, e.I)
	}
}

// A span is the known range of a loop variable's values: none is below least, and none above most.
type span struct{ least, most int64 }

// spanOf is the span of the variable of x in this launch.
func (l *locator) spanOf(x *For) span {
	s := span{math.MinInt64, math.MaxInt64}
	if !atLeast(x.Step, 1) {
		return s
	}
	if lo, err := EvalInt(x.Lo, l.args); err == nil {
		s.least = lo
	}
	hi, err := EvalInt(x.Hi, l.args)
	switch {
	case err == nil && x.Rel == Lt && hi > math.MinInt64:
		s.most = hi - 1
	case err == nil && x.Rel == Le:
		s.most = hi
	}
	return s
}

// reaches reports whether an index can be the one that failed: the variable of a loop is within its
// span.
func (l *locator) reaches(x Expr) bool {
	r, ok := x.(*Ref)
	if !ok || l.fault.Index < 0 && l.fault.Unsigned {
		return true
	}
	s, ok := l.counters[r.Var]
	return !ok || s.least <= l.fault.Index && l.fault.Index <= s.most
}

// length is that of an array or of a slice parameter in this launch.
func (l *locator) length(x Expr) (n int64, known bool) {
	if t := x.Type(); t.Kind == Array {
		return t.Len, true
	}
	if r, ok := x.(*Ref); ok {
		n, _, known = l.args.Slice(r.Var)
	}
	return n, known
}

func (l *locator) slice(e *Reslice) {
	if l.fault.Kind != SliceCheck || !l.checked(e.Checked) {
		return
	}
	for _, bound := range []Expr{e.Lo, e.Hi, e.Max} {
		if bound != nil {
			l.add(e, bound)
			return
		}
	}
}

// operator adds the second operand of a division or a shift of integers.
func (l *locator) operator(op Op, t *Type, y Expr) {
	_, constant := y.(*Const)
	switch {
	case constant || !t.IsInteger():
	case (op == Div || op == Rem) && l.fault.Kind == DivisorCheck, (op == Shl || op == Shr) && y.Type().IsSigned() && l.fault.Kind == CountCheck:
		l.add(y, nil)
	}
}

// add names x, of which index is an index or a bound.
func (l *locator) add(x, index Expr) {
	wide := index != nil && index.Type().Kind == Uint64
	if index != nil && l.fault.Index < 0 && l.fault.Unsigned && !wide {
		return
	}
	l.unsigned = wide && (l.unsigned || len(l.found) == 0)
	l.found = append(l.found, Source(x))
}
