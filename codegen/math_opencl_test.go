//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/devices"
)

// An exactValue is a value as a sum, of a function at arguments that are float32 numbers.
type exactValue struct{ x, y, high, low float64 }

// exactValues reads testdata/math/exact.txt, by function.
func exactValues(t *testing.T) map[string][]exactValue {
	t.Helper()
	text, err := os.ReadFile("testdata/math/exact.txt")
	require.NoError(t, err)
	out := map[string][]exactValue{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		require.Len(t, words, 5)
		var v [4]float64
		for i, w := range words[1:] {
			v[i], err = strconv.ParseFloat(w, 64)
			require.NoError(t, err)
		}
		out[words[0]] = append(out[words[0]], exactValue{v[0], v[1], v[2], v[3]})
	}
	return out
}

// ulps is the distance of got from the exact value, in units of its last place of so many bits.
func (v exactValue) ulps(got float64, bits int) float64 {
	_, e := math.Frexp(v.high)
	return math.Abs((got-v.high)-v.low) / math.Ldexp(1, e-bits)
}

// mathKernel makes the kernel K that computes function number f of a list.
func mathKernel(t *testing.T, d *corpusDevice, typ string, functions []string) *devices.Kernel {
	t.Helper()
	var cases strings.Builder
	for f, name := range functions {
		arguments := "x[i]"
		if name == "Pow" || name == "Atan2" || name == "Hypot" {
			arguments = "x[i], y[i]"
		}
		fmt.Fprintf(&cases, "\t\tcase %d:\n\t\t\tout[i] = kernel.%s(%s)\n", f, name, arguments)
	}
	k, err := d.portable(fmt.Sprintf(`package k

import "github.com/gompss/gompss/codegen/kernel"

//omp:target device(acc)
//omp:task in(x, y) inout(out)
func K(f int, x, y, out []%s) {
	//omp:teams distribute parallel for
	for i := range out {
		switch f {
%s		}
	}
}
`, typ, &cases), "K", false)
	require.NoError(t, err)
	require.NotNil(t, k)
	return k
}

// worstMath returns the largest error of a function on a device, of bits bits.
func worstMath[T float32 | float64](t *testing.T, d *corpusDevice, k *devices.Kernel, f, bits int, values []exactValue) (worst float64, at string) {
	t.Helper()
	x, y, out := make([]T, len(values)), make([]T, len(values)), make([]T, len(values))
	for i, v := range values {
		x[i], y[i] = T(v.x), T(v.y)
	}
	require.NoError(t, d.run(k, []any{f, x, y, out}))
	for i, got := range out {
		if e := values[i].ulps(float64(got), bits); !(e <= worst) {
			worst, at = e, fmt.Sprintf("at %v, %v: %v, not %v", values[i].x, values[i].y, got, values[i].high)
		}
	}
	return worst, at
}

// TestMathOnOpenCL compares the functions of both floats with exact values, on PoCL or the device of
// GOMPSS_TEST_DEVICE: at most 4 units in the last place, and half of one for square roots.
func TestMathOnOpenCL(t *testing.T) {
	d := openPoCL(t)
	exact := exactValues(t)
	functions := slices.Sorted(maps.Keys(exact))
	single, double := mathKernel(t, d, "float32", functions), mathKernel(t, d, "float64", functions)
	for f, name := range functions {
		bound := 4.0
		if name == "Sqrt" {
			bound = 0.5
		}
		e32, at32 := worstMath[float32](t, d, single, f, 24, exact[name])
		e64, at64 := worstMath[float64](t, d, double, f, 53, exact[name])
		t.Logf("%-6s float32 %.2f ulp, float64 %.2f", name, e32, e64)
		assert.LessOrEqual(t, e32, bound, "float32 %s %s", name, at32)
		assert.LessOrEqual(t, e64, bound, "float64 %s %s", name, at64)
	}
}
