// Package tiling has the strategy "tiles": the threads of a team stage elements that all of them
// read in team memory, one tile of an inner loop after the other.
package tiling

import (
	"maps"
	"strconv"
	"strings"

	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/internal/integers"
	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/lower/spaces"
	"github.com/gompss/gompss/codegen/internal/lower/strategy/bodies"
	"github.com/gompss/gompss/codegen/internal/mapping"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// The strategy "tiles" strip-mines an inner loop in which all threads of a team read the same
// elements in the same order, as in an all-pairs sum. The threads load a tile together, each
// element once, execute a barrier, and run the tile from team memory. Each thread keeps the order
// of its iterations, so the results are bit-identical.
//
// This is legal because the outer loop is parallel: each of its iterations reads all these
// elements, so no iteration may write them unless it is the only one, and then the barriers keep
// the order. Source: Ozen, Compiler and Runtime Based Parallelization & Optimization for GPUs,
// 2017, section 4.2, in which directives name the data for shared memory; differs: the compiler
// finds them.

const (
	tileLength = 256      // iterations in a tile, if its elements fit into tileBytes
	tileBytes  = 16 << 10 // team memory of the tiles of one loop
	tileLeast  = 2 * 32   // least trip count of a loop that is tiled, if the trip count is constant
	tileGroup  = 4        // elements that one access to team memory loads
	unrollOps  = 640      // largest number of operations of an unrolled body
	unrollMost = 32
)

// A tiled is a loop that runs over tiles.
type tiledLoop struct {
	loop     *ir.For
	staged   []staged
	same     map[*ir.Var]ir.Expr // values of the team-uniform variables, also those of the loop
	length   int64
	unrolled int // unroll factor
}

// A staged is an element that all threads read in an iteration, and the team array that holds a
// tile of it.
type staged struct {
	elem ir.Expr // element, over the induction variable and team-uniform variables
	tile *ir.Var
}

// tiler finds loops to tile in the body of a worksharing loop.
type tiler struct {
	*crews.Crew
	inside *ir.VarSet          // variables that differ from thread to thread, or may change
	same   map[*ir.Var]ir.Expr // variables of the body that do not differ, with their values
	loops  map[*ir.For]*tiledLoop
}

// Share returns the loop over sp with tiled inner loops, or nil if there are none.
func Share(t *crews.Crew, sp *spaces.Space, p spaces.Portion, body []ir.Stmt) []ir.Stmt {
	if n, ok := query.Int64(forms.OrZero(t.Launch.MaxThreads)); ok && n > 0 && n < mapping.WarpTrips {
		return nil
	}
	if p.Only != nil || forms.LeavesIteration(body, sp.Label) {
		return nil
	}
	body = forms.Flat(body)
	x := &tiler{Crew: t, inside: ir.Declared(body), same: map[*ir.Var]ir.Expr{}, loops: map[*ir.For]*tiledLoop{}}
	for _, v := range append(ir.Assigned(body).List(), ir.AddressTaken(body).List()...) {
		x.inside.Add(v)
	}
	for _, f := range sp.Loops {
		x.inside.Add(f.Var)
	}
	x.find(body)
	if len(x.loops) == 0 {
		return nil
	}
	return x.walk(sp, p, body)
}

// find finds the loops to tile among the statements of list, but not in nested statements.
func (x *tiler) find(list []ir.Stmt) {
	changed := ir.Assigned(list)
	for _, s := range list {
		switch s := s.(type) {
		case *ir.Decl:
			if s.Init != nil && s.Var.Type.IsScalar() && !changed.Has(s.Var) && x.isSame(s.Init) {
				x.same[s.Var] = ir.Subst(s.Init, x.same)
			}
		case *ir.For:
			if l := x.tile(s); l != nil {
				x.loops[s] = l
			}
		}
	}
}

// isSame reports whether e is uniform: it has the same value for all threads of the team during the
// whole loop, and reads no memory.
func (x *tiler) isSame(e ir.Expr) bool { return e != nil && x.isSameBut(e, nil) }

// isSameBut is isSame for an expression that may also depend on v.
func (x *tiler) isSameBut(e ir.Expr, v *ir.Var) bool {
	if !query.LoadFree(e) {
		return false
	}
	for _, w := range ir.ExprVars(ir.Subst(e, x.same)).List() {
		if w != v && (x.inside.Has(w) || x.IsShared(w)) {
			return false
		}
	}
	return true
}

// tile returns the description of f as a tiled loop, or nil if this is not legal or not profitable,
// for example if an iteration also loads other elements that move with the loop.
func (x *tiler) tile(f *ir.For) *tiledLoop {
	step, ok := query.Int64(f.Step)
	if !ok || step != 1 || f.Rel != ir.Lt || f.Var.Type.Kind != ir.Int64 || !x.isSame(f.Lo) || !x.isSame(f.Hi) {
		return nil
	}
	if n, ok := query.Int64(build.Trips(f, f.Lo, f.Hi, f.Step)); ok && n < tileLeast {
		return nil
	}
	if !x.onlyReads(f.Body) || query.LeavesLoop(f) || bodies.IndexesArray(f) { // it is to be unrolled wholly
		return nil
	}
	l := &tiledLoop{loop: f}
	outer := x.same
	x.same = maps.Clone(outer)
	l.same = x.same
	fine := x.collect(l, f)
	x.same = outer
	if !fine || len(l.staged) == 0 || !l.chooseLength() {
		return nil
	}
	l.unrolled = l.unroll()
	for i := range l.staged {
		l.staged[i].tile = x.tileOf(l.staged[i].elem, i, l.length)
	}
	return l
}

// tileOf returns team memory for element number i of a loop. Different loops share it, because each
// begins with a barrier.
func (x *tiler) tileOf(elem ir.Expr, i int, length int64) *ir.Var {
	t := elem.Type()
	key := crews.Slot{What: "tile" + strconv.Itoa(int(length)), Kind: t.Kind, N: i}
	return x.Slot(key, ir.ArrayOf(ir.ArrayOf(t, tileGroup), length/tileGroup), "tile"+strconv.Itoa(i), elem.Pos())
}

// onlyReads reports whether list changes no memory, and takes no address by which it could.
func (x *tiler) onlyReads(list []ir.Stmt) bool {
	t := x.Effects.Stmts(list)
	fine := t.Writes.Empty() && !t.Atomics && !t.Calls
	ir.Inspect(list, func(s ir.Stmt) {
		_, waits := s.(*ir.Barrier)
		fine = fine && !waits
	}, func(e ir.Expr) {
		switch e.(type) {
		case *ir.AddrOf, *ir.Reslice, *ir.Deref, *ir.Query:
			fine = false
		}
	})
	return fine
}

// collect finds the elements to stage among those that every iteration of f reads unconditionally.
// It reports false if an iteration reads another element that moves with the loop.
func (x *tiler) collect(l *tiledLoop, f *ir.For) bool {
	moving := ir.Declared(f.Body)
	moving.Add(f.Var)
	for _, v := range ir.Assigned(f.Body).List() {
		moving.Add(v)
	}
	always := true // no earlier statement can leave the iteration
	for _, s := range f.Body {
		if d, ok := s.(*ir.Decl); ok && d.Init != nil && d.Var.Type.IsScalar() && !ir.Assigned(f.Body).Has(d.Var) &&
			x.isSameBut(d.Init, f.Var) {
			x.same[d.Var] = ir.Subst(d.Init, x.same)
		}
		if always {
			ir.StmtExprs(s, func(e ir.Expr) { x.stage(l, f, e) })
		}
		always = always && !query.JumpsOut(s)
	}
	fine := true
	ir.WalkExprs(f.Body, func(e ir.Expr) bool {
		if l.stagedAs(e) != nil {
			return false
		}
		if ix, ok := e.(*ir.Index); ok && ix.X.Type().Kind == ir.Slice {
			for _, v := range ir.ExprVars(ix).List() {
				fine = fine && !moving.Has(v)
			}
		}
		return true
	})
	return fine
}

// stage adds the elements that e reads unconditionally.
func (x *tiler) stage(l *tiledLoop, f *ir.For, e ir.Expr) {
	switch s := e.(type) {
	case *ir.Select:
		x.stage(l, f, s.Cond)
		return
	case *ir.Binary:
		if s.Op == ir.LAnd || s.Op == ir.LOr {
			x.stage(l, f, s.X)
			return
		}
	case *ir.Index, *ir.Member:
		if elem := x.element(e, f.Var); elem != nil {
			if l.stagedAs(e) == nil {
				l.staged = append(l.staged, staged{elem: elem})
			}
			return
		}
	}
	ir.Operands(e, func(y ir.Expr) { x.stage(l, f, y) })
}

// element returns e as an expression over the induction variable v if e is an unchecked scalar
// element of a uniform slice with a constant stride in v, else nil.
func (x *tiler) element(e ir.Expr, v *ir.Var) ir.Expr {
	if !e.Type().IsScalar() {
		return nil
	}
	place := e
	for {
		switch p := place.(type) {
		case *ir.Member:
			place = p.X
			continue
		case *ir.Index:
			if p.X.Type().Kind == ir.Array {
				if _, ok := query.Int64(p.I); !ok {
					return nil
				}
				place = p.X
				continue
			}
			r, ok := p.X.(*ir.Ref)
			if !ok || p.Checked || !x.isSame(r) || !x.isSameBut(p.I, v) || !movesWith(ir.Subst(p.I, x.same), v) {
				return nil
			}
			return ir.Subst(e, x.same)
		}
		return nil
	}
}

// movesWith reports whether index i has a small constant stride in v.
func movesWith(i ir.Expr, v *ir.Var) bool {
	form, ok := affine.Of(i)
	if !ok {
		return false
	}
	coef, ok := form.Coef(v)
	c, isConst := coef.Const()
	return ok && isConst && c != 0 && integers.Magnitude(c) <= 8
}

// stagedAs returns the staged element that equals e, or nil.
func (l *tiledLoop) stagedAs(e ir.Expr) *staged {
	switch e.(type) {
	case *ir.Index, *ir.Member:
	default:
		return nil
	}
	over := ir.Subst(e, l.same)
	for i := range l.staged {
		if query.Same(l.staged[i].elem, over) {
			return &l.staged[i]
		}
	}
	return nil
}

// chooseLength sets the longest tile length that fits. It reports false if none does.
func (l *tiledLoop) chooseLength() bool {
	var size ir.Bytes
	for _, s := range l.staged {
		size += s.elem.Type().Size
	}
	for l.length = tileLength; l.length >= tileLeast; l.length /= 2 {
		if ir.Bytes(l.length)*size <= tileBytes {
			return true
		}
	}
	return false
}

func (l *tiledLoop) names() string {
	var out []string
	for _, s := range l.staged {
		out = append(out, ir.ExprString(s.elem))
	}
	return strings.Join(out, ", ")
}
