package nested

import (
	"errors"
	"fmt"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/mapping"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/target"
)

// sampledTurn shifts the samples of a loop within their parts, so that rows that are long in a
// pattern of powers of two are not sampled with it; see siftedTurn.
const sampledTurn = siftedTurn

// Count replaces the kernel by one that changes none of its arguments and counts, by the classes of
// target.Lengths, how long the first nested loop is in target.LengthSamples iterations of the loop
// of the league around it, spread evenly. Iterations that do not come to it are not counted.
//
// Errors: where the code in front of the nested loop changes memory or the loop around it is not
// the only one.
func Count(l *mapping.Work) error {
	chooseNested(l)
	before, conds, f, err := outermost(l.Kernel.Body)
	if err != nil {
		return err
	}
	x := &deferral{deferrals: &deferrals{Work: l}, f: f}
	if !x.find(f.Body, nil) || x.g.Directive.Nested.Kind != ir.NestedAuto {
		return errors.New("it has no nested loop whose strategy is chosen")
	}
	c := &lengthCount{Work: l, f: f, g: x.g, own: ir.Declared(f.Body)}
	for _, list := range [][]*ir.Var{f.Directive.Private, f.Directive.Firstprivate} {
		for _, v := range list {
			c.own.Add(v)
		}
	}
	if c.own.Add(f.Var); len(ir.AddressTaken(f.Body).List()) > 0 {
		return errors.New("the address of a variable is taken in the loop around it")
	}
	c.lengths = l.Local(target.LengthsName, ir.ArrayOf(ir.Int32Type, target.LengthClasses), f.At)
	body, err := c.ahead(f.Body)
	if err != nil {
		return err
	}
	counts := c.samples(body)
	for _, e := range conds {
		counts = &ir.If{Cond: e, Then: []ir.Stmt{counts}, At: f.At}
	}
	l.Kernel.Body = append(before, build.Decl(c.lengths, nil, f.At), counts)
	return nil
}

// outermost returns the parallel loop of the kernel, the declarations before it and the conditions
// under which it runs, as where slices do not overlap.
func outermost(list []ir.Stmt) (before []ir.Stmt, conds []ir.Expr, f *ir.For, err error) {
	for _, s := range forms.Flat(list) {
		switch s := s.(type) {
		case *ir.Decl:
			before = append(before, s)
		case *ir.For:
			if !forms.ForThreads(s) || s.Directive.Parts&ir.Distribute == 0 || s.Directive.Collapse > 1 || len(s.Directive.DistArrays) > 0 {
				return nil, nil, nil, fmt.Errorf("loop %s is not the loop of a league", s.Var.Name)
			}
			return before, conds, s, nil
		case *ir.If:
			inside, inner, f, err := outermost(s.Then)
			return append(before, inside...), append(inner, s.Cond), f, err
		default:
			return nil, nil, nil, fmt.Errorf("%v stands before the loop of the league", s.Pos())
		}
	}
	return nil, nil, nil, errors.New("it has no loop of the league")
}

// A lengthCount counts the lengths of nested loop g of f.
type lengthCount struct {
	*mapping.Work
	f, g    *ir.For
	own     *ir.VarSet // variables of an iteration
	lengths *ir.Var
}

// ahead is what list, a part of an iteration with the nested loop in it, does up to that loop, and
// then counts.
func (c *lengthCount) ahead(list []ir.Stmt) (out []ir.Stmt, err error) {
	for _, s := range forms.Flat(list) {
		switch s := s.(type) {
		case *ir.For:
			if s == c.g {
				return append(out, c.count()...), nil
			}
		case *ir.If:
			then, other := c.within(s.Then), c.within(s.Else)
			if !then && !other {
				break
			}
			branch := &ir.If{Cond: s.Cond, At: s.At}
			if then {
				branch.Then, err = c.ahead(s.Then)
			} else {
				branch.Else, err = c.ahead(s.Else)
			}
			return append(out, branch), err
		case *ir.Block:
			if c.within(s.Body) {
				inside, err := c.ahead(s.Body)
				return append(out, &ir.Block{Label: s.Label, Body: inside, At: s.At}), err
			}
		}
		e := &analysis.Effects{Shared: func(v *ir.Var) bool { return !c.own.Has(v) }}
		if t := e.Stmts([]ir.Stmt{s}); !t.Writes.Empty() || t.Atomics || t.Calls {
			return nil, fmt.Errorf("%v changes memory before it", s.Pos())
		}
		out = append(out, s)
	}
	return nil, errors.New("it is in a loop that is not parallel")
}

// within reports whether the nested loop is in list.
func (c *lengthCount) within(list []ir.Stmt) bool {
	found := false
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		f, ok := s.(*ir.For)
		found = found || ok && f == c.g
		return !found
	})
	return found
}

// count adds one to the class of the length of the nested loop.
func (c *lengthCount) count() []ir.Stmt {
	at := c.g.At
	trips, class := c.Local("trips", ir.IntType, at), c.Local("class", ir.IntType, at)
	n := build.Int(0, at)
	for _, least := range target.LengthBounds {
		longer := build.Compare(ir.Ge, build.Ref(trips, at), build.Int(least, at), at)
		n = build.Binary(ir.Add, n, build.Choose(longer, build.Int(1, at), build.Int(0, at), at), at)
	}
	length := build.Trips(c.g, build.ToInt(build.Copy(c.g.Lo)), build.ToInt(build.Copy(c.g.Hi)), build.ToInt(build.Copy(c.g.Step)))
	place := build.Index(build.Ref(c.lengths, at), build.Ref(class, at), at)
	return []ir.Stmt{build.Decl(trips, length, at), build.Decl(class, n, at),
		&ir.Atomic{Kind: ir.AtomicUpdate, Op: ir.Add, Place: place, Value: &ir.Const{T: ir.Int32Type, Bits: 1, At: at}, At: at}}
}

// samples is the loop over the samples, of which each runs body.
func (c *lengthCount) samples(body []ir.Stmt) ir.Stmt {
	at, f := c.f.At, c.f
	k, part, number := c.Local("sample", ir.IntType, at), c.Local("part", ir.IntType, at), c.Local("number", ir.IntType, at)
	trips := func() ir.Expr {
		return build.Trips(f, build.ToInt(build.Copy(f.Lo)), build.ToInt(build.Copy(f.Hi)), build.ToInt(build.Copy(f.Step)))
	}
	binary := func(op ir.Op, x, y ir.Expr) ir.Expr { return &ir.Binary{Op: op, X: x, Y: y, T: ir.IntType, At: at} }
	most := func() ir.Expr { return build.IntMath(ir.IMin, trips(), build.Int(target.LengthSamples, at)) }
	shift := binary(ir.Rem, binary(ir.Mul, build.Ref(k, at), build.Int(sampledTurn, at)), build.Ref(part, at))
	first := []ir.Stmt{
		build.Decl(part, build.IntMath(ir.IMax, binary(ir.Div, trips(), build.IntMath(ir.IMax, most(), build.Int(1, at))), build.Int(1, at)), at),
		build.Decl(number, build.Binary(ir.Add, binary(ir.Mul, build.Ref(k, at), build.Ref(part, at)), shift, at), at),
		build.Decl(f.Var, build.Convert(f.Var.Type, build.Binary(ir.Add, build.ToInt(build.Copy(f.Lo)), build.Binary(ir.Mul, build.Ref(number, at), build.ToInt(build.Copy(f.Step)), at), at), at), at),
	}
	d := &ir.Directive{Parts: ir.Teams | ir.Distribute | ir.Parallel | ir.Workshare, Text: f.Directive.Text, At: f.Directive.At,
		Sharing: ir.Sharing{Private: f.Directive.Private, Firstprivate: f.Directive.Firstprivate, Shared: f.Directive.Shared}}
	return &ir.For{Label: f.Label, Var: k, Lo: build.Int(0, at), Hi: most(), Step: build.Int(1, at), Rel: ir.Lt, Body: append(first, body...), Directive: d, At: at}
}
