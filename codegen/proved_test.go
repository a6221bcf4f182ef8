package codegen_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cuda"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/verify"
	"github.com/gompss/gompss/codegen/simt"
)

// valuesOf is what the host knows of arguments.
func valuesOf(p *ir.Program, args []any) ir.Values {
	env := ir.Values{}
	for i, v := range p.Params {
		switch x := reflect.ValueOf(args[i]); x.Kind() {
		case reflect.Slice:
			env[v] = ir.Value{Len: int64(x.Len()), Cap: int64(x.Cap())}
		case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
			env[v] = ir.Value{Bits: ir.Bits(x.Int())}
		case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint:
			env[v] = ir.Value{Bits: ir.Bits(x.Uint())}
		case reflect.Bool:
			env[v] = ir.Value{Bits: ir.BoolBits(x.Bool())}
		case reflect.Float32:
			env[v] = ir.Value{Bits: ir.Bits(math.Float32bits(float32(x.Float())))}
		case reflect.Float64:
			env[v] = ir.Value{Bits: ir.Bits(math.Float64bits(x.Float()))}
		}
	}
	return env
}

// hold reports whether guards are true for arguments of which none shares memory.
func hold(guards []ir.Expr, env ir.Env) bool {
	apart := &ir.Rewrite{Expr: func(e ir.Expr) ir.Expr {
		if x, ok := e.(*ir.Apart); ok {
			return &ir.Const{T: ir.BoolType, Bits: 1, At: x.At}
		}
		return e
	}}
	for _, g := range guards {
		if bits, err := ir.Eval(apart.CopyExpr(g), env); err != nil || bits == 0 {
			return false
		}
	}
	return true
}

// TestProvedProgramsAreTheSame runs every kernel of the corpus without the checks that the host makes: where its tests hold the result is that of Go, and where an
// access fails, since a slice is too short, they do not hold.
func TestProvedProgramsAreTheSame(t *testing.T) {
	t.Parallel()
	p := loadCorpus(t)
	proved, free, held, failed := 0, 0, 0, 0
	for _, c := range corpus {
		full := lowerKernel(t, p, name(c.kernel), codegen.LowerOptions{}).Program
		q, guards := cuda.Proved(full)
		if len(guards) == 0 {
			continue
		}
		proved++
		require.NoError(t, verify.Program(q), name(c.kernel))
		whole, err := simt.New(full)
		require.NoError(t, err)
		bare, err := simt.New(q)
		require.NoError(t, err)
		source, err := cuda.Print(q, cuda.Options{})
		require.NoError(t, err)
		fails := slices.ContainsFunc(source.Entries, func(e cuda.Entry) bool { return e.Fault })
		if !fails {
			free++
		}
		for _, n := range []int{1, 20, 64} {
			for _, s := range shapes[2:5] {
				cfg := simt.Config{Teams: s.teams, Threads: s.threads}
				want, got := c.makeArgs(n), c.makeArgs(n)
				if hold(guards, valuesOf(full, got)) {
					held++
					c.runGo(want)
					require.NoError(t, runDevice(bare, got, cfg), "%s, size %d", name(c.kernel), n)
					require.Empty(t, c.differ(want, got), "%s, size %d", name(c.kernel), n)
				}
			}
			for i := range full.Params {
				args := c.makeArgs(n)
				x := reflect.ValueOf(args[i])
				if x.Kind() != reflect.Slice || x.Len() == 0 {
					continue
				}
				for _, short := range []int{0, x.Len() / 2, x.Len() - 1} {
					args := c.makeArgs(n)
					args[i] = x.Slice3(0, short, short).Interface()
					holds := hold(guards, valuesOf(full, args))
					err := runDevice(whole, args, simt.Config{Teams: 2, Threads: 32})
					if err == nil {
						continue
					}
					failed++
					if holds { // then it is a check that is left
						args := c.makeArgs(n)
						args[i] = reflect.ValueOf(args[i]).Slice3(0, short, short).Interface()
						require.True(t, fails, "%s, size %d, argument %d with %d elements: %v", name(c.kernel), n, i, short, err)
						require.Error(t, runDevice(bare, args, simt.Config{Teams: 2, Threads: 32}))
					}
				}
			}
		}
	}
	t.Logf("%d of %d kernels, of which %d have no check left; %d runs, %d that failed", proved, len(corpus), free, held, failed)
	require.Greater(t, free, 50)
	require.Greater(t, held, 400)
	require.Greater(t, failed, 1000)
}

// Kernels that reduce into an element of a parameter have no check left, nor has what follows in launches of their own.
func TestReductionsAreProved(t *testing.T) {
	const text = `package k

//omp:target device(acc)
//omp:task in(x, y) inout(z)
func Dot(x, y, z []float64) {
	s := 0.0
	//omp:teams distribute parallel for reduction(+: s)
	for i := range x {
		s += x[i] * y[i]
	}
	z[0] = s
}

//omp:target device(acc)
//omp:task in(x) inout(out)
func Sum(lo, hi int, x, out []float64, at int32) {
	s := out[at]
	//omp:teams distribute parallel for reduction(+: s)
	for i := lo; i < hi; i++ {
		s += x[i]
	}
	out[at] = s
}
`
	pkg, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
	require.NoError(t, err)
	for _, c := range []struct {
		kernel      string
		right, fine []any
		wrong       [][]any
	}{
		{"Dot", []any{make([]float64, 9), make([]float64, 9), make([]float64, 1)}, []any{make([]float64, 0), make([]float64, 0), make([]float64, 1)},
			[][]any{{make([]float64, 9), make([]float64, 8), make([]float64, 1)}, {make([]float64, 9), make([]float64, 9), make([]float64, 0)}}},
		{"Sum", []any{2, 9, make([]float64, 9), make([]float64, 2), int32(1)}, []any{0, 0, make([]float64, 0), make([]float64, 2), int32(0)},
			[][]any{{-1, 9, make([]float64, 9), make([]float64, 2), int32(1)}, {0, 10, make([]float64, 9), make([]float64, 2), int32(1)},
				{0, 9, make([]float64, 9), make([]float64, 2), int32(2)}, {0, 9, make([]float64, 9), make([]float64, 2), int32(-1)}}},
	} {
		full := lowerKernel(t, pkg, c.kernel, codegen.LowerOptions{}).Program
		before := full.String()
		q, guards := cuda.Proved(full)
		require.Equal(t, before, full.String(), "the program is as before")
		source, err := cuda.Print(q, cuda.Options{})
		require.NoError(t, err)
		for _, e := range source.Entries {
			require.False(t, e.Fault, e.Name)
		}
		require.True(t, hold(guards, valuesOf(full, c.right)))
		require.True(t, hold(guards, valuesOf(full, c.fine)))
		for _, args := range c.wrong {
			require.False(t, hold(guards, valuesOf(full, args)), args)
		}
	}
}

// checkProved compares a program with itself without the checks that the host makes, where its tests hold: they fail alike, and write the
// same. It returns whether they hold, and whether the program fails.
func checkProved(t rapid.TB, full *ir.Program, args func() []any) (holds, fails bool) {
	q, guards := cuda.Proved(full)
	if len(guards) == 0 || !hold(guards, valuesOf(full, args())) {
		return false, false
	}
	require.NoError(t, verify.Program(q))
	whole, err := simt.New(full)
	require.NoError(t, err)
	bare, err := simt.New(q)
	require.NoError(t, err)
	want, got := args(), args()
	cfg := simt.Config{Teams: 2, Threads: 32, Steps: 1 << 24}
	expected := runDevice(whole, want, cfg)
	if errors.Is(expected, simt.ErrSteps) { // a loop from minus the greatest int that skips what is below zero
		return false, false
	}
	require.Equal(t, fmt.Sprint(expected), fmt.Sprint(runDevice(bare, got, cfg)), "%s", q)
	if expected != nil {
		source, err := cuda.Print(q, cuda.Options{})
		require.NoError(t, err)
		require.True(t, slices.ContainsFunc(source.Entries, func(e cuda.Entry) bool { return e.Fault }), "%v\n%s", expected, q)
		return true, true
	}
	require.Empty(t, (corpusCase{}).differ(want, got), "%s", q)
	return true, false
}

// TestRandomProgramsAreProved has random kernels with slices of all lengths.
func TestRandomProgramsAreProved(t *testing.T) {
	runs, held, failed := 0, 0, 0
	check := func(write func(*writer) string) func(*rapid.T) {
		return func(rt *rapid.T) {
			text := write(&writer{T: rt})
			p, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
			require.NoError(rt, err, text)
			k, err := p.Kernel("K")
			require.NoError(rt, err)
			l, err := codegen.Lower(k, codegen.LowerOptions{})
			if err != nil {
				rt.Skip(err)
			}
			for range 6 {
				x, y, s := rapid.IntRange(0, 60).Draw(rt, "x"), rapid.IntRange(0, 60).Draw(rt, "y"), rapid.IntRange(0, 6).Draw(rt, "s")
				if rapid.Bool().Draw(rt, "long enough") {
					x, y, s = 55, 55, 5
				}
				n := rapid.SampledFrom([]int{11, 11, 5, 0, -3, 60, math.MinInt64, math.MaxInt64}).Draw(rt, "n")
				holds, fails := checkProved(rt, l.Program, func() []any {
					args := []any{make([]int32, x), make([]int32, y), make([]int32, s), n}
					for k, a := range args[:3] {
						for i, a := 0, a.([]int32); i < len(a); i++ {
							a[i] = int32(i*(7-2*k)) % 23
						}
					}
					return append(args, variablesOf(l.Program.Kernel, 0)...)
				})
				runs++
				if holds {
					held++
				}
				if fails {
					failed++
				}
			}
		}
	}
	t.Run("teams", func(t *testing.T) { rapid.Check(t, check((*writer).kernel)) })
	t.Run("sequences", func(t *testing.T) { rapid.Check(t, check((*writer).sequence)) })
	t.Logf("%d runs, guards held in %d, of which %d failed", runs, held, failed)
	require.Positive(t, held)
}

// A launch that is taken from the branch of a test, since checks are left in it, stays inside of what is around the test: the host knows one of the two
// conditions here, and not the other.
func TestProvedProgramsKeepConditions(t *testing.T) {
	const text = `package k

//omp:target device(acc)
//omp:task in(y, z) inout(x)
func Gather(n int, x, y []float64, z []int32) {
	if n > 0 {
		if z[0] != 0 {
			//omp:teams distribute parallel for
			for i := 0; i < n; i++ {
				x[i] = y[z[i]]
			}
		}
	}
}
`
	pkg, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
	require.NoError(t, err)
	full := lowerKernel(t, pkg, "Gather", codegen.LowerOptions{}).Program
	for _, first := range []int32{0, 1, 4} {
		for _, n := range []int{0, 3} {
			holds, fails := checkProved(t, full, func() []any {
				return []any{n, make([]float64, 3), []float64{5, 6, 7}, []int32{first, 1, 2}}
			})
			require.True(t, holds)
			require.Equal(t, n > 0 && first == 4, fails)
		}
	}
}

// An access under a condition that the host knows has to be in range only where that holds: a tile at the edge has no neighbour.
func TestEdgesNeedNoChecks(t *testing.T) {
	const text = `package k

//omp:target device(acc)
//omp:task in(x) inout(y)
func Tile(lo, hi int, flip bool, x, y []float64) {
	left, right := 100.0, 200.0
	if lo > 0 {
		left = x[lo-1]
	}
	if hi >= len(x) || x[hi] < 0 {
		right = 300
	} else {
		right = x[hi]
	}
	if flip {
		if lo > 0 && x[lo-1] > 3 {
			left = 0
		}
	} else {
		right += y[hi-1]
	}
	if lo > 0 && x[0] > 5 {
		left++
	} else {
		left += y[lo]
	}
	if hi >= len(x) || x[0] < 0 {
		right += y[hi-1]
	}
	//omp:teams distribute parallel for
	for i := lo; i < hi; i++ {
		y[i] = x[i] + 10*left + 7*right
	}
}
`
	pkg, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
	require.NoError(t, err)
	full := lowerKernel(t, pkg, "Tile", codegen.LowerOptions{}).Program
	q, _ := cuda.Proved(full)
	source, err := cuda.Print(q, cuda.Options{})
	require.NoError(t, err)
	for _, e := range source.Entries {
		require.False(t, e.Fault, "%s\n%s", e.Name, q)
	}
	held, failed := 0, 0
	for lo := -2; lo <= 7; lo++ {
		for hi := -1; hi <= 7; hi++ {
			for _, flip := range []bool{false, true} {
				for _, n := range []int{0, 5} {
					args := func() []any {
						x, y := make([]float64, n), make([]float64, n)
						for i := range x {
							x[i], y[i] = float64(i*i%7)-1, float64(i)
						}
						return []any{lo, hi, flip, x, y}
					}
					holds, fails := checkProved(t, full, args)
					require.False(t, fails, "there are no checks that could be left")
					inside := 0 <= lo && lo < hi && hi <= n
					require.True(t, holds || !inside, "%d, %d, %v of %d", lo, hi, flip, n)
					if holds {
						held++
					}
					whole, err := simt.New(full)
					require.NoError(t, err)
					if runDevice(whole, args(), simt.Config{Teams: 1, Threads: 32}) != nil {
						failed++
						require.False(t, holds)
					}
				}
			}
		}
	}
	require.Greater(t, held, 30)
	require.Greater(t, failed, 100)
}

// What a GPU computes of floats is not always what the host does, so no check is taken away by it.
func TestFloatsProveNothing(t *testing.T) {
	for _, c := range []struct{ clause, index string }{
		{"", "int(math.Exp(f))"}, {"", "int(f)"}, {" fastmath", "int(f*g + f)"}, {" fastmath", "int(math.Float64bits(f*g+g) >> 60)"},
	} {
		text := "package k\n\nimport \"math\"\n\nvar _ = math.Pi\n\n//omp:target device(acc)" + c.clause + `
//omp:task inout(x)
func Element(f, g float64, x []float64) {
	k := ` + c.index + `
	x[k] = 1
}

//omp:target device(acc)` + c.clause + `
//omp:task inout(x)
func Loop(f, g float64, x []float64) {
	//omp:teams distribute parallel for
	for i := 0; i < ` + c.index + `; i++ {
		x[i] = 1
	}
}
`
		pkg, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
		require.NoError(t, err)
		for _, kernel := range []string{"Element", "Loop"} {
			_, guards := cuda.Proved(lowerKernel(t, pkg, kernel, codegen.LowerOptions{}).Program)
			require.Empty(t, guards, "%s with %s", kernel, c.index)
		}
	}
}

// TestUnchecked_CallsHaveTheirOwnValues: what a function returns of data in one call is not what it returns in another, so the
// difference of the two is no constant.
func TestUnchecked_CallsHaveTheirOwnValues(t *testing.T) {
	t.Parallel()
	for _, f := range []string{"func of(v []int, i int) int { return id(v[i]) }", "func of(v []int, i int) int {\nt := v[i]\nreturn t\n}",
		"func of(v []int, i int) int {\nt := id(v[i])\nreturn t\n}", "func of(v []int, i int) int {\nfor k := range v {\nif k == i {\nreturn v[k]\n}\n}\nreturn id(v[i])\n}"} {
		text := "package k\n\n//omp:target device(acc, smp)\n//omp:task\nfunc K(n int, v []int, x, y []float32) {\n//omp:teams distribute parallel for\n" +
			"for i := 0; i < n; i++ {\np := of(v, i)\nq := of(v, i+1)\ny[i] = x[p-q]\n}\n}\n\nfunc id(v int) int { return v }\n\n" + f + "\n"
		p, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
		require.NoError(t, err)
		k, err := p.Kernel("K")
		require.NoError(t, err)
		for _, a := range codegen.Accesses(k) {
			if a.Region.Var.Name == "x" {
				require.Equal(t, "x", a.Region.Text, text)
			}
		}
		q, _ := provedOf(t, k)
		require.Contains(t, checksLeft(t, q), "x:10:10", text)
	}
}

// TestUnchecked_ContinuesLeadToThePost: what steps to the next iteration of a loop keeps its check
// where a continue leads there with another value.
func TestUnchecked_ContinuesLeadToThePost(t *testing.T) {
	t.Parallel()
	for _, loop := range []string{
		"for p := 0; p < n; p += step[j] {\nif y[i] > 0 { j = k; continue }\nj = 0\n}",
		"for p := 0; p < n; p += step[j] {\nif y[i] <= 0 { j = 0 } else { j = k; continue }\n}",
		"outer: for p := 0; p < n; p += step[j] {\nfor q := 0; q < n; q++ {\nif y[q] > 0 { j = k; continue outer }\n}\nj = 0\n}",
	} {
		text := "package k\n\n//omp:target device(acc, smp)\n//omp:task\nfunc K(n, k int, step []int, y []float32) {\n//omp:teams distribute parallel for\n" +
			"for i := 0; i < n; i++ {\nj := 0\n" + loop + "\ny[i] = float32(j)\n}\n}\n"
		p, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
		require.NoError(t, err, loop)
		k, err := p.Kernel("K")
		require.NoError(t, err)
		q, _ := provedOf(t, k)
		require.Contains(t, strings.Join(checksLeft(t, q), " "), "step:9:", loop)
	}
}

// TestUnchecked_BoundedData: an index that data give keeps its check and leaves out those of others, unless it is bounded.
func TestUnchecked_BoundedData(t *testing.T) {
	t.Parallel()
	for body, left := range map[string]int{
		"y[i] = x[v[i]]":                                                1,
		"y[i] = x[id(v[i])]":                                            1,
		"y[i] = x[min(v[i], n-1)]":                                      1,
		"y[i] = x[max(v[i], 0)]":                                        1,
		"y[i] = x[max(min(v[i], n-1), 0)]":                              0,
		"y[i] = x[clamp(v[i], 0, n-1)]":                                 0,
		"y[i] = x[clamp(id(v[i]), 0, n-1)]":                             0,
		"y[i] = x[min(clamp(v[i], 0, n-1), clamp(v[i], 0, n-1))]":       0,
		"k := v[i]; if k >= 0 && k < len(x) { y[i] = x[k] }":            0,
		"k := id(v[i]); if k >= 0 && k < len(x) { y[i] = x[k] }":        0,
		"k := id(v[i]); if k >= 0 && k <= n { y[i] = x[k] }":            0,
		"k := id(v[i]); if k < len(x) { y[i] = x[k] }":                  1,
		"k := v[i]; q := v[i+1]; if k >= q && q >= 0 { y[i] = x[k-q] }": 1,
	} {
		text := "package k\n\n//omp:target device(acc, smp)\n//omp:task\nfunc K(n int, v []int, x, y []float32) {\n\n//omp:teams distribute parallel for\n" +
			"for i := 0; i < n; i++ {\n" + body + "\n}\n}\n\nfunc id(v int) int { return v }\n\nfunc clamp(v, lo, hi int) int { return max(lo, min(v, hi)) }\n"
		p, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
		require.NoError(t, err, body)
		k, err := p.Kernel("K")
		require.NoError(t, err)
		q, proved := provedOf(t, k)
		require.True(t, proved, body)
		require.Len(t, checksLeft(t, q), left, "%s\n%s", body, codegen.NewContract(k).Unchecked(k))
	}
}
