package blocks

import (
	"fmt"
	"strings"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/lower/strategy/bodies"
	"github.com/gompss/gompss/codegen/internal/lower/unroll"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
	"github.com/gompss/gompss/codegen/target"
)

// The number of rows and columns of a thread follows from its loads. An element that does not
// depend on the row, or that another row also reads because the indices differ by a constant, is
// loaded once. The cost of each candidate is the number of clocks of its busiest functional unit.

const (
	innerTrips = 16 // assumed trip count of an inner loop whose trip count is not constant
)

// A shape is a candidate for the size of a block.
type shape struct {
	rows, columns, lanes int64
	near                 columnLayout
}

// A columnLayout says whether the columns of a thread are neighbours; else those of the threads
// are.
type columnLayout uint8

const (
	stridedColumns columnLayout = iota
	nearColumns                 // and each of their accesses is one of its own, as they begin anywhere
	alignedColumns              // and a thread accesses them all at once
)

// apart is how far the columns of a thread are from each other.
func (s shape) apart() int64 { return (&block{lanes: s.lanes, near: s.near}).apart() }

// shapes are the candidates for b, smallest first.
func (b *block) shapes(limits target.Blocks, word ir.Bytes) []shape {
	var out []shape
	near, kind := nearnessOf(b, word)
	across, known := analysis.ConstTrips(b.column)
	for _, rc := range [][2]int64{{2, 1}, {1, 2}, {4, 1}, {2, 2}, {1, 4}, {8, 1}, {4, 2}, {2, 4}, {1, 8}, {4, 4}, {8, 2}, {8, 4}} {
		s := shape{rc[0], rc[1], blockLanes, stridedColumns}
		for known && !b.flat && s.lanes > 8 && s.lanes*s.columns > across {
			s.lanes /= 2
		}
		if down, ok := analysis.ConstTrips(b.row); ok && s.rows > down || known && s.lanes*s.columns > across && s.columns > 1 {
			continue
		}
		if c := (&block{row: b.row, rows: s.rows, lanes: s.lanes, flat: b.flat}); c.threads(limits.Team) == 0 || c.threads(limits.Team) >= limits.LeastTeam {
			out = append(out, s)
			if s.columns == near {
				s.near = kind
				out = append(out, s)
			}
		}
	}
	return out
}

// nearnessOf returns how many neighbouring columns a thread may take, as many as it can access at
// once, 0 where that is not so: each element of a column has to be the neighbour of that of the
// column before. They are aligned where rows begin at multiples of so many, as does what is stored.
// Loads may begin anywhere: those of neighbouring columns overlap.
func nearnessOf(b *block, most ir.Bytes) (int64, columnLayout) {
	var size ir.Bytes
	fine, even := true, true
	places := func(e ir.Expr, stored bool) {
		ir.WalkExpr(e, func(e ir.Expr) bool {
			ix, ok := e.(*ir.Index)
			if !ok || ix.X.Type().Kind != ir.Slice || !ir.ExprVars(ix.I).Has(b.column.Var) {
				return fine
			}
			if size == 0 {
				size = ix.Type().Size
			}
			if fine = fine && size > 0 && ix.Type().Size == size && most%size == 0; fine {
				near, multiple := bodies.Aligned(ix.I, b.column.Var, int64(most/size), stored)
				fine, even = near, even && multiple
			}
			return fine
		})
	}
	ir.WalkStmts(b.fast, func(s ir.Stmt) bool {
		for _, e := range query.DirectExprs(s) {
			places(e, false)
		}
		if a, ok := s.(*ir.Assign); ok && !query.IsRef(a.Place) {
			fine = fine && ir.ExprVars(a.Place).Has(b.column.Var)
			places(a.Place, true)
		}
		return fine
	})
	_, known := query.Int64(b.column.Lo)
	switch {
	case !fine || size == 0 || bodies.HasBranch(b.fast): // what is accessed at times is accessed one by one
		return 0, stridedColumns
	case even && known:
		return int64(most / size), alignedColumns
	}
	return int64(most / size), nearColumns
}

// chooseBlock chooses the smallest candidate whose cost is close to the lowest, among those whose
// values fit into the registers. It reports whether blocks gain enough over one element a thread.
func chooseBlock(t *crews.Crew, b *block) bool {
	gpu := t.Device()
	c := countLoads(t, b)
	clocksOf := func(s shape) float64 {
		w := c.of(s)
		return gpu.Clocks(w) + gpu.Tuning.Blocks.LoadShare*gpu.Clocks(target.Work{Loads: w.Loads})
	}
	least := clocksOf(shape{1, 1, blockLanes, stridedColumns})
	alone := least + gpu.Clocks(target.Work{Int: float64(gpu.Tuning.Remainder * b.wrapped)})
	var fits []shape
	var clocks []float64
	for _, s := range b.shapes(gpu.Tuning.Blocks, gpu.Memory.Word) {
		if c.registers(b, s) > blockRegisters(gpu) || c.statements*s.rows*s.columns > gpu.Tuning.Blocks.Statements {
			continue
		}
		each := clocksOf(s)
		if s.near != stridedColumns && each > gpu.Tuning.Blocks.Near*least {
			continue
		}
		fits, clocks = append(fits, s), append(clocks, each)
		least = min(least, each)
	}
	for k, s := range fits {
		if clocks[k] <= gpu.Tuning.Blocks.Equal*least && clocks[k] <= gpu.Tuning.Blocks.Gain*alone {
			k = otherSides(fits, clocks, k, t.Opt.Choice.Parameter("blocks"))
			s = fits[k]
			b.rows, b.columns, b.lanes, b.near = s.rows, s.columns, s.lanes, s.near
			t.Decide(b.row.At, "block of loop "+b.row.Var.Text(), fmt.Sprintf("%.1f clocks of a multiprocessor for 32 elements", clocks[k]),
				fmt.Sprintf("one by one they take %.1f on %s: what is loaded counts, and the %d registers", alone, gpu.Name, c.registers(b, s)), "")
			return true
		}
	}
	return false
}

// otherSides returns the index of the cheapest candidate with fewer elements than the chosen one
// (parameter 1) or with more elements (parameter 2), or chosen if there is none.
func otherSides(fits []shape, clocks []float64, chosen, parameter int) int {
	size := func(k int) int64 { return fits[k].rows * fits[k].columns }
	best := chosen
	for k := range fits {
		asked := parameter == 1 && size(k) < size(chosen) || parameter == 2 && size(k) > size(chosen)
		if asked && (best == chosen || clocks[k] < clocks[best]) {
			best = k
		}
	}
	return best
}

// blockRegisters returns the number of registers for the values of a block: sixteen warps fit on a
// multiprocessor, and some registers are left for addresses.
func blockRegisters(gpu *target.Target) int64 {
	const warps, addresses = 16, 24
	return int64(gpu.Team.Registers/(warps*gpu.Team.Warp) - addresses)
}

// A loadCount has the loads and the live ranges of the body of a block.
type loadCount struct {
	b          *block
	loads      []blockLoad
	sums       map[*ir.Var]*life // variables that are assigned
	statements int64
	order      int
}

// A blockLoad is one load of the body.
type blockLoad struct {
	slice    string
	form     affine.Form
	known    bool
	weight   float64
	words    int64
	at       int // position in the order of statements; 0: in a loop
	ofRow    bool
	ofColumn bool
}

func countLoads(t *crews.Crew, b *block) *loadCount {
	c := &loadCount{b: b}
	changed := ir.Assigned(b.fast)
	c.sums = map[*ir.Var]*life{}
	for _, s := range b.fast {
		if d, ok := s.(*ir.Decl); ok && changed.Has(d.Var) {
			c.sums[d.Var] = &life{words: int64(max(d.Var.Type.Size, 4) / 4)}
		}
	}
	c.list(b.fast, 1)
	return c
}

// A life is the places, in the order of the statements, between which a value is held.
type life struct {
	from, to int
	words    int64
}

// see notes that s mentions the variables in it.
func (c *loadCount) see(s ir.Stmt) {
	for v, l := range c.sums {
		if forms.Mentions([]ir.Stmt{s}, v) {
			if l.from == 0 {
				l.from = c.order
			}
			l.to = c.order
		}
	}
}

func (c *loadCount) list(list []ir.Stmt, weight float64) {
	for _, s := range list {
		if weight == 1 {
			c.order++
			c.see(s)
		}
		c.statements++
		switch s := s.(type) {
		case *ir.Decl:
			if s.Init != nil {
				c.expr(s.Init, weight)
			}
		case *ir.Assign:
			c.expr(s.Value, weight)
		case *ir.If:
			c.expr(s.Cond, weight)
			c.list(s.Then, weight)
			c.list(s.Else, weight)
		case *ir.For:
			n, known := analysis.ConstTrips(s)
			if !known {
				n = innerTrips
			}
			c.list(s.Body, weight*float64(max(n, 1))+1e-9)
		}
	}
}

// expr notes the loads of e.
func (c *loadCount) expr(e ir.Expr, weight float64) {
	switch e := e.(type) {
	case *ir.Index:
		c.load(e, weight)
		if !affine.Is(e.I) {
			c.expr(e.I, weight)
		}
		return
	}
	ir.Operands(e, func(x ir.Expr) { c.expr(x, weight) })
}

func (c *loadCount) load(e *ir.Index, weight float64) {
	l := blockLoad{slice: ir.ExprString(e.X), weight: weight, words: int64(max(e.Type().Size, 4) / 4)}
	if weight == 1 {
		l.at = c.order
	}
	vars := ir.ExprVars(e)
	l.ofRow, l.ofColumn = vars.Has(c.b.row.Var), vars.Has(c.b.column.Var)
	l.form, l.known = affine.Of(e.I)
	if l.ofColumn || !l.known { // else all lanes read the same word
		l.weight *= float64(l.words)
	}
	c.loads = append(c.loads, l)
}

// places calls f with a name for each place that l reads in a block.
func (c *loadCount) places(l blockLoad, s shape, f func(key string)) {
	for r := range s.rows {
		for k := range s.columns {
			if !l.ofRow && r > 0 || !l.ofColumn && k > 0 {
				continue
			}
			if !l.known {
				f(fmt.Sprint(l.slice, "?", l.at, " ", r, " ", k))
				continue
			}
			form := l.form
			if l.ofRow && r > 0 {
				form = form.Subst(c.b.row.Var, affine.OfVar(c.b.row.Var).AddConst(r))
			}
			if l.ofColumn && k > 0 {
				form = form.Subst(c.b.column.Var, affine.OfVar(c.b.column.Var).AddConst(k*s.apart()))
			}
			f(l.slice + "@" + formKey(form))
		}
	}
}

// formKey names a form: equal forms have equal names.
func formKey(a affine.Form) string {
	var b strings.Builder
	for _, t := range a.Terms {
		fmt.Fprint(&b, t.Coef)
		for _, x := range t.Atoms {
			fmt.Fprintf(&b, "*%p.%d", x.Var, x.Of)
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// registers returns the register pressure of shape s: the largest number of 32-bit values of
// assigned variables and loads that are live at one statement.
func (c *loadCount) registers(b *block, s shape) int64 {
	lives := map[string]*life{}
	inLoops := int64(0)
	for _, l := range c.loads {
		c.places(l, s, func(key string) {
			switch x := lives[key]; {
			case x != nil:
				x.to = max(x.to, l.at)
			case l.at == 0:
				lives[key] = &life{words: 0}
				inLoops += l.words
			default:
				lives[key] = &life{l.at, l.at, l.words}
			}
		})
	}
	most := int64(0)
	for at := 1; at <= c.order; at++ {
		n := inLoops
		for _, x := range lives {
			if x.from <= at && at <= x.to {
				n += x.words
			}
		}
		for _, x := range c.sums {
			if x.from <= at && at <= x.to {
				n += x.words * s.rows * s.columns
			}
		}
		most = max(most, n)
	}
	return most
}

// The device compiler eliminates common subexpressions of the iterations of a block. So the cost of
// a block is the cost of its distinct values, which value numbering finds.

// A value is the key of a value in the table: an operation and the numbers of its operands.
type value struct {
	op      string
	a, b, c int
}

// blockValues numbers the values of a block of shape s.
type blockValues struct {
	count  *loadCount
	shape  shape
	names  map[value]int
	texts  map[string]int
	vars   map[*ir.Var]int // value numbers of the variables of the current iteration
	r, k   int64           // row and column of the current iteration
	unlike int
	work   target.Work
}

// of returns the work per element if a thread executes a block of shape s.
func (c *loadCount) of(s shape) target.Work {
	v := &blockValues{count: c, shape: s, names: map[value]int{}, texts: map[string]int{}}
	for v.r = range s.rows {
		for v.k = range s.columns {
			v.vars = map[*ir.Var]int{}
			v.list(c.b.fast, 1)
		}
	}
	var none target.Work
	return none.Add(v.work, 1/float64(s.rows*s.columns))
}

// own returns a new value number.
func (v *blockValues) own() int {
	v.unlike++
	return -v.unlike
}

func (v *blockValues) text(s string) int {
	n, ok := v.texts[s]
	if !ok {
		n = len(v.texts) + 1<<24
		v.texts[s] = n
	}
	return n
}

// named returns the value number of x, and whether x is new.
func (v *blockValues) named(x value) (n int, first bool) {
	n, ok := v.names[x]
	if !ok {
		n = len(v.names) + 1
		v.names[x] = n
	}
	return n, !ok
}

func (v *blockValues) list(list []ir.Stmt, weight float64) {
	for _, s := range list {
		switch s := s.(type) {
		case *ir.Decl:
			v.vars[s.Var] = 0
			if s.Init != nil {
				v.vars[s.Var] = v.expr(s.Init, weight)
			}
		case *ir.Assign:
			n := v.expr(s.Value, weight)
			if r, ok := s.Place.(*ir.Ref); ok {
				v.vars[r.Var] = n
				continue
			}
			stores := weight
			if v.shape.near == nearColumns {
				stores *= float64(v.shape.columns)
			}
			v.work.Stores += stores
		case *ir.If:
			v.expr(s.Cond, weight)
			v.list(s.Then, weight)
			v.list(s.Else, weight)
			v.forget([]ir.Stmt{s})
		case *ir.For:
			n, known := analysis.ConstTrips(s)
			if !known {
				n = innerTrips
			}
			v.forget(s.Body)
			v.list(s.Body, weight*float64(max(n, 1)))
			v.forget(s.Body)
		}
	}
}

// forget gives the variables that list assigns new value numbers.
func (v *blockValues) forget(list []ir.Stmt) {
	for _, x := range ir.Assigned(list).List() {
		v.vars[x] = v.own()
	}
}

// expr returns the value number of e, and adds the work of the values in e that are new.
func (v *blockValues) expr(e ir.Expr, weight float64) int {
	switch e := e.(type) {
	case *ir.Const:
		return v.text(fmt.Sprint("c", e.Bits, e.T.Kind))
	case *ir.Ref:
		return v.ref(e.Var)
	case *ir.Index:
		return v.load(e, weight)
	}
	x := value{op: valueOp(e)}
	n := 0
	ir.Operands(e, func(y ir.Expr) {
		id := v.expr(y, weight)
		switch n++; n {
		case 1:
			x.a = id
		case 2:
			x.b = id
		default:
			x.c, _ = v.named(value{"and", x.c, id, n})
		}
	})
	id, first := v.named(x)
	if first {
		v.operation(e, weight)
	}
	return id
}

// valueOp returns the operator of e as a part of a key.
func valueOp(e ir.Expr) string {
	switch e := e.(type) {
	case *ir.Binary:
		return fmt.Sprint("b", e.Op, e.T.Kind)
	case *ir.Unary:
		return fmt.Sprint("u", e.Op)
	case *ir.Math:
		return fmt.Sprint("m", e.Fn, e.T.Kind)
	case *ir.Convert:
		return fmt.Sprint("t", e.T.Kind)
	case *ir.Select:
		return "s"
	}
	return ir.ExprString(e)
}

func (v *blockValues) ref(x *ir.Var) int {
	switch b := v.count.b; {
	case x == b.row.Var:
		return v.text(fmt.Sprint("r", v.r))
	case x == b.column.Var:
		return v.text(fmt.Sprint("k", v.k))
	}
	if n, ok := v.vars[x]; ok {
		return n
	}
	return v.text(fmt.Sprintf("%p", x))
}

// operation counts e without its operands.
func (v *blockValues) operation(e ir.Expr, weight float64) {
	switch e := e.(type) {
	case *ir.Binary:
		switch {
		case e.X.Type().Kind == ir.Float64:
			v.work.Float64 += weight
		case e.X.Type().IsFloat():
			v.work.Float32 += weight
		default:
			v.work.Int += weight
		}
	case *ir.Math:
		switch e.Fn {
		case ir.FMA:
			v.work.Float32 += weight
		case ir.FMin, ir.FMax, ir.IMin, ir.IMax, ir.Abs:
			v.work.Int += weight * float64(max(len(e.Args)-1, 1)) // by the unit of comparisons
		default:
			v.work.Special += weight
			v.work.Float32 += weight * float64(unroll.MathCost(e.Fn, 6))
		}
	}
}

// load numbers the element of a slice. Indices are taken to cost nothing where they are sums of
// variables, as neighbours share them.
func (v *blockValues) load(e *ir.Index, weight float64) int {
	b, vars := v.count.b, ir.ExprVars(e)
	form, known := affine.Of(e.I)
	for _, x := range ir.ExprVars(e.I).List() {
		_, own := v.vars[x]
		known = known && !own
	}
	if vars.Has(b.column.Var) || !known { // else all lanes read the same word
		weight *= float64(max(e.Type().Size, 4) / 4)
		switch {
		case v.shape.near == nearColumns: // a load touches as many lines as all together
			weight *= float64(v.shape.columns)
		case v.shape.near == alignedColumns && known && !vars.Has(b.row.Var): // the rows of a warp read the same, all at once
			weight *= float64(v.shape.lanes) / blockLanes
		}
	}
	key := value{op: "l" + ir.ExprString(e.X)}
	if known {
		if vars.Has(b.row.Var) {
			form = form.Subst(b.row.Var, affine.OfVar(b.row.Var).AddConst(v.r))
		}
		if vars.Has(b.column.Var) {
			form = form.Subst(b.column.Var, affine.OfVar(b.column.Var).AddConst(v.k*v.shape.apart()))
		}
		key.a = v.text(formKey(form))
	} else {
		key.a = v.expr(e.I, weight)
	}
	id, first := v.named(key)
	if first {
		v.work.Loads += weight
	}
	return id
}
