package frontend

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A dest is where a value goes: a new variable, a place, or nowhere.
type dest struct {
	object types.Object // of a new variable
	place  ir.Expr
}

var assignOps = map[token.Token]ir.Op{token.ADD_ASSIGN: ir.Add, token.SUB_ASSIGN: ir.Sub, token.MUL_ASSIGN: ir.Mul,
	token.QUO_ASSIGN: ir.Div, token.REM_ASSIGN: ir.Rem, token.AND_ASSIGN: ir.And, token.OR_ASSIGN: ir.Or,
	token.XOR_ASSIGN: ir.Xor, token.SHL_ASSIGN: ir.Shl, token.SHR_ASSIGN: ir.Shr, token.AND_NOT_ASSIGN: ir.AndNot}

// assign emits =, := and op=.
func (b *builder) assign(s *ast.AssignStmt) {
	if op, ok := assignOps[s.Tok]; ok {
		b.update(op, s.Lhs[0], func(*ir.Type) ir.Expr {
			if op == ir.Shl || op == ir.Shr {
				return b.shiftCount(s.Rhs[0])
			}
			return b.expr(s.Rhs[0])
		}, s)
		return
	}
	if s.Tok == token.DEFINE && allIdents(s.Lhs) {
		ids := make([]*ast.Ident, len(s.Lhs))
		for i, e := range s.Lhs {
			ids[i], _ = e.(*ast.Ident)
		}
		b.define(ids, s.Rhs)
		return
	}
	b.assignPlaces(s)
}

func allIdents(list []ast.Expr) bool {
	for _, e := range list {
		if _, ok := e.(*ast.Ident); !ok {
			return false
		}
	}
	return true
}

// assignPlaces emits places = values.
func (b *builder) assignPlaces(s *ast.AssignStmt) {
	for _, e := range s.Lhs {
		if t := b.u.p.Info.TypeOf(e); !isBlank(e) && isFunction(t) {
			b.refuseFunction(e)
			b.hole(e.Pos())
			return
		}
	}
	dests := make([]dest, len(s.Lhs))
	wanted := make([]*ir.Type, len(s.Lhs))
	for i, e := range s.Lhs {
		if isBlank(e) {
			continue
		}
		x := b.expr(e)
		if isBad(x) || !ir.IsPlace(x) {
			b.unknown(e.Pos())
			b.hole(e.Pos())
			x = b.bad(e)
		}
		dests[i].place, wanted[i] = x, x.Type()
	}
	values := b.values(s.Rhs, wanted)
	b.assignAll(dests, values, b.pos(s.Pos()))
}

func isBlank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "_"
}

// values returns the values of a list of expressions, or of the one call that gives them all.
func (b *builder) values(list []ast.Expr, wanted []*ir.Type) []ir.Expr {
	if len(list) == 1 && len(wanted) > 1 {
		if call, ok := ast.Unparen(list[0]).(*ast.CallExpr); ok {
			return b.call(call)
		}
		b.commaOK(list[0])
		return nil
	}
	out := make([]ir.Expr, len(list))
	for i, e := range list {
		if i < len(wanted) && wanted[i] != nil {
			out[i] = b.exprAs(e, wanted[i])
			continue
		}
		out[i] = b.expr(e)
	}
	return out
}

// commaOK reports v, ok = e: nothing in the dialect has this form.
func (b *builder) commaOK(e ast.Expr) {
	switch x := ast.Unparen(e).(type) {
	case *ast.IndexExpr:
		b.typeOf(x.X)
	default:
		b.expr(e)
	}
	b.unknown(e.Pos())
}

// define emits ids := list, of which some may be old variables, and var ids = list.
func (b *builder) define(ids []*ast.Ident, list []ast.Expr) {
	if len(ids) == len(list) {
		ids, list = b.withoutFunctions(ids, list)
	}
	dests := make([]dest, len(ids))
	wanted := make([]*ir.Type, len(ids))
	for i, id := range ids {
		o := b.u.p.Info.Defs[id]
		switch {
		case id.Name == "_":
			continue
		case o != nil:
			dests[i].object = o
			if isFunction(o.Type()) {
				b.refuseFunction(id)
				b.hole(id.Pos())
				return
			}
			wanted[i], _ = b.env.types.Convert(o.Type())
		default:
			x := b.expr(id)
			dests[i].place, wanted[i] = x, x.Type()
		}
	}
	if len(ids) == 0 {
		return
	}
	before := len(b.u.diags)
	values := b.values(list, wanted)
	if len(b.u.diags) == before { // else the reason is reported where the value is
		for _, d := range dests {
			if d.object != nil {
				b.typeAt(d.object.Type(), d.object.Pos())
			}
		}
	}
	b.assignAll(dests, values, b.pos(ids[0].Pos()))
	if len(values) != len(dests) {
		b.declareAnyway(dests)
	}
}

// withoutFunctions binds the names of functions, and of pointers to structs that are split, and
// returns the names of values.
func (b *builder) withoutFunctions(ids []*ast.Ident, list []ast.Expr) (values []*ast.Ident, of []ast.Expr) {
	for i, id := range ids {
		if b.u.p.Info.Defs[id] == nil && id.Name != "_" && isFunction(b.u.p.Info.TypeOf(list[i])) {
			b.refuseFunction(id)
			continue
		}
		if !b.bindLiteral(id, list[i]) && !b.bindPointer(id, list[i]) {
			values, of = append(values, id), append(of, list[i])
		}
	}
	return values, of
}

// declareAnyway gives new variables whose values are not known a meaning.
func (b *builder) declareAnyway(dests []dest) {
	for _, d := range dests {
		if d.object != nil && b.find(d.object) == nil {
			t, _ := b.env.types.Convert(d.object.Type())
			b.variable(d.object, t, ir.Local)
		}
	}
}

// assignAll emits the assignment of all values as Go does it: the operands of the places and the
// values first, then the assignments from left to right.
func (b *builder) assignAll(dests []dest, values []ir.Expr, at ir.Pos) {
	if len(dests) != len(values) {
		b.unknownAt(at)
		b.keep(values...)
		for _, d := range dests {
			if d.place != nil {
				b.emit(&ir.Assign{Place: d.place, Value: query.BadValue(d.place.Type(), at), At: at})
			}
		}
		return
	}
	if b.meddles(dests, values) {
		for i := range dests {
			dests[i].place = b.frozen(dests[i].place)
			if !b.fixed(values[i]) {
				values[i] = b.temp("value", values[i], values[i].Pos())
			}
		}
	}
	for i, d := range dests {
		b.assignOne(d, values[i], at)
	}
}

func (b *builder) assignOne(d dest, value ir.Expr, at ir.Pos) {
	switch {
	case d.object != nil:
		t, _ := b.env.types.Convert(d.object.Type())
		if !b.adopt(d.object, value) {
			v := b.variable(d.object, t, ir.Local)
			b.emit(&ir.Decl{Var: v, Init: value, At: v.At})
		}
	case d.place != nil:
		b.emit(&ir.Assign{Place: d.place, Value: value, At: at})
	case mayFail(value):
		b.emit(&ir.Decl{Var: b.newVar("_", value.Type(), ir.Local, at), Init: value, At: at})
	}
}

// mayFail reports whether e has a checked operation in it.
func mayFail(e ir.Expr) bool {
	found := false
	ir.WalkExpr(e, func(x ir.Expr) bool {
		switch x := x.(type) {
		case *ir.Index:
			found = found || x.Checked
		case *ir.Reslice:
			found = found || x.Checked
		case *ir.Binary:
			found = found || x.Checked
		case *ir.Deref:
			found = found || x.Checked
		}
		return !found
	})
	return found
}

// meddles reports whether assigning one by one, from left to right, could change a value or place
// further right.
func (b *builder) meddles(dests []dest, values []ir.Expr) bool {
	for i, d := range dests {
		if d.place == nil {
			continue
		}
		for j := i + 1; j < len(dests); j++ {
			if b.touches(d.place, values[j]) || dests[j].place != nil && b.touchesOperands(d.place, dests[j].place) {
				return true
			}
		}
	}
	return false
}

// touches reports whether an assignment to place may change the value of e.
func (b *builder) touches(place, e ir.Expr) bool {
	root := ir.RootVar(place)
	if root == nil {
		return loadsMemory(e) || b.readsTaken(e)
	}
	return ir.ExprVars(e).Has(root) || b.u.taken[root] && loadsMemory(e)
}

// touchesOperands reports whether an assignment to place may change which place other is.
func (b *builder) touchesOperands(place, other ir.Expr) bool {
	switch o := other.(type) {
	case *ir.Member:
		return b.touchesOperands(place, o.X)
	case *ir.Deref:
		return b.touches(place, o.X)
	case *ir.Index:
		if o.X.Type().Kind == ir.Array {
			return b.touches(place, o.I) || b.touchesOperands(place, o.X)
		}
		return b.touches(place, o.I) || b.touches(place, o.X)
	}
	return false
}

// readsTaken reports whether e reads a variable that a pointer may point at.
func (b *builder) readsTaken(e ir.Expr) bool {
	for _, v := range ir.ExprVars(e).List() {
		if b.u.taken[v] {
			return true
		}
	}
	return false
}

// loadsMemory reports whether e reads what slices or pointers refer to.
func loadsMemory(e ir.Expr) bool {
	found := false
	ir.WalkExpr(e, func(x ir.Expr) bool {
		switch x := x.(type) {
		case *ir.Deref:
			found = true
		case *ir.Index:
			found = found || x.X.Type().Kind == ir.Slice
		}
		return !found
	})
	return found
}

// fixed reports whether e is a constant, a variable that never changes, or a leaf of one.
func (b *builder) fixed(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.Member:
		return ir.IsSplit(e.X.Type()) && b.fixed(e.X)
	case *ir.Const:
		return true
	case *ir.Ref:
		return b.u.fixed[e.Var]
	}
	return false
}

// frozen returns a place whose operands are evaluated now.
func (b *builder) frozen(place ir.Expr) ir.Expr {
	hold := func(e ir.Expr) ir.Expr {
		if b.fixed(e) {
			return e
		}
		name := "operand"
		if ref, ok := e.(*ir.Ref); ok {
			name = ref.Var.Name // messages show it
		}
		return b.temp(name, e, e.Pos())
	}
	switch p := place.(type) {
	case *ir.Member:
		return &ir.Member{X: b.frozen(p.X), Field: p.Field, At: p.At}
	case *ir.Deref:
		return &ir.Deref{X: hold(p.X), Checked: p.Checked, At: p.At}
	case *ir.Index:
		x := p.X
		if x.Type().Kind == ir.Array {
			x = b.frozen(x)
		} else {
			x = hold(x)
		}
		return &ir.Index{X: x, I: hold(p.I), Checked: p.Checked, At: p.At}
	}
	return place
}

// update emits place = place op value.
func (b *builder) update(op ir.Op, lhs ast.Expr, value func(*ir.Type) ir.Expr, s ast.Stmt) {
	at := b.pos(s.Pos())
	place := b.expr(lhs)
	v := value(place.Type())
	t := place.Type()
	if isBad(place, v) || !ir.IsPlace(place) || !t.IsScalar() || !takes(op, t) {
		b.typeOf(lhs)
		b.unknown(lhs.Pos())
		b.badUpdate(place, v, at)
		return
	}
	var result ir.Expr
	switch {
	case op == ir.Shl || op == ir.Shr:
		result = b.shift(op, build.Copy(place), v, lhs)
	case !ir.Same(t, v.Type()):
		b.unknown(lhs.Pos())
		b.badUpdate(place, v, at)
		return
	default:
		result = b.arithmetic(op, build.Copy(place), v, at)
	}
	b.emit(&ir.Assign{Place: place, Value: result, At: at})
}

// badUpdate emits what is left of an update that could not be built: that place is read and
// written.
func (b *builder) badUpdate(place, value ir.Expr, at ir.Pos) {
	b.keep(value)
	if isBad(place) || !ir.IsPlace(place) {
		b.emit(query.HoleAt(at))
		return
	}
	b.keep(build.Copy(place))
	b.emit(&ir.Assign{Place: place, Value: query.BadValue(place.Type(), at), At: at})
}

func (b *builder) incDec(s *ast.IncDecStmt) {
	op := ir.Add
	if s.Tok == token.DEC {
		op = ir.Sub
	}
	b.update(op, s.X, func(t *ir.Type) ir.Expr { return oneOf(t, b.pos(s.Pos())) }, s)
}

// oneOf returns the constant 1 of a numeric type.
func oneOf(t *ir.Type, at ir.Pos) ir.Expr {
	bits := uint64(1)
	if t.IsFloat() {
		bits = ir.FoldConvert(t, ir.IntType, 1)
	}
	return &ir.Const{T: t, Bits: bits, At: at}
}
