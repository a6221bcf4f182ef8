package cpu_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
)

const orderedSource = `package k

//omp:target device(smp)
func Dot(n int, rows []int32, x, y []float64, out []float64) {
	s := out[0]
	//omp:teams distribute parallel for reduction(+: s)
	for i := 0; i < n; i++ {
		s += x[i] * y[i]
	}
	out[0] = s
}

//omp:target device(smp)
func Norms(n int, rows []int32, x, y []float64, out []float64) {
	s, p, most, count := float32(out[0]), 1.0, out[1], 0
	//omp:teams distribute parallel for reduction(+: s, count) reduction(*: p) reduction(max: most)
	for i := 0; i < n; i++ {
		s += float32(x[i]) * float32(y[i])
		p *= 1 + x[i]*0x1p-12
		most = max(most, y[i])
		if x[i] > 0 {
			count++
		}
	}
	out[0], out[1], out[2], out[3] = float64(s), p, most, float64(count)
}

//omp:target device(smp)
func RowsOf(n int, rows []int32, x, y []float64, out []float64) {
	s := out[0]
	//omp:teams distribute parallel for reduction(+: s)
	for i := 0; i < n; i++ {
		row := 0.0
		for j := 0; j < int(rows[i]); j++ {
			row += x[j]
		}
		y[i] = row
		s += row * x[i]
	}
	out[0] = s
}

//omp:target device(smp)
func Bins(n int, rows []int32, x, y []float64, out []float64) {
	var t [8]float64
	//omp:teams distribute parallel for reduction(+: t)
	for i := 0; i < n; i++ {
		t[rows[i]&7] += x[i] * y[i]
	}
	for k := 0; k < 8; k++ {
		out[k] += t[k]
	}
}

//omp:target device(smp)
func Iterate(n int, rows []int32, x, y []float64, out []float64) {
	for k := 0; k < 5; k++ {
		s := 0.0
		//omp:teams distribute parallel for reduction(+: s)
		for i := 0; i < n; i++ {
			s += x[i] * y[i]
		}
		//omp:teams distribute parallel for
		for i := 0; i < n; i++ {
			y[i] = y[i]*0.9 + s*1e-6
		}
		out[k] = s
	}
}

//omp:target device(smp)
func Least(n int, rows []int32, x, y []float64, out []float64) {
	v, at, s := out[0], 0, 0.0
	//omp:teams distribute parallel for reduction(minloc: v, at) reduction(+: s)
	for i := 0; i < n; i++ {
		if x[i] < v {
			v, at = x[i], i
		}
		s += y[i]
	}
	out[0], out[1], out[2] = v, float64(at), s
}
`

// dealt lets workers run the iterations of a loop in pieces of random sizes and in a random order.
func dealt(r *rand.Rand, workers int) func(*cpu.Loop) error {
	return func(l *cpu.Loop) error {
		var cuts []int64
		for range r.IntN(12) {
			cuts = append(cuts, r.Int64N(l.Trips+1))
		}
		cuts = append(cuts, 0, l.Trips)
		slices.Sort(cuts)
		pieces := make([][2]int64, 0, len(cuts))
		for i := range cuts[1:] {
			pieces = append(pieces, [2]int64{cuts[i], cuts[i+1]})
		}
		r.Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
		errs := make([]error, workers)
		var all sync.WaitGroup
		for w := range workers {
			all.Go(func() {
				for i := w; i < len(pieces); i += workers {
					errs[w] = errors.Join(errs[w], l.Run(pieces[i][0], pieces[i][1]))
				}
			})
		}
		all.Wait()
		return errors.Join(errs...)
	}
}

// TestReductions_OrderOfTheTripCount: neither the number of workers, nor how the loop is dealt to them, nor the time that iterations took before shows in
// the bits of a reduction.
func TestReductions_OrderOfTheTripCount(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "ordered.go", Text: orderedSource})
	require.NoError(t, err)
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	for machine, o := range machines() {
		for _, name := range []string{"Dot", "Norms", "RowsOf", "Bins", "Iterate", "Least"} {
			k, err := p.Kernel(name)
			require.NoError(t, err)
			t.Run(name+"/"+machine, func(t *testing.T) {
				r := rand.New(rand.NewPCG(1, uint64(len(name))))
				for _, n := range []int{1, 63, 64, 65, 700, 8192, 8193, 30011, 100003 + r.IntN(1000)} {
					sums := map[string]string{}
					for kind, share := range map[string]func(*cpu.Loop) error{"alone": nil, "one worker": dealt(r, 1), "two": dealt(r, 2), "five": dealt(r, 5)} {
						runner, err := cpu.NewKernelRunner(arena, k, o)
						require.NoError(t, err)
						for range 3 {
							again := rand.New(rand.NewPCG(uint64(n), 5))
							rows, x, y := make([]int32, n), floats64(again, n), floats64(again, n)
							for i := range rows {
								rows[i] = int32(min(n, again.IntN(30)))
							}
							out := []float64{3, 1, 2, 4, 5, 6, 7, 8}
							args := []any{n, rows, x, y, out}
							require.NoError(t, runner.Call(values(args), share))
							runtime.KeepAlive(args)
							sums[fmt.Sprintf("%x", out)] += kind + " "
						}
					}
					require.Len(t, sums, 1, "n = %d", n)
				}
			})
		}
	}
}
