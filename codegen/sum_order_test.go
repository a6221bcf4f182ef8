//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/order"
	"github.com/gompss/gompss/codegen/simt"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/machine"
)

// TestSums_HaveOneOrderOnEveryProcessor runs the corpus as code for vectors of several lengths and
// numbers of copies: all leave the same bits, whatever the kernels sum up.
func TestSums_HaveOneOrderOnEveryProcessor(t *testing.T) {
	p := loadCorpus(t)
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	forms := summingForms(t)
	sums, ran := 0, 0
	for _, c := range corpus {
		k, err := p.Kernel(name(c.kernel))
		require.NoError(t, err)
		if cpu.DiffersByLanes(k) != "" {
			sums++
		}
		type code struct {
			form cpu.Options
			*cpu.Runner
		}
		var codes []code // for all sizes
		for _, form := range forms {
			form.Single = cpu.SingleNever
			if r, err := cpu.NewKernelRunner(arena, codegen.ForCPU(k), form); err == nil {
				codes = append(codes, code{form, r})
			}
		}
		for _, n := range []int{1, 9, 64, 257, 1001} {
			var first []any
			for _, r := range codes {
				ran++
				args := c.makeArgs(n)
				var values []cpu.Value
				for _, a := range args {
					values = append(values, cpuValue(reflect.ValueOf(a)))
				}
				require.NoError(t, r.Call(values, nil), k.Name)
				if first == nil {
					first = args
				}
				for i := range args {
					if !sameBits(reflect.ValueOf(first[i]), reflect.ValueOf(args[i])) {
						t.Errorf("%s, size %d, argument %d, %+v: %.120v %.120v", k.Name, n, i, r.form, first[i], args[i])
						break
					}
				}
			}
		}
	}
	require.Greater(t, sums, 20)
	require.Greater(t, ran, 1000)
}

// summingForms are vectors of several lengths and numbers of copies, on the processor at hand.
func summingForms(t *testing.T) []cpu.Options {
	t.Helper()
	detected, err := cpu.Detect()
	if err != nil {
		t.Skip(err)
	}
	if detected.ISA == cpu.ARM64 {
		return []cpu.Options{{ISA: cpu.ARM64}, {ISA: cpu.ARM64, Unroll: 1}, {ISA: cpu.ARM64, Unroll: 2}}
	}
	forms := []cpu.Options{{}, {Unroll: 1}, {Unroll: 2}, {ISA: cpu.AMD64Short}, {ISA: cpu.AMD64Short, Unroll: 1}}
	if detected.AVX512 {
		forms = append(forms, cpu.Options{AVX512: true}, cpu.Options{AVX512: true, Width: vcode.W256}, cpu.Options{AVX512: true, Unroll: 1})
	}
	return forms
}

// orderForms are loops that sum up what value does with x[i], and whether they are in an iteration
// of another.
var orderForms = []struct {
	name, clauses, text string
	nested              bool
}{
	{"league", "inout(out)", "s := out[0]\n//omp:teams distribute parallel for reduction(OP: s)\nfor i := range x { s OP= VALUE }\nout[0] = s\n", false},
	{"beside others", "inout(out)", "s, most, n, few, some, last, at := out[0], x0, 0, uint8(0), false, x0, 0\n//omp:teams distribute parallel for reduction(OP: s) reduction(max: most) " +
		"reduction(+: n, few) reduction(||: some) reduction(maxloc: (last, at))\nfor i := range x {\ns OP= VALUE\nmost = max(most, x[i])\nn++\nfew += 3\nsome = some || x[i] > 0\n" +
		"if x[i] > last { last = x[i]; at = i }\n}\nif n != len(x) || few != uint8(3*len(x)) || some != (n > 0) || n > 0 && (most != last || x[at] != last) { s = -1 }\nout[0] = s\n", false},
	{"by one team", "inout(out)", "s := out[0]\n//omp:parallel for num_threads(64) reduction(OP: s)\nfor i := range x { s OP= VALUE }\nout[0] = s\n", false},
	{"by schedule", "inout(out)", "s := out[0]\n//omp:teams distribute parallel for schedule(dynamic, 3) dist_schedule(static, 7) reduction(OP: s)\nfor i := range x { s OP= VALUE }\nout[0] = s\n", false},
	{"twice", "inout(out)", "s, t := out[0], FLOAT(0)\n//omp:teams distribute parallel for reduction(OP: s)\nfor i := range x { s OP= VALUE }\n" +
		"//omp:teams distribute parallel for reduction(+: t)\nfor i := range x { t += s - s + 0*x[i] }\nout[0] = s + t\n", false},
	{"beside atomics", "inout(out, counts)", "s := out[0]\n//omp:teams distribute parallel for reduction(OP: s)\nfor i := range x {\n//omp:atomic\ncounts[0]++\ns OP= VALUE\n}\nout[0] = s\n", false},
	{"backwards", "inout(out)", "s := out[0]\n//omp:teams distribute parallel for reduction(OP: s)\nfor i := len(x) - 1; i >= 0; i-- { s OP= f(x[len(x)-1-i]) }\nout[0] = s\n", false},
	{"by threes", "inout(out)", "s := out[0]\n//omp:teams distribute parallel for reduction(OP: s)\nfor i := 0; i < 3*len(x); i += 3 { s OP= f(x[i/3]) }\nout[0] = s\n", false},
	{"trials", "inout(out)", "s := out[0]\n//omp:teams distribute parallel for reduction(OP: s)\nfor i := range x {\nt := FLOAT(0)\nfor j := range i%3 + 1 { t += FLOAT(j) * x[i] }\n" +
		"if t < 0 { continue }\ns OP= f(x[i]) + (t - t)\n}\nout[0] = s\n", false},
	{"trials beside others", "inout(out)", "s, most, n, few, some, last, at := out[0], x0, 0, uint8(0), false, x0, 0\n//omp:teams distribute parallel for reduction(OP: s) reduction(max: most) " +
		"reduction(+: n, few) reduction(||: some) reduction(maxloc: (last, at))\nfor i := range x {\nfor k := i % 5; k < 5; k++ {\nif k == 4 { s OP= VALUE }\n}\nmost = max(most, x[i])\nn++\nfew += 3\nsome = some || x[i] > 0\n" +
		"if x[i] > last { last = x[i]; at = i }\n}\nif n != len(x) || few != uint8(3*len(x)) || some != (n > 0) || n > 0 && (most != last || x[at] != last) { s = -1 }\nout[0] = s\n", false},
	{"trials by one team", "inout(out)", "s := out[0]\n//omp:parallel for num_threads(64) reduction(OP: s)\nfor i := range x {\nk := i\nfor k > 9 { k /= 2 }\ns OP= f(x[i+k-k])\n}\nout[0] = s\n", false},
	{"trials twice, backwards and by threes", "inout(out)", "s, t := out[0], FLOAT(0)\n//omp:teams distribute parallel for schedule(static, 5) reduction(OP: s)\n" +
		"for i := 3*len(x) - 3; i >= 0; i -= 3 { for range 2 { t := FLOAT(0); _ = t }\ns OP= f(x[len(x)-1-i/3]) }\n" +
		"//omp:teams distribute parallel for reduction(+: t)\nfor i := range x { for j := range 2 { t += FLOAT(j)*(x[i] - x[i]) } }\nout[0] = s + t\n", false},
	{"region", "inout(out)", "s := out[0]\n//omp:parallel num_threads(64)\n{\n//omp:for reduction(OP: s)\nfor i := range x { s OP= VALUE }\n}\nout[0] = s\n", false},
	{"region of two loops beside others", "inout(out)", "s, t, n, most := out[0], FLOAT(0), uint8(0), x0\n//omp:parallel\n{\n//omp:for reduction(OP: s) reduction(max: most) nowait\nfor i := len(x) - 1; i >= 0; i-- {\n" +
		"s OP= f(x[len(x)-1-i])\nmost = max(most, x[i])\n}\n//omp:for reduction(+: t, n)\nfor i := range x {\nt += x[i] - x[i]\nn++\n}\n}\nif n != uint8(len(x)) || most < x0 { s = -1 }\nout[0] = s + t\n", false},
	{"region with a loop", "inout(out)", "s, n := out[0], len(x)/len(out)\n//omp:parallel\n{\nfor r := range out {\n//omp:for reduction(OP: s)\nfor i := range n { s OP= f(x[r*n+i]) }\n//omp:single\n{\nout[r] = s\ns = out[min(r+1, len(out)-1)]\n}\n}\n}\n", false},
	{"in a loop of one team", "inout(out)", "//omp:teams num_teams(1)\nfor r := range out {\ns, n := out[r], len(x)/len(out)\n//omp:parallel for reduction(OP: s)\nfor i := range n { s OP= f(x[r*n+i]) }\nout[r] = s\n}\n", false},
	{"region of rows", "inout(out)", "//omp:teams distribute\nfor r := range out {\ns, n := out[r], len(x)/len(out)\n//omp:parallel\n{\n//omp:for reduction(OP: s)\nfor i := range n { s OP= f(x[r*n+i]) }\n}\nout[r] = s\n}\n", true},
	{"trials in a region", "inout(out)", "s := out[0]\n//omp:parallel\n{\n//omp:for reduction(OP: s)\nfor i := range x {\nk := i\nfor k > 9 { k /= 2 }\ns OP= f(x[i+k-k])\n}\n}\nout[0] = s\n", false},
	{"rows", "inout(out)", "//omp:teams distribute\nfor r := range out {\ns, n := out[r], len(x)/len(out)\n//omp:parallel for reduction(OP: s)\nfor i := range n { s OP= f(x[r*n+i]) }\nout[r] = s\n}\n", true},
}

// TestSums_HaveTheOrderThatIsDefined runs loops with sums as vector code of each kind, on any
// number of workers, and on simulated devices with and without warps: all leave the bits of
// order.Reduce.
func TestSums_HaveTheOrderThatIsDefined(t *testing.T) {
	t.Run("float32", func(t *testing.T) { sumsInOrder(t, "float32", onProcessors[float32]()) })
	t.Run("float64", func(t *testing.T) { sumsInOrder(t, "float64", onProcessors[float64]()) })
}

// TestSums_HaveTheOrderOnADevice is that for the accelerator that TestCorpusOnADevice runs on.
func TestSums_HaveTheOrderOnADevice(t *testing.T) {
	spec := deviceSpec()
	m, err := machine.Open(spec, machine.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	d := &corpusDevice{Accelerator: m.Accelerators()[0]}
	t.Run("float32", func(t *testing.T) { sumsInOrder(t, "float32", onDevice[float32](d)) })
	t.Run("float64", func(t *testing.T) { sumsInOrder(t, "float64", onDevice[float64](d)) })
}

// A sumCase is one loop: K(x, out, x0, counts) has to leave want in out.
type sumCase[T float32 | float64] struct {
	p       *codegen.Package
	heavy   bool
	x, want []T
	begin   T
}

func (c *sumCase[T]) args() []any {
	out := make([]T, len(c.want))
	for i := range out {
		out[i] = c.begin
	}
	return []any{c.x, out, c.begin, make([]int, 1)}
}

// sumCode is one loop as vector code of each form, and as programs for simulated devices.
type sumCode struct {
	vectors  []*cpu.Runner // nil where no case has run in that form yet
	programs []*simt.Program
}

// onProcessors runs a case as vector code, and on simulated devices.
func onProcessors[T float32 | float64]() func(*testing.T, *sumCase[T]) {
	var of *codegen.Package
	var arena *cpu.Arena
	var code sumCode
	lowerings := []codegen.LowerOptions{{}, {NoShuffles: true}}
	return func(t *testing.T, c *sumCase[T]) {
		k, err := c.p.Kernel("K")
		require.NoError(t, err)
		forms := summingForms(t)
		if of != c.p { // a subtest of its own
			fresh, err := cpu.NewArena() // all cases do not fit into one
			if err != nil {
				t.Skip(err)
			}
			t.Cleanup(func() { require.NoError(t, fresh.Close()) })
			of, arena, code = c.p, fresh, sumCode{vectors: make([]*cpu.Runner, len(forms))}
			for _, opt := range lowerings {
				program, err := simt.New(lowerKernel(t, c.p, "K", opt).Program)
				require.NoError(t, err)
				code.programs = append(code.programs, program)
			}
		}
		for i, o := range forms {
			if i > 0 && i%2 != len(c.x)%2 {
				continue
			}
			if code.vectors[i] == nil {
				code.vectors[i], err = cpu.NewKernelRunner(arena, codegen.ForCPU(k), o)
				require.NoError(t, err)
			}
			for _, share := range []func(*cpu.Loop) error{nil, backwards} {
				args := c.args()
				var values []cpu.Value
				for _, a := range args {
					values = append(values, cpuValue(reflect.ValueOf(a)))
				}
				require.NoError(t, code.vectors[i].Call(values, share))
				require.Equal(t, c.want, args[1], "vector code, %d elements, %+v", len(c.x), o)
			}
		}
		if slowInterpreted(c) {
			return
		}
		for l, opt := range lowerings {
			for i, s := range shapes {
				if !opt.NoShuffles && s.threads%32 != 0 || (i+len(c.x))%4 > 0 {
					continue
				}
				args := c.args()
				require.NoError(t, runDevice(code.programs[l], args, simt.Config{Teams: s.teams, Threads: s.threads, Seed: uint64(i), Races: len(c.x) < 2000}))
				require.Equal(t, c.want, args[1], "%d elements, %d teams of %d threads, %+v", len(c.x), s.teams, s.threads, opt)
			}
		}
	}
}

// slowInterpreted tells whether the interpreter takes long for a case.
func slowInterpreted[T float32 | float64](c *sumCase[T]) bool {
	return len(c.x) > 30000 && c.heavy || len(c.x) > 100000
}

// onDevice runs a case on an accelerator.
func onDevice[T float32 | float64](d *corpusDevice) func(*testing.T, *sumCase[T]) {
	kernels := map[*codegen.Package]*devices.Kernel{}
	return func(t *testing.T, c *sumCase[T]) {
		if d.Properties().Kind == "sim" && slowInterpreted(c) {
			return
		}
		if kernels[c.p] == nil {
			opt := d.lowering()
			opt.Device = d.target()
			kernels[c.p] = &devices.Kernel{Name: "K", Program: lowerKernel(t, c.p, "K", opt).Program}
			require.NoError(t, d.Prepare(kernels[c.p]))
		}
		args := c.args()
		require.NoError(t, d.run(kernels[c.p], args))
		require.Equal(t, c.want, args[1], "%d elements", len(c.x))
	}
}

// sumsInOrder makes the cases of one type.
func sumsInOrder[T float32 | float64](t *testing.T, typ string, run func(*testing.T, *sumCase[T])) {
	light := func(x T) T { return x }
	heavy := func(x T) T {
		for range 20 {
			x = T(math.Sqrt(float64(x * x)))
		}
		return x
	}
	for _, form := range orderForms {
		for _, op := range []string{"+", "*"} {
			for _, weight := range []string{"light", "heavy"} {
				t.Run(form.name+" "+op+" "+weight, func(t *testing.T) {
					f, helper := light, "return x\n"
					if weight == "heavy" {
						f, helper = heavy, strings.Repeat("x = FLOAT(math.Sqrt(float64(FLOAT(x*x))))\n", 20)+"return x\n"
					}
					text := "package k\n\nimport \"math\"\n\nconst _ = math.Pi\n\nfunc f(x FLOAT) FLOAT {\n" + helper + "}\n\n//omp:target device(acc, smp)\n//omp:task in(x) " +
						form.clauses + "\nfunc K(x, out []FLOAT, x0 FLOAT, counts []int) {\n" + form.text + "}"
					p, err := codegen.Load(codegen.File{Name: "k.go", Text: strings.NewReplacer("VALUE", "f(x[i])", "OP", op, "FLOAT", typ).Replace(text)})
					require.NoError(t, err)
					cut := cutOf(t, p)
					require.Equal(t, weight == "heavy" || strings.HasPrefix(form.name, "trials"), cut.Block == order.Lanes)
					require.Equal(t, strings.HasPrefix(form.name, "trials"), cut.Blocks == 1)
					sizes := []int{0, 1, 31, 33, 1000, 1025, 8192, 8300}
					if !testing.Short() {
						sizes = append(sizes, 70000, 140000)
					}
					if deviceSpec() == "cuda:1" {
						sizes = append(sizes, 3000000)
					}
					for _, n := range sizes {
						rows := 1
						if form.nested || strings.Contains(form.text, "range out") {
							rows = 3
						}
						r := rand.New(rand.NewPCG(uint64(n), 7))
						c := &sumCase[T]{p: p, heavy: weight == "heavy", x: make([]T, rows*n), want: make([]T, rows), begin: T(r.Float64())}
						for i := range c.x {
							c.x[i] = T(1 + (r.Float64()-0.5)/float64(n))
						}
						combine, identity := func(a, b T) T { return a + b }, T(0)
						if op == "*" {
							combine, identity = func(a, b T) T { return a * b }, 1
						}
						for r := range c.want {
							c.want[r] = combine(c.begin, order.Reduce(int64(n), cut, form.nested, identity, func(i int64) T { return f(c.x[r*n+int(i)]) }, combine))
						}
						run(t, c)
					}
				})
			}
		}
	}
}

// TestSums_OfLongRowsInLoops sums up rows that stand in loops and conditions of an iteration: each
// row has the order of its length, as vector code and where a team has an iteration.
func TestSums_OfLongRowsInLoops(t *testing.T) {
	const text = "package k\n\n//omp:target device(acc, smp)\n//omp:task in(x) inout(out)\nfunc K(x, out []float64, n, parts int) {\n//omp:teams distribute parallel for\n" +
		"for r := range out {\ns := out[r]\nfor k := range parts {\nif (k+r)%3 > 0 {\n//omp:simd reduction(+: s)\nfor i := range n { s += x[(k*len(out)+r)*n+i] }\n} else { s *= 2 }\n}\nout[r] = s\n}\n}"
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
	require.NoError(t, err)
	k, err := p.Kernel("K")
	require.NoError(t, err)
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { require.NoError(t, arena.Close()) })
	cut := cutOf(t, p)
	const rows, parts = 3, 4
	for _, n := range []int{512, 700, 5000} {
		r := rand.New(rand.NewPCG(uint64(n), 9))
		x, begin, want := make([]float64, rows*parts*n), make([]float64, rows), make([]float64, rows)
		for i := range x {
			x[i] = r.Float64()
		}
		for i := range want {
			begin[i] = r.Float64()
			want[i] = begin[i]
			for k := range parts {
				if (k+i)%3 == 0 {
					want[i] *= 2
					continue
				}
				add := func(a, b float64) float64 { return a + b }
				want[i] += order.Reduce(int64(n), cut, true, 0, func(j int64) float64 { return x[(k*rows+i)*n+int(j)] }, add)
			}
		}
		for _, o := range summingForms(t) {
			o.Single = cpu.SingleNever
			code, err := cpu.NewKernelRunner(arena, codegen.ForCPU(k), o)
			require.NoError(t, err)
			out := slices.Clone(begin)
			var values []cpu.Value
			for _, a := range []any{x, out, n, parts} {
				values = append(values, cpuValue(reflect.ValueOf(a)))
			}
			require.NoError(t, code.Call(values, nil))
			require.Equal(t, want, out, "vector code, rows of %d, %+v", n, o)
		}
		program, err := simt.New(lowerKernel(t, p, "K", codegen.LowerOptions{}).Program)
		require.NoError(t, err)
		for _, s := range []simt.Config{{Teams: 2, Threads: 256}, {Teams: 5, Threads: 64}, {Teams: 1, Threads: 32}} {
			out := slices.Clone(begin)
			s.Races = n < 5000
			require.NoError(t, runDevice(program, []any{x, out, n, parts}, s))
			require.Equal(t, want, out, "rows of %d, %d teams of %d threads", n, s.Teams, s.Threads)
		}
	}
}

// cutOf is how the first loop with sums in kernel K is cut.
func cutOf(t *testing.T, p *codegen.Package) (cut order.Cut) {
	k, err := p.Kernel("K")
	require.NoError(t, err)
	ir.WalkStmts(k.Body, func(s ir.Stmt) bool {
		if d := ir.DirectiveOf(s); d != nil && len(d.Reductions) > 0 && cut.Block == 0 {
			cut = order.CutOf(d.Reductions[0])
		}
		return true
	})
	return cut
}

// backwards shares a loop out in single parts, the last of them first.
func backwards(l *cpu.Loop) error {
	for k := l.Trips - 1; k >= 0; k-- {
		if err := l.Run(k, k+1); err != nil {
			return err
		}
	}
	return nil
}

// TestSums_ThatFillTeamMemory lowers loops with ever more sums: their slots fit into the memory of a
// team, beside an array of the program, and the results are exact.
func TestSums_ThatFillTeamMemory(t *testing.T) {
	for _, sums := range []int{1, 8, 17, 24, 40} {
		var names, adds, outs []string
		for i := range sums {
			names = append(names, fmt.Sprintf("s%d", i))
			adds = append(adds, fmt.Sprintf("s%d += x[i] + %d", i, i))
			outs = append(outs, fmt.Sprintf("out[%d] = s%d", i, i))
		}
		list := strings.Join(names, ", ")
		if sums%8 == 0 { // and arrays before and between
			list = "b, " + list + ", c"
			adds = append(adds, "b[i%3] += x[i]", "c[i%2] += 1")
			outs = append(outs, "y[0], y[1], y[2] = b[0], b[1], b[2]", "y[3], y[4] = c[0], c[1]")
		}
		for _, array := range []string{"", "//omp:teams distribute\nfor r := range 2 {\nvar tile [3000]float64\n//omp:parallel for\nfor i := range 3000 { tile[i] = x[i%len(x)] }\n" +
			"//omp:parallel for\nfor i := range 3000 { y[r*3000+i] = tile[2999-i] }\n}\n"} {
			text := "//omp:target device(acc)\n//omp:task in(x) inout(out, y)\nfunc K(x, out, y []float64) {\nvar b [3]float64\nvar c [2]float64\nvar " + strings.Join(names, ", ") + " float64\n_, _ = b, c\n" + array +
				"//omp:teams distribute parallel for reduction(+: " + list + ")\nfor i := range x {\n" + strings.Join(adds, "\n") + "\n}\n" + strings.Join(outs, "\n") + "\n}"
			for _, opt := range []codegen.LowerOptions{{}, {NoShuffles: true}} {
				l, err := lowerText(t, text, opt)
				require.NoError(t, err)
				for _, g := range l.Program.Launches {
					bytes := ir.Bytes(0)
					for _, v := range g.Team {
						bytes += v.Type.Size
					}
					require.LessOrEqual(t, bytes, ir.Bytes(48<<10), "%d sums", sums)
				}
				program, err := simt.New(l.Program)
				require.NoError(t, err)
				x, out := make([]float64, 3000), make([]float64, sums)
				for i := range x {
					x[i] = float64(i % 7)
				}
				y, elements := make([]float64, 6000), make([]float64, 5)
				require.NoError(t, runDevice(program, []any{x, out, y}, simt.Config{Teams: 3, Threads: 64, Races: true}))
				for i, v := range x {
					elements[i%3] += v
					elements[3+i%2]++
				}
				if sums%8 == 0 {
					require.Equal(t, elements, y[:5])
				}
				for i := range out {
					want := 0.0
					for _, v := range x {
						want += v + float64(i)
					}
					require.Equal(t, want, out[i], "sum %d of %d", i, sums)
				}
			}
		}
	}
}

// TestSums_OfEachTeam sums up in each of several teams, which run at once: the values of groups of
// each team have a place of their own.
func TestSums_OfEachTeam(t *testing.T) {
	for _, body := range []string{"s += x[i] * m", "for k := range 2 { s += x[i] * m * float32(k) }"} {
		for _, loop := range []string{"//omp:parallel for reduction(+: s)\nfor i := range x { BODY }\n", "//omp:parallel\n{\n//omp:for reduction(+: s)\nfor i := range x { BODY }\n}\n"} {
			for _, opt := range []codegen.LowerOptions{{}, {NoShuffles: true}} {
				l, err := lowerText(t, "import \"github.com/gompss/gompss/codegen/kernel\"\n\n//omp:target device(acc)\n//omp:task in(x) inout(out)\nfunc K(x, out []float32) {\n"+
					"//omp:teams num_teams(3)\n{\nm := float32(kernel.TeamNum() + 1)\nvar s float32\n"+strings.ReplaceAll(loop, "BODY", body)+"out[kernel.TeamNum()] = s\n}\n}", opt)
				require.NoError(t, err)
				for _, pad := range l.Program.Scratch {
					if strings.HasSuffix(pad.Var.Name, "Parts") {
						require.Contains(t, ir.ExprString(pad.Count), "NumTeams()", l.Program.String())
					}
				}
				program, err := simt.New(l.Program)
				require.NoError(t, err)
				x, out := make([]float32, 20000), make([]float32, 3)
				for i := range x {
					x[i] = float32(i % 2)
				}
				require.NoError(t, runDevice(program, []any{x, out}, simt.Config{Teams: 3, Threads: 64, Races: true}))
				require.Equal(t, []float32{10000, 20000, 30000}, out, l.Program.String())
			}
		}
	}
}

// TestSums_OfAnyCounter sums up what a body does whose counter has few bits and another step, or which
// calls a function that returns at two places.
func TestSums_OfAnyCounter(t *testing.T) {
	const text = "func g(i int) float32 {\nif i%3 == 0 { return 2 }\nreturn float32(i)\n}\n//omp:target device(acc, smp)\n//omp:task inout(out)\nfunc K(out []float32, lo, hi uint8, from, to int8) {\n" +
		"a, b, c := out[0], out[1], out[2]\n" +
		"//omp:teams distribute parallel for reduction(+: a)\nfor i := lo; i < hi; i += 10 { a += float32(i) }\n" +
		"//omp:teams distribute parallel for reduction(+: b)\nfor i := to; i > from; i -= 7 { b += float32(i) }\n" +
		"//omp:teams distribute parallel for reduction(+: c)\nfor i := 0; i < 5000; i++ { c += g(i) }\n" +
		"out[0], out[1], out[2] = a, b, c\n}"
	g := func(i int) float32 {
		if i%3 == 0 {
			return 2
		}
		return float32(i)
	}
	for _, bounds := range [][2]uint8{{0, 245}, {3, 246}, {0, 0}, {9, 8}, {250, 255}, {5, 246}} {
		lo, hi := bounds[0], bounds[1]
		want := []float32{1, 2, 3}
		for i := lo; i < hi && i <= 245; i += 10 {
			want[0] += float32(i)
		}
		if lo > 245 { // one iteration, and then the counter has wrapped below hi
			continue
		}
		from, to := int8(lo/2), int8(hi/2)
		for i := to; i > from; i -= 7 {
			want[1] += float32(i)
		}
		for i := range 5000 {
			want[2] += g(i)
		}
		for n, opt := range []codegen.LowerOptions{{}, {NoShuffles: true}, {}, {NoShuffles: true}} {
			source := text
			if n > 1 { // and with a loop inside
				source = strings.NewReplacer("{ a +=", "{ for range 1 + len(out) - 3 { a +=", "{ b +=", "{ for range 1 { b +=", "{ c +=", "{ for range 1 { c +=", "float32(i) }\n//", "float32(i) } }\n//", "g(i) }", "g(i) } }").Replace(text)
			}
			l, err := lowerText(t, source, opt)
			require.NoError(t, err)
			program, err := simt.New(l.Program)
			require.NoError(t, err)
			out := []float32{1, 2, 3}
			require.NoError(t, runDevice(program, []any{out, lo, hi, from, to}, simt.Config{Teams: 3, Threads: 64, Races: true}))
			require.Equal(t, want, out, "from %d to %d", lo, hi)
		}
	}
}
