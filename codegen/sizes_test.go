package codegen_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/specialise"
	"github.com/gompss/gompss/codegen/ir/verify"
	"github.com/gompss/gompss/codegen/simt"
)

// sizesOf returns the values of the sizes of k in args; if some is set, every second one is left
// out: a form has some of them as constants.
func sizesOf(k *ir.Kernel, args []any, some bool) map[int]ir.Bits {
	out := map[int]ir.Bits{}
	for n, i := range specialise.Sizes(k) {
		if !some || n%2 == 0 {
			out[i] = deviceArg(i, args[i]).Bits
		}
	}
	return out
}

// Code in which the sizes of a launch are constants gives what the Go function gives, within what
// a kernel is allowed, and bit for bit what the code for all sizes gives.
func TestSizes_LeaveTheSameBits(t *testing.T) {
	p, formed := loadCorpus(t), 0
	for i, c := range corpus {
		k, err := p.Kernel(name(c.kernel))
		require.NoError(t, err)
		lowered, err := codegen.Lower(k, codegen.LowerOptions{})
		require.NoError(t, err)
		if len(lowered.Sizes()) == 0 {
			continue
		}
		if formed++; testing.Short() && i%4 > 0 {
			continue
		}
		t.Run(name(c.kernel), func(t *testing.T) {
			t.Parallel()
			forms := []*ir.Kernel{k}
			if free := codegen.NewContract(k).Unchecked(k); free != nil {
				forms = append(forms, free)
			}
			for _, n := range []int{0, 7, 64, 333} {
				want := c.makeArgs(n)
				sizes := []map[int]ir.Bits{sizesOf(k, want, false), sizesOf(k, want, true)}
				c.runGo(want)
				for _, form := range forms {
					for seed, s := range shapes[4:] {
						cfg := simt.Config{Teams: s.teams, Threads: s.threads, Seed: uint64(seed), Races: true, Steps: 50_000_000}
						all := c.formed(t, form, n, cfg)
						for _, values := range sizes {
							where := fmt.Sprintf("size %d, %v, %v", n, values, s)
							got := c.formed(t, specialise.WithSizes(form, values), n, cfg)
							require.Empty(t, c.differ(want, got), where)
							for i := range all {
								require.True(t, sameBits(reflect.ValueOf(all[i]), reflect.ValueOf(got[i])), "%s: argument %d has other bits", where, i)
							}
						}
					}
				}
			}
		})
	}
	require.Greater(t, formed, 60)
}

// formed returns what a form of the kernel of c leaves for the size n.
func (c corpusCase) formed(t *testing.T, form *ir.Kernel, n int, cfg simt.Config) []any {
	require.NoError(t, verify.Kernel(form))
	lowered, err := codegen.Lower(form, codegen.LowerOptions{})
	require.NoError(t, err)
	program, err := simt.New(lowered.Program)
	require.NoError(t, err)
	got := c.makeArgs(n)
	require.NoError(t, runDevice(program, got, cfg), "size %d: %s", n, lowered.Program)
	return got
}

// sameBits reports whether two values are the same to the last bit, but for the bits of a NaN.
func sameBits(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Slice, reflect.Array:
		for i := range a.Len() {
			if !sameBits(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return a.Len() == b.Len()
	case reflect.Struct:
		for i := range a.NumField() {
			if !sameBits(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Pointer:
		return a.IsNil() == b.IsNil() && (a.IsNil() || sameBits(a.Elem(), b.Elem()))
	case reflect.Float32, reflect.Float64:
		x, y := a.Float(), b.Float()
		return math.Float64bits(x) == math.Float64bits(y) || math.IsNaN(x) && math.IsNaN(y)
	}
	return a.Equal(b)
}

// Rows of one signal, each with another distance, are taken as far apart as a thread's iterations
// where their number is known; the sums keep their order.
func TestSizes_WindowOfRowsLeavesTheSameBits(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: `package k

//omp:target device(acc)
//omp:task in(x) inout(r)
func Lags(n, m int, x, r []float32) {
	//omp:teams distribute parallel for
	for k := 0; k < m; k++ {
		var s float32
		//omp:simd reduction(+: s)
		for i := 0; i < n-m; i++ {
			s += x[i] * x[i+k]
		}
		r[k] = s
	}
}
`})
	require.NoError(t, err)
	k, err := p.Kernel("Lags")
	require.NoError(t, err)
	k = codegen.NewContract(k).Unchecked(k)
	require.NotNil(t, k)
	const m = 128
	const n = 2*4096 + m + 77
	x := floats[float32](rand.New(rand.NewPCG(1, 2)), n)
	var sums [2][]float32
	for i, form := range []*ir.Kernel{k, specialise.WithSizes(k, map[int]ir.Bits{1: m})} {
		lowered, err := codegen.Lower(form, codegen.LowerOptions{})
		require.NoError(t, err)
		require.Equal(t, i == 1, strings.Contains(lowered.Program.String(), "(rest - rest % 32) * 4"), lowered.Program)
		program, err := simt.New(lowered.Program)
		require.NoError(t, err)
		sums[i] = make([]float32, m)
		require.NoError(t, runDevice(program, []any{n, m, x, sums[i]}, simt.Config{Teams: 3, Threads: 64, Races: true, Steps: 50_000_000}))
	}
	require.Equal(t, sums[0], sums[1])
	for k, s := range sums[1] {
		want := 0.0
		for i := range n - m {
			want += float64(x[i]) * float64(x[i+k])
		}
		require.InDelta(t, want, s, 0.5, k)
	}
}
