package stmts

import (
	"math"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A counted loop never goes past the end of its counter's type: every analysis, and every count of
// iterations, relies on that. Where Go's loop may, as for i := lo; i < 250; i += 10 of a uint8
// does, it is a While, or, under a directive, a loop over the numbers of its iterations.

// An interval holds integers from lo to hi.
type interval struct{ lo, hi int64 }

// typeInterval returns the range of an integer type; ok is false for uint64.
func typeInterval(t *ir.Type) (r interval, ok bool) {
	bits := 8 * uint(t.Size)
	switch {
	case t.IsSigned():
		return interval{-1 << (bits - 1), 1<<(bits-1) - 1}, true
	case bits < 64:
		return interval{0, 1<<bits - 1}, true
	}
	return interval{0, math.MaxInt64}, false
}

func (r interval) within(s interval) bool { return r.lo >= s.lo && r.hi <= s.hi }

// small reports whether sums and products of such numbers fit an int64.
func (r interval) small() bool { return r.within(interval{-1 << 31, 1 << 31}) }

// intervalOf returns bounds of an integer; ok is false where its value may be past the largest
// int64.
func intervalOf(e ir.Expr) (interval, bool) {
	all, ok := typeInterval(e.Type())
	switch e := e.(type) {
	case *ir.Const:
		c := int64(e.Bits)
		return interval{c, c}, ok || c >= 0
	case *ir.Len, *ir.Cap:
		return interval{0, 1 << 48}, true
	case *ir.Convert:
		if from := e.X.Type(); from.IsInteger() {
			if x, known := intervalOf(e.X); known && x.within(all) {
				return x, true
			}
		}
	case *ir.Math:
		return intervalOfMath(e, all, ok)
	case *ir.Binary:
		if x, known := intervalOfBinary(e); known && x.within(all) {
			return x, true
		}
	}
	return all, ok
}

func intervalOfMath(e *ir.Math, all interval, ok bool) (interval, bool) {
	if e.Fn != ir.IMin && e.Fn != ir.IMax {
		return all, ok
	}
	r, known := intervalOf(e.Args[0])
	for _, a := range e.Args[1:] {
		x, also := intervalOf(a)
		switch {
		case e.Fn == ir.IMin && !e.T.IsSigned() && (known || also): // the other may be larger than any int64
			r = interval{0, min(upper(r, known), upper(x, also))}
			known = true
		case e.Fn == ir.IMin:
			r, known = interval{min(r.lo, x.lo), min(r.hi, x.hi)}, known && also
		default:
			r, known = interval{max(r.lo, x.lo), max(r.hi, x.hi)}, known && also
		}
	}
	return r, known
}

func upper(r interval, known bool) int64 {
	if known {
		return r.hi
	}
	return math.MaxInt64
}

// intervalOfBinary returns the bounds of an operation whose result is the mathematical one where
// they are those of its type.
func intervalOfBinary(e *ir.Binary) (interval, bool) {
	c, isConst := query.Int64(e.Y)
	x, ok := intervalOf(e.X)
	switch {
	case e.Op == ir.And && isConst && c >= 0:
		return interval{0, c}, true
	case e.Op == ir.Rem && isConst && c > 0 && !e.T.IsSigned(), e.Op == ir.Rem && isConst && c > 0 && ok && x.lo >= 0:
		return interval{0, c - 1}, true
	case e.Op == ir.Rem && isConst && c > 0:
		return interval{1 - c, c - 1}, true
	case e.Op == ir.Shr && isConst && c >= 0 && c < 64 && ok:
		return interval{x.lo >> c, x.hi >> c}, true
	case e.Op == ir.Div && isConst && c > 0 && ok:
		return interval{x.lo / c, x.hi / c}, true
	}
	y, also := intervalOf(e.Y)
	if !ok || !also || !x.small() || !y.small() {
		return interval{}, false
	}
	switch e.Op {
	case ir.Add:
		return interval{x.lo + y.lo, x.hi + y.hi}, true
	case ir.Sub:
		return interval{x.lo - y.hi, x.hi - y.lo}, true
	case ir.Mul:
		p := []int64{x.lo * y.lo, x.lo * y.hi, x.hi * y.lo, x.hi * y.hi}
		return interval{min(p[0], p[1], p[2], p[3]), max(p[0], p[1], p[2], p[3])}, true
	}
	return interval{}, false
}

// longStep and longStep32 are steps that reach the ends of a counter of 64 and of 32 bits in few
// iterations. A loop with a shorter step that goes past the end runs for years, or for 16 million
// iterations at indices that no slice has: a loop whose bounds are not known is taken not to.
const (
	longStep   = 1 << 24
	longStep32 = 1 << 8
)

// shortStep reports whether the step of f, where it is known, is too short for its counter to come
// around.
func shortStep(f *ir.For, step int64, known bool) bool {
	switch f.Var.Type.Size {
	case 8:
		return !known || max(step, -step) <= longStep
	case 4:
		return known && max(step, -step) <= longStep32
	}
	return false
}

// mayWrap reports whether the counter of f may go past the end of its type. Where Go's loop would
// never end then, as no jump leaves it, it is taken not to.
func mayWrap(f *ir.For, governed bool) bool {
	step, known := signedConst(f.Step)
	one := known && (step == 1 || step == -1)
	endless := governed || !analysis.Leaves(f.Body, f.Label, true)
	switch {
	case stepsBack(f):
		return true
	case one && (f.Rel == ir.Lt || f.Rel == ir.Gt):
		return false
	case one && f.Rel != ir.Ne && endless, one && f.Var.Type.Size == 8 && endless:
		return false
	case arrives(f):
		return false
	case f.Rel != ir.Ne && shortStep(f, step, known):
		_, isConst := query.Int64(f.Hi)
		return isConst && known
	}
	return true
}

// arrives reports whether the bounds prove that f ends before its counter goes past the end of its
// type.
func arrives(f *ir.For) bool {
	all, ok := typeInterval(f.Var.Type)
	lo, ok1 := intervalOf(f.Lo)
	hi, ok2 := intervalOf(f.Hi)
	step, ok3 := intervalOf(f.Step)
	if c, known := signedConst(f.Step); known {
		step, ok3 = interval{c, c}, true
	}
	if !ok { // of uint64 the lower half will do
		ok = ok1 && ok2
	}
	if !ok || !ok1 || !ok2 || !ok3 {
		return false
	}
	last := interval{hi.lo, hi.hi} // the last value that the condition may hold for
	switch f.Rel {
	case ir.Lt:
		last.hi = max(hi.hi, math.MinInt64+1) - 1
	case ir.Gt:
		last.lo = min(hi.lo, math.MaxInt64-1) + 1
	case ir.Ne:
		return step.lo == 1 && step.hi == 1 && lo.hi <= hi.lo || step.lo == -1 && step.hi == -1 && lo.lo >= hi.hi
	}
	if lo.lo == lo.hi && hi.lo == hi.hi && step.lo == step.hi {
		last = lastOf(lo.lo, last, step.lo)
	}
	if f.Rel == ir.Lt || f.Rel == ir.Le {
		return step.hi <= 0 || last.hi <= all.hi-step.hi
	}
	return step.lo >= 0 || last.lo >= all.lo-step.lo
}

// lastOf is the last value of a counter from lo on, where all is constant and does not span half
// the int64.
func lastOf(lo int64, last interval, step int64) interval {
	switch distance := last.hi - lo; {
	case step > 0 && (last.hi >= lo) == (distance >= 0) && distance >= 0:
		last.hi = lo + distance/step*step
	case step > 0 && last.hi < lo:
		last.hi = lo - step // no iteration
	}
	switch distance := lo - last.lo; {
	case step < 0 && (lo >= last.lo) == (distance >= 0) && distance >= 0:
		last.lo = lo - distance/-step*-step
	case step < 0 && lo < last.lo:
		last.lo = lo - step
	}
	return last
}

// numbered makes of a loop under a directive one over the numbers of its iterations, which are
// counted before it: one by one where its counter wraps around.
func (b loops) numbered(f *ir.For) *ir.For {
	at, t := f.At, f.Var.Type
	from, to, step := b.Temp(f.Var.Name+"_from", f.Lo, at), b.Temp(f.Var.Name+"_to", f.Hi, at), b.Temp(f.Var.Name+"_step", f.Step, at)
	count := b.ZeroVar(f.Var.Name+"_count", ir.IntType, at)
	plain := *f
	plain.Lo, plain.Hi, plain.Step = from, to, step
	if _, known := signedConst(f.Step); known {
		plain.Step = f.Step
	}
	one := b.countOneByOne(&plain, count)
	if c, known := signedConst(f.Step); stepsBack(f) || t.Size == 8 && known && max(c, -c) > longStep { // there are few, and their width may not fit an int
		b.Emit(&ir.Block{Body: one, At: at})
	} else {
		short := []ir.Stmt{build.Assign(build.Copy(count), build.Trips(&plain, build.ToInt(from), build.ToInt(to), asStep(plain.Step)), at)}
		b.Emit(&ir.If{Cond: b.goesPast(&plain), Then: one, Else: short, At: at})
	}
	k := b.NewVar("k", ir.IntType, ir.Local, at)
	value := build.Binary(ir.Add, build.Copy(from), build.Binary(ir.Mul, build.Convert(t, build.Ref(k, at), at), build.Copy(plain.Step), at), at)
	loop := *f
	loop.Var, loop.Lo, loop.Hi, loop.Step, loop.Rel = k, build.Int(0, at), build.Copy(count), build.Int(1, at), ir.Lt
	loop.Body = append([]ir.Stmt{build.Decl(f.Var, value, at)}, f.Body...)
	return &loop
}

// asStep is a step as an int: of an unsigned type one down is a large number.
func asStep(e ir.Expr) ir.Expr {
	if c, known := signedConst(e); known {
		return build.Int(c, e.Pos())
	}
	return build.ToInt(e)
}

// goesPast is the condition that the counter of f goes past the end of its type before it arrives.
// Types of fewer than 64 bits are compared as ints, in which no sum wraps.
func (b loops) goesPast(f *ir.For) ir.Expr {
	at, t := f.At, f.Var.Type
	all, _ := typeInterval(t)
	if f.Rel == ir.Ne {
		op := ir.Gt
		if c, _ := signedConst(f.Step); c < 0 {
			op = ir.Lt
		}
		return build.Compare(op, build.Copy(f.Lo), build.Copy(f.Hi), at)
	}
	up, extra := f.Rel == ir.Lt || f.Rel == ir.Le, int64(0)
	if f.Rel == ir.Lt {
		extra = 1
	} else if f.Rel == ir.Gt {
		extra = -1
	}
	if c, known := signedConst(f.Step); known && t.Size == 8 { // the bound is past the last that the step leaves room for
		end, op := ir.Normal(t, uint64(all.lo-c+extra)), ir.Lt
		if up {
			end, op = ir.Normal(t, uint64(all.hi-c+extra)), ir.Gt
			if !t.IsSigned() {
				end = math.MaxUint64 - uint64(c) + uint64(extra)
			}
		}
		return build.Compare(op, build.Copy(f.Hi), &ir.Const{T: t, Bits: end, At: at}, at)
	}
	step := asStep(f.Step)
	sum := build.Binary(ir.Sub, build.Binary(ir.Add, build.ToInt(build.Copy(f.Hi)), step, at), build.Int(extra, at), at)
	if up {
		return build.Compare(ir.LAnd, build.Compare(ir.Gt, build.Copy(step), build.Int(0, at), at), build.Compare(ir.Gt, sum, build.Int(all.hi, at), at), at)
	}
	return build.Compare(ir.LAnd, build.Compare(ir.Lt, build.Copy(step), build.Int(0, at), at), build.Compare(ir.Lt, sum, build.Int(all.lo, at), at), at)
}

// countOneByOne counts the iterations of f as Go goes through them.
func (b loops) countOneByOne(f *ir.For, count *ir.Ref) []ir.Stmt {
	at, t := f.At, f.Var.Type
	v := b.NewVar(f.Var.Name, t, ir.Local, at)
	one := build.Assign(build.Copy(count), build.Binary(ir.Add, build.Copy(count), build.Int(1, at), at), at)
	next := build.Assign(build.Ref(v, at), &ir.Binary{Op: ir.Add, X: build.Ref(v, at), Y: build.Copy(f.Step), T: t, At: at}, at)
	loop := &ir.While{Label: &ir.Label{}, Cond: build.Compare(f.Rel, build.Ref(v, at), build.Copy(f.Hi), at), Body: []ir.Stmt{one}, Post: []ir.Stmt{next}, At: at}
	return []ir.Stmt{build.Decl(v, build.Copy(f.Lo), at), loop}
}
