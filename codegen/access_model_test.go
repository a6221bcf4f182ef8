package codegen

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/check"
	"github.com/gompss/gompss/codegen/internal/contract"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
	"github.com/gompss/gompss/deps"
)

// A nest is a random kernel: loops around uses of one slice at affine indices, some under conditions. It is built as
// IR and run by hand, so that what accesses say can be compared with the elements that are touched.
type nest struct {
	kernel *ir.Kernel
	x      *ir.Var
	params []*ir.Var
	loops  []*ir.For
	uses   []use
	shape  []ir.Expr
	// sum is what a loop of the nest adds to, nil for nothing.
	sum *sum
}

// A sum is an element that the loop at a level reduces: devices read and write it even where that loop has no iteration.
type sum struct {
	use
	level int
}

type use struct {
	id    int
	coefs []int64 // of the loop variables
	rows  []int64 // of the loop variables times the last parameter
	add   int64
	write bool
	guard int // index of the loop variable that must be even, -1 for none
	// bounds are conditions that the host decides.
	bounds []bound
}

func drawNest(t *rapid.T) *nest {
	n := &nest{x: &ir.Var{Name: "x", Type: ir.SliceOf(ir.IntType)}}
	for i := range 3 {
		n.params = append(n.params, &ir.Var{Name: string(rune('n' + i)), Type: ir.IntType, ID: 1 + i})
	}
	n.kernel = &ir.Kernel{Name: "K", Params: append([]*ir.Var{n.x}, n.params...)}
	depth := rapid.IntRange(0, 2).Draw(t, "depth")
	for i := range depth {
		n.loops = append(n.loops, n.drawLoop(t, i))
	}
	for id := range rapid.IntRange(1, 3).Draw(t, "uses") {
		u := use{id: id, add: rapid.Int64Range(-1, 2).Draw(t, "add"), write: rapid.Bool().Draw(t, "write"), guard: -1}
		for range depth {
			u.coefs = append(u.coefs, rapid.SampledFrom([]int64{0, 1, 1, 1, -1, 2, 3}).Draw(t, "coef"))
			u.rows = append(u.rows, rapid.SampledFrom([]int64{0, 0, 0, 1}).Draw(t, "row"))
		}
		if depth > 0 && rapid.IntRange(0, 3).Draw(t, "guarded") == 0 {
			u.guard = rapid.IntRange(0, depth-1).Draw(t, "guard")
		} else if depth > 0 && rapid.IntRange(0, 2).Draw(t, "bounded") == 0 {
			for range rapid.IntRange(1, 2).Draw(t, "bounds") {
				u.bounds = append(u.bounds, drawBound(t, depth))
			}
		}
		n.uses = append(n.uses, u)
	}
	if rapid.Bool().Draw(t, "shaped") {
		n.shape = []ir.Expr{nil, reference(n.params[2])}
	}
	n.build()
	return n
}

// reduce lets a loop of the nest add to an element, which those around it choose.
func (n *nest) reduce(t *rapid.T) {
	if len(n.loops) == 0 || rapid.Bool().Draw(t, "plain") {
		return
	}
	level := rapid.IntRange(0, len(n.loops)-1).Draw(t, "level")
	u := use{id: len(n.uses), add: rapid.Int64Range(0, 2).Draw(t, "place"), guard: -1}
	for i := range n.loops {
		u.coefs, u.rows = append(u.coefs, 0), append(u.rows, 0)
		if i < level {
			u.coefs[i] = rapid.SampledFrom([]int64{0, 1, 1, 2}).Draw(t, "coef")
		}
	}
	n.sum = &sum{use: u, level: level}
	n.loops[level].Directive = &ir.Directive{Parts: ir.Parallel | ir.Workshare, Sharing: ir.Sharing{Reductions: []ir.Reduction{{Op: ir.Add, Place: n.place(u)}}}}
	inner := n.loops[len(n.loops)-1]
	inner.Body = append(inner.Body, &ir.Assign{Place: n.place(u), Value: arithmetic(ir.Add, n.place(u), integer(1))})
}

// A bound is a condition: the variable of a loop compared with a parameter or, from number 3 on, a loop's.
type bound struct {
	loop, with int
	op         ir.Op
	add        int64
}

func drawBound(t *rapid.T, depth int) bound {
	return bound{loop: rapid.IntRange(0, depth-1).Draw(t, "loop"), with: rapid.IntRange(0, 2+depth).Draw(t, "with"), add: rapid.Int64Range(-2, 2).Draw(t, "more"),
		op: rapid.SampledFrom([]ir.Op{ir.Lt, ir.Le, ir.Gt, ir.Ge, ir.Eq}).Draw(t, "op")}
}

// variable is a parameter, or the variable of a loop.
func (n *nest) variable(i int) *ir.Var {
	if i < len(n.params) {
		return n.params[i]
	}
	return n.loops[i-len(n.params)].Var
}

// happens reports whether the conditions of u hold.
func (u *use) happens(values, vars []int64) bool {
	for _, b := range u.bounds {
		x, y := vars[b.loop], slices.Concat(values, vars)[b.with]+b.add
		if !map[ir.Op]bool{ir.Lt: x < y, ir.Le: x <= y, ir.Gt: x > y, ir.Ge: x >= y, ir.Eq: x == y}[b.op] {
			return false
		}
	}
	return u.guard < 0 || vars[u.guard]&1 == 0
}

func reference(v *ir.Var) ir.Expr { return &ir.Ref{Var: v} }

func arithmetic(op ir.Op, x, y ir.Expr) ir.Expr {
	return &ir.Binary{Op: op, X: x, Y: y, T: ir.IntType}
}

// drawLoop makes a loop over [p, q), [0, q) or, inside another one, up to its variable; up or down, by one or two.
func (n *nest) drawLoop(t *rapid.T, i int) *ir.For {
	v := &ir.Var{Name: string(rune('i' + i)), Type: ir.IntType, Space: ir.Local, ID: 10 + i}
	lo, hi := integer(0), reference(n.params[1+i%2])
	if rapid.Bool().Draw(t, "from") {
		lo = reference(n.params[0])
	}
	if i > 0 && rapid.IntRange(0, 3).Draw(t, "triangular") == 0 {
		hi = reference(n.loops[0].Var)
	}
	step := rapid.SampledFrom([]int64{1, 1, 1, 2, -1}).Draw(t, "step")
	if step < 0 {
		return &ir.For{Var: v, Lo: arithmetic(ir.Sub, hi, integer(1)), Hi: lo, Step: integer(-1), Rel: ir.Ge}
	}
	return &ir.For{Var: v, Lo: lo, Hi: hi, Step: integer(step), Rel: ir.Lt}
}

// place is the element that u touches.
func (n *nest) place(u use) ir.Expr {
	index := integer(u.add)
	for i, l := range n.loops {
		index = arithmetic(ir.Add, index, arithmetic(ir.Mul, integer(u.coefs[i]), reference(l.Var)))
		index = arithmetic(ir.Add, index, arithmetic(ir.Mul, arithmetic(ir.Mul, integer(u.rows[i]), reference(l.Var)), reference(n.params[2])))
	}
	return &ir.Index{X: reference(n.x), I: index, Checked: true}
}

func (n *nest) build() {
	var body []ir.Stmt
	for _, u := range n.uses {
		var s ir.Stmt
		place := n.place(u)
		if u.write {
			s = &ir.Assign{Place: place, Value: integer(1)}
		} else {
			s = &ir.Decl{Var: &ir.Var{Name: "t", Type: ir.IntType, Space: ir.Local, ID: 30}, Init: place}
		}
		if u.guard >= 0 {
			even := arithmetic(ir.And, reference(n.loops[u.guard].Var), integer(1))
			s = &ir.If{Cond: &ir.Binary{Op: ir.Eq, X: even, Y: integer(0), T: ir.BoolType}, Then: []ir.Stmt{s}}
		}
		for _, b := range u.bounds {
			cond := &ir.Binary{Op: b.op, X: reference(n.loops[b.loop].Var), Y: arithmetic(ir.Add, reference(n.variable(b.with)), integer(b.add)), T: ir.BoolType}
			s = &ir.If{Cond: cond, Then: []ir.Stmt{s}}
		}
		body = append(body, s)
	}
	for _, l := range slices.Backward(n.loops) {
		l.Body = body
		body = []ir.Stmt{l}
	}
	n.kernel.Body = body
}

// run calls f for every use with the index that it touches, in order.
func (n *nest) run(values []int64, f func(u use, at int64)) {
	n.loop(values, nil, f)
}

func (n *nest) loop(values, vars []int64, f func(u use, at int64)) {
	if n.sum != nil && n.sum.level == len(vars) {
		at := n.sum.add
		for i, v := range vars {
			at += n.sum.coefs[i] * v
		}
		f(use{id: n.sum.id}, at)
		f(use{id: n.sum.id, write: true}, at)
	}
	if len(vars) == len(n.loops) {
		for _, u := range n.uses {
			at := u.add
			for i, v := range vars {
				at += u.coefs[i]*v + u.rows[i]*v*values[2]
			}
			if u.happens(values, vars) {
				f(u, at)
			}
		}
		return
	}
	l := n.loops[len(vars)]
	env := ir.Values{}
	for i, p := range n.params {
		env[p] = ir.Value{Bits: ir.Bits(values[i])}
	}
	for i, v := range vars {
		env[n.loops[i].Var] = ir.Value{Bits: ir.Bits(v)}
	}
	lo, _ := ir.EvalInt(l.Lo, env)
	hi, _ := ir.EvalInt(l.Hi, env)
	step, _ := query.Int64(l.Step)
	for i := lo; step > 0 && i < hi || step < 0 && i >= hi; i += step {
		n.loop(values, append(slices.Clone(vars), i), f)
	}
}

// TestInferredAccessesHoldEveryTouch infers the accesses of random kernels and runs them: what is read must be in a
// region that is read, or written by the kernel before; what is written in one that is written; and every element of
// an out region must be written. Arguments for which the kernel itself leaves its slice may be refused.
func TestInferredAccessesHoldEveryTouch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := drawNest(t)
		n.reduce(t)
		shapes := map[*ir.Var][]ir.Expr{n.x: n.shape}
		if n.shape == nil {
			shapes = nil
		}
		accesses := analysis.Infer(n.kernel, shapes)
		values := []int64{rapid.Int64Range(0, 3).Draw(t, "p"), rapid.Int64Range(0, 5).Draw(t, "q"), rapid.Int64Range(1, 4).Draw(t, "r")}
		length := rapid.Int64Range(0, 40).Draw(t, "length")
		touched := map[int64]bool{}
		written := map[int64]bool{}
		leaves, reads := false, map[int64]bool{}
		n.run(values, func(u use, at int64) {
			touched[at] = true
			leaves = leaves || at < 0 || at >= length
			if u.write {
				written[at] = true
			} else if !written[at] {
				reads[at] = true
			}
		})
		env := ir.Values{n.x: {Len: length, Cap: length}}
		for i, p := range n.params {
			env[p] = ir.Value{Bits: ir.Bits(values[i])}
		}
		in, out := map[int64]bool{}, map[int64]bool{}
		for _, a := range accesses {
			boxes, err := EvalRegion(a.Region, length, env)
			if err != nil {
				if !leaves && n.shape == nil {
					t.Fatalf("%v\nof kernel\n%s", err, n.kernel)
				}
				return
			}
			for _, b := range boxes {
				for _, at := range elements(b, 0, 0) {
					in[at] = in[at] || a.Mode.Reads()
					out[at] = out[at] || a.Mode.Writes()
					if a.Mode == deps.Out {
						require.True(t, written[at], "out(%s) holds %d, which is not written, in\n%s", a.Region.Text, at, n.kernel)
					}
				}
			}
		}
		if leaves {
			return
		}
		for at := range reads {
			require.True(t, in[at], "element %d is read outside of %v in\n%s", at, accesses, n.kernel)
		}
		for at := range written {
			require.True(t, out[at], "element %d is written outside of %v in\n%s", at, accesses, n.kernel)
		}
	})
}

// drawRegion makes a region of x with bounds over the parameters.
func (n *nest) drawRegion(t *rapid.T) ir.Region {
	bound := func(name string) ir.Expr {
		v := rapid.IntRange(-1, 1).Draw(t, name)
		add := integer(rapid.Int64Range(-1, 2).Draw(t, name+" add"))
		if v < 0 {
			return add
		}
		return arithmetic(ir.Add, reference(n.params[v]), add)
	}
	r := ir.Region{Var: n.x, Text: "x"}
	switch rapid.IntRange(0, 3).Draw(t, "region") {
	case 0:
		r.Dims = []ir.Range{{Lo: bound("lo")}}
	case 1:
		r.Shape = []ir.Expr{nil, reference(n.params[2])}
		r.Dims = []ir.Range{{Lo: bound("lo"), Hi: bound("hi")}}
	default:
		r.Dims = []ir.Range{{Lo: bound("lo"), Hi: bound("hi")}}
	}
	return r
}

// TestVerdictsOnDeclaredRegionsAreTrue runs random kernels against random regions: a use that is called outside must
// touch an element outside whenever it happens, and a region that is called written must be.
func TestVerdictsOnDeclaredRegionsAreTrue(t *testing.T) {
	checkUntil(t, []string{"outside", "full", "outside the union", "inside the union"}, func(t *rapid.T, verdicts map[string]int) {
		n := drawNest(t)
		values := []int64{rapid.Int64Range(0, 3).Draw(t, "p"), rapid.Int64Range(0, 5).Draw(t, "q"), rapid.Int64Range(1, 4).Draw(t, "r")}
		for range 10 {
			n.judge(t, n.drawRegion(t), values, verdicts)
		}
		n.judgeUnion(t, values, verdicts)
	})
}

// checkUntil checks a property, again and again until it has counted each of the verdicts: a test of verdicts that were
// never given would show nothing, and a hundred random cases may lack a rare one.
func checkUntil(t *testing.T, want []string, property func(t *rapid.T, verdicts map[string]int)) {
	t.Helper()
	verdicts := map[string]int{}
	missing := func(v string) bool { return verdicts[v] == 0 }
	for range 500 { // rounds of 100 programs, of 20 with -short
		rapid.Check(t, func(t *rapid.T) { property(t, verdicts) })
		if t.Failed() || !slices.ContainsFunc(want, missing) {
			return
		}
	}
	t.Errorf("counted %v, and not each of %q", verdicts, want)
}

// judgeUnion compares the verdicts on several regions with a run.
func (n *nest) judgeUnion(t *rapid.T, values []int64, verdicts map[string]int) {
	env := ir.Values{}
	for i, p := range n.params {
		env[p] = ir.Value{Bits: ir.Bits(values[i])}
	}
	var may []ir.Access
	held := map[int64]bool{}
	for range rapid.IntRange(2, 3).Draw(t, "union") {
		region := n.drawRegion(t)
		boxes, err := EvalRegion(region, 60, env)
		if err != nil {
			return
		}
		for _, b := range boxes {
			for _, at := range elements(b, 0, 0) {
				held[at] = true
			}
		}
		may = append(may, ir.Access{Region: region, Mode: deps.InOut})
	}
	c := &check.AccessCheck{K: n.kernel}
	for i, r := range analysis.Collect(n.kernel, n.kernel.Body) {
		count, out := n.touches(i, values, held)
		constant := c.Constant(r, may)
		if constant == contract.SomeOutside || constant == contract.Undecided && c.OutsideAll(r, may) {
			verdicts["outside the union"]++
			require.True(t, count == 0 || out > 0, "use %d is said to be outside %s and never is, in\n%s", i, contract.RegionList(may), n.kernel)
		}
		if constant == contract.AllInside {
			verdicts["inside the union"]++
			require.Zero(t, out, "use %d is said to be inside %s and is not, in\n%s", i, contract.RegionList(may), n.kernel)
		}
	}
}

// judge compares the verdicts on one region with a run, and counts them.
func (n *nest) judge(t *rapid.T, region ir.Region, values []int64, verdicts map[string]int) {
	env := ir.Values{}
	for i, p := range n.params {
		env[p] = ir.Value{Bits: ir.Bits(values[i])}
	}
	boxes, err := EvalRegion(region, 60, env)
	if err != nil {
		return
	}
	held := map[int64]bool{}
	for _, b := range boxes {
		for _, at := range elements(b, 0, 0) {
			held[at] = true
		}
	}
	c := &check.AccessCheck{K: n.kernel}
	reaches := analysis.Collect(n.kernel, n.kernel.Body)
	require.Len(t, reaches, len(n.uses))
	for i := range n.uses {
		if c.Outside(reaches[i], region) != 0 {
			verdicts["outside"]++
			count, out := n.touches(i, values, held)
			require.True(t, count == 0 || out > 0, "use %d is said to be outside %s and never is, in\n%s", i, analysis.RegionText(region), n.kernel)
		}
	}
	writes := slices.DeleteFunc(reaches, func(r analysis.Reach) bool { return !r.Write })
	if c.Coverage(region, writes) != check.Full {
		return
	}
	verdicts["full"]++
	written := map[int64]bool{}
	n.run(values, func(u use, at int64) { written[at] = written[at] || u.write })
	for at := range held {
		require.True(t, written[at], "%s is said to be written, and %d is not, in\n%s", analysis.RegionText(region), at, n.kernel)
	}
}

// touches counts how often use i happens, and how often outside of held.
func (n *nest) touches(i int, values []int64, held map[int64]bool) (count, out int) {
	n.run(values, func(u use, at int64) {
		if u.id == i {
			count++
			if !held[at] {
				out++
			}
		}
	})
	return count, out
}
