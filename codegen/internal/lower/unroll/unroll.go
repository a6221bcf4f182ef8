// Package unroll decides how many iterations of an ordinary loop a thread runs in a row, by what an
// iteration costs.
package unroll

import (
	"fmt"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/internal/integers"
	"github.com/gompss/gompss/codegen/internal/mapping"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
	"github.com/gompss/gompss/codegen/target"
)

// Ordinary loops in the code of a thread are unrolled by what an iteration costs: short ones of a
// known length wholly, others a few times, as long as the code stays small and what the iterations
// hold at once stays in registers. The back end writes the iterations out; here is only how many.
// Source: Ozen and Wolfe, Performant Portable OpenMP, 2022, section 5; Lee, Min and Eigenmann,
// OpenMP to GPGPU, 2009, section 4.1.

const (
	unrollWhole     = 16 // iterations of a loop that is unrolled wholly
	unrollTurns     = 4  // most iterations of a turn where the length is not known: the rest runs one by one
	unrollKnown     = 8  // and where it is known, and a multiple
	unrollCost      = 64 // operations that the unrolled body may have
	unrollRegisters = 48 // 32-bit values that the iterations of a turn may hold at once
	unrollFlight    = 16 // iterations of a turn that waits for memory: as many loads are on their way
	unrollFlightOps = 256
)

// Later marks a loop of a thread until all that moves loops about is done.
const Later = -1

// Loops decides about the loops that are marked.
func Loops(l *mapping.Work, program *ir.Program, gpu *target.Target) {
	for _, g := range program.Launches {
		unrollArrays(l, g.Body, gpu.Tuning.Arrays)
		ir.WalkStmts(g.Body, func(s ir.Stmt) bool {
			if f, ok := s.(*ir.For); ok && f.Unroll == Later {
				f.Unroll = turns(l, f)
			}
			return true
		})
	}
}

// An array of a thread is in registers only where constants index it: loops that go along it are
// unrolled wholly, as long as all that go along it can be.

// unrollArrays unrolls such loops of list.
func unrollArrays(l *mapping.Work, list []ir.Stmt, most target.Arrays) {
	loops := map[*ir.Var]*ir.For{} // that may be unrolled, by their variables
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		if f, ok := s.(*ir.For); ok && f.Unroll == Later {
			if n, known := analysis.ConstTrips(f); known && n >= 2 && n <= most.Turns && operations(f) <= most.Operations {
				loops[f.Var] = f
			}
		}
		return true
	})
	if len(loops) == 0 {
		return
	}
	arrays := arraysAlong(list, loops, most.Words)
	for _, v := range ir.Declared(list).List() {
		if arrays[v] == nil {
			continue
		}
		for _, w := range arrays[v].List() {
			f := loops[w]
			n, _ := analysis.ConstTrips(f)
			if f.Unroll == Later {
				l.Decide(f.At, "loop "+f.Var.Text(), "unrolled wholly", fmt.Sprintf("array %s of the thread is in registers where only constants index it", v.Name), "")
			}
			f.Unroll = int(n)
		}
	}
}

// arraysAlong returns the arrays of the thread of at most so many words, with the variables of
// loops that index them; nil where something else does.
func arraysAlong(list []ir.Stmt, loops map[*ir.Var]*ir.For, words int64) map[*ir.Var]*ir.VarSet {
	arrays := map[*ir.Var]*ir.VarSet{}
	for _, v := range ir.Declared(list).List() {
		if v.Type.Kind == ir.Array && v.Space == ir.Local && v.Type.Elem.IsScalar() && int64(v.Type.Size+3)/4 <= words {
			arrays[v] = &ir.VarSet{}
		}
	}
	for _, v := range ir.AddressTaken(list).List() {
		delete(arrays, v)
	}
	ir.WalkExprs(list, func(e ir.Expr) bool {
		switch x := e.(type) {
		case *ir.Index:
			v := query.RefVar(x.X)
			if along := arrays[v]; along != nil {
				for _, w := range ir.ExprVars(x.I).List() {
					if loops[w] == nil || x.Checked || !query.LoadFree(x.I) {
						delete(arrays, v)
						return true
					}
					along.Add(w)
				}
			}
		case *ir.Reslice:
			delete(arrays, query.RefVar(x.X))
		}
		return true
	})
	return arrays
}

// operations is how many operations all iterations of f have, a great number where it is not to be
// unrolled wholly.
func operations(f *ir.For) int {
	const never = 1 << 30
	n, known := analysis.ConstTrips(f)
	if !known || n > never {
		return never
	}
	plain := *f
	plain.Body = nil
	inner := 0
	for _, s := range f.Body {
		if g, ok := s.(*ir.For); ok {
			inner = min(inner+operations(g), never)
			continue
		}
		plain.Body = append(plain.Body, s)
	}
	c := costOf(&plain)
	if !c.fine {
		return never
	}
	return int(min(n*int64(c.ops+inner), never))
}

// A loopCost is what one iteration of an innermost loop takes.
type loopCost struct {
	ops       int
	registers int
	loads     int  // from memory far from those of the iteration before
	fine      bool // nothing in it keeps the iterations from being written out one after the other
}

// costOf estimates an iteration of f. What checks an index or a divisor ends the kernel in its
// midst, and is left alone.
func costOf(f *ir.For) loopCost {
	c := loopCost{ops: 1, fine: true}
	ir.Inspect(f.Body, func(s ir.Stmt) {
		switch s := s.(type) {
		case *ir.Decl:
			c.hold(s.Var.Type)
		case *ir.Assign, *ir.If, *ir.Block:
		case *ir.Continue:
			c.fine = c.fine && s.Label == f.Label
		default:
			c.fine = false
		}
	}, func(e ir.Expr) {
		switch e := e.(type) {
		case *ir.Binary:
			c.ops++
			if e.Op == ir.Div || e.Op == ir.Rem {
				c.ops += 8
			}
			c.fine = c.fine && !e.Checked
		case *ir.Unary, *ir.Convert, *ir.Select:
			c.ops++
		case *ir.Math:
			c.ops += MathCost(e.Fn, 6)
		case *ir.Index:
			c.ops++
			c.fine = c.fine && !e.Checked
			if e.X.Type().Kind == ir.Slice {
				c.hold(e.Type())
				c.apart(f, e)
			}
		case *ir.Deref:
			c.ops++
			c.hold(e.Type())
		case *ir.Reslice, *ir.Shuffle, *ir.Composite:
			c.fine = false
		}
	})
	return c
}

// apart counts a load that comes to another line of memory in every iteration of f.
func (c *loopCost) apart(f *ir.For, e *ir.Index) {
	form, ok := affine.Of(e.I)
	if !ok {
		return
	}
	coef, ok := form.Coef(f.Var)
	if n, known := coef.Const(); ok && (!known || integers.Magnitude(n)*uint64(e.Type().Size) >= 128) {
		c.loads++
	}
}

// MathCost is the number of operations that fn takes: a fused multiply-add is one itself, others
// about as many as given.
func MathCost(fn ir.MathFn, others int) int {
	if fn == ir.FMA {
		return 1
	}
	return others
}

// hold counts the registers of a value of type t.
func (c *loopCost) hold(t *ir.Type) { c.registers += int((t.Size + 3) / 4) }

// turns says how many iterations of a thread's loop are worth writing out; 0 leaves it to the back
// end.
func turns(l *mapping.Work, f *ir.For) int {
	c := costOf(f)
	if !c.fine {
		return 0
	}
	n, known := analysis.ConstTrips(f)
	cost := fmt.Sprintf("an iteration takes about %d operations and %d registers", c.ops, c.registers)
	if known && n >= 2 && n <= unrollWhole && int(n)*c.ops <= 2*unrollCost {
		l.Decide(f.At, "loop "+f.Var.Text(), "unrolled wholly", fmt.Sprintf("%s, and there are %d", cost, n), "")
		return int(n)
	}
	if known && n <= unrollWhole {
		return 0
	}
	turns := unrollTurns
	for known && turns < unrollKnown && n%int64(2*turns) == 0 {
		turns *= 2
	}
	for turns > unrollTurns && (turns*c.ops > unrollCost || turns*c.registers > unrollRegisters) {
		turns /= 2
	}
	if c.loads > 0 && !known {
		for turns < unrollFlight && 2*turns*c.ops <= unrollFlightOps && 2*turns*c.registers <= unrollRegisters {
			turns *= 2
		}
	} else if turns*c.ops > unrollCost || turns*c.registers > unrollRegisters {
		return 0 // compilers unroll what they like by 4, too: less than that would only forbid it
	}
	l.Decide(f.At, "loop "+f.Var.Text(), fmt.Sprintf("%d iterations of a thread in a row", turns), cost, "")
	return turns
}
