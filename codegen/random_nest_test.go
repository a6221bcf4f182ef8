//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/ir"
)

// A nestSum is an integer that is affine in loop variables and parameters: c, factors of names and products of names, and the lowest bit of odd.
type nestSum struct {
	c     int
	terms []nestTerm
	odd   string
}

type nestTerm struct {
	coef  int
	names []string
}

func (s nestSum) text() string {
	out := strconv.Itoa(s.c)
	for _, t := range s.terms {
		out += fmt.Sprintf(" + %d*%s", t.coef, strings.Join(t.names, "*"))
	}
	if s.odd != "" {
		out += " + " + s.odd + "&1"
	}
	return strings.ReplaceAll(strings.ReplaceAll(out, "+ -", "- "), " 1*", " ")
}

func (s nestSum) value(env map[string]int) int {
	out := s.c
	for _, t := range s.terms {
		x := t.coef
		for _, n := range t.names {
			x *= env[n]
		}
		out += x
	}
	if s.odd != "" {
		out += env[s.odd] & 1
	}
	return out
}

// plus is s + c.
func (s nestSum) plus(c int) nestSum {
	return nestSum{c: s.c + c, terms: s.terms, odd: s.odd}
}

// A nestLoop goes from lo to below hi, or, if it counts down, from hi-1 to lo.
type nestLoop struct {
	directive, v string
	lo, hi       nestSum
	step         int
}

func (l nestLoop) text() string {
	switch {
	case l.step < 0:
		return fmt.Sprintf("for %s := %s - 1; %s >= %s; %s -= %d {", l.v, l.hi.text(), l.v, l.lo.text(), l.v, -l.step)
	case l.step > 1:
		return fmt.Sprintf("for %s := %s; %s < %s; %s += %d {", l.v, l.lo.text(), l.v, l.hi.text(), l.v, l.step)
	}
	return fmt.Sprintf("for %s := %s; %s < %s; %s++ {", l.v, l.lo.text(), l.v, l.hi.text(), l.v)
}

// each calls f with the variable set to the value of every iteration.
func (l nestLoop) each(env map[string]int, f func()) {
	lo, hi := l.lo.value(env), l.hi.value(env)
	if l.step < 0 {
		for v := hi - 1; v >= lo; v += l.step {
			env[l.v] = v
			f()
		}
		return
	}
	for v := lo; v < hi; v += l.step {
		env[l.v] = v
		f()
	}
}

// An affineNest is a nest of loops around assignments of affine subscripts.
type affineNest struct {
	*rand.Rand
	loops []nestLoop
	body  []nestUpdate
}

// A nestUpdate is slice[at] = an expression of loads.
type nestUpdate struct {
	slice, op string
	at        nestSum
	loads     []nestLoad
}

type nestLoad struct {
	slice string
	at    nestSum
}

// The slices of a nest have so many elements, and subscripts begin at the middle.
const nestLength = 640

// An outermost loop sometimes steps by so many elements, which is more than a loop inside passes.
const nestRow = 20

var nestVars = []string{"i", "j", "k"}

// subscript is affine in the variables of the loops, with a product of a parameter sometimes.
func (w *affineNest) subscript(vars []string) nestSum {
	s := nestSum{c: nestLength/2 + w.IntN(5) - 2}
	for d, v := range vars {
		if d == 0 && len(vars) > 1 && w.IntN(5) == 0 {
			s.terms = append(s.terms, nestTerm{nestRow, []string{v}})
			continue
		}
		switch w.IntN(6) {
		case 0:
		case 1:
			s.terms = append(s.terms, nestTerm{w.IntN(7) - 3, []string{v}})
		case 2:
			s.terms = append(s.terms, nestTerm{1, []string{v, []string{"n", "m"}[w.IntN(2)]}})
		default:
			s.terms = append(s.terms, nestTerm{1, []string{v}})
		}
	}
	if w.IntN(8) == 0 {
		s.terms = append(s.terms, nestTerm{1 - 2*w.IntN(2), []string{"q"}})
	}
	return s
}

// bound is one end of a loop: a number, a parameter, or an outer variable.
func (w *affineNest) bound(outer []string, upper bool) nestSum {
	if len(outer) > 0 && w.IntN(3) == 0 {
		return nestSum{c: w.IntN(2), terms: []nestTerm{{1, []string{outer[w.IntN(len(outer))]}}}}
	}
	if !upper {
		return nestSum{c: w.IntN(3)}
	}
	if w.IntN(6) == 0 {
		return nestSum{c: 1 + w.IntN(8)}
	}
	return nestSum{c: -w.IntN(2), terms: []nestTerm{{1, []string{[]string{"n", "m"}[w.IntN(2)]}}}}
}

// window gives l a range that moves with a loop around it, and the same width in all of its iterations.
func (w *affineNest) window(l *nestLoop, outer []string) {
	from := nestTerm{1 - 2*(w.IntN(4)/3), []string{outer[w.IntN(len(outer))]}}
	switch w.IntN(6) {
	case 0:
		from.coef *= 2 + w.IntN(2)
	case 1:
		from.names = append(from.names, "m")
	}
	l.lo = nestSum{c: w.IntN(5) - 2, terms: []nestTerm{from}}
	if l.hi = l.lo.plus(1 + w.IntN(7)); w.IntN(4) == 0 {
		l.hi.terms = append([]nestTerm{{1, []string{"n"}}}, l.hi.terms...)
	}
}

func (w *affineNest) nest(prescriptive bool) {
	depth := 1 + w.IntN(3)
	for d := range depth {
		l := nestLoop{v: nestVars[d], lo: w.bound(nestVars[:d], false), hi: w.bound(nestVars[:d], true), step: []int{1, 1, 1, 2, 3, -1, -2}[w.IntN(7)]}
		if d > 0 && l.step != 1 && w.IntN(2) == 0 {
			l.lo = nestSum{c: w.IntN(2), terms: []nestTerm{{1 + w.IntN(2), []string{nestVars[w.IntN(d)]}}}}
		}
		switch {
		case d > 0 && w.IntN(3) == 0:
			w.window(&l, nestVars[:d])
		case d > 0 && w.IntN(8) == 0:
			l.lo.odd = nestVars[w.IntN(d)]
		}
		switch {
		case prescriptive && d == 0:
			l.directive = "//omp:teams distribute parallel for"
		case !prescriptive && w.IntN(2) == 0:
			l.directive = "//omp:loop"
		}
		w.loops = append(w.loops, l)
	}
	vars := nestVars[:depth]
	if !prescriptive && depth > 1 && w.IntN(3) == 0 {
		w.carried(vars)
		return
	}
	for range 1 + w.IntN(2) {
		u := nestUpdate{slice: "a", op: []string{"=", "+=", "="}[w.IntN(3)], at: w.subscript(vars)}
		if !prescriptive {
			u.slice = []string{"a", "b", "c"}[w.IntN(3)]
		}
		for range 1 + w.IntN(2) {
			x := nestLoad{[]string{"b", "c"}[w.IntN(2)], w.subscript(vars)}
			if !prescriptive && w.IntN(2) == 0 {
				x.slice = "a"
			}
			if w.IntN(3) == 0 {
				x.at.terms = append([]nestTerm{}, u.at.terms...) // a distance that is the same in all iterations
				if x.at.c = u.at.c + w.IntN(9) - 4; w.IntN(2) == 0 && len(u.at.terms) > 0 && u.at.terms[0].coef == nestRow {
					x.at.c += nestRow * (1 - 2*w.IntN(2))
				}
			}
			u.loads = append(u.loads, x)
		}
		w.body = append(w.body, u)
		if prescriptive {
			break
		}
	}
}

// carried makes a nest of which the innermost range moves, and a body that reads, at one distance in all iterations, from the slice that it writes.
func (w *affineNest) carried(vars []string) {
	inner := &w.loops[len(w.loops)-1]
	w.window(inner, vars[:len(vars)-1])
	inner.step = []int{2, 3, -2, -3, 1}[w.IntN(5)]
	at := nestSum{c: nestLength / 2}
	for _, v := range vars {
		at.terms = append(at.terms, nestTerm{[]int{1, 2, nestRow, nestRow}[w.IntN(4)], []string{v}})
	}
	at.terms[len(vars)-1].coef = 1
	distance := w.IntN(9) - 4
	for _, t := range at.terms {
		if t.coef == nestRow && w.IntN(2) == 0 {
			distance += nestRow * (1 - 2*w.IntN(2))
		}
	}
	w.body = []nestUpdate{{slice: "a", op: "+=", at: at, loads: []nestLoad{{"a", at.plus(distance)}}}}
}

func (w *affineNest) text() string {
	var b strings.Builder
	b.WriteString("//omp:target device(acc, smp)\n//omp:task inout(a, b, c)\nfunc K(n, m, q int, a, b, c []int64) {\n")
	for d, l := range w.loops {
		if l.directive != "" {
			b.WriteString(strings.Repeat("\t", d+1) + l.directive + "\n")
		}
		b.WriteString(strings.Repeat("\t", d+1) + l.text() + "\n")
	}
	for _, u := range w.body {
		sum := "int64(" + w.loops[len(w.loops)-1].v + ")"
		for n, x := range u.loads {
			sum += fmt.Sprintf(" + %d*%s[%s]", 2*n+3, x.slice, x.at.text())
		}
		fmt.Fprintf(&b, "%s%s[%s] %s %s\n", strings.Repeat("\t", len(w.loops)+1), u.slice, u.at.text(), u.op, sum)
	}
	for d := len(w.loops); d >= 0; d-- {
		b.WriteString(strings.Repeat("\t", d) + "}\n")
	}
	return b.String()
}

// args makes sizes and contents.
func nestArgs(r *rand.Rand) []any {
	list := func() []int64 {
		x := make([]int64, nestLength)
		for i := range x {
			x[i] = r.Int64N(1000)
		}
		return x
	}
	return []any{r.IntN(10), r.IntN(10), r.IntN(7) - 3, list(), list(), list()}
}

// TestRandomNests runs random affine nests. Where loops are descriptive, or have no directive, every target does what Go does, also where slices overlap.
// Where the outermost is declared parallel and what it writes and reads is the same memory, the launch is refused if, and where it says that it is sure
// only if, two iterations touch one element. GOMPSS_RANDOM_NESTS=30m looks for so long, from a seed of the process's own on; GOMPSS_RANDOM_SEED=N begins
// at N.
//
// Issue 16, items 1, 2 and 14.
func TestRandomNests(t *testing.T) {
	t.Parallel()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	seeds := seedsOf(t, "GOMPSS_RANDOM_NESTS", 60)
	f := newFlowRunner(t)
	defer f.close()
	failures := 0
	for seed := range seeds {
		w := &affineNest{Rand: rand.New(rand.NewPCG(seed, 43))}
		prescriptive := seed%3 == 0
		w.nest(prescriptive)
		check := f.checkNest
		if prescriptive {
			check = f.checkOverlaps
		}
		if err := check(seed, w); err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, w.text())
			if failures++; failures == 20 {
				break
			}
		}
	}
	t.Log(f.count)
	for _, what := range []string{"vector code", "device code", "overlaps that conflict", "overlaps that do not"} {
		require.Positive(t, f.count[what], what)
	}
}

// TestDependences_RandomNests: of a loop in random nests around one slice that is held to be independent, no two iterations touch an element that one of
// them writes. GOMPSS_RANDOM_NESTS=30m looks for so long.
func TestDependences_RandomNests(t *testing.T) {
	t.Parallel()
	independent, dependent := 0, 0
	for seed := range seedsOf(t, "GOMPSS_RANDOM_NESTS", 3000) {
		w := &affineNest{Rand: rand.New(rand.NewPCG(seed, 43))}
		w.nest(false)
		for i := range w.body {
			w.body[i].slice = "a"
			for j := range w.body[i].loads {
				w.body[i].loads[j].slice = "a"
			}
		}
		p, err := codegen.Load(codegen.File{Name: "k.go", Text: "package k\n\n" + w.text()})
		require.NoError(t, err, "seed %d\n%s", seed, w.text())
		k, err := p.Kernel("K")
		require.NoError(t, err)
		d := 0
		ir.WalkStmts(k.Body, func(s ir.Stmt) bool {
			f, ok := s.(*ir.For)
			if !ok {
				return true
			}
			if analysis.NewDependences(k).Dependent(f) != "" {
				dependent++
			} else {
				independent++
				r := rand.New(rand.NewPCG(seed, 9))
				for range 12 {
					args := nestArgs(r)
					require.False(t, w.carries(args, d), "seed %d, %s, loop %s\n%s", seed, scalarsOf(args), f.Var.Name, w.text())
				}
			}
			d++
			return true
		})
	}
	t.Logf("%d loops are independent, %d are not", independent, dependent)
	require.Positive(t, independent)
	require.Positive(t, dependent)
}

// carries reports whether two iterations of loop d of the nest, in one iteration of the loops around it, touch an element that one of them writes.
func (w *affineNest) carries(args []any, d int) bool {
	type place struct{ element, i, j int } // i and j are 0 where loop d is not inside of their loops
	env := map[string]int{"n": args[0].(int), "m": args[1].(int), "q": args[2].(int)}
	written, conflict := map[place]map[int]bool{}, false
	var each func(level int, f func())
	each = func(level int, f func()) {
		if level == len(w.loops) {
			f()
			return
		}
		w.loops[level].each(env, func() { each(level+1, f) })
	}
	at := func(s nestSum) place {
		p := place{element: s.value(env)}
		if d > 0 {
			p.i = env["i"]
		}
		if d > 1 {
			p.j = env["j"]
		}
		return p
	}
	v := w.loops[d].v
	each(0, func() {
		for _, u := range w.body {
			p := at(u.at)
			if written[p] == nil {
				written[p] = map[int]bool{}
			}
			written[p][env[v]] = true
		}
	})
	each(0, func() {
		for _, u := range w.body {
			for _, s := range append([]nestLoad{{at: u.at}}, u.loads...) {
				by := written[at(s.at)]
				conflict = conflict || len(by) > 1 || len(by) == 1 && !by[env[v]]
			}
		}
	})
	return conflict
}

// checkNest compares every target with Go.
func (f *flowRunner) checkNest(seed uint64, w *affineNest) error {
	k := flowKernel{seed: seed, text: w.text()}
	r := rand.New(rand.NewPCG(seed, 7))
	if err := f.compare(k, r, [][]any{nestArgs(r), nestArgs(r), nestArgs(r)}); err != nil {
		return err
	}
	arena, err := cpu.NewArena()
	if err != nil {
		return err
	}
	defer arena.Close()
	oracle, err := interpret("package k\n\n" + k.text)
	if err != nil {
		return err
	}
	targets, err := f.targets(k, arena)
	if err != nil {
		return err
	}
	for range 3 {
		args, gaps := nestArgs(r), [3]int{0, r.IntN(9), r.IntN(9)}
		want := overlapped(args, gaps)
		run := oracle.call("K", flowSteps, want)
		for _, x := range targets {
			if x.vector == nil {
				continue
			}
			got := overlapped(args, gaps)
			err := faults(func() error { return x.vector.Call(argumentsOf(got...), chunks(r)) })
			if (err == nil) != (run.panicked == "") {
				return fmt.Errorf("%s, slices that overlap %v, %s: %w; Go: %q", x.name, gaps, scalarsOf(args), err, run.panicked)
			}
			if run.panicked != "" {
				continue
			}
			if d := (corpusCase{}).differ(want, got); d != "" {
				return fmt.Errorf("%s, slices that overlap %v, %s: %s", x.name, gaps, scalarsOf(args), d)
			}
		}
	}
	return nil
}

// overlapped is the arguments with slices that begin so many elements behind another in one memory.
func overlapped(args []any, gaps [3]int) []any {
	out := append([]any{}, args[:3]...)
	all := make([]int64, nestLength+16)
	copy(all, args[3].([]int64))
	for _, gap := range gaps {
		out = append(out, all[gap:gap+nestLength])
	}
	return out
}

// nestEnv gives the scalar arguments of a nest to the contract.
type nestEnv struct{ args []any }

func (e nestEnv) Scalar(v *ir.Var) (ir.Bits, bool) {
	i := map[string]int{"n": 0, "m": 1, "q": 2}[v.Name]
	x, ok := e.args[i].(int)
	return ir.Bits(x), ok
}
func (e nestEnv) Query(ir.QueryKind) (int64, bool)   { return 0, false }
func (e nestEnv) Bytes(*ir.Var) ([]byte, bool)       { return nil, false }
func (e nestEnv) Slice(*ir.Var) (int64, int64, bool) { return nestLength, nestLength, true }

// checkOverlaps compares what launches are refused for with the iterations that touch one element.
func (f *flowRunner) checkOverlaps(seed uint64, w *affineNest) error {
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: "package k\n\n" + w.text()})
	if err != nil {
		if strings.Contains(err.Error(), "every iteration") || strings.Contains(err.Error(), "iterations") {
			f.count["certain races"]++
			return nil
		}
		return err
	}
	k, err := p.Kernel("K")
	if err != nil {
		return err
	}
	overlaps := codegen.NewOverlaps(k)
	if overlaps == nil {
		return nil
	}
	r := rand.New(rand.NewPCG(seed, 9))
	for range 12 {
		args := nestArgs(r)
		for n, pair := range overlaps.Pairs {
			gap, one := r.IntN(25)-12, pair[0] == pair[1] // of one argument not all is looked at
			if one {
				gap = 0
			}
			var proof codegen.Proof
			err := overlaps.Check(k, nestEnv{args}, &proof, n, int64(8*gap))
			meets := w.conflict(args, k.Params[pair[0]].Name, k.Params[pair[1]].Name, gap)
			var overlap *codegen.OverlapError
			switch isOverlap := errors.As(err, &overlap); {
			case err != nil && !isOverlap:
				return err
			case err == nil && meets && !one:
				return fmt.Errorf("two iterations touch one element, and nothing is said: %v of %s, gap %d", pair, scalarsOf(args), gap)
			case err != nil && overlap.Sure && !meets:
				return fmt.Errorf("no two iterations touch one element: %w: %s, gap %d", err, scalarsOf(args), gap)
			case err != nil && !meets:
				f.count["overlaps that are not decided"]++
			case meets:
				f.count["overlaps that conflict"]++
			default:
				f.count["overlaps that do not"]++
			}
		}
	}
	return nil
}

// conflict reports whether an element of x that one iteration of the outermost loop writes is one of y, which begins gap elements behind, that another
// one reads. What is not in a slice is refused, or ends the kernel.
func (w *affineNest) conflict(args []any, x, y string, gap int) bool {
	env := map[string]int{"n": args[0].(int), "m": args[1].(int), "q": args[2].(int)}
	written, read := map[int]map[int]bool{}, map[int]map[int]bool{}
	note := func(set map[int]map[int]bool, at, gap, iteration int) {
		if at < 0 || at >= nestLength {
			return
		}
		if set[at+gap] == nil {
			set[at+gap] = map[int]bool{}
		}
		set[at+gap][iteration] = true
	}
	var walk func(d int)
	walk = func(d int) {
		if d < len(w.loops) {
			w.loops[d].each(env, func() { walk(d + 1) })
			return
		}
		for _, u := range w.body {
			if u.slice == x {
				note(written, u.at.value(env), 0, env["i"])
			}
			for _, l := range u.loads {
				if l.slice == y {
					note(read, l.at.value(env), gap, env["i"])
				}
			}
		}
	}
	walk(0)
	for element, by := range written {
		for i := range by {
			for j := range read[element] {
				if i != j {
					return true
				}
			}
		}
	}
	return false
}
