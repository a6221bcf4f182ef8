package codegen_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/simt"
)

// A borderCase is a kernel of border_kernels_test.go with arguments for about n elements.
type borderCase struct {
	fn   any
	name string
	args func(r *rand.Rand, n int) []any
}

func borderFloats(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.IntN(100))
	}
	return x
}

var borderCases = []borderCase{
	{BorderClamped, "BorderClamped", func(r *rand.Rand, n int) []any { return []any{n, borderFloats(r, n), borderFloats(r, n)} }},
	{BorderWrapped, "BorderWrapped", func(r *rand.Rand, n int) []any { return []any{borderFloats(r, n), borderFloats(r, n)} }},
	{BorderTorus, "BorderTorus", func(r *rand.Rand, n int) []any {
		h, w := r.IntN(7), max(n/4, 2)
		return []any{h, w, borderFloats(r, h*w), borderFloats(r, h*w)}
	}},
	{BorderWindow, "BorderWindow", func(r *rand.Rand, n int) []any {
		return []any{n, r.IntN(n + 1), borderFloats(r, n), borderFloats(r, n)}
	}},
	{BorderNarrow, "BorderNarrow", func(r *rand.Rand, n int) []any { return []any{int32(n), borderFloats(r, n), borderFloats(r, n)} }},
	{BorderData, "BorderData", func(r *rand.Rand, n int) []any {
		v := make([]int32, n)
		for i := range v {
			v[i] = int32(r.IntN(3*n+1) - n)
		}
		return []any{n, v, borderFloats(r, n), borderFloats(r, n)}
	}},
}

func loadBorders(t testing.TB) *codegen.Package {
	t.Helper()
	p, err := codegen.Load(codegen.File{Name: "border_kernels_test.go", Text: borderSource})
	require.NoError(t, err)
	require.Empty(t, p.Warnings())
	return p
}

// copied is args, of which slices have memory of their own.
func copied(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		out[i] = a
		if x := reflect.ValueOf(a); x.Kind() == reflect.Slice {
			own := reflect.MakeSlice(x.Type(), x.Len(), x.Len())
			reflect.Copy(own, x)
			out[i] = own.Interface()
		}
	}
	return out
}

// TestBorders_NeedNoChecks has indices that are clamped and wrapped at borders: the host proves every launch whose slices are long
// enough, nothing is checked then, and what is left is what Go leaves. Where a slice is shorter it proves nothing.
func TestBorders_NeedNoChecks(t *testing.T) {
	t.Parallel()
	p := loadBorders(t)
	for _, c := range borderCases {
		k, err := p.Kernel(c.name)
		require.NoError(t, err)
		q, proved := provedOf(t, k)
		require.True(t, proved, c.name)
		require.Empty(t, checksLeft(t, q), c.name)
		contract := codegen.NewContract(k)
		free := contract.Unchecked(k)
		bare := simulated(t, free, c.name)
		var proof codegen.Proof
		proves := func(args []any) bool {
			proof.Load(k, contract, valuesOf(&ir.Program{Params: k.Params}, args))
			return proof.Proves()
		}
		r := rand.New(rand.NewPCG(3, 4))
		for n := range 24 {
			want := c.args(r, n)
			got := copied(want)
			require.True(t, proves(want), "%s: %v", c.name, n)
			reflect.ValueOf(c.fn).Call(valuesIn(want))
			require.NoError(t, runDevice(bare, got, simt.Config{Teams: 2, Threads: 5}), c.name)
			require.Equal(t, want, got, "%s: %v", c.name, n)
			for i, a := range got {
				if x := reflect.ValueOf(a); x.Kind() == reflect.Slice && x.Len() > 0 && n > 2 {
					short := append([]any{}, got...)
					short[i] = x.Slice(0, x.Len()-1).Interface()
					if c.name != "BorderWrapped" && c.name != "BorderData" { // which use the length of a slice
						require.False(t, proves(short), "%s: %v: argument %d is short", c.name, n, i)
					}
				}
			}
		}
	}
}

func valuesIn(args []any) (out []reflect.Value) {
	for _, a := range args {
		out = append(out, reflect.ValueOf(a))
	}
	return out
}

// TestBorders_StrangeLengths passes lengths that are negative, 0, or near the ends of 64 bits: a launch that is proved does what one with
// checks does.
func TestBorders_StrangeLengths(t *testing.T) {
	t.Parallel()
	p := loadBorders(t)
	ends := []int64{0, -1, -2, 1, 2, 7, -1 << 63, -1<<63 + 1, 1<<63 - 1, 1<<63 - 2, 1 << 62, -1 << 62, 1 << 31, 1<<31 - 1, -1 << 31}
	r := rand.New(rand.NewPCG(5, 6))
	proved := 0
	for _, c := range borderCases {
		k, err := p.Kernel(c.name)
		require.NoError(t, err)
		contract := codegen.NewContract(k)
		whole, bare := simulated(t, k, c.name), simulated(t, contract.Unchecked(k), c.name)
		var proof codegen.Proof
		for range 400 {
			args := c.args(r, r.IntN(9))
			for i, a := range args {
				if v := reflect.ValueOf(a); v.CanInt() && r.IntN(2) == 0 {
					args[i] = reflect.ValueOf(ends[r.IntN(len(ends))]).Convert(v.Type()).Interface()
				}
			}
			proof.Load(k, contract, valuesOf(&ir.Program{Params: k.Params}, args))
			if !proof.Proves() {
				continue
			}
			proved++
			want, got := copied(args), copied(args)
			cfg := simt.Config{Teams: 1, Threads: 1, Steps: 20000}
			expected := runDevice(whole, want, cfg)
			if errors.Is(expected, simt.ErrSteps) {
				continue
			}
			require.Equal(t, fmt.Sprint(expected), fmt.Sprint(runDevice(bare, got, cfg)), "%s: %v", c.name, args)
			if expected == nil {
				require.Equal(t, want, got, "%s: %v", c.name, args)
			}
		}
	}
	require.Greater(t, proved, 200)
}

// TestBorders_RacesAreWarnedOf: iterations that write what others read at a border are warned of; clamped and wrapped reads of other memory,
// or of what no iteration writes, are not.
func TestBorders_RacesAreWarnedOf(t *testing.T) {
	t.Parallel()
	helpers := "\nfunc clamp(v, lo, hi int) int {\nif v < lo {\nreturn lo\n}\nif v > hi {\nreturn hi\n}\nreturn v\n}\n\nfunc wrap(v, n int) int {\nif v < 0 {\nv += n\n}\nif v >= n {\nv -= n\n}\nreturn v\n}\n"
	warnings := func(directive, body string) int {
		p, err := codegen.Load(codegen.File{Name: "k.go", Text: "package k\n\n//omp:target device(acc, smp)\n//omp:task in(v) inout(x, y)\nfunc K(n, m, t int, v []int, x, y []float64) {\n//omp:" + directive + "\n" + body + "\n}\n" + helpers})
		require.NoError(t, err, body)
		return len(p.Warnings())
	}
	line, square := "teams distribute parallel for", "teams distribute parallel for collapse(2)"
	for _, index := range []string{"min(i+1, n-1)", "max(i-1, 0)", "(i+1)%n", "(i+n-1)%n", "(i-1+n)%n", "clamp(i-2, 0, n-1)", "wrap(i+1, n)",
		"j := i+1; if j == n { j = 0 }; j", "j := i-1; if j < 0 { j += n }; j", "j := i+1; if j > n-1 { j = n-1 }; j", "j := i; if i > 0 { j-- }; j",
		"var j int; if i == n-1 { j = 0 } else { j = i+1 }; j"} {
		before, index, found := cutLast(index)
		if !found {
			before = ""
		}
		loop := func(s string) string {
			return "for i := 0; i < n; i++ {\n" + before + "\n" + strings.ReplaceAll(s, "@", index) + "\n}"
		}
		require.Equal(t, 1, warnings(line, loop("x[i] = x[@]")), index)
		require.Equal(t, 1, warnings(line, loop("if v[i] > 0 { x[i] = x[@] }")), index)
		require.Equal(t, 0, warnings(line, loop("y[i] = x[@]")), index)
		require.Equal(t, 0, warnings(line, loop("y[i] = x[@] + y[i]")), index)
		require.Equal(t, 0, warnings(line, loop("x[(t&1)*n + i] = x[(1-t&1)*n + @]")), index)
	}
	require.Equal(t, 1, warnings(line, "for i := 0; i < n; i++ {\nx[(i+1)%n] = x[i]\n}"))
	grid := func(s string) string { return "for i := 0; i < n; i++ {\nfor j := 0; j < m; j++ {\n" + s + "\n}\n}" }
	for _, directive := range []string{line, square} {
		require.Equal(t, 1, warnings(directive, grid("x[i*m+j] = x[((i+1)%n)*m+j]")))
		require.Equal(t, 1, warnings(directive, grid("x[i*m+j] = x[max(i-1, 0)*m+j]")))
		require.Equal(t, 0, warnings(directive, grid("y[i*m+j] = x[((i+1)%n)*m+j] + x[i*m+wrap(j-1, m)] + y[i*m+j]")))
	}
	require.Equal(t, 0, warnings(line, grid("x[i*m+j] = x[i*m+min(j+1, m-1)]")), "each iteration has its row")
	require.Equal(t, 1, warnings(square, grid("x[i*m+j] = x[i*m+min(j+1, m-1)]")))
	require.Equal(t, 0, warnings(square, grid("if (i+j)%2 == t { x[i*m+j] = x[max(i-1, 0)*m+j] }")), "t may be any number")
	require.Equal(t, 0, warnings(line, "for i := 0; i < n; i++ {\nif i%2 == 0 {\nx[i] = x[i+1-i%2]\n}\n}"), "even from odd")
	require.Equal(t, 0, warnings(line, "for i := 0; i < n; i++ {\nif i%2 != 0 {\ncontinue\n}\nx[i] = x[max(i-1, 1)]\n}"), "even from odd")
	require.Equal(t, 0, warnings(line, "for i := 0; i < n; i++ {\nx[i] = x[n+wrap(i+1, n)]\n}"), "behind what is written")
}

func cutLast(s string) (before, last string, found bool) {
	i := strings.LastIndex(s, ";")
	return s[:max(i, 0)], strings.TrimSpace(s[i+1:]), i >= 0
}
