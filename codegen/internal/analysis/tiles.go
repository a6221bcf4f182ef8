package analysis

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/internal/integers"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
	"github.com/gompss/gompss/deps"
)

// This file infers boxes of row-major arrays without a shape directive. In x[(i+1)*w+j-1], with
// loops over i and j, w is the length of a row. The access is the box from the smallest to the
// largest coordinate of each dimension, provided that the coordinates do not exceed the row. Each
// launch tests this; if the test fails, the access is the whole slice.

// A tile is a box of a slice that is addressed as a row-major array. strides are the distances
// between neighbours in each dimension.
type tile struct {
	strides []affine.Form // outermost first; the last one is 1
	spans   []Span        // of each dimension
	mode    deps.Mode
	runs    ir.Expr // the condition under which the enclosing loops have an iteration; nil for always
	at      ir.Pos
}

// maxTileDims limits the dimensions of a tile, and maxTileTerms the number of terms in its test.
const (
	maxTileDims  = 4
	maxTileTerms = 6
)

// tileOf returns the tile of a slice of unknown shape that r accesses.
func (in *inference) tileOf(r Reach, mode deps.Mode) (t tile, ok bool) {
	strides := in.stridesOf(r)
	if len(strides) < 2 || len(strides) > maxTileDims {
		return t, false
	}
	rest := r.Index
	var dims []affine.Form
	for _, s := range strides {
		var q affine.Form
		q, rest = divideForm(rest, s)
		dims = append(dims, q)
	}
	if !rest.Equal(affine.Form{}) {
		return t, false
	}
	dense := true
	for i, d := range dims {
		s, ok := SpanOf(d, r.Loops, in.k.Params)
		if !ok || !plainSum(s.Lo) || !plainSum(s.Hi) {
			return t, false
		}
		dense = dense && s.Dense && !SharesLoop(dims, i, r.Loops)
		t.spans = append(t.spans, s)
	}
	if mode == deps.Out && !dense {
		mode = deps.InOut
	}
	t.strides, t.mode, t.at, t.runs = strides, mode, r.At, in.nonEmpty(r)
	return t, true
}

// plainSum reports whether a has few terms with small coefficients, so that a does not overflow 64
// bits if its products do not.
func plainSum(a affine.Form) bool {
	return len(a.Terms) <= maxTileTerms && !slices.ContainsFunc(a.Terms, func(t affine.Term) bool {
		return integers.Magnitude(t.Coef) > 16 && len(t.Atoms) > 0 || integers.Magnitude(t.Coef) > 1<<56
	})
}

// stridesOf returns the symbolic distances by which loops move r, in descending order, and 1.
func (in *inference) stridesOf(r Reach) []affine.Form {
	var out []affine.Form
	for _, l := range r.Loops {
		coef, ok := r.Index.Coef(l.Var)
		if _, constant := coef.Const(); !ok || constant {
			continue
		}
		if !OnHost(coef, in.k.Params) {
			return nil
		}
		if !slices.ContainsFunc(out, func(s affine.Form) bool { return coef.Equal(s) }) {
			out = append(out, coef)
		}
	}
	slices.SortStableFunc(out, func(x, y affine.Form) int { return len(y.Terms[0].Atoms) - len(x.Terms[0].Atoms) })
	for i := 1; i < len(out); i++ {
		if _, rest := divideForm(out[i-1], out[i]); !rest.Equal(affine.Form{}) {
			return nil
		}
	}
	return append(out, affine.Constant(1))
}

// divideForm returns quotient and rest of a divided by the first term of by, which has the most
// atoms.
func divideForm(a, by affine.Form) (quotient, rest affine.Form) {
	if c, ok := by.Const(); ok && c == 1 || !a.Known() || len(by.Terms) == 0 {
		return a, affine.Form{}
	}
	rest = a
	for range affine.MaxTerms {
		q, _ := Divide(rest, by.Terms[0])
		if len(q.Terms) == 0 || !q.Known() {
			break
		}
		quotient, rest = quotient.Add(q), rest.Sub(q.Mul(by))
		if !rest.Known() {
			break
		}
	}
	return quotient, rest
}

// join extends t to the box around t and u, if both have the same strides and their ends differ by
// constants.
func (t *tile) join(u tile) bool {
	if t.mode == deps.Out || u.mode == deps.Out || len(t.spans) != len(u.spans) || !query.Same(t.runs, u.runs) {
		return false
	}
	joined := slices.Clone(t.spans)
	for d := range t.spans {
		lo, ok1 := u.spans[d].Lo.Sub(t.spans[d].Lo).Const()
		hi, ok2 := u.spans[d].Hi.Sub(t.spans[d].Hi).Const()
		if !ok1 || !ok2 || !t.strides[d].Equal(u.strides[d]) {
			return false
		}
		joined[d].Lo = t.spans[d].Lo.AddConst(min(lo, 0))
		joined[d].Hi = t.spans[d].Hi.AddConst(max(hi, 0))
	}
	t.spans, t.mode = joined, max(t.mode, u.mode)
	return true
}

// tiles returns the accesses for the tiles of a parameter: the boxes, and the whole slice for
// launches in which a box exceeds its rows.
func (in *inference) tiles() []ir.Access {
	var joined []tile
	for _, t := range in.boxes {
		if !slices.ContainsFunc(joined, func(u tile) bool { return t.equal(u) }) {
			joined = append(joined, t)
		}
	}
	for i := 0; i < len(joined); i++ {
		for j := i + 1; j < len(joined); j++ {
			if joined[i].mode == joined[j].mode && joined[i].join(joined[j]) {
				joined = slices.Delete(joined, j, j+1)
				j = i
			}
		}
	}
	var out []ir.Access
	for _, t := range joined {
		out = append(out, in.tileAccesses(t)...)
	}
	return out
}

func (t *tile) equal(u tile) bool {
	return t.mode == u.mode && query.Same(t.runs, u.runs) && slices.EqualFunc(t.strides, u.strides, affine.Form.Equal) &&
		slices.EqualFunc(t.spans, u.spans, func(x, y Span) bool { return x.Lo.Equal(y.Lo) && x.Hi.Equal(y.Hi) })
}

// tileAccesses returns the access to the box of t, and the access to the whole slice for launches
// in which t is not a box.
func (in *inference) tileAccesses(t tile) []ir.Access {
	fits := in.inRows(t)
	box := ir.Region{Var: in.v, At: t.at, Shape: []ir.Expr{nil}, When: bothHold(t.runs, fits, t.at)}
	for d, s := range t.spans {
		box.Dims = append(box.Dims, ir.Range{Lo: s.Lo.Expr(t.at), Hi: s.Hi.AddConst(1).Expr(t.at)})
		if d > 0 {
			extent, _ := divideForm(t.strides[d-1], t.strides[d])
			box.Shape = append(box.Shape, extent.Expr(t.at))
		}
	}
	box.Text = RegionText(box)
	all := ir.Region{Var: in.v, Text: in.text(), At: t.at, When: bothHold(t.runs, &ir.Unary{Op: ir.Not, X: fits, At: t.at}, t.at)}
	rest := ir.Access{Region: all, Mode: t.mode, Why: "in launches in which " + box.Text + " does not stay in its rows"}
	if t.mode == deps.Out {
		rest.Mode = deps.InOut
	}
	return []ir.Access{{Region: box, Mode: t.mode}, rest}
}

// inRows returns the test that the coordinates of t do not exceed their rows and that the rows are
// in the slice. No intermediate value of the test wraps.
func (in *inference) inRows(t tile) ir.Expr {
	at := t.at
	var cond ir.Expr
	need := func(a affine.Form) {
		if c, ok := a.Const(); !ok || c < 0 {
			cond = bothHold(cond, NotNegativeTest(a, at), at)
		}
	}
	limits, limit := map[affine.Atom]bool{}, t.limit()
	small := func(a affine.Form) {
		for _, x := range a.Atoms() {
			if x.Of == affine.ValueOf && x.Var.Type.Size == 8 && !limits[x] {
				limits[x] = true
				v := x.Expr(at)
				cond = bothHold(cond, build.Compare(ir.LAnd, build.Compare(ir.Lt, build.Int(-limit, at), v, at), build.Compare(ir.Lt, v, build.Int(limit, at), at), at), at)
			}
		}
	}
	for d, s := range t.spans {
		small(s.Lo)
		small(s.Hi)
		small(t.strides[d])
		need(s.Lo)
		if d > 0 {
			extent, _ := divideForm(t.strides[d-1], t.strides[d])
			need(extent.Sub(s.Hi).AddConst(-1))
			need(extent.AddConst(-1))
		}
	}
	return bothHold(cond, in.inSlice(t), at)
}

// inSlice returns the test that the last element of t, whose coordinates do not exceed their rows,
// is in the slice: in a whole row, or in the partial row at its end.
func (in *inference) inSlice(t tile) ir.Expr {
	at := t.at
	of := func(op ir.Op) ir.Expr {
		return &ir.Binary{Op: op, X: &ir.Len{X: build.Ref(in.v, at), At: at}, Y: t.strides[0].Expr(at), T: ir.IntType, At: at}
	}
	row := t.spans[0].Hi.Expr
	whole := build.Compare(ir.Lt, row(at), of(ir.Div), at)
	if len(t.spans) == 1 {
		return whole
	}
	var column ir.Expr
	for d, s := range t.spans[1:] {
		term := &ir.Binary{Op: ir.Mul, X: s.Hi.Expr(at), Y: t.strides[d+1].Expr(at), T: ir.IntType, At: at}
		if column == nil {
			column = term
			continue
		}
		column = &ir.Binary{Op: ir.Add, X: column, Y: term, T: ir.IntType, At: at}
	}
	part := build.Compare(ir.LAnd, build.Compare(ir.Eq, row(at), of(ir.Div), at), build.Compare(ir.Lt, column, of(ir.Rem), at), at)
	return build.Compare(ir.LOr, whole, part, at)
}

// limit returns a bound for the variables in t below which sums of their products do not overflow
// 64 bits.
func (t *tile) limit() int64 {
	factors := 1
	for d, s := range t.spans {
		for _, a := range []affine.Form{s.Lo, s.Hi, t.strides[d]} {
			for _, term := range a.Terms {
				factors = max(factors, len(term.Atoms))
			}
		}
	}
	return 1 << (56 / factors)
}

// bothHold returns x && y; nil stands for true.
func bothHold(x, y ir.Expr, at ir.Pos) ir.Expr {
	switch {
	case x == nil:
		return y
	case y == nil:
		return x
	}
	return build.Compare(ir.LAnd, x, y, at)
}
