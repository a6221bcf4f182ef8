package task

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	_ "github.com/gompss/gompss/devices/sim"
)

func addOne(x []float64) {
	for i := range x {
		x[i]++
	}
}

// TestBugWhileDescribing_CloseReturns has the runtime panic while a task is described, on all paths that describe one. Close waited for that call
// for ever. Issue 16.
func TestBugWhileDescribing_CloseReturns(t *testing.T) {
	kernel := func() *Kernel {
		k, err := NewKernel(addOne, SourceFile{Name: "k.go", Text: "package task\n\n//omp:target device(acc, smp)\n//omp:task inout(x)\nfunc addOne(x []float64) {\n\t//omp:teams distribute parallel for\n\tfor i := range x {\n\t\tx[i]++\n\t}\n}\n"})
		require.NoError(t, err)
		return k
	}
	describing := kernel()
	describing.description.Given[0].First = 99
	compiling := kernel()
	compiling.description.IR = nil
	compiling.description.Contract = nil
	for name, k := range map[string]*Kernel{"describing": describing, "compiling": compiling} {
		for _, devices := range []string{"smp:2", "smp:1,sim:1(exec=simt)", "sim:1(exec=simt)"} {
			t.Run(name+" on "+devices, func(t *testing.T) {
				rt, err := New(Options{Devices: devices})
				require.NoError(t, err)
				x := make([]float64, 8)
				if name == "describing" {
					_, err = k.Submit(rt, x)
					require.ErrorContains(t, err, "gompss: bug: addOne cannot be described: panic: runtime error: index out of range")
					group := NewGroup(rt)
					_, err = k.Submit(group, x)
					require.ErrorContains(t, err, "gompss: bug")
					_, err = rt.GoScope(func(s *Scope) error {
						_, err := k.Submit(s, x)
						return err
					})
					if devices != "sim:1(exec=simt)" {
						require.NoError(t, err)
						require.ErrorContains(t, rt.Wait(context.Background()), "gompss: bug")
					}
				} else {
					require.ErrorContains(t, rt.Prepare(context.Background(), k), "gompss: bug: addOne cannot be described: panic: ")
				}
				good := kernel()
				_, err = good.Submit(rt, x)
				require.NoError(t, err)
				closed := make(chan error, 1)
				go func() { closed <- rt.Close() }()
				select {
				case <-closed:
				case <-time.After(20 * time.Second):
					t.Fatal("Close hangs")
				}
				require.Equal(t, 1.0, x[7])
			})
		}
	}
}
