package cuda

import (
	"maps"
	"math"
	"math/bits"
	"slices"

	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

// Limits of the 32-bit index version (Options.Index32). The caller promises them per launch, so
// that sums of two parameters, and of a parameter and a coordinate of the grid, stay within 32
// bits.
const (
	// Limit bounds lengths, capacities, the narrow integer parameters (both ways) and the trip
	// count.
	Limit = 1<<30 - 1
	// GridLimit bounds the number of threads of the whole grid, times the width of the launch.
	GridLimit = 1 << 29
)

const (
	maxTeam   = 1 << 10   // threads of a team, a limit of the hardware
	maxLeague = 1<<31 - 1 // teams of a grid, too
	maxMemory = 1 << 47   // bytes of an address space, and so elements of a slice
)

// An interval is a set of integers lo..hi that holds every value of an expression. known is false
// where nothing is known, or where values do not fit int64 (uint64).
type interval struct {
	lo, hi int64
	known  bool
}

func span(lo, hi int64) interval          { return interval{lo, hi, true} }
func (v interval) within(w interval) bool { return v.known && w.known && v.lo >= w.lo && v.hi <= w.hi }
func (v interval) nonNegative() bool      { return v.known && v.lo >= 0 }
func (v interval) fits32() bool           { return v.within(span(math.MinInt32, math.MaxInt32)) }
func (v interval) has(x int64) bool       { return !v.known || v.lo <= x && x <= v.hi }
func (v interval) union(w interval) interval {
	if !v.known || !w.known {
		return interval{}
	}
	return span(min(v.lo, w.lo), max(v.hi, w.hi))
}

// typeRange returns all values of an integer type.
func typeRange(t *ir.Type) interval {
	if !t.IsInteger() {
		return interval{}
	}
	n := cprint.Width(t)
	switch {
	case t.IsSigned():
		return span(-1<<(n-1), 1<<(n-1)-1)
	case n < 64:
		return span(0, 1<<n-1)
	}
	return interval{}
}

// ranges holds the known facts about the integer variables of one function: those that are assigned
// once, where they are declared, have the range of that value, and loop variables the range of
// their loop.
type ranges struct {
	index32 bool
	vars    map[*ir.Var]interval
	width   int64                // of the launch
	warps   bool                 // its teams are of whole warps
	team    int64                // the size of its teams, where that is known; else 0
	inits   map[*ir.Var]ir.Expr  // values of scalar variables that never change
	ends    map[*ir.Var]interval // loop variables: with the value that ends the loop
	trips   map[string]*promise  // what the caller promises to be within Limit, by its text
}

// of returns the values that e can have.
func (r *ranges) of(e ir.Expr) interval {
	v, _ := r.eval(e)
	return v
}

// wraps reports whether the integer operation at the root of e can leave the range of its type.
func (r *ranges) wraps(e ir.Expr) bool {
	_, wraps := r.eval(e)
	return wraps
}

// eval returns the values of e after Go's wrap-around and whether any wraps around.
func (r *ranges) eval(e ir.Expr) (interval, bool) {
	t := e.Type()
	if !t.IsInteger() {
		return interval{}, false
	}
	v, exact := r.raw(e)
	if limit := span(-Limit, Limit); !(exact && v.within(limit)) && r.promised(e) {
		v, exact = limit, true
	}
	if all := typeRange(t); !exact || !v.known || !fits(v, t) {
		return all, true
	}
	return v, false
}

// A promise is an expression that the launch keeps within Limit, both ways, and whether the text
// relies on that.
type promise struct {
	e    ir.Expr
	used bool
}

// promise notes that the launch keeps a trip count within Limit, or what is in its max(e, 0) and in
// the factors of a product.
func (r *ranges) promise(e ir.Expr) {
	if r.trips == nil {
		r.trips = map[string]*promise{}
	}
	if m, ok := e.(*ir.Math); ok && m.Fn == ir.IMax {
		for _, a := range m.Args {
			r.promise(a)
		}
	}
	if b, ok := e.(*ir.Binary); ok {
		r.trips[ir.ExprString(b)] = &promise{e: e}
		if b.Op == ir.Mul {
			r.promise(b.X)
			r.promise(b.Y)
		}
	}
}

// promised reports whether e is a trip count that the launch keeps within Limit.
func (r *ranges) promised(e ir.Expr) bool {
	if _, ok := e.(*ir.Binary); !ok || !r.index32 || len(r.trips) == 0 {
		return false
	}
	p := r.trips[ir.ExprString(r.expand(e))]
	if p != nil {
		p.used = true
	}
	return p != nil
}

// promises returns those that the text relies on, in the order of their text.
func (r *ranges) promises() []ir.Expr {
	var out []ir.Expr
	for _, text := range slices.Sorted(maps.Keys(r.trips)) {
		if r.trips[text].used {
			out = append(out, r.trips[text].e)
		}
	}
	return out
}

// expand returns e with the variables that never change replaced by their values.
func (r *ranges) expand(e ir.Expr) ir.Expr {
	rewrite := ir.Rewrite{Expr: func(e ir.Expr) ir.Expr {
		if v, ok := e.(*ir.Ref); ok && r.inits[v.Var] != nil {
			return r.expand(r.inits[v.Var])
		}
		return e
	}}
	return rewrite.CopyExpr(e)
}

// quotientOf returns x and y where e is x / y, also behind names and conversions that keep its
// value.
func (r *ranges) quotientOf(e ir.Expr) (x, y ir.Expr) {
	switch e := r.plain(e).(type) {
	case *ir.Binary:
		if e.Op == ir.Div {
			return r.plain(e.X), r.plain(e.Y)
		}
	case *ir.Select:
		if x, y := r.quotientOf(e.X); x != nil {
			if u, v := r.quotientOf(e.Y); u != nil && cprint.SameExpr(x, u) && cprint.SameExpr(y, v) {
				return x, y
			}
		}
	}
	return nil, nil
}

// plain looks through names of values that never change, but for those that have no other value,
// and conversions between integers that keep the value.
func (r *ranges) plain(e ir.Expr) ir.Expr {
	switch e := e.(type) {
	case *ir.Ref:
		if init := r.inits[e.Var]; init != nil {
			return r.plain(init)
		}
	case *ir.Convert:
		if v := r.of(e.X); e.X.Type().IsInteger() && v.known && fits(v, e.T) {
			return r.plain(e.X)
		}
	}
	return e
}

// remainderOf returns the range of x - x/y*y.
func (r *ranges) remainderOf(e *ir.Binary) (interval, bool) {
	m, ok := e.Y.(*ir.Binary)
	if e.Op != ir.Sub || !ok || m.Op != ir.Mul {
		return interval{}, false
	}
	x, y := r.quotientOf(m.X)
	if x == nil || !cprint.SameExpr(x, r.plain(e.X)) || !cprint.SameExpr(y, r.plain(m.Y)) {
		return interval{}, false
	}
	return remainder(r.of(x), r.of(y), typeRange(e.T)), true
}

// raw returns the values of e as if integers had no width; exact is false where they do not fit an
// interval.
func (r *ranges) raw(e ir.Expr) (v interval, exact bool) {
	switch e := e.(type) {
	case *ir.Const:
		return constRange(e), true
	case *ir.Ref:
		return r.ref(e.Var), true
	case *ir.Unary:
		return r.unary(e)
	case *ir.Binary:
		return r.binary(e)
	case *ir.Convert:
		return r.convert(e), true
	case *ir.Select:
		return r.of(e.X).union(r.of(e.Y)), true
	case *ir.Math:
		return r.math(e), true
	case *ir.Query:
		return r.query(e.What), true
	case *ir.Len, *ir.Cap:
		return r.length(e), true
	}
	return typeRange(e.Type()), true
}

func constRange(c *ir.Const) interval {
	if c.T.Kind == ir.Uint64 && c.Bits > math.MaxInt64 {
		return interval{}
	}
	return span(int64(c.Bits), int64(c.Bits))
}

func (r *ranges) ref(v *ir.Var) interval {
	if known, ok := r.vars[v]; ok {
		return known
	}
	return typeRange(v.Type)
}

func (r *ranges) length(e ir.Expr) interval {
	if r.index32 {
		return span(0, Limit)
	}
	return span(0, maxMemory)
}

func (r *ranges) query(q ir.QueryKind) interval {
	league := int64(maxLeague)
	if r.index32 {
		league = GridLimit / r.leastTeam()
	}
	switch q {
	case ir.ThreadNum:
		return span(0, r.mostTeam()-1)
	case ir.NumThreads:
		return span(r.leastTeam(), r.mostTeam())
	case ir.TeamNum:
		return span(0, league-1)
	case ir.NumTeams:
		return span(1, league)
	case ir.Lane:
		return span(0, Warp-1)
	}
	return span(Warp, Warp)
}

// leastTeam returns how many threads each team has at least.
func (r *ranges) leastTeam() int64 {
	switch {
	case r.team > 0:
		return r.team
	case r.warps:
		return Warp
	}
	return 1
}

// mostTeam returns how many threads each team has at most.
func (r *ranges) mostTeam() int64 {
	if r.team > 0 {
		return r.team
	}
	return maxTeam
}

func (r *ranges) convert(e *ir.Convert) interval {
	if !e.X.Type().IsInteger() {
		return typeRange(e.T)
	}
	v, all := r.of(e.X), typeRange(e.T)
	if v.within(all) || e.T.Kind == ir.Uint64 && v.nonNegative() {
		return v
	}
	return all
}

func (r *ranges) math(e *ir.Math) interval {
	switch e.Fn {
	case ir.LeadingZeros, ir.TrailingZeros, ir.OnesCount, ir.BitLen:
		return span(0, int64(cprint.Width(e.Args[0].Type())))
	case ir.IMin, ir.IMax:
		v := r.of(e.Args[0])
		for _, a := range e.Args[1:] {
			v = extreme(e.Fn, v, r.of(a))
		}
		return v
	}
	return typeRange(e.T)
}

func extreme(fn ir.MathFn, v, w interval) interval {
	if !v.known || !w.known {
		return interval{}
	}
	if fn == ir.IMin {
		return span(min(v.lo, w.lo), min(v.hi, w.hi))
	}
	return span(max(v.lo, w.lo), max(v.hi, w.hi))
}

func (r *ranges) unary(e *ir.Unary) (interval, bool) {
	v := r.of(e.X)
	if !v.known || v.lo == math.MinInt64 {
		return typeRange(e.Type()), e.Op != ir.Neg
	}
	switch {
	case e.Op == ir.Neg:
		return span(-v.hi, -v.lo), true
	case e.Type().IsSigned():
		return span(^v.hi, ^v.lo), true
	}
	return typeRange(e.Type()), true
}

func (r *ranges) binary(e *ir.Binary) (interval, bool) {
	x, y := r.of(e.X), r.of(e.Y)
	if e.Op == ir.Mul && r.isGridStride(e) {
		return r.gridStride(x), true
	}
	if rem, ok := r.remainderOf(e); ok {
		return rem, true
	}
	switch e.Op {
	case ir.Add, ir.Sub, ir.Mul:
		if !x.known || !y.known {
			return interval{}, false
		}
		return arithmetic(e.Op, x, y)
	case ir.Shl:
		return shiftLeft(x, y)
	}
	return r.bounded(e, x, y), true
}

// isGridStride reports whether e is TeamNum*NumThreads or NumTeams*NumThreads, which is at most the
// threads of a grid.
func (r *ranges) isGridStride(e *ir.Binary) bool {
	x, okX := e.X.(*ir.Query)
	y, okY := e.Y.(*ir.Query)
	if !okX || !okY {
		return false
	}
	team := func(q *ir.Query) bool { return q.What == ir.TeamNum || q.What == ir.NumTeams }
	return team(x) && y.What == ir.NumThreads || team(y) && x.What == ir.NumThreads
}

func (r *ranges) gridStride(x interval) interval {
	if r.index32 {
		return span(x.lo, GridLimit/max(r.width, 1))
	}
	return span(x.lo, maxLeague*maxTeam)
}

func arithmetic(op ir.Op, x, y interval) (interval, bool) {
	switch op {
	case ir.Add:
		lo, okLo := add(x.lo, y.lo)
		hi, okHi := add(x.hi, y.hi)
		return span(lo, hi), okLo && okHi
	case ir.Sub:
		lo, okLo := sub(x.lo, y.hi)
		hi, okHi := sub(x.hi, y.lo)
		return span(lo, hi), okLo && okHi
	}
	return product(x, y)
}

func product(x, y interval) (interval, bool) {
	out := span(math.MaxInt64, math.MinInt64)
	for _, a := range []int64{x.lo, x.hi} {
		for _, b := range []int64{y.lo, y.hi} {
			p, ok := mul(a, b)
			if !ok {
				return interval{}, false
			}
			out = span(min(out.lo, p), max(out.hi, p))
		}
	}
	return out, true
}

func shiftLeft(x, y interval) (interval, bool) {
	if !x.known || !y.known || y.lo < 0 || y.hi > 62 {
		return interval{}, false
	}
	return product(x, span(1<<y.lo, 1<<y.hi))
}

// bounded returns the range of the operators that cannot leave the range of their operands, but for
// a quotient of the least integer.
func (r *ranges) bounded(e *ir.Binary, x, y interval) interval {
	all := typeRange(e.T)
	switch e.Op {
	case ir.Div:
		if x.known && y.known && y.lo > 0 {
			return quotient(x, y)
		}
		if x.nonNegative() && y.nonNegative() {
			return span(0, x.hi)
		}
		if x.known && x.lo > math.MinInt64 {
			m := max(x.hi, -x.lo)
			return span(-m, m)
		}
	case ir.Rem:
		return remainder(x, y, all)
	case ir.And:
		return conjunction(x, y, all)
	case ir.Shr:
		if x.known {
			return span(min(x.lo, 0), max(x.hi, 0))
		}
	case ir.Or, ir.Xor:
		if x.nonNegative() && y.nonNegative() {
			return span(0, 1<<bits.Len64(uint64(x.hi|y.hi))-1)
		}
	case ir.AndNot:
		if x.nonNegative() {
			return span(0, x.hi)
		}
	}
	return all
}

// quotient returns x / y for a positive y.
func quotient(x, y interval) interval {
	lo, hi := x.lo/y.lo, x.hi/y.lo
	if x.lo >= 0 {
		lo = x.lo / y.hi
	}
	if x.hi < 0 {
		hi = x.hi / y.hi
	}
	return span(lo, hi)
}

func remainder(x, y, all interval) interval {
	if !y.known || y.lo == math.MinInt64 {
		return all
	}
	m := max(y.hi, -y.lo) - 1
	if m < 0 {
		return all
	}
	out := span(-m, m)
	if x.known {
		out = span(max(out.lo, min(x.lo, 0)), min(out.hi, max(x.hi, 0)))
	}
	return out
}

func conjunction(x, y, all interval) interval {
	switch {
	case x.nonNegative() && y.nonNegative():
		return span(0, min(x.hi, y.hi))
	case x.nonNegative():
		return span(0, x.hi)
	case y.nonNegative():
		return span(0, y.hi)
	}
	return all
}

func add(a, b int64) (int64, bool) {
	s := a + b
	return s, (s > a) == (b > 0)
}

func sub(a, b int64) (int64, bool) {
	d := a - b
	return d, (d < a) == (b > 0)
}

func mul(a, b int64) (int64, bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	p := a * b
	return p, p/b == a && !(a == -1 && b == math.MinInt64) && !(b == -1 && a == math.MinInt64)
}
