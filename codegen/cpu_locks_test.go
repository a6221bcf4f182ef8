//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
)

// lockedUpdates are statements whose result does not depend on the order of the iterations, and what they do in Go.
var lockedUpdates = []string{
	"y[k] += v", "y[k] -= v", "y[k]++", "y[0] += v", "y[i%len(y)] -= v", "y[k] &= v | 3", "y[k] |= v", "y[k] ^= v", "y[1] ^= v", "y[k] = max(y[k], v)", "y[k] = min(v, y[k])",
	"y[2] = min(y[2], v)", "y[k] *= v | 1", "y[k] &^= v",
}

var lockedFloats = []string{"y[k] += v", "y[0] += v", "y[k] -= v", "y[k] = max(y[k], v)", "y[1] = min(y[1], v)", "y[k] *= v - v - 1"}

// lockedKernel updates elements of type t by the given statement, in all iterations or in some.
func lockedKernel(t, update string, some bool) string {
	open, end := "", ""
	if some {
		open, end = "if x[i]&1 == 0 {", "}"
	}
	return fmt.Sprintf(`package k

//omp:target device(smp)
//omp:task in(x) inout(y)
func K(x []int32, y []%[1]s) {
	//omp:teams distribute parallel for
	for i := range x {
		%[3]s
		//omp:atomic
		%[2]s
		%[4]s
	}
}
`, t, strings.NewReplacer("[k]", "[int(x[i])%len(y)]", "v", t+"(x[i])").Replace(update), open, end)
}

// runLocked runs a kernel on two goroutines with locked instructions, and, with plain ones, on this goroutine.
func runLocked(t *testing.T, arena *cpu.Arena, text string, o cpu.Options, args func() []any) (got, plain []any) {
	t.Helper()
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
	require.NoError(t, err, text)
	k, err := p.Kernel("K")
	require.NoError(t, err)
	o.Workers, o.Locked = 3, true
	run, err := cpu.NewKernelRunner(arena, codegen.ForCPU(k), o)
	require.NoError(t, err, text)
	shared := 0
	got, plain = args(), args()
	require.NoError(t, run.Call(argumentsOf(got...), inHalves(&shared)), text)
	require.Positive(t, shared, text)
	require.NoError(t, run.Call(argumentsOf(plain...), nil), text)
	return got, plain
}

// inHalves runs a loop on two goroutines, and counts the loops.
func inHalves(loops *int) func(*cpu.Loop) error {
	return func(l *cpu.Loop) error {
		*loops++
		var second error
		done := make(chan struct{})
		go func() {
			second = l.Run(l.Trips/2, l.Trips)
			close(done)
		}()
		first := l.Run(0, l.Trips/2)
		<-done
		return errors.Join(first, second)
	}
}

// TestLockedAtomics_AreBitExact updates integers of every size, and floats whose sums are exact, on several goroutines at once, and compares with
// one goroutine.
//
// Issue 16, item 21.
func TestLockedAtomics_AreBitExact(t *testing.T) {
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	types := []string{"int64", "uint64", "int32", "uint32", "int16", "uint8", "float64", "float32"}
	for machine, o := range cpuMachines(t) {
		for _, of := range types {
			updates := lockedUpdates
			if strings.HasPrefix(of, "float") {
				updates = lockedFloats
			}
			for n, update := range updates {
				text := lockedKernel(of, update, n%2 == 1)
				x := belowOf[int32](rand.New(rand.NewPCG(uint64(n), 2)), 12_000, 90)
				got, want := runLocked(t, arena, text, o, func() []any { return []any{x, elementsOf(of)} })
				require.Equal(t, want[1], got[1], "%s %s %s", machine, of, update)
			}
		}
	}
}

func elementsOf(t string) any {
	switch t {
	case "int64":
		return counted[int64](7)
	case "uint64":
		return counted[uint64](7)
	case "int32":
		return counted[int32](7)
	case "uint32":
		return counted[uint32](7)
	case "int16":
		return counted[int16](7)
	case "uint8":
		return counted[uint8](7)
	case "float64":
		return counted[float64](7)
	}
	return counted[float32](7)
}

func counted[T int64 | uint64 | int32 | uint32 | int16 | uint8 | float64 | float32](n int) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = T(i + 1)
	}
	return out
}

// TestLockedAtomics_EndOnNaN adds to what is no number: a loop around a compare of values would never end.
func TestLockedAtomics_EndOnNaN(t *testing.T) {
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	for _, o := range cpuMachines(t) {
		for _, update := range []string{"y[k] += v", "y[k] = max(y[k], v)", "y[k] *= v"} {
			got, _ := runLocked(t, arena, lockedKernel("float64", update, false), o, func() []any {
				return []any{belowOf[int32](rand.New(rand.NewPCG(1, 2)), 4000, 90), []float64{math.NaN(), 1, 2}}
			})
			require.True(t, math.IsNaN(got[1].([]float64)[0]))
		}
	}
}

// TestLockedAtomics_LoseNoUpdate updates a few elements from two goroutines, often enough for updates to meet.
func TestLockedAtomics_LoseNoUpdate(t *testing.T) {
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	x := belowOf[int32](rand.New(rand.NewPCG(7, 8)), 1_000_000, 90)
	for machine, o := range cpuMachines(t) {
		for _, c := range [][2]string{{"int64", "y[k] += v"}, {"int16", "y[k] -= v"}, {"float32", "y[k] += 1"}, {"float64", "y[k] -= v"}, {"uint32", "y[k] ^= v"}, {"int32", "y[2] += v"}} {
			got, want := runLocked(t, arena, lockedKernel(c[0], c[1], false), o, func() []any { return []any{x, elementsOf(c[0])} })
			require.Equal(t, want[1], got[1], "%s %s", machine, c)
		}
	}
}

// lockedCaptures has every form that keeps a value.
const lockedCaptures = `package k

//omp:target device(smp)
//omp:task in(x) inout(count, small, taken, most, after) out(at, before, firsts, swapped)
func K(x []int32, count []int64, small []uint8, taken []int32, most []float64, at, before []int64, after []uint8, firsts, swapped []int32) {
	//omp:teams distribute parallel for
	for i := range x {
		k := int(x[i]) & 7
		//omp:atomic capture
		{
			at[i] = count[0]
			count[0]++
		}
		//omp:atomic capture
		{
			count[1] -= int64(i)
			before[i] = count[1]
		}
		if x[i]&1 == 1 {
			//omp:atomic capture
			{
				small[k] += 3
				after[i] = small[k]
			}
		}
		//omp:atomic compare capture
		{
			firsts[i] = taken[k]
			if taken[k] == 0 {
				taken[k] = int32(i) + 1
			}
		}
		//omp:atomic capture
		{
			swapped[i] = taken[8]
			taken[8] = int32(i)
		}
		//omp:atomic
		most[k] = max(most[k], float64(i))
	}
}
`

// TestLockedAtomics_Captures keeps values: each of a counter once, one first iteration a slot, a chain of exchanges.
func TestLockedAtomics_Captures(t *testing.T) {
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	const n = 20_000
	for machine, o := range cpuMachines(t) {
		x := belowOf[int32](rand.New(rand.NewPCG(3, 4)), n, 1000)
		args, _ := runLocked(t, arena, lockedCaptures, o, func() []any {
			return []any{x, make([]int64, 2), make([]uint8, 8), make([]int32, 9), make([]float64, 8), make([]int64, n), make([]int64, n), make([]uint8, n), make([]int32, n), make([]int32, n)}
		})
		count, taken, at, firsts, swapped := args[1].([]int64), args[3].([]int32), args[5].([]int64), args[8].([]int32), args[9].([]int32)
		require.Equal(t, []int64{n, -n * (n - 1) / 2}, count, machine)
		seen, exchanged, last := make([]bool, n), map[int32]bool{}, taken[8]
		for i := range x {
			require.False(t, seen[at[i]], "%s: %d is given twice", machine, at[i])
			seen[at[i]] = true
			require.False(t, exchanged[swapped[i]] && swapped[i] != 0, machine)
			exchanged[swapped[i]] = true
			if k := x[i] & 7; firsts[i] == 0 {
				require.Equal(t, int32(i)+1, taken[k], "%s: slot %d", machine, k)
			} else {
				require.Equal(t, taken[k], firsts[i], machine)
			}
		}
		require.False(t, exchanged[last] && last != 0, "%s: the last value is nobody's value before", machine)
		small, sums := args[2].([]uint8), [8]uint8{}
		for _, v := range x {
			if v&1 == 1 {
				sums[v&7] += 3
			}
		}
		require.Equal(t, sums[:], small, machine)
	}
}

// TestAtomics_SubtractFloatsInLanes subtracts floats lane by lane: they were subtracted as integers.
func TestAtomics_SubtractFloatsInLanes(t *testing.T) {
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	x, want := belowOf[int32](rand.New(rand.NewPCG(1, 2)), 1000, 90), counted[float32](7)
	for _, v := range x {
		want[int(v)%len(want)] -= float32(v)
	}
	for machine, o := range cpuMachines(t) {
		got, plain := runLocked(t, arena, lockedKernel("float32", "y[k] -= v", false), o, func() []any { return []any{x, counted[float32](7)} })
		require.Equal(t, []any{want, want}, []any{plain[1], got[1]}, machine)
	}
}
