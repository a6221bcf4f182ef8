package codegen_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/simt"
)

// Lanes share an iteration where its inner loop reads neighbours and may be added up in any order.
func TestLanes(t *testing.T) {
	for _, c := range []struct {
		name, directive, outer, inner string
		lanes                         bool
	}{
		{"rows of a sparse matrix", "//omp:simd reduction(+: s)", "", "for k := start[r]; k < start[r+1]; k++ { s += v[k] * x[col[k]] }", true},
		{"rows of a matrix", "//omp:simd reduction(+: s)", "", "for k := 0; k < n; k++ { s += v[r*n+k] * x[k] }", true},
		{"minimum of a row", "//omp:simd reduction(min: s)", "", "for k := 0; k < n; k++ { s = min(s, v[r*n+k]) }", true},
		{"no reduction said", "", "", "for k := start[r]; k < start[r+1]; k++ { s += v[k] * x[col[k]] }", false},
		{"columns", "//omp:simd reduction(+: s)", "", "for k := 0; k < n; k++ { s += v[k*n+r] }", false},
		{"few", "//omp:simd reduction(+: s)", "", "for k := 0; k < 8; k++ { s += v[r*8+k] }", false},
		{"stores in front", "//omp:simd reduction(+: s)", "y[r] = 0", "for k := 0; k < n; k++ { s += v[r*n+k] }", false},
		{"iteration left early", "//omp:simd reduction(+: s)", "if y[r] < 0 { continue }", "for k := 0; k < n; k++ { s += v[r*n+k] }", false},
		{"stores inside", "//omp:simd reduction(+: s)", "", "for k := 0; k < n; k++ { s += v[r*n+k]; v[r*n+k] = 0 }", false},
		{"places of the row that it reads once", "//omp:simd reduction(+: s)", "", "for k := 0; k < n; k++ { s += v[r*n+k] * (x[r] - x[r+1]) * (x[r+2] - x[r+3]) }", true},
		{"tiles are better", "//omp:simd reduction(+: s)", "", "for k := 0; k < n; k++ { s += x[k] * y[r] }", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := lowerText(t, `//omp:target device(acc)
//omp:task inout(y, v) in(x, start, col)
func K(start, col []int32, v, x, y []float64, n int) {
	//omp:teams distribute parallel for
	for r := range y {
		`+c.outer+`
		s := 0.0
		`+c.directive+`
		`+c.inner+`
		y[r] = s
	}
}`, codegen.LowerOptions{})
			require.NoError(t, err)
			require.Equal(t, c.lanes, strings.Contains(l.Explain(), "lanes of a warp share each iteration"), "%s\n%s", l.Explain(), l.Program)
			if c.lanes {
				require.Contains(t, l.Program.String(), "shuffleXor")
			}
		})
	}
}

// A loop that only reads has no branch at its checks, where its indices do not hang on what it computes.
func TestLoadsWithoutBranches(t *testing.T) {
	for _, c := range []struct {
		name, inner string
		trusted     bool
	}{
		{"gather", "for k := start[r]; k < start[r+1]; k++ { s += x[col[k]] }", true},
		{"under a condition", "for k := start[r]; k < start[r+1]; k++ { if col[k] >= 0 { s += x[col[k]] } }", true},
		{"chain", "at := r; for k := 0; k < n; k++ { at = int(col[at]); s += x[at] }", false},
		{"stores", "for k := start[r]; k < start[r+1]; k++ { x[col[k]] = 0 }", false},
		{"evaluated at times", "for k := start[r]; k < start[r+1]; k++ { if k > 0 && x[col[k]] > 0 { s++ } }", false},
		{"division", "for k := start[r]; k < start[r+1]; k++ { s += float64(n / int(col[k])) }", false},
		{"left early", "for k := start[r]; k < start[r+1]; k++ { if col[k] < 0 { return } }", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := `//omp:target device(acc)
//omp:task inout(y, x) in(start, col)
func K(start, col []int32, x, y []float64, n int) {
	//omp:teams distribute parallel for
	for r := range y {
		s := 0.0
		` + c.inner + `
		y[r] = s
	}
}`
			if strings.Contains(c.inner, "return") {
				text = strings.Replace(text, "{ return }", "{ break }", 1)
			}
			l, err := lowerText(t, text, codegen.LowerOptions{})
			require.NoError(t, err)
			require.Equal(t, c.trusted, strings.Contains(l.Explain(), "loads without branches"), "%s\n%s", l.Explain(), l.Program)
			kept, err := lowerText(t, text, codegen.LowerOptions{KeepChecks: true})
			require.NoError(t, err)
			require.NotContains(t, kept.Explain(), "loads without branches")
		})
	}
}

// A run of elements behind an index has one test of its first and its last element, whichever way
// it goes; and the access that fails is the one at which Go stops.
func TestRunsOfLoads(t *testing.T) {
	for _, c := range []struct {
		kernel any
		slices []int // the arguments that are made shorter
		tests  string
	}{
		{BlockRows, []int{0, 1, 2, 3}, "< len(value) - 5"},
		{BlockRows, []int{1}, "< len(x) - 1"},
		{NearRows, []int{3, 4}, "<= len(x) - first"},
		{AddBehind, []int{2, 3}, "apart(y, x)"},
	} {
		l := lowerKernel(t, loadCorpus(t), name(c.kernel), codegen.LowerOptions{})
		require.Contains(t, l.Program.String(), c.tests)
		program, err := simt.New(l.Program)
		require.NoError(t, err)
		r, failed := rand.New(rand.NewPCG(3, 5)), 0
		for range 60 {
			n := 12
			args := corpusCaseOf(t, c.kernel).args(n, r)
			for _, at := range c.slices {
				v := reflect.ValueOf(args[at])
				if k := r.IntN(v.Len() + 1); r.IntN(3) == 0 {
					args[at] = v.Slice3(0, k, k).Interface()
				} else if v.Type().Elem().Kind() == reflect.Int32 && v.Len() > 0 {
					v.Index(r.IntN(v.Len())).SetInt([]int64{-1, int64(n), 1 << 30, -1 << 31, 0}[r.IntN(5)])
				}
			}
			want := faultOf(c.kernel, cloned(args))
			err := runDevice(program, args, simt.Config{Teams: 1, Threads: 1})
			if want == nil {
				require.NoError(t, err)
				continue
			}
			failed++
			index := regexp.MustCompile(`-?\d+`).FindString(fmt.Sprint(want))
			require.ErrorContains(t, err, "index "+index)
		}
		require.Greater(t, failed, 10)
	}
}

// cloned returns args with slices of their own.
func cloned(args []any) []any {
	out := slices.Clone(args)
	for i, a := range args {
		if v := reflect.ValueOf(a); v.Kind() == reflect.Slice {
			out[i] = reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v).Interface()
		}
	}
	return out
}

// An element that a loop adds to is kept where no other slice overlaps it, and read and written in
// every turn where one does.
func TestSumsInMemory(t *testing.T) {
	l := lowerKernel(t, loadCorpus(t), name(AddBehind), codegen.LowerOptions{})
	require.Contains(t, l.Explain(), "elements that each iteration adds to are kept in registers")
	require.Contains(t, l.Program.String(), "0 < each && apart(y, x)")
	program, err := simt.New(l.Program)
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 9))
	const n, each = 5, 4
	for shift := range 4 {
		args := func(all []float32) []any {
			index := make([]int32, n*each)
			for i := range index {
				index[i] = int32(i/each*2 - shift + 3) // of element 2*i of y, which is x[2*i+3-shift]
			}
			return []any{n, each, index, all[shift:][:2*n+3], all[3:][:2*n], make([]float32, 2*n)}
		}
		all := floats[float32](r, 16)
		mine := slices.Clone(all)
		want, got := args(all), args(mine)
		corpusCaseOf(t, AddBehind).runGo(want)
		list := make([]simt.Arg, len(got))
		for i, a := range got {
			list[i] = deviceArg(i, a)
		}
		whole := deviceArg(3, mine).Memory
		list[3] = simt.Arg{Memory: whole, Offset: int64(shift) * 4, Len: 2*n + 3, Cap: 2*n + 3}
		list[4] = simt.Arg{Memory: whole, Offset: 3 * 4, Len: 2 * n, Cap: 2 * n}
		_, err := program.Run(list, simt.Config{Teams: 1, Threads: 1})
		require.NoError(t, err)
		require.Equal(t, all, mine)
		require.Equal(t, want[5], got[5])
	}
}

// Threads take blocks of two loops where the loop inside reads what several rows, or columns, have in common.
func TestBlocks(t *testing.T) {
	for _, c := range []struct {
		name, directive, body, want string
	}{
		{"product", "", "s := 0.0; for k := 0; k < n; k++ { s += x[i*n+k] * y[k*n+j] }; z[i*n+j] = s", "4 rows and 4 columns"},
		{"product with the transpose", "", "s := z[i*n+j]; for k := 0; k < n; k++ { s -= x[i*n+k] * y[j*n+k] }; z[i*n+j] = s", "4 rows and 4 columns"},
		{"rows share", "", "s := 0.0; for k := 0; k < n; k++ { s += y[k*n+j] }; z[i*n+j] = s", "8 rows and 1 columns"},
		{"columns share", "", "s := 0.0; for k := 0; k < n; k++ { s += x[i*n+k] }; z[i*n+j] = s", "1 rows and 4 columns"},
		{"many sums", "", "a, b, c := 0.0, 0.0, 0.0; for k := 0; k < n; k++ { a += x[i*n+k] * y[k*n+j]; b += x[i*n+k]; c += y[k*n+j] }; z[i*n+j] = a + b*c",
			"4 rows and 1 columns"},
		{"triangle", "", "s := 0.0; for k := 0; k < i; k++ { s += x[i*n+k] * y[k*n+j] }; z[i*n+j] = s", ""},
		{"nothing in common", "", "s := 0.0; for k := 0; k < n; k++ { s += x[(i*n+j)*n+k] }; z[i*n+j] = s", ""},
		{"condition", "", "s := 0.0; for k := 0; k < n; k++ { if k != i { s += x[i*n+k] * y[k*n+j] } }; z[i*n+j] = s", "4 rows and 4 columns"},
		{"stores inside", "", "for k := 0; k < n; k++ { z[i*n+j] += x[i*n+k] * y[k*n+j] }", "4 rows and 4 columns"},
		{"one to one", "schedule(onetoone)", "s := 0.0; for k := 0; k < n; k++ { s += x[i*n+k] * y[k*n+j] }; z[i*n+j] = s", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := lowerText(t, `//omp:target device(acc) check(none)
//omp:task inout(z) in(x, y)
func K(x, y, z []float64, n int) {
	//omp:teams distribute parallel for collapse(2) `+c.directive+`
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			`+c.body+`
		}
	}
}`, codegen.LowerOptions{})
			require.NoError(t, err)
			if c.want == "" {
				require.NotContains(t, l.Explain(), "in a thread at once")
				return
			}
			require.Contains(t, l.Explain(), c.want)
		})
	}
}

// Loads come in front of atomics that cannot touch what they read, in loops by which a thread takes its part by hand.
func TestLoadsAhead(t *testing.T) {
	for _, c := range []struct {
		name, loop string
		ahead      bool
	}{
		{"histogram", "for i := first; i < len(x); i += stride {\n//omp:atomic\npart[x[i]&255]++\n}", true},
		{"in memory of the same type", "for i := first; i < len(x); i += stride {\n//omp:atomic\nhist[x[i]&255]++\n}", false},
		{"no atomic", "for i := first; i < len(x); i += stride { hist[i] = x[i] }", false},
		{"unknown step", "for i := first; i < len(x); i += n {\n//omp:atomic\npart[x[i]&255]++\n}", false},
		{"under a condition", "for i := first; i < len(x); i += stride {\nif i > n {\n//omp:atomic\npart[x[i]&255]++\n}\n}", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := `import "github.com/gompss/gompss/codegen/kernel"
//omp:target device(acc)
//omp:task inout(hist) in(x)
func K(x, hist []int32, n int) {
	//omp:teams
	{
		var part [256]int32
		//omp:parallel
		{
			first := kernel.TeamNum()*kernel.NumThreads() + kernel.ThreadNum()
			stride := kernel.NumTeams() * kernel.NumThreads()
			` + c.loop + `
		}
	}
}`
			for _, decl := range []string{"var part [256]int32", "stride := kernel.NumTeams() * kernel.NumThreads()"} {
				if name := strings.Fields(strings.TrimPrefix(decl, "var "))[0]; !strings.Contains(c.loop, name) {
					text = strings.Replace(text, decl, "", 1)
				}
			}
			l, err := lowerText(t, text, codegen.LowerOptions{})
			require.NoError(t, err)
			require.Equal(t, c.ahead, strings.Contains(l.Explain(), "4 iterations load at once"), "%s\n%s", l.Explain(), l.Program)
			if c.ahead {
				require.NotContains(t, l.Program.String(), "?", "every index is proved")
			}
		})
	}
}
