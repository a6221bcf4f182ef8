// Package arrays moves arrays of threads that are too large for local memory into scratch memory,
// transposed.
package arrays

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/mapping"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// Arrays of a thread live in registers or in what a device calls local memory, which it lays out
// transposed: neighbouring threads find one element next to each other. That memory ends at 512 KiB
// a thread. What is larger lives in scratch memory, in the same layout: one array of a warp after
// the other, and in it, for each element, the lanes. Source: Ozen, Compiler and Runtime Based
// Parallelization & Optimization for GPUs, 2017, section 4.2; differs: groups of a warp, not of the
// whole grid, so that an index of the array stays an index of an array, with its check.

const (
	localLimit   = 448 << 10 // bytes of arrays of a thread that stay in local memory; calls and other variables need some, too
	scratchLimit = 2 << 30   // bytes of scratch memory for the arrays of one launch
	scratchTeam  = 128       // threads of a team whose arrays live there
)

// Place moves arrays of threads that are too large for local memory, the largest first.
func Place(work *mapping.Work, program *ir.Program) {
	l := &placer{work, program}
	for _, f := range l.Kernel.Funcs {
		if n := arrayBytes(arraysIn(f.Body)); n > localLimit {
			l.Refuse(f.At, "function "+f.Name, fmt.Sprintf("its arrays take %d bytes, a thread has %d", int64(n), int64(localLimit)),
				"declare the array in the kernel and pass a slice of it")
		}
	}
	for i, g := range l.program.Launches {
		vars := slices.DeleteFunc(arraysIn(g.Body), func(v *ir.Var) bool { return l.Scratch[v] != nil }) // these have their place
		rest := arrayBytes(vars)
		slices.SortStableFunc(vars, func(a, b *ir.Var) int { return cmp.Compare(b.Type.Size, a.Type.Size) })
		var large []*ir.Var
		moved := map[ir.Pos]bool{}
		for _, v := range vars {
			if rest <= localLimit && !moved[v.At] {
				continue
			}
			if large = append(large, v); !moved[v.At] {
				rest -= v.Type.Size
			}
			moved[v.At] = true
		}
		if len(large) > 0 {
			l.placeLarge(g, i, large)
		}
	}
}

// A placer moves arrays of a kernel into scratch memory of its program.
type placer struct {
	*mapping.Work
	program *ir.Program
}

// arraysIn returns the arrays that list declares for each thread. Copies of one declaration are
// never alive together.
func arraysIn(list []ir.Stmt) []*ir.Var {
	var out []*ir.Var
	for _, v := range ir.Declared(list).List() {
		if v.Type.Kind == ir.Array && v.Space == ir.Local {
			out = append(out, v)
		}
	}
	return out
}

func arrayBytes(vars []*ir.Var) ir.Bytes {
	var n ir.Bytes
	seen := map[ir.Pos]bool{}
	for _, v := range vars {
		if !seen[v.At] {
			n += v.Type.Size
		}
		seen[v.At] = true
	}
	return n
}

// scratchBytes is what vars take for each thread: copies of one declaration that no slice reaches
// share their memory.
func scratchBytes(list []ir.Stmt, vars []*ir.Var) ir.Bytes {
	var n ir.Bytes
	seen := map[ir.Pos]bool{}
	for _, v := range vars {
		rows := byElements(list, v)
		if !rows || !seen[v.At] {
			n += v.Type.Size
		}
		seen[v.At] = seen[v.At] || rows
	}
	return n
}

// A largeArray is an array of each thread in scratch memory.
type largeArray struct {
	pad  *ir.Var
	rows bool // transposed: pad holds arrays of a warp
}

// placeLarge moves vars of launch number n, and bounds the launch so that they fit.
func (l *placer) placeLarge(g *ir.Launch, n int, vars []*ir.Var) {
	at := vars[0].At
	each := scratchBytes(g.Body, vars)
	threads := int64(scratchTeam)
	if one, ok := query.Int64(forms.OrZero(g.MaxThreads)); ok && one == 1 && !g.Warps {
		threads = 1
	}
	if ir.Bytes(threads)*each > scratchLimit {
		threads = min(threads, forms.MostWarp)
	}
	teams := int64(scratchLimit / (ir.Bytes(threads) * each))
	if teams == 0 {
		l.Refuse(at, "array "+vars[0].Name, fmt.Sprintf("the arrays of a thread take %d bytes and those of %d threads %d, of at most %d",
			int64(each), threads, int64(each)*threads, int64(scratchLimit)), "make it smaller, or a parameter")
		return
	}
	limit := func(e ir.Expr, most int64) ir.Expr {
		if c, ok := query.Int64(forms.OrZero(e)); e == nil || ok && c > most {
			return build.Int(most, at)
		} else if ok {
			return e
		}
		return &ir.Math{Fn: ir.IMin, Args: []ir.Expr{e, build.Int(most, at)}, T: ir.IntType, At: at}
	}
	g.MaxThreads, g.MaxTeams = limit(g.MaxThreads, threads), limit(g.MaxTeams, teams)
	all := threads + int64(g.ExtraWarps)*forms.MostWarp
	moved, homes := map[*ir.Var]largeArray{}, map[ir.Pos]largeArray{}
	for _, v := range vars {
		a, shared := homes[v.At]
		if !shared || a.rows != (threads > 1 && byElements(g.Body, v)) || !a.rows {
			a = l.largePad(v, n, all, threads > 1 && byElements(g.Body, v))
			homes[v.At] = a
		}
		moved[v] = a
		layout := "transposed: the threads of a warp find one element next to each other"
		if !a.rows {
			layout = "one after the other: it is used as a whole"
		}
		l.Decide(v.At, "array "+v.Text(), "device memory, one for each thread, "+layout, fmt.Sprintf("the arrays of a thread take %d bytes, "+
			"local memory has %d; at most %d teams of %d threads then run", int64(each), int64(localLimit), teams, threads), "make it smaller")
	}
	m := &arrayMover{Work: l.Work, arrays: moved, threads: all}
	g.Body = m.rewrite(g.Body)
}

// largePad adds the scratch memory of v, of which each of the threads of a team has one.
func (l *placer) largePad(v *ir.Var, launch int, threads int64, rows bool) largeArray {
	each, elem := threads, v.Type
	if rows {
		each, elem = (threads+forms.LeastWarp-1)/forms.LeastWarp, laneArrays(v.Type)
	}
	pad := l.Variable(v.Name, ir.SliceOf(elem), ir.Scratch, v.At)
	count := build.Binary(ir.Mul, build.Query(ir.NumTeams, v.At), build.Int(each, v.At), v.At)
	l.program.Scratch = append(l.program.Scratch, ir.Scratchpad{Var: pad, Count: count, Launch: launch})
	return largeArray{pad: pad, rows: rows}
}

// laneArrays is array type t with an element for each lane in place of each.
func laneArrays(t *ir.Type) *ir.Type {
	if t.Kind != ir.Array {
		return ir.ArrayOf(t, forms.LeastWarp)
	}
	return ir.ArrayOf(laneArrays(t.Elem), t.Len)
}

// byElements reports whether list uses array v for nothing but its elements, to the last index.
func byElements(list []ir.Stmt, v *ir.Var) bool {
	uses, elements := 0, 0
	ir.Inspect(list, func(s ir.Stmt) {
		if d, ok := s.(*ir.Decl); ok && d.Var == v && d.Init != nil && !isZero(d.Init) {
			uses++
		}
	}, func(e ir.Expr) {
		switch x := e.(type) {
		case *ir.Ref:
			if x.Var == v {
				uses++
			}
		case *ir.Index:
			if x.Type().Kind != ir.Array && arrayOf(x) == v {
				elements++
			}
		case *ir.AddrOf:
			if ir.RootVar(x.X) == v {
				uses++
			}
		}
	})
	return uses == elements
}

// arrayOf returns the array of which e is an element, or an element of one.
func arrayOf(e *ir.Index) *ir.Var {
	switch x := e.X.(type) {
	case *ir.Ref:
		return x.Var
	case *ir.Index:
		if x.Type().Kind == ir.Array {
			return arrayOf(x)
		}
	}
	return nil
}

// isZero reports whether e is the zero value of an array.
func isZero(e ir.Expr) bool {
	zero := true
	ir.WalkExpr(e, func(x ir.Expr) bool {
		c, ok := x.(*ir.Const)
		_, composite := x.(*ir.Composite)
		zero = zero && (composite || ok && c.Bits == 0)
		return zero
	})
	return zero
}

type arrayMover struct {
	*mapping.Work
	arrays  map[*ir.Var]largeArray
	threads int64 // of a team
}

func (m *arrayMover) rewrite(list []ir.Stmt) []ir.Stmt {
	return (&ir.Rewrite{Expr: m.expr, Stmt: m.stmt}).CopyStmts(list)
}

// base is the array of the warp, or of the thread.
func (m *arrayMover) base(a largeArray, at ir.Pos) ir.Expr {
	me, each := build.Query(ir.ThreadNum, at), m.threads
	if a.rows {
		me, each = build.Binary(ir.Div, me, build.Int(forms.LeastWarp, at), at), (m.threads+forms.LeastWarp-1)/forms.LeastWarp
	}
	return build.Index(build.Ref(a.pad, at), build.Binary(ir.Add, build.Binary(ir.Mul, build.Query(ir.TeamNum, at), build.Int(each, at), at), me, at), at)
}

func (m *arrayMover) lane(at ir.Pos) ir.Expr {
	return &ir.Binary{Op: ir.Rem, X: build.Query(ir.ThreadNum, at), Y: build.Int(forms.LeastWarp, at), T: ir.IntType, At: at}
}

// expr puts the array in scratch memory in place of the variable, and at the last index the element
// of the lane. Rewriting goes from the inside out, so that an index of the old array has the new
// one below it already.
func (m *arrayMover) expr(e ir.Expr) ir.Expr {
	switch x := e.(type) {
	case *ir.Ref:
		if a, ok := m.arrays[x.Var]; ok {
			return m.base(a, x.At)
		}
	case *ir.Index:
		if pad := m.rowsBelow(x.X); pad && x.Type().Kind == ir.Array && x.Type().Elem.Kind != ir.Array && x.Type().Len == forms.LeastWarp {
			return build.Index(x, m.lane(x.At), x.At)
		}
	}
	return e
}

// rowsBelow reports whether e is a transposed array, or an array in one.
func (m *arrayMover) rowsBelow(e ir.Expr) bool {
	for {
		x, ok := e.(*ir.Index)
		if !ok {
			return false
		}
		if r, ok := x.X.(*ir.Ref); ok {
			return m.isRows(r.Var)
		}
		e = x.X
	}
}

func (m *arrayMover) isRows(pad *ir.Var) bool {
	for _, a := range m.arrays {
		if a.pad == pad && a.rows {
			return true
		}
	}
	return false
}

// stmt makes the value of a declaration that of the array in scratch memory, which holds that of an
// earlier one.
func (m *arrayMover) stmt(s ir.Stmt) []ir.Stmt {
	d, ok := s.(*ir.Decl)
	if !ok {
		return []ir.Stmt{s}
	}
	a, ok := m.arrays[d.Var]
	switch {
	case !ok:
		return []ir.Stmt{s}
	case d.Init != nil && !isZero(d.Init):
		return []ir.Stmt{build.Assign(m.base(a, d.At), d.Init, d.At)}
	}
	return m.clear(a, m.base(a, d.At), d.Var.Type, d.At)
}

// clear zeroes an array of type t of this thread.
func (m *arrayMover) clear(a largeArray, place ir.Expr, t *ir.Type, at ir.Pos) []ir.Stmt {
	if t.Kind != ir.Array {
		if a.rows {
			place = build.Index(place, m.lane(at), at)
		}
		return []ir.Stmt{build.Assign(place, build.Zero(t, at), at)}
	}
	j := m.Local("j", ir.IntType, at)
	return []ir.Stmt{&ir.For{Label: &ir.Label{}, Var: j, Lo: build.Int(0, at), Hi: build.Int(t.Len, at), Step: build.Int(1, at), Rel: ir.Lt,
		Body: m.clear(a, build.Index(place, build.Ref(j, at), at), t.Elem, at), At: at}}
}
