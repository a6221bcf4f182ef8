package cpu_test

import (
	_ "embed"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/codegen/ir"
)

//go:embed nest_kernels_test.go
var nestSource string

var nests = map[string]trial{
	"Steps": {Steps, func(r *rand.Rand, n int) []any { return []any{r.IntN(9), floats64(r, n), floats64(r, n)} }, 0},
	"Settle": {Settle, func(r *rand.Rand, n int) []any {
		x := make([]int32, n)
		for i := range x {
			x[i] = r.Int32N(1000)
		}
		return []any{x, make([]int64, 4), 1 + r.IntN(20)}
	}, 0},
	"Rows": {Rows, func(r *rand.Rand, n int) []any {
		h := 1 + r.IntN(7)
		m := make([]float32, h*n)
		for i := range m {
			m[i] = float32(r.IntN(1000))
		}
		return []any{h, n, r.IntN(h + 1), m, make([]float64, h)}
	}, 0},
}

// halves runs a loop on two goroutines and counts.
type halves struct {
	r      *rand.Rand
	shared int
}

func (h *halves) share(l *cpu.Loop) error {
	h.shared++
	cut := h.r.Int64N(l.Trips + 1)
	var both sync.WaitGroup
	var first, second error
	both.Go(func() { first = l.Run(0, cut) })
	second = l.Run(cut, l.Trips)
	both.Wait()
	if first != nil {
		return first
	}
	return second
}

func loadNest(t testing.TB, name string, o cpu.Options) *cpu.Runner {
	t.Helper()
	p, err := codegen.Load(codegen.File{Name: "nest_kernels_test.go", Text: nestSource})
	require.NoError(t, err)
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { require.NoError(t, arena.Close()) })
	k, err := p.Kernel(name)
	require.NoError(t, err)
	code, err := cpu.Compile(k, o)
	require.NoError(t, err)
	require.Contains(t, strings.Join(code.Notes, "\n"), "inside sequential code, is shared by idle workers where it takes long enough")
	prog, err := arena.Install(code)
	require.NoError(t, err)
	return cpu.NewRunner(prog)
}

// TestLoopsInSequentialCodeAreShared runs them on two goroutines where they have iterations enough, on one where not, with the results of Go.
func TestLoopsInSequentialCodeAreShared(t *testing.T) {
	for name, tr := range nests {
		for machine, o := range machines() {
			t.Run(name+"/"+machine, func(t *testing.T) {
				runner := loadNest(t, name, o)
				shared, alone := 0, 0
				for seed := range uint64(60) {
					r := rand.New(rand.NewPCG(seed, 11))
					n := []int{int(seed), 600 + r.IntN(3000), 40_000 + r.IntN(60_000)}[seed%3]
					want := tr.args(r, n)
					got := make([]any, len(want))
					for i := range want {
						got[i] = cloneArg(want[i])
					}
					h := &halves{r: r}
					share := h.share
					if seed%7 == 0 {
						share = nil
					}
					callGo(tr.fn, want)
					require.NoError(t, runner.Call(values(got), share))
					for i := range want {
						same(t, name, want[i], got[i], tr.bound)
					}
					if t.Failed() {
						t.Fatalf("seed %d, n %d", seed, n)
					}
					if h.shared > 0 {
						shared++
					} else {
						alone++
					}
				}
				require.Positive(t, shared)
				require.Positive(t, alone)
			})
		}
	}
}

// TestSharedLoopsReportTheirErrors: a check that fails in a shared loop is the error of the call, and the runner works afterwards.
func TestSharedLoopsReportTheirErrors(t *testing.T) {
	for machine, o := range machines() {
		runner := loadNest(t, "Wrong", o)
		a, b := make([]float64, 4000), make([]float64, 4002)
		h := &halves{r: rand.New(rand.NewPCG(1, 1))}
		for range 3 {
			var bounds *ir.CheckError
			require.ErrorAs(t, runner.Call(values([]any{4, a, b}), h.share), &bounds, machine)
			require.Equal(t, "b", bounds.What)
			require.EqualValues(t, 4002, bounds.Index)
			require.NoError(t, runner.Call(values([]any{3, a, b}), h.share), machine)
		}
		require.Positive(t, h.shared)
	}
}

func callGo(fn any, args []any) {
	in := make([]reflect.Value, len(args))
	for i := range args {
		in[i] = reflect.ValueOf(args[i])
	}
	reflect.ValueOf(fn).Call(in)
}

// BenchmarkSteps runs a time loop of 50 steps, two parallel loops of 100000 elements in each, on one goroutine and on two.
func BenchmarkSteps(b *testing.B) {
	o, err := cpu.Detect()
	if err != nil {
		b.Skip(err)
	}
	args := values([]any{50, make([]float64, 100_000), make([]float64, 100_000)})
	for name, share := range map[string]func(*cpu.Loop) error{"one": nil, "two": (&halves{}).even} {
		b.Run(name, func(b *testing.B) {
			runner := loadNest(b, "Steps", o)
			for b.Loop() {
				require.NoError(b, runner.Call(args, share))
			}
		})
	}
}

// even is share with halves.
func (h *halves) even(l *cpu.Loop) error {
	first := make(chan error)
	go func() { first <- l.Run(0, l.Trips/2) }()
	second := l.Run(l.Trips/2, l.Trips)
	return errors.Join(<-first, second)
}
