package cuda_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cuda"
)

// The CUDA C++ of an example is what NVRTC accepts, under the name that the runtime looks for.
func TestNVRTCTakesNativeText(t *testing.T) {
	text, err := os.ReadFile("../../examples/native/count.cu")
	require.NoError(t, err)
	answer := compile(t, generations, []nvrtcSource{{Name: "count.cu", Text: string(text), Options: []string{}}})
	require.Len(t, answer.Results, len(generations))
	for _, r := range answer.Results {
		require.True(t, r.OK, r.Log)
		require.Positive(t, r.Cubin)
	}
}

const printingKernel = `package k

import "fmt"

//omp:target
//omp:task inout(x) in(d)
func K(x []float32, d []float64) {
	println(len(x))
	//omp:teams distribute parallel for
	for i := range x {
		x[i] *= 2
		fmt.Printf("%v %d %t", x[i], uint8(i), d[i] > 1)
		//omp:simd
		for j := 0; j < i; j++ {
			fmt.Println("deep", j, d[j])
		}
	}
}
`

// The records of println are what NVRTC accepts, in both widths of indices.
func TestNVRTCTakesPrintingKernels(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: printingKernel})
	require.NoError(t, err)
	k, err := p.Kernel("K")
	require.NoError(t, err)
	var sources []nvrtcSource
	for _, narrow := range []bool{true, false} {
		lowered, err := codegen.Lower(k.Printing, codegen.LowerOptions{})
		require.NoError(t, err)
		src, err := cuda.Print(lowered.Program, cuda.Options{Index32: narrow, Lines: true})
		require.NoError(t, err)
		require.Contains(t, src.Text, "atomicAdd")
		s := source("K", src)
		s.Options = append(s.Options, "-lineinfo")
		sources = append(sources, s)
	}
	answer := compile(t, []string{"sm_75", "sm_90"}, sources)
	for _, r := range answer.Results {
		require.True(t, r.OK, r.Log)
	}
}

// The kernels of package lib are what NVRTC accepts.
func TestNVRTCTakesLib(t *testing.T) {
	var files []codegen.File
	for _, name := range []string{"kernels.go", "doc.go"} {
		text, err := os.ReadFile("../../lib/" + name)
		require.NoError(t, err)
		files = append(files, codegen.File{Name: name, Text: string(text)})
	}
	p, err := codegen.Load(files...)
	require.NoError(t, err)
	var sources []nvrtcSource
	for _, name := range []string{"Sum", "Dot", "Scan", "Sort", "Transpose", "MatMul", "Gemv", "SpMV"} {
		for _, elem := range []string{"float32"} {
			k, err := p.Instance(name, elem)
			require.NoError(t, err)
			lowered, err := codegen.Lower(k, codegen.LowerOptions{})
			require.NoError(t, err)
			src, err := cuda.Print(lowered.Program, cuda.Options{Index32: true, Lines: true})
			require.NoError(t, err)
			sources = append(sources, source(name+elem, src))
		}
	}
	for _, r := range compile(t, []string{"sm_90"}, sources).Results {
		require.True(t, r.OK, r.Log)
	}
}

const oddHeader = `package k

import (
	"math"
	"math/bits"

	"github.com/gompss/gompss/codegen/kernel"
)

var _, _, _ = kernel.ThreadNum, bits.Len, math.Pi

`

// steppedPointer counts what a pointer leads to, and not the pointer, where it may be nil and where
// it is not.
const steppedPointer = `//omp:target device(acc, smp)
//omp:task inout(*c, x)
func K_1(n int, c *float64, x []uint32) {
	//omp:teams distribute parallel for
	for i := range x {
		v := x[i]
		p := &v
		if n > 3 {
			p = nil
		}
		(*p)++
		x[i] = v
	}
	(*c)--
}
`

// What the random programs of codegen/internal/odd have found once is what NVRTC accepts, in both
// versions of the text.
func TestNVRTCTakesWhatWasFound(t *testing.T) {
	text, err := os.ReadFile("../internal/odd/testdata/found.txt")
	require.NoError(t, err)
	var sources []nvrtcSource
	for _, found := range append(strings.Split(string(text), "\n====\n"), steppedPointer) {
		p, err := codegen.Load(codegen.File{Name: "k.go", Text: oddHeader + found})
		require.NoError(t, err, found)
		for _, k := range p.Kernels() {
			lowered, err := codegen.Lower(k, codegen.LowerOptions{})
			require.NoError(t, err)
			for _, narrow := range []bool{true, false} {
				src, err := cuda.Print(lowered.Program, cuda.Options{Index32: narrow, Lines: true})
				require.NoError(t, err)
				require.NotRegexp(t, `[^(]\*check_pointer\([^;=]*\)(\+\+|--);`, src.Text)
				sources = append(sources, source(k.Name, src))
			}
		}
	}
	for _, r := range compile(t, []string{"sm_90"}, sources).Results {
		require.True(t, r.OK, "%s: %s", r.Name, r.Log)
	}
}
