package codegen

import "github.com/gompss/gompss/codegen/ir"

// A lane that loads where memory says waits three times for memory in a turn: for the bounds of its row, for an index, for what that
// names. With LowerOptions.Pairs it takes two turns at once, so that it waits as long for two: the loads of both stand in one
// piece of code without a branch, which takes an element that is there in the stead of one that is not. Where there is no
// second turn it runs the first again and drops what comes out of it.
//
// By the machine code for sm_90 of a sparse matrix times a vector (nvdisasm; 32 registers): without it a turn's element of the matrix is
// loaded behind the test of its index, and three of four turns behind each other; with it, and with code for one number of lanes,
// both indices are loaded together, and then both elements and both factors. What that gains on a GPU is not known yet.

// inPairs returns f, whose body no check leaves, in pairs of turns; f alone where its body is not a plain list. bad is set where a check fails.
func (t *team) inPairs(f *ir.For, bad *ir.Var) []ir.Stmt {
	if f.Rel != ir.Lt || !plain(f.Body, bad) {
		return []ir.Stmt{f}
	}
	at, narrow := f.At, f.Var.Type
	end, out := t.held("end", f.Hi, nil)
	second := t.copyOf([]ir.Stmt{f}, &t.kernel.NumVars)[0].(*ir.For)
	next, two, again := t.local("next", narrow, at), t.local("two", ir.BoolType, at), t.local(f.Var.Name, narrow, at)
	ahead := []ir.Stmt{decl(next, &ir.Binary{Op: ir.Add, X: ref(f.Var, at), Y: f.Step, T: narrow, At: at}, at),
		decl(two, compare(ir.Lt, ref(next, at), end, at), at),
		decl(again, choose(ref(two, at), ref(next, at), ref(f.Var, at), at), at)}
	pair := *f
	pair.Hi, pair.Unroll = end, 1
	pair.Step = &ir.Binary{Op: ir.Mul, X: f.Step, Y: &ir.Const{T: narrow, Bits: 2, At: at}, T: narrow, At: at}
	inside := ir.Declared(second.Body)
	body := paramsOf(map[*ir.Var]*ir.Var{second.Var: again}).CopyStmts(second.Body)
	pair.Body = ahead
	for i, s := range body { // side by side: then the loads of both are together
		pair.Body = append(append(pair.Body, f.Body[i]), t.onlyIf(two, s, inside)...)
	}
	return append(out, &pair)
}

// plain reports whether list only computes, and no statement but one uses what it hands on to the next turn, of which it does not matter
// then when that is computed. What bad says is added up by all.
func plain(list []ir.Stmt, bad *ir.Var) bool {
	own, handed := ir.Declared(list), map[*ir.Var]int{}
	for _, s := range list {
		switch s := s.(type) {
		case *ir.Decl:
		case *ir.Assign:
			if !isRef(s.Place) {
				return false
			}
			if v := s.Place.(*ir.Ref).Var; v != bad && !own.Has(v) {
				handed[v] = 0
			}
		default:
			return false
		}
	}
	for _, s := range list {
		for v := range handed {
			if mentions([]ir.Stmt{s}, v) {
				handed[v]++
			}
		}
	}
	for _, n := range handed {
		if n > 1 {
			return false
		}
	}
	return true
}

// onlyIf has s leave alone what it assigns to a variable that is not one of own, unless cond holds. The value is computed all the same, so
// that its loads need no branch.
func (l *lowering) onlyIf(cond *ir.Var, s ir.Stmt, own *ir.VarSet) []ir.Stmt {
	a, ok := s.(*ir.Assign)
	if !ok || own.Has(a.Place.(*ir.Ref).Var) {
		return []ir.Stmt{s}
	}
	v := a.Place.(*ir.Ref).Var
	value := l.local(v.Name+"Then", v.Type, a.At)
	return []ir.Stmt{decl(value, a.Value, a.At), assign(a.Place, choose(ref(cond, a.At), ref(value, a.At), ref(v, a.At), a.At), a.At)}
}
