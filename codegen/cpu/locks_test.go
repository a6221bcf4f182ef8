//go:build linux && (amd64 || arm64)

package cpu_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
)

// lockedSource has a long slice that is updated, in a loop of its own and in sequential code.
const lockedSource = `package p

//omp:target device(smp)
func Deposit(at []int32, x, y []float64, hits []int16, most []int32) {
	//omp:teams distribute parallel for
	for i := range at {
		s := x[i]
		for k := 0; k < 40; k++ {
			s = s*0.5 + 1/(s+2)
		}
		j := int(at[i]) % len(y)
		//omp:atomic
		y[j] += float64(int(s * 4))
		//omp:atomic
		hits[j]++
		//omp:atomic
		most[at[i]&3] = max(most[at[i]&3], int32(i))
	}
}

//omp:target device(smp)
func Rounds(n int, at []int32, y []int64) {
	for t := 0; t < n; t++ {
		//omp:teams distribute parallel for
		for i := range at {
			j := int(at[i]) % len(y)
			//omp:atomic
			y[j] += int64(at[i]) * int64(t+1)
			//omp:atomic
			y[(j+t)%len(y)]++
		}
	}
}
`

func lockedRunner(t *testing.T, a *cpu.Arena, name string, o cpu.Options) *cpu.Runner {
	t.Helper()
	p, err := codegen.Load(codegen.File{Name: "p.go", Text: lockedSource})
	require.NoError(t, err)
	k, err := p.Kernel(name)
	require.NoError(t, err)
	r, err := cpu.NewKernelRunner(a, codegen.ForCPU(k), o)
	require.NoError(t, err)
	return r
}

func positions(n int) []int32 {
	r, at := rand.New(rand.NewPCG(5, 6)), make([]int32, n)
	for i := range at {
		at[i] = r.Int32N(1 << 20)
	}
	return at
}

func deposit(n, long int) []any {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i % 7)
	}
	return []any{positions(n), x, make([]float64, long), make([]int16, long), make([]int32, 4)}
}

// TestLockedStages_WithFewRegisters keeps nearly every value in memory: Acc, which the exchanges
// take, moves none of them.
func TestLockedStages_WithFewRegisters(t *testing.T) {
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	for machine, o := range machines() {
		for _, single := range []cpu.Single{cpu.SingleNever, cpu.SingleAlways} {
			o.Locked, o.Workers, o.Single = true, 8, single
			want, got := deposit(20_000, 50), deposit(20_000, 50)
			require.NoError(t, lockedRunner(t, arena, "Deposit", o).Call(values(want), nil))
			require.NoError(t, lockedRunner(t, arena, "Deposit", fewRegisters(o)).Call(values(got), onGoroutines))
			require.Equal(t, want, got, machine)
		}
	}
}

// TestLockedStages_InSequentialCode has a loop with atomics in a loop of time steps.
func TestLockedStages_InSequentialCode(t *testing.T) {
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	for machine, o := range machines() {
		for _, locked := range []bool{true, false} {
			o.Workers, o.ShareFrom, o.Locked = 8, 1, locked
			r, shared := lockedRunner(t, arena, "Rounds", o), 0
			counts := func(l *cpu.Loop) error {
				shared++
				return onGoroutines(l)
			}
			for range 3 {
				want, got := []any{5, positions(30_000), make([]int64, 100)}, []any{5, positions(30_000), make([]int64, 100)}
				require.NoError(t, r.Call(values(want), nil))
				require.NoError(t, r.Call(values(got), counts))
				require.Equal(t, want, got, machine)
			}
			if locked {
				require.Equal(t, 15, shared, machine)
			}
		}
	}
}

// TestLockedStages_AreChosen: where much is computed for an update and the slice is too long for
// copies, workers share the loop.
func TestLockedStages_AreChosen(t *testing.T) {
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	for machine, o := range machines() {
		o.Workers = 8
		r, shared := lockedRunner(t, arena, "Deposit", o), 0
		counts := func(l *cpu.Loop) error {
			shared++
			return onGoroutines(l)
		}
		for n := 0; n < 300 && shared == 0; n++ { // a launch may be measured while others have the processors
			want, got := deposit(20_000, 1<<20), deposit(20_000, 1<<20)
			require.NoError(t, r.Call(values(want), nil))
			require.NoError(t, r.Call(values(got), counts))
			require.Equal(t, want, got, machine)
		}
		require.Positive(t, shared, machine)
	}
}
