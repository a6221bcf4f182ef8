package prepare

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/gompss/gompss/codegen/ir"
)

// An iteration that reads and writes the fields of one element of a slice of structs again and
// again, under conditions too, gathers and scatters them each time. Where nothing else in the loop
// can touch that element, its fields are variables in the iteration: loaded before the first use,
// stored behind the last, and then in such an order that the code for lanes can move 16 bytes of a
// row at once (internal/selection).

// rowFields makes the fields of the elements that iterations own variables.
func (p *Result) rowFields(body []ir.Stmt) []ir.Stmt {
	r := &ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		f, ok := ir.ParallelLoop(s)
		if !ok || f.Directive.Collapse > 1 || assignsTo(f.Body, f.Var) || !plainRows(f.Body) {
			return []ir.Stmt{s}
		}
		step, constant := ir.ConstStep(f)
		if !constant || step == 0 {
			return []ir.Stmt{s}
		}
		for _, x := range elementSlices(f.Body) {
			f.Body = p.ownRow(f, x)
		}
		return []ir.Stmt{f}
	}}
	return r.CopyStmts(body)
}

func assignsTo(body []ir.Stmt, v *ir.Var) bool { return ir.Assigned(body).Has(v) }

// plainRows tells the bodies in which every access is seen.
func plainRows(body []ir.Stmt) bool {
	plain := true
	ir.WalkStmts(body, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.For:
			plain = plain && s.Directive == nil
		case *ir.Return, *ir.Atomic, *ir.Construct, *ir.Call, *ir.Barrier:
			plain = false
		}
		return plain
	})
	ir.Inspect(body, nil, func(e ir.Expr) {
		switch e.(type) {
		case *ir.AddrOf, *ir.Deref, *ir.Reslice:
			plain = false
		}
	})
	return plain
}

// elementSlices lists the slices that are indexed.
func elementSlices(body []ir.Stmt) []*ir.Var {
	set := &ir.VarSet{}
	ir.Inspect(body, nil, func(e ir.Expr) {
		if ix, ok := e.(*ir.Index); ok {
			if r, ok := ix.X.(*ir.Ref); ok && r.Var.Type.Kind == ir.Slice {
				set.Add(r.Var)
			}
		}
	})
	return set.List()
}

// sharesMemory reports whether elements of two different slices may lie in the same memory: slices
// of one type, or of arrays in elements of the other.
func sharesMemory(x, y *ir.Type) bool { return holds(x, y) || holds(y, x) }

// holds reports whether y is x or the type of the elements of an array in it.
func holds(x, y *ir.Type) bool {
	if ir.Same(x, y) {
		return true
	}
	switch x.Kind {
	case ir.Array:
		return holds(x.Elem, y)
	case ir.Struct:
		for _, f := range x.Fields {
			if f.Type.Kind == ir.Array && holds(f.Type.Elem, y) || f.Type.Kind == ir.Struct && holdsInside(f.Type, y) {
				return true
			}
		}
	}
	return false
}

func holdsInside(x, y *ir.Type) bool { return !ir.Same(x, y) && holds(x, y) }

// A rowField is one scalar of an element.
type rowField struct {
	place  ir.Expr
	offset int64 // bytes from the start of the element
	v      *ir.Var
	load   bool // its value before the loop is wanted
	store  bool
}

// A row is what the iterations of one loop do with their elements of one slice.
type row struct {
	*Result
	f      *ir.For
	slice  *ir.Var
	index  *ir.Index // of an access
	fields map[int64]*rowField
}

// ownRow is the body of f, with variables for the fields of the elements of x where that is right
// and of use.
func (p *Result) ownRow(f *ir.For, x *ir.Var) []ir.Stmt {
	t := x.Type.Elem
	if t.Kind != ir.Struct && t.Kind != ir.Array || ir.Declared(f.Body).Has(x) || assignsTo(f.Body, x) {
		return f.Body
	}
	for _, y := range elementSlices(f.Body) {
		if y != x && p.Arrays[y] == 0 && (sharesMemory(t, y.Type.Elem) || p.Pointed[y]) {
			return f.Body
		}
	}
	w := &row{Result: p, f: f, slice: x, fields: map[int64]*rowField{}}
	before, inside, ok := w.begin()
	if !ok || !w.collect() {
		return f.Body
	}
	w.wholePieces()
	if w.usesIn(f.Body) <= w.moves() {
		return f.Body
	}
	var out []ir.Stmt
	out = append(out, before...)
	for _, x := range w.sorted() {
		d := &ir.Decl{Var: x.v, At: w.index.At}
		if x.load {
			d.Init = (&ir.Rewrite{}).CopyExpr(x.place)
		}
		out = append(out, d)
	}
	out = append(out, w.replaced(inside)...)
	for _, x := range w.sorted() {
		if x.store {
			out = append(out, &ir.Assign{Place: (&ir.Rewrite{}).CopyExpr(x.place), Value: &ir.Ref{Var: x.v, At: w.index.At}, At: w.index.At})
		}
	}
	return out
}

// begin parts the body where the first statement stands that uses the element whatever the
// conditions are; nothing before it may use it, or leave.
func (w *row) begin() (before, inside []ir.Stmt, ok bool) {
	list := w.f.Body
	wrap := func(rest []ir.Stmt) []ir.Stmt { return rest }
	if len(list) == 1 {
		if b, is := list[0].(*ir.Block); is {
			list = b.Body
			wrap = func(rest []ir.Stmt) []ir.Stmt { return []ir.Stmt{&ir.Block{Label: b.Label, Body: rest, At: b.At}} }
		}
	}
	for i, s := range list {
		if w.always(s) {
			return list[:i:i], wrap(list[i:]), true
		}
		if ir.LeavesLoop(s) || w.usedIn([]ir.Stmt{s}) {
			return nil, nil, false
		}
	}
	return nil, nil, false
}

func (w *row) usedIn(list []ir.Stmt) bool {
	for _, x := range elementSlices(list) {
		if x == w.slice {
			return true
		}
	}
	return false
}

// always reports whether executing s evaluates an access to the slice in any case.
func (w *row) always(s ir.Stmt) bool {
	for _, e := range evaluatedFirst(s) {
		if ix, ok := e.(*ir.Index); ok && w.isElement(ix) {
			return true
		}
	}
	return false
}

// isElement tells the accesses to the iteration's own element.
func (w *row) isElement(ix *ir.Index) bool {
	r, ok := ix.X.(*ir.Ref)
	i := ix.I
	if c, wider := i.(*ir.Convert); wider && ir.IsWide(c.T) && c.X.Type().IsInteger() {
		i = c.X
	}
	return ok && r.Var == w.slice && ir.IsRef(i, w.f.Var)
}

// offsetOf is where a scalar lies in the iteration's own element; ok is false for other places.
func (w *row) offsetOf(e ir.Expr) (offset int64, ok bool) {
	for x := e; ; {
		switch p := x.(type) {
		case *ir.Member:
			offset += int64(p.X.Type().Fields[p.Field].Offset)
			x = p.X
		case *ir.Index:
			if p.X.Type().Kind == ir.Slice {
				if ok = w.isElement(p); ok && w.index == nil {
					w.index = p
				}
				return offset, ok
			}
			c, constant := ir.ConstInt(p.I)
			if !constant || c < 0 || c >= p.X.Type().Len {
				return 0, false
			}
			offset += c * int64(p.Type().Size)
			x = p.X
		default:
			return 0, false
		}
	}
}

// collect finds the fields that the loop uses; it is false where some access is to another element,
// or to more than a scalar.
func (w *row) collect() bool {
	elements, scalars := 0, 0
	note := func(e ir.Expr) *rowField {
		if !IsElement(e) || !e.Type().IsScalar() {
			return nil
		}
		offset, ok := w.offsetOf(e)
		if !ok {
			return nil
		}
		x := w.fields[offset]
		if x == nil {
			x = w.field(e, offset)
		}
		return x
	}
	ir.Inspect(w.f.Body, func(s ir.Stmt) {
		if a, ok := s.(*ir.Assign); ok {
			if x := note(a.Place); x != nil {
				x.store = true
			}
		}
	}, func(e ir.Expr) {
		if ix, ok := e.(*ir.Index); ok {
			if r, ok := ix.X.(*ir.Ref); ok && r.Var == w.slice {
				elements++
			}
		}
		if x := note(e); x != nil {
			scalars++
		}
	})
	for _, x := range w.fields {
		x.load = !w.setFirst(x)
	}
	return elements == scalars && len(w.fields) > 0
}

// IsElement tells the places that are a field or an element of something.
func IsElement(e ir.Expr) bool {
	switch e.(type) {
	case *ir.Member, *ir.Index:
		return true
	}
	return false
}

func (w *row) field(e ir.Expr, offset int64) *rowField {
	x := &rowField{place: e, offset: offset, v: w.local(w.slice.Name+"_"+strconv.FormatInt(offset, 10), e.Type(), e.Pos())}
	w.fields[offset] = x
	return x
}

// usesIn counts the accesses to fields: half of those under a condition, twice those in a loop.
func (w *row) usesIn(list []ir.Stmt) float64 {
	n := 0.0
	for _, s := range list {
		ir.StmtExprs(s, func(e ir.Expr) {
			ir.WalkExpr(e, func(e ir.Expr) bool {
				if IsElement(e) && e.Type().IsScalar() {
					if _, ok := w.offsetOf(e); ok {
						n++
					}
				}
				return true
			})
		})
		factor := 1.0
		switch s.(type) {
		case *ir.If:
			factor = 0.5
		case *ir.For, *ir.While:
			factor = 2
		}
		ir.Lists(s, func(inner []ir.Stmt) { n += factor * w.usesIn(inner) })
	}
	return n
}

// moves counts the loads before and the stores behind the body; those of a piece that is moved as
// one count half.
func (w *row) moves() float64 {
	loads, stores := map[int64]int{}, map[int64]int{}
	for _, x := range w.fields {
		loads[x.offset/PieceBytes] += map[bool]int{true: 1}[x.load]
		stores[x.offset/PieceBytes] += map[bool]int{true: int(x.v.Type.Size)}[x.store]
	}
	n := 0.0
	for _, k := range loads {
		n += float64(k) * map[bool]float64{true: 0.5, false: 1}[k > 1]
	}
	for _, x := range w.fields {
		if x.store {
			n += map[bool]float64{true: 0.5, false: 1}[stores[x.offset/PieceBytes] == PieceBytes]
		}
	}
	return n
}

// setFirst reports whether the first statement that has x in it sets it, under no condition.
func (w *row) setFirst(x *rowField) bool {
	uses := func(e ir.Expr) bool {
		found := false
		ir.WalkExpr(e, func(e ir.Expr) bool {
			if IsElement(e) && e.Type().IsScalar() {
				offset, ok := w.offsetOf(e)
				found = found || ok && offset == x.offset
			}
			return !found
		})
		return found
	}
	for _, s := range w.f.Body {
		found := false
		ir.Inspect([]ir.Stmt{s}, nil, func(e ir.Expr) { found = found || uses(e) })
		if !found {
			continue
		}
		a, ok := s.(*ir.Assign)
		return ok && uses(a.Place) && !uses(a.Value)
	}
	return false
}

// wholePieces has all of a piece of 16 bytes loaded and stored where half of its fields are.
func (w *row) wholePieces() {
	t := w.slice.Type.Elem
	var bases []int64 // of the pieces in which there are fields
	for offset := range w.fields {
		bases = append(bases, offset/PieceBytes*PieceBytes)
	}
	slices.Sort(bases)
	for _, base := range slices.Compact(bases) {
		if base+PieceBytes > int64(t.Size) {
			continue
		}
		inside := scalarPlaces(w.index, t, base, base+PieceBytes)
		stored, fits, size := 0, true, int64(0)
		for i, e := range inside {
			offset, _ := w.offsetOf(e)
			size = int64(e.Type().Size)
			fits = fits && (i == 0 || size == int64(inside[0].Type().Size)) && size >= 4 && e.Type().Kind != ir.Bool
			if x := w.fields[offset]; x != nil && x.store {
				stored++
			}
		}
		if !fits || int64(len(inside))*size != PieceBytes || 2*stored < len(inside) {
			continue
		}
		for _, e := range inside {
			offset, _ := w.offsetOf(e)
			x := w.fields[offset]
			if x == nil {
				x = w.field(e, offset)
			}
			x.load, x.store = x.load || !x.store, true
		}
	}
}

// scalarPlaces are the scalars of a value of type t at a place that have bytes in [lo, hi) of it.
func scalarPlaces(at ir.Expr, t *ir.Type, lo, hi int64) []ir.Expr {
	if lo, hi = max(lo, 0), min(hi, int64(t.Size)); lo >= hi {
		return nil
	}
	var out []ir.Expr
	switch t.Kind {
	case ir.Struct:
		for i, f := range t.Fields {
			out = append(out, scalarPlaces(&ir.Member{X: at, Field: i, At: at.Pos()}, f.Type, lo-int64(f.Offset), hi-int64(f.Offset))...)
		}
	case ir.Array:
		size := int64(t.Elem.Size)
		for i := lo / size; i*size < hi; i++ {
			out = append(out, scalarPlaces(&ir.Index{X: at, I: ir.IntConst(i, at.Pos()), At: at.Pos()}, t.Elem, lo-i*size, hi-i*size)...)
		}
	default:
		out = append(out, at)
	}
	return out
}

func (w *row) sorted() []*rowField {
	var out []*rowField
	for _, x := range w.fields {
		out = append(out, x)
	}
	slices.SortFunc(out, func(x, y *rowField) int { return cmp.Compare(x.offset, y.offset) })
	return out
}

// replaced is the list with variables for the fields.
func (w *row) replaced(list []ir.Stmt) []ir.Stmt {
	r := &ir.Rewrite{Expr: func(e ir.Expr) ir.Expr {
		if IsElement(e) && e.Type().IsScalar() {
			if offset, ok := w.offsetOf(e); ok {
				return &ir.Ref{Var: w.fields[offset].v, At: e.Pos()}
			}
		}
		return e
	}}
	return r.CopyStmts(list)
}

// PieceBytes is how much of an element code for lanes moves at once.
const PieceBytes = 16
