package codegen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
)

// TestBlank_TakesFunctions: a function that is assigned to _ does nothing in Go, and was refused
// (issue 16, 11).
func TestBlank_TakesFunctions(t *testing.T) {
	kernel := func(use string) string {
		text := "package k\n\nfunc twice(v int64) int64 { return 2 * v }\n\n//omp:target device(acc, smp)\n//omp:task in(x) inout(y)\nfunc K(x, y []int64) {\n" +
			"\t//omp:teams distribute parallel for\n\tfor i := range y {\n\t\tf := func(a int64) int64 { return a + 1 }\n\t\t" + use + "\n\t\ty[i] += f(x[i])\n\t}\n}\n"
		p, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
		require.NoError(t, err, use)
		k, err := p.Kernel("K")
		require.NoError(t, err, use)
		return k.String()
	}
	for _, use := range []string{"_ = f", "_ = func(a int64) int64 { return a }", "_, _ = f, x", "_ = twice", "var _ = f"} {
		require.Equal(t, kernel(""), kernel(use), use)
	}
	require.Equal(t, kernel("y[i] = y[i] + 1"), kernel("_, y[i] = f, y[i] + 1"))
}

// TestDivision_LaneByLane: a quotient of a variable that is there for every copy of an unrolled loop, in code for one lane, ended the compiler
// (issue 16 f).
func TestDivision_LaneByLane(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: `package k

type s struct {
	a int64
	b float32
	c float32
}

//omp:target device(smp)
//omp:task in(in4, in5) inout(out, *last)
func K(n int, in4 []float32, in5 []int32, out []s, last *int) {
	l := 5
	//omp:teams distribute parallel for lastprivate(l)
	for i := int32(0); i < int32(n); i += 3 {
		l = int(in5[i&15])
		out[i].a = int64(in4[uint(int64(l))%uint(len(in4))]) & int64(l)
	}
	*last = l
}
`})
	require.NoError(t, err)
	k, err := p.Kernel("K")
	require.NoError(t, err)
	for _, o := range []cpu.Options{{}, {AVX512: true}, {Unroll: 1}, {AVX512: true, Unroll: 2}, {Unroll: 2}} {
		o.Single = cpu.SingleNever
		_, err = cpu.Compile(codegen.ForCPU(k), o)
		require.NoError(t, err)
	}
}
