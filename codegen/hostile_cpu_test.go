//go:build linux && (amd64 || arm64)

package codegen_test

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
)

//go:embed hostile_kernels_test.go
var hostileSource string

//go:embed hostile_lanes_test.go
var hostileLanes string

// A hostileCase is a kernel of hostile_kernels_test.go and how its arguments are made; slices among them may overlap.
type hostileCase struct {
	fn   any
	name string
	args func(r *rand.Rand, n int) []any
}

// TestHostileKernelsOnTheCPU compares with Go, bit for bit and panic for error, where iterations depend on each other in ways that are easily
// missed, and where lanes that are off would fail.
func TestHostileKernelsOnTheCPU(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "hostile_kernels_test.go", Text: hostileSource}, codegen.File{Name: "hostile_lanes_test.go", Text: hostileLanes})
	require.NoError(t, err)
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	for machine, o := range cpuMachines(t) {
		for _, c := range hostileCases {
			t.Run(machine+"/"+c.name, func(t *testing.T) {
				k, err := p.Kernel(c.name)
				require.NoError(t, err)
				code, err := cpu.Compile(codegen.ForCPU(k), o)
				if err != nil {
					var refusal *cpu.Refusal
					require.ErrorAs(t, err, &refusal)
					t.Skip(refusal.Why)
				}
				skipWhereGoDiffers(t, k)
				prog, err := arena.Install(code)
				require.NoError(t, err)
				c.compare(t, cpu.NewRunner(prog), code)
			})
		}
	}
}

func (c hostileCase) compare(t *testing.T, run *cpu.Runner, code *cpu.Code) {
	t.Helper()
	for _, n := range []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 127, 130, 200, 257, 300} {
		for round := range uint64(2) {
			seeded := func() *rand.Rand { return rand.New(rand.NewPCG(uint64(n), round)) }
			want, got := c.args(seeded(), n), c.args(seeded(), n)
			panicked := faults(func() error {
				in := make([]reflect.Value, len(want))
				for i := range want {
					in[i] = reflect.ValueOf(want[i])
				}
				reflect.ValueOf(c.fn).Call(in)
				return nil
			})
			var values []cpu.Value
			for _, x := range got {
				values = append(values, cpuValue(reflect.ValueOf(x)))
			}
			var share func(*cpu.Loop) error
			if round == 1 {
				share = chunks(seeded())
			}
			err := faults(func() error { return run.Call(values, share) })
			require.Equal(t, panicked != nil, err != nil, "n=%d round=%d: Go: %v, code: %v\n%s", n, round, panicked, err, listed{code})
			if err == nil {
				require.Empty(t, (corpusCase{}).differ(want, got), "n=%d round=%d notes=%v\n%s", n, round, code.Notes, listed{code})
			}
		}
	}
}

func randomOf[T int | int32 | int64 | uint64 | uint32 | int8 | uint8 | uint16 | int16](r *rand.Rand, n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(r.Uint64() >> r.IntN(64))
	}
	return x
}

func belowOf[T int | int32 | uint32 | int64 | uint8](r *rand.Rand, n, below int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(r.IntN(below))
	}
	return x
}

func realsOf[T float32 | float64](r *rand.Rand, n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(r.Float64()*8 - 4)
		if r.IntN(5) == 0 {
			x[i] = T(r.IntN(3) - 1)
		}
	}
	return x
}

var _ = fmt.Sprint
