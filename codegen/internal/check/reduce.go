package check

import (
	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// reductions checks, for every construct of list with a reduction, that its body uses the reduction
// variable only in the permitted forms.
func (c *Check) reductions(list []ir.Stmt) {
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		d := ir.DirectiveOf(s)
		if d == nil {
			return true
		}
		if f, ok := s.(*ir.For); ok && d.Scan != nil {
			c.diags = append(c.diags, analysis.ScanFaults(f)...)
		}
		if c.oneElement(d) {
			return true
		}
		for _, r := range d.Reductions {
			check := &reductionCheck{Check: c, ReductionUse: analysis.ReductionUse{Reduction: r, Var: query.PlaceVar(r.Place)}}
			if r.Index != nil {
				check.Index = query.PlaceVar(r.Index)
			}
			if !check.fixedPlace(s, d) {
				continue
			}
			if f, ok := s.(*ir.For); ok && d.Scan != nil {
				check.phases(f)
				continue
			}
			ir.Lists(s, check.stmts)
			if d.Parts&ir.Parallel != 0 {
				ir.Lists(s, check.again)
			}
			if f, ok := s.(*ir.For); ok && check.Index != nil {
				check.downwards(f)
			}
		}
		return true
	})
}

// oneElement reports reductions of d over differently written places that may be the same element.
func (c *Check) oneElement(d *ir.Directive) (found bool) {
	for i, r := range d.Reductions {
		for _, other := range d.Reductions[:i] {
			if v := query.PlaceVar(r.Place); v != nil && v == query.PlaceVar(other.Place) && !query.Same(r.Place, other.Place) && !query.Disjoint(r.Place, other.Place) {
				c.fail(r.At, "reduction("+r.Op.String()+") of "+query.Source(r.Place), "it may be the same element as "+query.Source(other.Place)+", which the clause at "+
					other.At.String()+" combines", "reduce a variable, and assign it to the element behind the construct")
				found = true
				break
			}
		}
	}
	return found
}

// again reports a worksharing loop with a reduction over a variable of which each of its threads
// already has a copy.
func (c *reductionCheck) again(list []ir.Stmt) {
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		d := ir.DirectiveOf(s)
		if d == nil || d.Parts&ir.Parallel != 0 {
			return d == nil
		}
		if d.Parts&ir.Workshare == 0 && !(d.Parts == ir.Loop && d.Bind == ir.BindParallel) {
			return true
		}
		for _, r := range d.Reductions {
			if query.PlaceVar(r.Place) == c.Var && !query.Disjoint(r.Place, c.Reduction.Place) {
				c.fail(r.At, "reduction("+r.Op.String()+") of "+query.Source(r.Place), "each thread has a copy of its own by the reduction at "+c.Reduction.At.String()+
					", and every one of them would get what all combine here", "leave one of the two clauses out")
			}
		}
		return true
	})
}

// downwards warns if the Go function selects the largest index among equal values.
func (c *reductionCheck) downwards(f *ir.For) {
	for n := max(f.Directive.Collapse, 1); n > 0 && f != nil; n-- {
		if step, ok := query.Int64(f.Step); ok && step < 0 {
			c.warn(c.Reduction.At, "reduction("+c.Reduction.Op.String()+") of "+query.Source(c.Reduction.Place), "it keeps the smallest index among equals, and the loop over "+f.Var.Name+
				" counts down, so that the Go function keeps the largest", "count up")
			return
		}
		f = query.OnlyLoop(f.Body)
	}
}

// Absorb rewrites s = true in the body of a construct with reduction || over s as s = s || true,
// and s = false for && likewise, so that every target recognises an update.
func Absorb(list []ir.Stmt) {
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		d := ir.DirectiveOf(s)
		if d == nil {
			return true
		}
		for _, r := range d.Reductions {
			if r.Op == ir.LOr || r.Op == ir.LAnd {
				ir.Lists(s, func(body []ir.Stmt) { absorbInto(r, body) })
			}
		}
		return true
	})
}

func absorbInto(r ir.Reduction, body []ir.Stmt) {
	decides := uint64(0)
	if r.Op == ir.LOr {
		decides = 1
	}
	ir.WalkStmts(body, func(s ir.Stmt) bool {
		a, ok := s.(*ir.Assign)
		if !ok || query.BaseVar(a.Place) == nil || query.BaseVar(a.Place) != query.BaseVar(r.Place) || query.Disjoint(a.Place, r.Place) {
			return true
		}
		if c, ok := a.Value.(*ir.Const); ok && c.T.Kind == ir.Bool && c.Bits == decides {
			a.Value = &ir.Binary{Op: r.Op, X: build.Copy(a.Place), Y: c, T: c.T, At: a.At}
		}
		return true
	})
}

// A reductionCheck checks the uses of one reduction variable in the body of its construct.
type reductionCheck struct {
	*Check
	analysis.ReductionUse
	said ir.Pos // the line of the last reported other use
}

func (c *reductionCheck) stmts(list []ir.Stmt) {
	for _, s := range list {
		if c.otherwise(s) {
			continue
		}
		if !c.Updates(s) {
			c.uses(s)
			ir.Lists(s, c.stmts)
		}
	}
}

// otherwise reports an update under a comparison that has an else branch. Whether the branch runs
// depends on the values that earlier iterations left in the variable.
func (c *reductionCheck) otherwise(s ir.Stmt) bool {
	test, ok := s.(*ir.If)
	if !ok || len(test.Else) == 0 {
		return false
	}
	alone := *test
	if alone.Else = nil; !c.Updates(&alone) || c.Reduction.Op == ir.LAnd || c.Reduction.Op == ir.LOr {
		return false
	}
	name := query.Source(c.Reduction.Place)
	c.fail(test.Else[0].Pos(), "reduction("+c.Reduction.Op.String()+") of "+name, "whether the else branch runs depends on "+name+
		" and so on the order of the iterations", "write two if statements, one after the other")
	return true
}

// fixedPlace checks that the place of the reduction is the same throughout construct s.
func (c *reductionCheck) fixedPlace(s ir.Stmt, d *ir.Directive) bool {
	places := []ir.Expr{c.Reduction.Place}
	if c.Reduction.Index != nil {
		places = append(places, c.Reduction.Index)
	}
	changed := ir.Assigned([]ir.Stmt{s})
	for _, v := range d.Private {
		changed.Add(v)
	}
	for _, place := range places {
		var moved *ir.Var
		query.OperandsOf(place, func(e ir.Expr) {
			for _, v := range ir.ExprVars(e).List() {
				if changed.Has(v) {
					moved = v
				}
			}
		})
		if moved != nil {
			c.fail(c.Reduction.At, "reduction("+c.Reduction.Op.String()+") of "+query.Source(place), "which place it is changes here, with "+moved.Name,
				"reduce a variable, and assign it to the place behind the construct")
			return false
		}
	}
	return true
}

// uses reports other uses of the variable directly in s. Clauses of inner directives do not count.
func (c *reductionCheck) uses(s ir.Stmt) {
	if call, ok := s.(*ir.Call); ok {
		for _, v := range call.Results {
			if v != nil && (v == c.Var || v == c.Index) {
				c.misuse(v, call.At)
			}
		}
	}
	if con, ok := s.(*ir.Construct); ok && con != nil {
		return
	}
	for _, e := range query.DirectExprs(s) {
		c.References(e, func(ref *ir.Ref) { c.misuse(ref.Var, ref.At) })
	}
}

func (c *reductionCheck) misuse(v *ir.Var, at ir.Pos) {
	line := ir.Pos{File: at.File, Line: at.Line}
	if line == c.said {
		return // one error for each statement
	}
	c.said = line
	op := c.Reduction.Op.String()
	place := c.Reduction.Place
	if m, ok := place.(*ir.Member); ok && m.X.Type().Complex {
		place = m.X // a complex variable, of which the compiler adds the parts
	}
	name := query.Source(place)
	instead := name + " = " + op + "(" + name + ", e)"
	switch c.Reduction.Op {
	case ir.Add, ir.Mul, ir.And, ir.Or, ir.Xor:
		instead = name + " " + op + "= e"
	case ir.LAnd, ir.LOr:
		instead = name + " = " + name + " " + op + " e"
	case ir.MinLoc:
		instead = "if e < " + name + " { " + name + " = e; " + c.Index.Name + " = i }"
	case ir.MaxLoc:
		instead = "if e > " + name + " { " + name + " = e; " + c.Index.Name + " = i }"
	}
	c.fail(at, "reduction("+op+") of "+name, v.Name+" is combined at "+c.Reduction.At.String()+" and may only be updated by its operator here",
		"write "+instead)
}
