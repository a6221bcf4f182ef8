package cuda

import (
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

// declaredResults returns the call that n declarations at the start of list stand before and fill
// nothing else.
func (p callsPrinter) declaredResults(list []ir.Stmt) (n int, call *ir.Call) {
	declared := map[*ir.Var]bool{}
	for ; n < len(list); n++ {
		d, ok := list[n].(*ir.Decl)
		if !ok || d.Init != nil {
			break
		}
		declared[d.Var] = true
	}
	if n == 0 || n == len(list) {
		return 0, nil
	}
	c, ok := list[n].(*ir.Call)
	if !ok {
		return 0, nil
	}
	filled := 0
	for _, v := range c.Results {
		if v != nil && declared[v] {
			filled++
		}
	}
	if filled != len(declared) || usesAny(c.Args, declared) {
		return 0, nil
	}
	return n, c
}

// declaredOld returns the atomic that the declaration at the start of list stands before and that
// gives the variable its value.
func (p callsPrinter) declaredOld(list []ir.Stmt) *ir.Atomic {
	if len(list) < 2 {
		return nil
	}
	d, isDecl := list[0].(*ir.Decl)
	a, isAtomic := list[1].(*ir.Atomic)
	if !isDecl || !isAtomic || d.Init != nil || p.narrow[d.Var] || !ir.IsRef(a.Old, d.Var) {
		return nil
	}
	if v := ir.RootVar(a.Place); v != nil && v.Space == ir.Local {
		return nil
	}
	for _, e := range []ir.Expr{a.Place, a.Value, a.Compare} {
		if e != nil && ir.ExprVars(e).Has(d.Var) {
			return nil
		}
	}
	return a
}

func usesAny(list []ir.Expr, vars map[*ir.Var]bool) bool {
	for _, e := range list {
		for _, v := range ir.ExprVars(e).List() {
			if vars[v] {
				return true
			}
		}
	}
	return false
}

// callStmt prints a call; decls are the declarations of its results where the call makes them.
func (p callsPrinter) callStmt(s *ir.Call, decls []ir.Stmt) {
	made := map[*ir.Var]bool{}
	for _, d := range decls {
		made[d.(*ir.Decl).Var] = true
	}
	text := p.callText(s)
	switch {
	case !slices.ContainsFunc(s.Results, p.wanted):
		p.Printf(s.At, "%s;", text)
	case len(s.Results) == 1:
		p.Printf(s.At, "%s = %s;", p.result(s.Results[0], made), text)
	default:
		p.spread(s, text, made)
	}
}

// wanted reports whether something reads or keeps a result in v.
func (p callsPrinter) wanted(v *ir.Var) bool { return v != nil && p.occur.Has(v) }

// result prints the variable that takes a result, with its type where it is declared here.
func (p callsPrinter) result(v *ir.Var, made map[*ir.Var]bool) string {
	if made[v] {
		return p.declarator(v.Type, p.Declare(v))
	}
	return p.Of[v]
}

// spread assigns several results.
func (p callsPrinter) spread(s *ir.Call, text string, made map[*ir.Var]bool) {
	all := p.Fresh(s.Fn.Name + "_result")
	p.Printf(s.At, "const %s %s = %s;", p.results[s.Fn], all, text)
	for i, v := range s.Results {
		if p.wanted(v) {
			p.Printf(s.At, "%s = %s.r%d;", p.result(v, made), all, i)
		}
	}
}

func (p callsPrinter) callText(s *ir.Call) string {
	args := make([]string, len(s.Args))
	for i, a := range s.Args {
		args[i] = p.assigned(a, cprint.TypeOf(s.Fn.Params[i].Type))
	}
	name, ok := p.funcNames[s.Fn]
	if !ok {
		p.fail(s.At, "function %s is called and not in the program before its caller", s.Fn.Name)
	}
	if p.faulting[s.Fn] {
		p.fault = true
		args = append(args, "fault")
	}
	return name + "(" + strings.Join(args, ", ") + ")"
}
