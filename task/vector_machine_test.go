//go:build linux && (amd64 || arm64)

package task

import (
	"context"
	"runtime"
	"testing"

	"github.com/klauspost/cpuid/v2"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	vec "github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/task/internal/cpucode"
)

func countUp(x []int64) {
	for i := range x {
		x[i] += int64(i)
	}
}

// TestLesserMachinesRunTheKernel runs one kernel where there is no AVX-512, no AVX2, no file in memory, and no executable memory at all: what
// it computes is the same, and the runtime says what runs.
func TestLesserMachinesRunTheKernel(t *testing.T) {
	if _, err := vec.Detect(); err != nil {
		t.Skip(err)
	}
	noFile := vec.Memory{File: func(string, int) (int, error) { return 0, unix.ENOSYS }}
	none := vec.Memory{File: noFile.File, Protect: func([]byte, int) error { return unix.EACCES }}
	k, err := NewKernel(countUp, SourceFile{Name: "count.go", Text: `package task

//omp:target device(smp)
//omp:task inout(x)
func countUp(x []int64) {
	//omp:teams distribute parallel for
	for i := range x {
		x[i] += int64(i)
	}
}
`})
	require.NoError(t, err)
	type machine struct {
		p      vec.Processor
		m      vec.Memory
		choice string
		says   string
	}
	var lesser []machine
	if runtime.GOARCH == "amd64" {
		lesser = []machine{{vec.Processor{}, vec.Memory{}, VectorAVX2, "AVX2 code"}, {vec.Without(cpuid.AVX512F), vec.Memory{}, "", "AVX2 code"},
			{vec.Without(cpuid.AVX512F, cpuid.AVX2), vec.Memory{}, "", "Go function (cpu: no AVX2 with FMA and BMI2"}}
	}
	for _, c := range append(lesser, []machine{
		{vec.Processor{}, noFile, "", " code, "}, {vec.Processor{}, none, "", "Go function (cpu: executable memory: memfd_create: function not implemented"},
		{vec.Processor{}, vec.Memory{}, VectorOff, "Go function (cpu: vector code is switched off"},
	}...) {
		rt, err := New(Options{Devices: "smp:2"})
		require.NoError(t, err)
		v, err := cpucode.NewVectors(c.choice, c.p)
		require.NoError(t, err)
		v.Memory = c.m
		rt.core.Exec.Vectors = v
		require.Contains(t, rt.CPUCode(k), c.says)
		x := make([]int64, 1001)
		for range 2 {
			_, err := k.Submit(rt, x)
			require.NoError(t, err)
		}
		require.NoError(t, rt.Wait(context.Background()))
		for i := range x {
			require.Equal(t, int64(2*i), x[i])
		}
		require.NoError(t, rt.Close())
	}
}
