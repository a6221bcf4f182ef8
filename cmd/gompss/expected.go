package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cost"
	"github.com/gompss/gompss/codegen/ir"
	chips "github.com/gompss/gompss/codegen/target"
)

// expectedSize is the value that explain assumes for every number among the arguments. Slices have
// expectedSize*expectedSize elements.
const expectedSize = 4096

// otherSizes are the sizes for which explain tests whether another form is expected to be faster.
var otherSizes = []int64{64, 512, 16384}

// expected returns the times that the cost model predicts for the chosen form of k and for the next
// two forms, and the sizes for which another form may be faster.
func expected(k *ir.Kernel) ([]string, error) {
	const most = 4
	runs := k
	if free := codegen.NewContract(k).Unchecked(k); free != nil {
		runs = free // the variant that runs if all accesses are in range
	}
	list, err := codegen.Candidates(runs, codegen.LowerOptions{}, most)
	if err != nil {
		return nil, err
	}
	chip := chips.Default()
	fixed := loopStarts(runs)
	at := func(c codegen.Candidate, n int64) chips.Estimate {
		return cost.Program(c.Program, fixed.nominal(c.Program.Params, n), chip)
	}
	line := fmt.Sprintf("GPU: expected on %s, where every number is %d%s and every slice has %d*%d elements -> %v", chip.Chip, expectedSize, fixed, expectedSize, expectedSize, at(list[0], expectedSize))
	if len(list) == 1 {
		if why := list[0].OrderShows(); why != "" {
			return []string{line + "; no other form is tried: " + why}, nil
		}
		return []string{line}, nil
	}
	others := slices.Clone(list[1:])
	slices.SortStableFunc(others, func(a, b codegen.Candidate) int {
		return cmp.Compare(at(a, expectedSize).Time, at(b, expectedSize).Time)
	})
	for _, c := range others[:min(len(others), 2)] {
		line += fmt.Sprintf("; with %v %v", c.Choice, at(c, expectedSize))
	}
	var changes []string
	for _, n := range otherSizes {
		best := slices.MinFunc(list, func(a, b codegen.Candidate) int { return cmp.Compare(at(a, n).Time, at(b, n).Time) })
		if len(best.Choice) > 0 {
			changes = append(changes, fmt.Sprintf("%d (%v)", n, best.Choice))
		}
	}
	if len(changes) > 0 {
		line += "; another form may be faster where it is " + strings.Join(changes, ", ")
	}
	return []string{line}, nil
}

// fixedNumbers are the numbers among the arguments, by name, that have one value for each size.
type fixedNumbers map[string]int64

// loopStarts returns 0 for the parameters at which loops of k begin, and 1 for those by which they
// step. With the value of the others, such loops would have no iteration, or one.
func loopStarts(k *ir.Kernel) fixedNumbers {
	fixed, ends := fixedNumbers{}, map[string]bool{}
	params := func(e ir.Expr, visit func(name string)) {
		ir.WalkExpr(e, func(x ir.Expr) bool {
			if ref, ok := x.(*ir.Ref); ok && slices.Contains(k.Params, ref.Var) {
				visit(ref.Var.Name)
			}
			return true
		})
	}
	ir.WalkStmts(k.Body, func(s ir.Stmt) bool {
		if loop, ok := s.(*ir.For); ok {
			first, last := loop.Lo, loop.Hi
			if loop.Rel == ir.Gt || loop.Rel == ir.Ge {
				first, last = last, first
			}
			params(first, func(name string) { fixed[name] = 0 })
			params(last, func(name string) { ends[name] = true })
			params(loop.Step, func(name string) { fixed[name] = 1 })
		}
		return true
	})
	for name := range ends {
		delete(fixed, name)
	}
	return fixed
}

// nominal returns the arguments for size n.
func (f fixedNumbers) nominal(params []*ir.Var, n int64) ir.Env {
	return withFixed{cost.Nominal(params, n, n*n), f}
}

// withFixed has the values of Env but for the fixed numbers.
type withFixed struct {
	ir.Env
	fixed fixedNumbers
}

// Scalar implements ir.Env.
func (w withFixed) Scalar(v *ir.Var) (ir.Bits, bool) {
	if n, ok := w.fixed[v.Name]; ok && v.Type.IsScalar() && !v.Type.IsFloat() {
		if _, isParam := w.Env.Scalar(v); isParam {
			return ir.Bits(n), true
		}
	}
	return w.Env.Scalar(v)
}

// String returns the values as part of a sentence, "" for none.
func (f fixedNumbers) String() string {
	text := ""
	for _, name := range slices.Sorted(maps.Keys(f)) {
		text += fmt.Sprintf(", %s is %d", name, f[name])
	}
	return text
}
