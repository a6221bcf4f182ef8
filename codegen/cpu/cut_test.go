package cpu_test

import (
	"fmt"
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
)

// cutKernels cut floats to integers.
const cutKernels = `package p

//omp:target device(acc, smp)
//omp:task in(x) out(y)
func Cut[F float32 | float64, I int8 | int32 | int64 | uint32 | uint64](x []F, y []I) {
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = I(x[i])
	}
}
`

// cutInt64 is the integer part of x, the least integer where that does not fit: Go's own conversion is another one on arm64.
func cutInt64(x float64) int64 {
	if !(x >= -1<<63 && x < 1<<63) {
		return math.MinInt64
	}
	return int64(x)
}

func cutInt32(x float64) int64 {
	if !(math.Trunc(x) >= -1<<31 && x < 1<<31) {
		return math.MinInt32
	}
	return int64(x)
}

func cutUint64(x float64) int64 {
	if x >= 1<<63 {
		return cutInt64(x-1<<63) | math.MinInt64
	}
	return cutInt64(x)
}

// cutNumbers are a variable of the package, as the code that runs keeps their address and a stack may move.
var cutNumbers = []float64{0, 0.5, -0.5, 1.99, -1.99, 127.5, 128, -129, 1 << 31, -1 << 31, -1<<31 - 0.5, -1<<31 - 1, 1<<31 - 1, 1 << 32, 1<<32 - 1, 1<<53 + 2, 1 << 63, -1 << 63, 1<<63 - 1024, -1<<63 - 2048,
	1 << 64, 1<<64 - 2048, 1.5 * (1 << 63), 1e30, -1e30, math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)}

// TestCutFloats_AsOnAMD64: what does not fit gives the upper bit alone on every processor, also where the processor has another rule.
func TestCutFloats_AsOnAMD64(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "cut.go", Text: cutKernels})
	require.NoError(t, err)
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	x := cutNumbers
	wants := map[string]func(float64) int64{"int8": func(x float64) int64 { return int64(int8(cutInt32(x))) }, "int32": cutInt32, "int64": cutInt64,
		"uint32": func(x float64) int64 { return int64(uint32(cutInt64(x))) }, "uint64": cutUint64}
	sizes := map[string]int{"int8": 1, "int32": 4, "int64": 8, "uint32": 4, "uint64": 8}
	for _, single := range []cpu.Single{cpu.SingleNever, cpu.SingleAlways} {
		for to, want := range wants {
			for _, from := range []string{"float32", "float64"} {
				k, err := p.Instance("Cut", from, to)
				require.NoError(t, err)
				r, err := cpu.NewKernelRunner(arena, codegen.ForCPU(k), cpu.Options{Single: single})
				require.NoError(t, err)
				short, out := make([]float32, len(x)), make([]uint64, len(x))
				for i := range x {
					short[i] = float32(x[i])
				}
				in := unsafe.Pointer(&x[0])
				if from == "float32" {
					in = unsafe.Pointer(&short[0])
				}
				require.NoError(t, r.Call([]cpu.Value{{Addr: in, Len: int64(len(x))}, {Addr: unsafe.Pointer(&out[0]), Len: int64(len(x))}}, nil))
				for i := range x {
					v := x[i]
					if from == "float32" {
						v = float64(short[i])
					}
					size := sizes[to]
					mask := uint64(1)<<(8*size-1)<<1 - 1
					got := *(*uint64)(unsafe.Add(unsafe.Pointer(&out[0]), i*size&^7)) >> (8 * (i * size % 8)) & mask
					require.Equal(t, uint64(want(v))&mask, got, fmt.Sprintf("%s(%s(%v)), single %v", to, from, v, single))
				}
			}
		}
	}
}
