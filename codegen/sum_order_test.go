//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"math"
	"math/rand/v2"
	"reflect"
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
	detected, err := cpu.Detect()
	require.NoError(t, err)
	forms := []cpu.Options{{}, {Unroll: 1}, {Unroll: 2}}
	if detected.AVX512 {
		forms = append(forms, cpu.Options{AVX512: true}, cpu.Options{AVX512: true, Width: vcode.W256}, cpu.Options{AVX512: true, Unroll: 1})
	}
	sums := 0
	for _, c := range corpus {
		k, err := p.Kernel(name(c.kernel))
		require.NoError(t, err)
		if cpu.DiffersByLanes(k) != "" {
			sums++
		}
		for _, n := range []int{1, 9, 64, 257, 1001} {
			var first []any
			for _, form := range forms {
				form.Single = cpu.SingleNever
				r, err := cpu.NewKernelRunner(arena, codegen.ForCPU(k), form)
				if err != nil {
					continue
				}
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
						t.Errorf("%s, size %d, argument %d, %+v: %.120v %.120v", k.Name, n, i, form, first[i], args[i])
						break
					}
				}
			}
		}
	}
	require.Greater(t, sums, 20)
}

// orderForms are loops that sum up what value does with x[i], and whether they are in an iteration
// of another.
var orderForms = []struct {
	name, clauses, text string
	nested              bool
}{
	{"league", "inout(out)", "s := out[0]\n//omp:teams distribute parallel for reduction(OP: s)\nfor i := range x { s OP= VALUE }\nout[0] = s\n", false},
	{"beside others", "inout(out)", "s, most, n := out[0], x0, 0\n//omp:teams distribute parallel for reduction(OP: s) reduction(max: most) reduction(+: n)\n" +
		"for i := range x { s OP= VALUE; most = max(most, x[i]); n++ }\nout[0] = s + 0*most*FLOAT(n)\n", false},
	{"beside atomics", "inout(out, counts)", "s := out[0]\n//omp:teams distribute parallel for reduction(OP: s)\nfor i := range x {\n//omp:atomic\ncounts[0]++\ns OP= VALUE\n}\nout[0] = s\n", false},
	{"by threes", "inout(out)", "s := out[0]\n//omp:teams distribute parallel for reduction(OP: s)\nfor i := 0; i < 3*len(x); i += 3 { s OP= f(x[i/3]) }\nout[0] = s\n", false},
	{"rows", "inout(out)", "//omp:teams distribute\nfor r := range out {\ns, n := out[r], len(x)/len(out)\n//omp:parallel for reduction(OP: s)\nfor i := range n { s OP= f(x[r*n+i]) }\nout[r] = s\n}\n", true},
}

// TestSums_HaveTheOrderThatIsDefined runs loops with sums as vector code of each kind, on any
// number of workers, and on simulated devices with and without warps: all leave the bits of
// order.Reduce.
func TestSums_HaveTheOrderThatIsDefined(t *testing.T) {
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { require.NoError(t, arena.Close()) })
	t.Run("float32", func(t *testing.T) { sumsInOrder(t, "float32", onProcessors[float32](arena)) })
	t.Run("float64", func(t *testing.T) { sumsInOrder(t, "float64", onProcessors[float64](arena)) })
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

// onProcessors runs a case as vector code, and on simulated devices.
func onProcessors[T float32 | float64](arena *cpu.Arena) func(*testing.T, *sumCase[T]) {
	return func(t *testing.T, c *sumCase[T]) {
		k, err := c.p.Kernel("K")
		require.NoError(t, err)
		for _, o := range []cpu.Options{{}, {AVX512: true}, {AVX512: true, Unroll: 1}} {
			runner, err := cpu.NewKernelRunner(arena, codegen.ForCPU(k), o)
			require.NoError(t, err)
			for _, share := range []func(*cpu.Loop) error{nil, backwards} {
				args := c.args()
				var values []cpu.Value
				for _, a := range args {
					values = append(values, cpuValue(reflect.ValueOf(a)))
				}
				require.NoError(t, runner.Call(values, share))
				require.Equal(t, c.want, args[1], "vector code, %d elements, %+v", len(c.x), o)
			}
		}
		if len(c.x) > 30000 && c.heavy {
			return // the interpreter is slow
		}
		for _, opt := range []codegen.LowerOptions{{}, {NoShuffles: true}} {
			program, err := simt.New(lowerKernel(t, c.p, "K", opt).Program)
			require.NoError(t, err)
			for i, s := range shapes {
				if !opt.NoShuffles && s.threads%32 != 0 || (i+len(c.x))%4 > 0 {
					continue
				}
				args := c.args()
				require.NoError(t, runDevice(program, args, simt.Config{Teams: s.teams, Threads: s.threads, Seed: uint64(i), Races: len(c.x) < 2000}))
				require.Equal(t, c.want, args[1], "%d elements, %d teams of %d threads, %+v", len(c.x), s.teams, s.threads, opt)
			}
		}
	}
}

// onDevice runs a case on an accelerator.
func onDevice[T float32 | float64](d *corpusDevice) func(*testing.T, *sumCase[T]) {
	kernels := map[*codegen.Package]*devices.Kernel{}
	return func(t *testing.T, c *sumCase[T]) {
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
			x = T(math.Sqrt(float64(x*x))) + 1
		}
		return x
	}
	for _, form := range orderForms {
		for _, op := range []string{"+", "*"} {
			for _, weight := range []string{"light", "heavy"} {
				t.Run(form.name+" "+op+" "+weight, func(t *testing.T) {
					f, helper := light, "return x\n"
					if weight == "heavy" {
						f, helper = heavy, strings.Repeat("x = FLOAT(math.Sqrt(float64(FLOAT(x*x)))) + 1\n", 20)+"return x\n"
					}
					text := "package k\n\nimport \"math\"\n\nconst _ = math.Pi\n\nfunc f(x FLOAT) FLOAT {\n" + helper + "}\n\n//omp:target device(acc, smp)\n//omp:task in(x) " +
						form.clauses + "\nfunc K(x, out []FLOAT, x0 FLOAT, counts []int) {\n" + form.text + "}"
					p, err := codegen.Load(codegen.File{Name: "k.go", Text: strings.NewReplacer("VALUE", "f(x[i])", "OP", op, "FLOAT", typ).Replace(text)})
					require.NoError(t, err)
					cut := cutOf(t, p)
					require.Equal(t, weight == "heavy", cut.Block == order.Lanes)
					sizes := []int{0, 1, 31, 33, 1000, 1025, 8192, 8300}
					if !testing.Short() {
						sizes = append(sizes, 70000)
					}
					if deviceSpec() == "cuda:1" {
						sizes = append(sizes, 3000000)
					}
					for _, n := range sizes {
						rows := 1
						if form.nested {
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

// cutOf is how the loop in kernel K is cut.
func cutOf(t *testing.T, p *codegen.Package) (cut order.Cut) {
	k, err := p.Kernel("K")
	require.NoError(t, err)
	ir.WalkStmts(k.Body, func(s ir.Stmt) bool {
		if d := ir.DirectiveOf(s); d != nil && len(d.Reductions) > 0 {
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
