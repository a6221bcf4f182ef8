package cpu_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
)

// wideParts are numbers of 4 bytes or less that are computed from wider ones, which differ between
// iterations.
var wideParts = []string{"k[uint(uint64(i))%3]", "z[uint32(z[i])]", "z[uint16(w[i])]", "q[i].a[b[i]%3]", "d[i]", "w[i]", "uint64(b[i])*5>>3",
	"bits.Len64(uint64(z[i]))", "float64(b[i])*f", "t[uint32(z[i])%4]"}

// widePlaces are the places of a loop over narrow numbers that may hold one of them.
var widePlaces = []string{
	"for j := range %s(%s) & 3 {\n b[i] += uint8(j)\n}",
	"for j := %s(%s) & 3; j < 5; j++ {\n b[i] += uint8(j)\n}",
	"for j := %[1]s(0); j < 5; j++ {\n if z[i] == 3 || %[1]s(%[2]s) == j {\n  break\n }\n b[i]++\n}",
	"for b[i] > 0 && %s(%s) > 1 {\n b[i]--\n}",
	"if %s(%s) > 3 {\n b[i] = 1\n}",
	"v := %s(%s)\n for j := range v & 3 {\n b[i] += uint8(j)\n}",
	"b[%s(%s) & 3 + 4] = 1",
	"b[i] = b[uint32(%s(%s)) & 3]",
	"t[%s(%s) & 3] = 1\n b[i] = uint8(t[1])",
	"switch %s(%s) {\ncase 1:\n b[i] = 2\ncase 7:\n b[i]++\n}",
	"b[i] = b[i] / uint8(%s(%s)|1)",
}

// TestCompile_LanesHoldEveryPart compiles loops whose vectors would hold more numbers than fit where
// one of the parts is not counted, which the compiler answers with a panic.
func TestCompile_LanesHoldEveryPart(t *testing.T) {
	made := 0
	for _, place := range widePlaces {
		text := "package k\n\nimport \"math/bits\"\n\nvar _ = bits.UintSize\n\ntype T struct{ a [3]float32 }\n"
		kernels := 0
		for _, part := range wideParts {
			for _, of := range []string{"int32", "uint8"} {
				text += wideKernel(kernels, fmt.Sprintf(place, of, part))
				kernels++
			}
		}
		made += compileAll(t, text, kernels)
	}
	require.Greater(t, made, 2*len(widePlaces)*len(wideParts), "most of them are refused")
}

func wideKernel(n int, body string) string {
	return fmt.Sprintf(`
//omp:target device(acc, smp)
func K%d(n int, f float64, k [3]float32, b []uint8, z []int32, d []float64, w []int64, q []T) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		var t [4]int32
		_ = t
		%s
	}
}
`, n, body)
}

// compileAll compiles kernels K0, K1, ... for AVX2 and AVX-512, and counts those that are not refused.
func compileAll(t *testing.T, text string, kernels int) (made int) {
	l, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
	require.NoError(t, err, text)
	for n := range kernels {
		k, err := l.Kernel(fmt.Sprintf("K%d", n))
		require.NoError(t, err)
		for _, wide := range []bool{false, true} {
			_, err = cpu.Compile(codegen.ForCPU(k), cpu.Options{AVX512: wide, Single: cpu.SingleNever})
			if refusal := (*cpu.Refusal)(nil); errors.As(err, &refusal) {
				continue
			}
			require.NoError(t, err)
			made++
		}
	}
	return made
}
