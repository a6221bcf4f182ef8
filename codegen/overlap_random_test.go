//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/simt"
)

// An overlapNest is a random kernel of prescriptive loops of any form around touches of a, which is written, and of b and c.
type overlapNest struct {
	*rand.Rand
	text   strings.Builder
	plain  bool // what it touches is affine, and happens whatever data are
	inner  int  // variables made
	loops  int  // that are prescriptive
	writes int  // of a
	reads  map[string]int
	body   []overlapStmt
}

// An overlapStmt is a loop, a condition or a touch.
type overlapStmt struct {
	loop *overlapLoop
	cond *overlapSum // happens where it is not negative
	only bool        // happens where it is 0
	odd  bool        // happens where it is even
	data bool        // happens where a datum is not 0: not to be seen from outside
	body []overlapStmt
	use  *overlapUse
}

type overlapLoop struct {
	v         string
	lo, hi    overlapSum
	step      int
	byParam   bool // the step is the parameter s
	directive string
	prescript bool
	collapse  int
}

// An overlapSum is a nestSum, halved or reduced.
type overlapSum struct {
	nestSum
	half bool
	rem  int
}

func (s overlapSum) text() string {
	switch {
	case s.half:
		return "((" + s.nestSum.text() + ")/2)"
	case s.rem > 0:
		return fmt.Sprintf("((%s)%%%d)", s.nestSum.text(), s.rem)
	}
	return s.nestSum.text()
}

func (s overlapSum) value(env map[string]int) int {
	n := s.nestSum.value(env)
	switch {
	case s.half:
		return n / 2
	case s.rem > 0:
		return n % s.rem
	}
	return n
}

// An overlapUse is a[at] += b[...] + c[...], or parts of it.
type overlapUse struct {
	write string
	at    overlapSum
	reads []overlapRead
}

type overlapRead struct {
	slice string
	at    overlapSum
}

// A touched is one use of memory in a run: what of which parameter, and in which iteration of each prescriptive loop around.
type touched struct {
	param   string
	element int
	write   bool
	in      []overlapIteration
}

type overlapIteration struct {
	loop   *overlapLoop
	around []int // numbers of iterations
	own    []int
	text   string
}

func (w *overlapNest) sum(vars []string, middle int) overlapSum {
	s := overlapSum{nestSum: nestSum{c: middle + w.IntN(5) - 2}}
	for _, v := range vars {
		switch w.IntN(7) {
		case 0:
		case 1:
			s.terms = append(s.terms, nestTerm{w.IntN(9) - 4, []string{v}})
		case 2:
			s.terms = append(s.terms, nestTerm{1, []string{v, []string{"n", "m"}[w.IntN(2)]}})
		case 3:
			s.terms = append(s.terms, nestTerm{1, []string{v, "n", "m"}})
		default:
			s.terms = append(s.terms, nestTerm{1, []string{v}})
		}
	}
	if w.IntN(8) == 0 {
		s.terms = append(s.terms, nestTerm{1 - 2*w.IntN(2), []string{"q"}})
	}
	return s
}

func (w *overlapNest) bound(outer []string, upper bool) overlapSum {
	s := overlapSum{}
	switch {
	case len(outer) > 0 && w.IntN(3) == 0:
		s.nestSum = nestSum{c: w.IntN(2), terms: []nestTerm{{1 + w.IntN(8)/7, []string{outer[w.IntN(len(outer))]}}}}
		if !upper && w.IntN(3) == 0 {
			s.rem = 2
		}
	case !upper:
		s.c = w.IntN(3)
	case w.IntN(6) == 0:
		s.c = 1 + w.IntN(8)
	default:
		s.nestSum = nestSum{c: -w.IntN(2), terms: []nestTerm{{1, []string{[]string{"n", "m"}[w.IntN(2)]}}}}
		s.half = w.IntN(6) == 0
	}
	return s
}

func (w *overlapNest) loop(outer []string) *overlapLoop {
	l := &overlapLoop{v: string(rune('i' + w.inner)), lo: w.bound(outer, false), hi: w.bound(outer, true), step: []int{1, 1, 1, 2, 3, -1, -2}[w.IntN(7)], collapse: 1}
	w.inner++
	if len(outer) > 0 && w.IntN(4) == 0 { // a range that moves with a loop around it, and has one width
		l.lo = overlapSum{nestSum: nestSum{c: w.IntN(5) - 2, terms: []nestTerm{{1 + w.IntN(4)/2 - 2*(w.IntN(4)/3), []string{outer[w.IntN(len(outer))]}}}}}
		l.hi = overlapSum{nestSum: l.lo.plus(1 + w.IntN(7))}
	}
	if w.IntN(8) == 0 {
		l.step, l.byParam = 0, true
	}
	return l
}

// touches makes what stands in the innermost loops.
func (w *overlapNest) touches(vars []string) []overlapStmt {
	u := &overlapUse{write: "a", at: w.sum(vars, nestLength/2)}
	if w.writes > 0 && w.IntN(2) == 0 {
		u.write = ""
	}
	for range 1 + w.IntN(2) {
		x := overlapRead{[]string{"b", "c"}[w.IntN(2)], w.sum(vars, nestLength/2)}
		if u.write != "" && w.IntN(3) > 0 {
			x.at = u.at
			x.at.terms = slices.Clone(u.at.terms)
			x.at.c += w.IntN(5) - 2
		}
		u.reads = append(u.reads, x)
		w.reads[x.slice]++
	}
	if u.write != "" {
		w.writes++
	}
	s := overlapStmt{use: u}
	switch w.IntN(12) {
	case 0:
		c := w.sum(vars, 0)
		return []overlapStmt{{cond: &c, body: []overlapStmt{s}}}
	case 1:
		c := w.sum(vars, 0)
		w.plain = false // neither is an equation for the iterations that there are not
		return []overlapStmt{{cond: &c, only: true, body: []overlapStmt{s}}}
	case 2:
		c := w.sum(vars[:1], 0)
		w.plain = false
		return []overlapStmt{{cond: &c, odd: true, body: []overlapStmt{s}}}
	case 3:
		w.plain = false
		c := w.sum(vars, nestLength/2)
		return []overlapStmt{{cond: &c, data: true, body: []overlapStmt{s}}}
	}
	return []overlapStmt{s}
}

// nest makes loops around touches: the outermost is declared parallel, or with the next one, or the next one is, too or alone.
func (w *overlapNest) nest() {
	w.plain, w.reads, w.loops = true, map[string]int{}, 1
	outer := w.loop(nil)
	form := w.IntN(6)
	switch form {
	case 0:
		outer.directive, outer.prescript, w.loops = "teams distribute", true, 2
	case 1: // in order
	default:
		outer.directive, outer.prescript = "teams distribute parallel for", true
	}
	vars := []string{outer.v}
	list := []overlapStmt{{loop: outer}}
	level := &list[0]
	if form < 3 {
		next := w.loop(vars)
		switch form {
		case 0:
			next.directive, next.prescript = "parallel for", true
		case 1:
			next.directive, next.prescript = "teams distribute parallel for", true
		case 2: // collapsed loops are no triangle
			next.lo, next.hi = w.bound(nil, false), w.bound(nil, true)
			outer.directive, outer.collapse = "teams distribute parallel for collapse(2)", 2
		}
		vars = append(vars, next.v)
		level.body = []overlapStmt{{loop: next}}
		level = &level.body[0]
	}
	switch w.IntN(4) {
	case 0: // two nests
		for range 2 {
			l := w.loop(vars)
			level.body = append(level.body, overlapStmt{loop: l, body: w.touches(append(slices.Clone(vars), l.v))})
		}
	case 1:
		l := w.loop(vars)
		level.body = []overlapStmt{{loop: l, body: w.touches(append(slices.Clone(vars), l.v))}}
	default:
		level.body = w.touches(vars)
	}
	w.body = list
	w.write(list, 1)
}

func (w *overlapNest) line(depth int, format string, args ...any) {
	w.text.WriteString(strings.Repeat("\t", depth))
	fmt.Fprintf(&w.text, format+"\n", args...)
}

func (w *overlapNest) write(list []overlapStmt, depth int) {
	for _, s := range list {
		switch {
		case s.loop != nil:
			l := s.loop
			if l.directive != "" {
				w.line(depth, "//omp:%s", l.directive)
			}
			switch {
			case l.byParam:
				w.line(depth, "for %s := %s; %s < %s; %s += s {", l.v, l.lo.text(), l.v, l.hi.text(), l.v)
			case l.step < 0:
				w.line(depth, "for %s := %s - 1; %s >= %s; %s -= %d {", l.v, l.hi.text(), l.v, l.lo.text(), l.v, -l.step)
			default:
				w.line(depth, "for %s := %s; %s < %s; %s += %d {", l.v, l.lo.text(), l.v, l.hi.text(), l.v, l.step)
			}
			w.write(s.body, depth+1)
			w.line(depth, "}")
		case s.cond != nil:
			test := s.cond.text() + " >= 0"
			switch {
			case s.only:
				test = s.cond.text() + " == 0"
			case s.odd:
				test = "(" + s.cond.text() + ")&1 == 0"
			case s.data:
				test = "d[" + s.cond.text() + "] != 0"
			}
			w.line(depth, "if %s {", test)
			w.write(s.body, depth+1)
			w.line(depth, "}")
		default:
			sum := "1"
			for n, x := range s.use.reads {
				sum += fmt.Sprintf(" + %d*%s[%s]", 2*n+3, x.slice, x.at.text())
			}
			if s.use.write != "" {
				w.line(depth, "%s[%s] = %s", s.use.write, s.use.at.text(), sum)
			} else {
				w.line(depth, "e[%s] = %s", s.use.reads[0].at.text(), sum)
			}
		}
	}
}

func (w *overlapNest) kernel() string {
	return "//omp:target device(acc, smp)\n//omp:task inout(a, b, c, e) in(d)\nfunc K(n, m, q, s int, a, b, c, d, e []int64) {\n" + w.text.String() + "}\n"
}

// run returns what the kernel touches; ok is false where something is out of range.
func (w *overlapNest) run(args []any) (out []touched, ok bool) {
	env := map[string]int{"n": args[0].(int), "m": args[1].(int), "q": args[2].(int), "s": args[3].(int)}
	data := args[7].([]int64)
	ok = true
	type at struct {
		loop *overlapLoop
		trip int
	}
	var around []at
	touch := func(param string, element int, write bool) {
		ok = ok && element >= 0 && element < nestLength
		t := touched{param: param, element: element, write: write}
		for i, l := range around {
			if !l.loop.prescript {
				continue
			}
			it := overlapIteration{loop: l.loop}
			var names []string
			for j, o := range around[:min(i+l.loop.collapse, len(around))] {
				if j < i {
					it.around = append(it.around, o.trip)
				} else {
					it.own = append(it.own, o.trip)
				}
				names = append(names, fmt.Sprintf("%s = %d", o.loop.v, env[o.loop.v]))
			}
			it.text = strings.Join(names, ", ")
			t.in = append(t.in, it)
		}
		out = append(out, t)
	}
	var walk func(list []overlapStmt)
	walk = func(list []overlapStmt) {
		for _, s := range list {
			switch {
			case s.loop != nil:
				lo, hi, step := s.loop.lo.value(env), s.loop.hi.value(env), s.loop.step
				if s.loop.byParam {
					step = env["s"]
				}
				if step < 0 {
					lo, hi = hi-1, lo
				}
				trip := 0
				for v := lo; step > 0 && v < hi || step < 0 && v >= hi; v += step {
					env[s.loop.v] = v
					around = append(around, at{s.loop, trip})
					walk(s.body)
					around = around[:len(around)-1]
					trip++
				}
			case s.cond != nil:
				v := s.cond.value(env)
				holds := v >= 0
				switch {
				case s.only:
					holds = v == 0
				case s.odd:
					holds = v&1 == 0
				case s.data:
					if ok = ok && v >= 0 && v < len(data); !ok {
						return
					}
					holds = data[v] != 0
				}
				if holds {
					walk(s.body)
				}
			default:
				for _, x := range s.use.reads {
					touch(x.slice, x.at.value(env), false)
				}
				if s.use.write != "" {
					touch(s.use.write, s.use.at.value(env), true)
				} else {
					touch("e", s.use.reads[0].at.value(env), true)
				}
			}
		}
	}
	walk(w.body)
	return out, ok
}

// A clash is two touches of one element in two iterations of a prescriptive loop.
type clash struct{ write, other touched }

// clashes returns those of x, which is written, and y, gap elements behind it; the first of them is the first in the order that an error has.
func clashes(list []touched, x, y string, gap int) (out []clash, order [][]int) {
	at := map[int][]touched{}
	for _, t := range list {
		if t.param == y {
			at[t.element+gap] = append(at[t.element+gap], t)
		}
	}
	for _, t := range list {
		if t.param != x || !t.write {
			continue
		}
		for _, o := range at[t.element] {
			for _, i := range t.in {
				for _, j := range o.in {
					if i.loop != j.loop || !slices.Equal(i.around, j.around) || slices.Equal(i.own, j.own) {
						continue
					}
					first, second, readFirst := i.own, j.own, 0
					if slices.Compare(first, second) > 0 {
						first, second, readFirst = second, first, 1
					}
					out = append(out, clash{t, o})
					order = append(order, slices.Concat(i.around, first, second, []int{readFirst, t.element}))
				}
			}
		}
	}
	return out, order
}

func overlapArgs(r *rand.Rand) []any {
	args := nestArgs(r)
	data := make([]int64, nestLength)
	for i := range data {
		data[i] = r.Int64N(2)
	}
	return []any{args[0], args[1], args[2], 1 + r.IntN(3), args[3], args[4], args[5], data, make([]int64, nestLength)}
}

// overlapEnv gives the scalar arguments to the contract.
type overlapEnv struct {
	nestEnv
	args []any
}

func (e overlapEnv) Scalar(v *ir.Var) (ir.Bits, bool) {
	x, ok := e.args[map[string]int{"n": 0, "m": 1, "q": 2, "s": 3}[v.Name]].(int)
	return ir.Bits(x), ok
}

// TestOverlap_RandomNests compares what launches of random nests of prescriptive loops are refused for with all of their iterations: what is said
// to conflict does, in the iterations and at the elements that are named, nearly always the first ones where the
// loop has but one write and one read; what is not refused does not. That runs, with slices that overlap: with races looked for on a GPU, and as vector code; the result is Go's.
//
// GOMPSS_RANDOM_OVERLAPS=30m looks for so long, from a seed of the process's own on; GOMPSS_RANDOM_SEED=N begins at N. Issue 16, 2.
func TestOverlap_RandomNests(t *testing.T) {
	t.Parallel()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	least := uint64(200)
	if testing.Short() {
		least = 120
	}
	seeds := seedsOf(t, "GOMPSS_RANDOM_OVERLAPS", least)
	f := newFlowRunner(t)
	defer f.close()
	failures := 0
	for seed := range seeds {
		w := &overlapNest{Rand: rand.New(rand.NewPCG(seed, 47))}
		w.nest()
		if err := f.checkOverlapNest(seed, w); err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, w.kernel())
			if failures++; failures == 10 {
				break
			}
		}
	}
	t.Log(f.count)
	for _, what := range []string{"conflicts", "conflicts in one argument", "first conflicts", "no conflicts", "runs for a GPU", "runs of vector code"} {
		require.Positive(t, f.count[what], what)
	}
	require.LessOrEqual(t, 50*f.count["later conflicts"], f.count["first conflicts"]+25)
	require.Less(t, 50*f.count["undecided, affine"], f.count["conflicts"]+f.count["no conflicts"])
}

func (f *flowRunner) checkOverlapNest(seed uint64, w *overlapNest) error {
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: "package k\n\n" + w.kernel()})
	if err != nil {
		if strings.Contains(err.Error(), "iteration") {
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
	var run []func() error
	for range 10 {
		args := overlapArgs(r)
		list, ok := w.run(args)
		if !ok || len(list) > 3000 {
			f.count["out of range, or long"]++
			continue
		}
		gaps := [5]int{}
		for i := range gaps {
			gaps[i] = r.IntN(40)
			if r.IntN(4) == 0 {
				gaps[i] = gaps[0]
			}
		}
		gaps[3], gaps[4] = 2*nestLength, 4*nestLength
		own, _ := clashes(list, "a", "a", 0) // races by one parameter are others' to find
		rest, _ := clashes(list, "e", "e", 0)
		fine := len(own)+len(rest) == 0
		var proof codegen.Proof
		for n, pair := range overlaps.Pairs {
			x, y := k.Params[pair[0]].Name, k.Params[pair[1]].Name
			at := func(name string) int { return gaps[strings.Index("abcde", name)] }
			gap := at(y) - at(x)
			if gap >= nestLength || -gap >= nestLength {
				continue // they do not overlap
			}
			err := overlaps.Check(k, overlapEnv{args: args}, &proof, n, int64(8*gap))
			fine = fine && err == nil
			if err := f.judge(w, list, x, y, gap, err); err != nil {
				return fmt.Errorf("%s and %s, gap %d, %s: %w", x, y, gap, scalarsOf(args), err)
			}
		}
		if fine && len(run) < 2 {
			run = append(run, func() error { return f.runOverlapped(seed, w, r, args, gaps) })
		}
	}
	for _, x := range run {
		if err := x(); err != nil {
			return err
		}
	}
	return nil
}

// judge compares what was said of x and y with what the kernel touches.
func (f *flowRunner) judge(w *overlapNest, list []touched, x, y string, gap int, err error) error {
	found, order := clashes(list, x, y, gap)
	var e *codegen.OverlapError
	switch is := errors.As(err, &e); {
	case err != nil && !is:
		return err
	case err == nil && len(found) > 0 && x != y: // of one argument not all is looked at
		return fmt.Errorf("nothing is said of %+v", found[0])
	case err == nil:
		f.count["no conflicts"]++
		return nil
	case !e.Sure:
		f.count["undecided"]++
		if w.plain {
			f.count["undecided, affine"]++
		}
		return nil
	}
	if f.count["conflicts"]++; x == y {
		f.count["conflicts in one argument"]++
	}
	if int(e.Write.Element) != int(e.Other.Element)+gap {
		return fmt.Errorf("elements that are not the same: %w", err)
	}
	same := func(t touched, o codegen.OverlapTouch) bool {
		return t.element == int(o.Element) && slices.ContainsFunc(t.in, func(i overlapIteration) bool { return i.text == o.Iteration })
	}
	at := slices.IndexFunc(found, func(c clash) bool { return same(c.write, e.Write) && same(c.other, e.Other) })
	if at < 0 {
		return fmt.Errorf("there is no such conflict: %w", err)
	}
	if w.loops == 1 && w.writes == 1 && w.reads[y] == 1 {
		if least := slices.MinFunc(order, slices.Compare); !slices.Equal(order[at], least) {
			f.count["later conflicts"]++ // the first is looked for with bounded work
			return nil
		}
		f.count["first conflicts"]++
	}
	return nil
}

// runOverlapped runs a launch that nothing was said of.
func (f *flowRunner) runOverlapped(seed uint64, w *overlapNest, r *rand.Rand, args []any, gaps [5]int) error {
	arena, err := cpu.NewArena()
	if err != nil {
		return err
	}
	defer arena.Close()
	k := flowKernel{seed: seed, text: w.kernel()}
	oracle, err := interpret("package k\n\n" + k.text)
	if err != nil {
		return err
	}
	targets, err := f.targets(k, arena)
	if err != nil {
		return err
	}
	memory := func() ([]int64, []any) {
		all := make([]int64, 5*nestLength)
		for i := range all {
			all[i] = int64(i%13) - 4
		}
		copy(all[gaps[3]:], args[7].([]int64))
		out := slices.Clone(args[:4])
		for _, gap := range gaps {
			out = append(out, all[gap:gap+nestLength])
		}
		return all, out
	}
	want, list := memory()
	if run := oracle.call("K", flowSteps, list); run.panicked != "" || run.endless {
		return nil
	}
	for _, x := range targets {
		got, list := memory()
		if x.vector != nil {
			f.count["runs of vector code"]++
			err = faults(func() error { return x.vector.Call(argumentsOf(list...), chunks(r)) })
		} else {
			f.count["runs for a GPU"]++
			s := shapes[r.IntN(len(shapes))]
			var device []simt.Arg
			both := memoryOfAll("all", got)
			for i, a := range list {
				if i < 4 {
					device = append(device, simt.Arg{Bits: ir.Bits(a.(int))})
				} else {
					device = append(device, simt.Arg{Memory: both, Offset: int64(8 * gaps[i-4]), Len: nestLength, Cap: nestLength})
				}
			}
			_, err = x.device.Run(device, simt.Config{Teams: s.teams, Threads: s.threads, Seed: r.Uint64(), Races: true, Steps: 50_000_000})
		}
		if err != nil {
			return fmt.Errorf("%s, %s, %v: %w", x.name, scalarsOf(args), gaps, err)
		}
		if !slices.Equal(want, got) {
			return fmt.Errorf("%s, %s, %v: not as Go", x.name, scalarsOf(args), gaps)
		}
	}
	return nil
}
