//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
)

// manyLive is a kernel with n values that are all needed until its last one is there.
func manyLive(n int) string {
	var b strings.Builder
	b.WriteString("package k\n\n//omp:target device(smp)\n//omp:task in(a) out(c)\nfunc K(a, c []float64) {\n\t//omp:teams distribute parallel for\n\tfor i := range c {\n")
	for v := range n {
		fmt.Fprintf(&b, "\t\tv%d := a[i+%d] * %d\n", v, v, v+1)
	}
	b.WriteString("\t\ts := 0.0\n")
	for v := range n {
		fmt.Fprintf(&b, "\t\ts += v%d * v%d\n", v, n-1-v)
	}
	b.WriteString("\t\tc[i] = s\n\t}\n}\n")
	return b.String()
}

// TestBlock_GrowsWithTheValues has more values in memory at once than every block has room for, on several workers' blocks.
//
// Issue 16, item 21.
func TestBlock_GrowsWithTheValues(t *testing.T) {
	t.Parallel()
	const n, size = 700, 77
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: manyLive(n)})
	require.NoError(t, err)
	k, err := p.Kernel("K")
	require.NoError(t, err)
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	a, want := make([]float64, size+n), make([]float64, size)
	for i := range a {
		a[i] = float64(i%17) - 3
	}
	for i := range want {
		for v := range n {
			want[i] += (a[i+v] * float64(v+1)) * (a[i+n-1-v] * float64(n-v))
		}
	}
	for machine, o := range cpuMachines(t) {
		t.Run(machine, func(t *testing.T) {
			run, err := cpu.NewKernelRunner(arena, codegen.ForCPU(k), o)
			require.NoError(t, err)
			for range 3 {
				got := make([]float64, size)
				args := []cpu.Value{sliceValue(a), sliceValue(got)}
				require.NoError(t, run.Call(args, func(l *cpu.Loop) error {
					if err := l.Run(0, 33); err != nil {
						return err
					}
					return l.Run(33, l.Trips)
				}))
				require.Equal(t, want, got)
				clear(got)
				require.NoError(t, run.Call(args, nil))
				require.Equal(t, want, got)
			}
		})
	}
}

func sliceValue(x []float64) cpu.Value {
	return cpu.Value{Addr: unsafe.Pointer(unsafe.SliceData(x)), Len: int64(len(x))}
}
