package assigns

import (
	"go/ast"
	"go/token"

	"github.com/gompss/gompss/codegen/internal/frontend/exprs"
	"github.com/gompss/gompss/codegen/internal/frontend/scope"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

var assignOps = map[token.Token]ir.Op{token.ADD_ASSIGN: ir.Add, token.SUB_ASSIGN: ir.Sub, token.MUL_ASSIGN: ir.Mul,
	token.QUO_ASSIGN: ir.Div, token.REM_ASSIGN: ir.Rem, token.AND_ASSIGN: ir.And, token.OR_ASSIGN: ir.Or,
	token.XOR_ASSIGN: ir.Xor, token.SHL_ASSIGN: ir.Shl, token.SHR_ASSIGN: ir.Shr, token.AND_NOT_ASSIGN: ir.AndNot}

// Assign emits =, := and op=.
func (b *Assigner) Assign(s *ast.AssignStmt) {
	if op, ok := assignOps[s.Tok]; ok {
		b.update(op, s.Lhs[0], func(*ir.Type) ir.Expr {
			if op == ir.Shl || op == ir.Shr {
				return b.ShiftCount(s.Rhs[0])
			}
			return b.Expr(s.Rhs[0])
		}, s)
		return
	}
	if s.Tok == token.DEFINE && allIdents(s.Lhs) {
		ids := make([]*ast.Ident, len(s.Lhs))
		for i, e := range s.Lhs {
			ids[i], _ = e.(*ast.Ident)
		}
		b.Define(ids, s.Rhs)
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
func (b *Assigner) assignPlaces(s *ast.AssignStmt) {
	for _, e := range s.Lhs {
		if t := b.Program.Info.TypeOf(e); !IsBlank(e) && scope.IsFunction(t) {
			b.RefuseFunction(e)
			b.BadStmt(e.Pos())
			return
		}
	}
	places, list := b.withoutBlankFunctions(s.Lhs, s.Rhs)
	if len(places) == 0 {
		return
	}
	dests := make([]scope.Dest, len(places))
	wanted := make([]*ir.Type, len(places))
	for i, e := range places {
		if IsBlank(e) {
			continue
		}
		x := b.Expr(e)
		if scope.IsBad(x) || !ir.IsPlace(x) {
			b.Unknown(e.Pos())
			b.BadStmt(e.Pos())
			x = b.Bad(e)
		}
		dests[i].Place, wanted[i] = x, x.Type()
	}
	values := b.values(list, wanted)
	b.AssignAll(dests, values, b.Pos(s.Pos()))
}

// withoutBlankFunctions leaves out functions that are assigned to _, which does nothing.
func (b *Assigner) withoutBlankFunctions(places, list []ast.Expr) (rest, of []ast.Expr) {
	if len(places) != len(list) {
		return places, list
	}
	for i, e := range places {
		if id, ok := e.(*ast.Ident); !ok || !IsBlank(e) || !b.BindLiteral(id, list[i]) {
			rest, of = append(rest, e), append(of, list[i])
		}
	}
	return rest, of
}

func IsBlank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "_"
}

// values returns the values of a list of expressions, or of the one call that gives them all.
func (b *Assigner) values(list []ast.Expr, wanted []*ir.Type) []ir.Expr {
	if len(list) == 1 && len(wanted) > 1 {
		if call, ok := ast.Unparen(list[0]).(*ast.CallExpr); ok {
			return b.Call(call)
		}
		b.commaOK(list[0])
		return nil
	}
	out := make([]ir.Expr, len(list))
	for i, e := range list {
		if i < len(wanted) && wanted[i] != nil {
			out[i] = b.ExprAs(e, wanted[i])
			continue
		}
		out[i] = b.Expr(e)
	}
	return out
}

// commaOK reports v, ok = e: nothing in the dialect has this form.
func (b *Assigner) commaOK(e ast.Expr) {
	switch x := ast.Unparen(e).(type) {
	case *ast.IndexExpr:
		b.TypeOf(x.X)
	default:
		b.Expr(e)
	}
	b.Unknown(e.Pos())
}

// Define emits ids := list, of which some may be old variables, and var ids = list.
func (b *Assigner) Define(ids []*ast.Ident, list []ast.Expr) {
	if len(ids) == len(list) {
		ids, list = b.withoutFunctions(ids, list)
	}
	dests := make([]scope.Dest, len(ids))
	wanted := make([]*ir.Type, len(ids))
	for i, id := range ids {
		o := b.Program.Info.Defs[id]
		switch {
		case id.Name == "_":
			continue
		case o != nil:
			dests[i].Object = o
			if scope.IsFunction(o.Type()) {
				b.RefuseFunction(id)
				b.BadStmt(id.Pos())
				return
			}
			wanted[i], _ = b.Env.Types.Convert(o.Type())
		default:
			x := b.Expr(id)
			dests[i].Place, wanted[i] = x, x.Type()
		}
	}
	if len(ids) == 0 {
		return
	}
	before := len(b.Diags)
	values := b.values(list, wanted)
	if len(b.Diags) == before { // else the reason is reported where the value is
		for _, d := range dests {
			if d.Object != nil {
				b.TypeAt(d.Object.Type(), d.Object.Pos())
			}
		}
	}
	b.AssignAll(dests, values, b.Pos(ids[0].Pos()))
	if len(values) != len(dests) {
		b.declareAnyway(dests)
	}
}

// withoutFunctions binds the names of functions, and of pointers to structs that are split, and
// returns the names of values.
func (b *Assigner) withoutFunctions(ids []*ast.Ident, list []ast.Expr) (values []*ast.Ident, of []ast.Expr) {
	for i, id := range ids {
		if b.Program.Info.Defs[id] == nil && id.Name != "_" && scope.IsFunction(b.Program.Info.TypeOf(list[i])) {
			b.RefuseFunction(id)
			continue
		}
		if !b.BindLiteral(id, list[i]) && !b.BindPointer(id, list[i]) {
			values, of = append(values, id), append(of, list[i])
		}
	}
	return values, of
}

// declareAnyway gives new variables whose values are not known a meaning.
func (b *Assigner) declareAnyway(dests []scope.Dest) {
	for _, d := range dests {
		if d.Object != nil && b.Find(d.Object) == nil {
			t, _ := b.Env.Types.Convert(d.Object.Type())
			b.Variable(d.Object, t, ir.Local)
		}
	}
}

// AssignAll emits the assignment of all values as Go does it: the operands of the places and the
// values first, then the assignments from left to right.
func (b *Assigner) AssignAll(dests []scope.Dest, values []ir.Expr, at ir.Pos) {
	if len(dests) != len(values) {
		b.UnknownAt(at)
		b.Keep(values...)
		for _, d := range dests {
			if d.Place != nil {
				b.Emit(&ir.Assign{Place: d.Place, Value: query.BadValue(d.Place.Type(), at), At: at})
			}
		}
		return
	}
	if b.Meddles(dests, values) {
		for i := range dests {
			dests[i].Place = b.Frozen(dests[i].Place)
			if !b.Fixed(values[i]) {
				values[i] = b.Temp("value", values[i], values[i].Pos())
			}
		}
	}
	for i, d := range dests {
		b.assignOne(d, values[i], at)
	}
}

func (b *Assigner) assignOne(d scope.Dest, value ir.Expr, at ir.Pos) {
	switch {
	case d.Object != nil:
		t, _ := b.Env.Types.Convert(d.Object.Type())
		if !b.Adopt(d.Object, value) {
			v := b.Variable(d.Object, t, ir.Local)
			b.Emit(&ir.Decl{Var: v, Init: value, At: v.At})
		}
	case d.Place != nil:
		if !b.decides(d.Place, value, at) {
			b.store(d.Place, value, at)
		}
	case scope.MayFail(value):
		b.Emit(&ir.Decl{Var: b.NewVar("_", value.Type(), ir.Local, at), Init: value, At: at})
	}
}

// store emits place = value. A complex number that is no element of memory gets its parts one by
// one, as a reduction sums them.
func (b *Assigner) store(place, value ir.Expr, at ir.Pos) {
	z, ok := value.(*ir.Composite)
	if !ok || !place.Type().Complex || !query.IsNamed(place) {
		b.Emit(&ir.Assign{Place: place, Value: value, At: at})
		return
	}
	parts := z.Elems
	if !b.growsByPart(place, z.Elems[1]) {
		parts[0], parts[1] = b.Parts(value)
	}
	for i, x := range parts {
		b.Emit(&ir.Assign{Place: &ir.Member{X: build.Copy(place), Field: i, At: at}, Value: x, At: at})
	}
}

// growsByPart reports whether im is the imaginary part of place, and something added to it or
// taken from it that does not depend on the real part.
func (b *Assigner) growsByPart(place, im ir.Expr) bool {
	sum, ok := im.(*ir.Binary)
	if !ok || sum.Op != ir.Add && sum.Op != ir.Sub {
		return false
	}
	own, other := sum.X, sum.Y
	if sum.Op == ir.Add && query.Same(other, &ir.Member{X: place, Field: 1}) {
		own, other = other, own
	}
	if !query.Same(own, &ir.Member{X: place, Field: 1}) {
		return false
	}
	switch y := other.(type) {
	case *ir.Const:
		return true
	case *ir.Ref:
		return b.Temps[y.Var]
	case *ir.Member:
		return y.Field == 1
	}
	return false
}

// update emits place = place op value.
func (b *Assigner) update(op ir.Op, lhs ast.Expr, value func(*ir.Type) ir.Expr, s ast.Stmt) {
	at := b.Pos(s.Pos())
	place := b.Expr(lhs)
	v := value(place.Type())
	t := place.Type()
	if z := b.Complex(op, build.Copy(place), v, at); z != nil && ir.IsPlace(place) {
		b.store(place, z, at)
		return
	}
	if scope.IsBad(place, v) || !ir.IsPlace(place) || !t.IsScalar() || !exprs.Takes(op, t) {
		b.TypeOf(lhs)
		b.Unknown(lhs.Pos())
		b.badUpdate(place, v, at)
		return
	}
	var result ir.Expr
	switch {
	case op == ir.Shl || op == ir.Shr:
		result = b.Shift(op, build.Copy(place), v, lhs)
	case !ir.Same(t, v.Type()):
		b.Unknown(lhs.Pos())
		b.badUpdate(place, v, at)
		return
	default:
		result = b.Arithmetic(op, build.Copy(place), v, at)
	}
	b.Emit(&ir.Assign{Place: place, Value: result, At: at})
}

// badUpdate emits the rest of an update that could not be built: that place is read and written.
func (b *Assigner) badUpdate(place, value ir.Expr, at ir.Pos) {
	b.Keep(value)
	if scope.IsBad(place) || !ir.IsPlace(place) {
		b.Emit(query.BadStmt(at))
		return
	}
	b.Keep(build.Copy(place))
	b.Emit(&ir.Assign{Place: place, Value: query.BadValue(place.Type(), at), At: at})
}

func (b *Assigner) IncDec(s *ast.IncDecStmt) {
	op := ir.Add
	if s.Tok == token.DEC {
		op = ir.Sub
	}
	b.update(op, s.X, func(t *ir.Type) ir.Expr { return OneOf(t, b.Pos(s.Pos())) }, s)
}

// OneOf returns the constant 1 of a numeric type.
func OneOf(t *ir.Type, at ir.Pos) ir.Expr {
	bits := uint64(1)
	if t.Complex {
		part := t.Fields[0].Type
		return &ir.Composite{T: t, Elems: []ir.Expr{OneOf(part, at), &ir.Const{T: part, At: at}}, At: at}
	}
	if t.IsFloat() {
		bits = ir.FoldConvert(t, ir.IntType, 1)
	}
	return &ir.Const{T: t, Bits: bits, At: at}
}
