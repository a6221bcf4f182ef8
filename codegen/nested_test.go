package codegen_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/simt"
)

// nestedHow is every way in which nested loops are written: by strategy, and with no clause at all,
// as loops inside loop.
var nestedHow = []string{"auto", "inline", "eager", "cta", "warp", "host", "warp, boost", "cta, boost", "none", "loop"}

var nestedDirective = regexp.MustCompile(`//omp:parallel for(.*?) nested\(auto\)(.*)`)

// nestedText is the text of the kernels with their nested loops written in one of these ways.
func nestedText(how string) string {
	switch how {
	case "none":
		return nestedDirective.ReplaceAllString(nestedKernelsSource, "//omp:parallel for$1")
	case "loop":
		text := strings.ReplaceAll(nestedKernelsSource, "//omp:teams distribute parallel for", "//omp:teams loop")
		return nestedDirective.ReplaceAllString(text, "//omp:loop$1")
	}
	return strings.ReplaceAll(nestedKernelsSource, "nested(auto)", "nested("+how+")")
}

// shortRows is the number of rows of which all are so short that few lanes share one.
const shortRows = 90

// powerLaw makes rows of which most are short, some have more elements than a warp has lanes, and a
// few more than a team has.
func powerLaw(r *rand.Rand, n int) (start, col []int32) {
	start = make([]int32, n+1)
	for i := range n {
		length := r.IntN(12) * r.IntN(2)
		switch {
		case n == shortRows || n == shortRows/4:
		case r.IntN(8) == 0:
			length = 28 + r.IntN(9)
		case r.IntN(16) == 0:
			length = 900 + r.IntN(250)
		case r.IntN(24) == 0:
			length = 1000 + r.IntN(1500)
		}
		for range length {
			col = append(col, int32(r.IntN(n)))
		}
		start[i+1] = int32(len(col))
	}
	return start, col
}

var nestedCases = []corpusCase{
	{kernel: NestedSpMV, tolerance: 1e-12, args: func(n int, r *rand.Rand) []any {
		start, col := powerLaw(r, n)
		return []any{start, col, floats[float64](r, len(col)), floats[float64](r, n), make([]float64, n)}
	}},
	{kernel: NestedBFS, args: func(n int, r *rand.Rand) []any {
		start, col := powerLaw(r, n)
		return []any{int32(1), start, col, ints[int32](r, n, 4), make([]int64, n)}
	}},
	{kernel: NestedSSSP, args: func(n int, r *rand.Rand) []any {
		start, col := powerLaw(r, n)
		return []any{start, col, ints[int32](r, len(col), 50), ints[int32](r, n, 99), ints[int32](r, n, 99), ints[uint8](r, n, 2), make([]int32, 1)}
	}},
	{kernel: NestedColour, args: func(n int, r *rand.Rand) []any {
		start, col := powerLaw(r, n)
		return []any{start, col, ints[int32](r, n, 9), make([]int64, n)}
	}},
	{kernel: NestedTriangles, args: func(n int, r *rand.Rand) []any {
		start, col := powerLaw(r, n/4)
		return []any{start, col, make([]int64, n/4)}
	}},
	{kernel: NestedPageRank, tolerance: 1e-12, args: func(n int, r *rand.Rand) []any {
		start, col := powerLaw(r, n)
		return []any{0.85, start, col, floats[float64](r, n), floats[float64](r, n), make([]float64, n), make([]float64, n)}
	}},
	{kernel: NestedComponents, args: func(n int, r *rand.Rand) []any {
		start, col := powerLaw(r, n)
		return []any{start, col, ints[int32](r, n, max(n, 1)), ints[int32](r, n, max(n, 1))}
	}},
	{kernel: NestedBezier, tolerance: 1e-6, args: func(n int, r *rand.Rand) []any {
		first, col := powerLaw(r, n)
		return []any{first, floats[float32](r, n), floats[float32](r, n), floats[float32](r, n), make([]float32, len(col))}
	}},
}

// Every strategy computes what the Go function does, for every grid and with no race.
func TestNested_StrategiesEqualGo(t *testing.T) {
	for _, how := range nestedHow {
		p, err := codegen.Load(codegen.File{Name: "nested_kernels_test.go", Text: nestedText(how)})
		require.NoError(t, err)
		for _, c := range nestedCases {
			t.Run(how+"/"+name(c.kernel), func(t *testing.T) {
				t.Parallel()
				for _, opt := range []codegen.LowerOptions{{}, {NoShuffles: true, KeepChecks: true}} {
					c.compareNested(t, lowerKernel(t, p, name(c.kernel), opt), opt.NoShuffles)
				}
			})
		}
	}
}

var plainCases = []corpusCase{
	{kernel: PlainSlices, tolerance: 1e-12, args: plainRows},
	{kernel: PlainRange, args: func(n int, r *rand.Rand) []any {
		start, col := powerLaw(r, n)
		return []any{start, col, ints[int64](r, n, 1000), make([]int64, n)}
	}},
	{kernel: PlainInPlace, tolerance: 1e-12, args: plainRows},
	{kernel: PlainFast, tolerance: 1e-9, args: plainRows},
	{kernel: PlainLevel, args: func(n int, r *rand.Rand) []any {
		start, col := powerLaw(r, n)
		return []any{int32(1), start, col, ints[int32](r, n, 4), ints[int32](r, n, 4)}
	}},
	{kernel: PlainTriangles, args: func(n int, r *rand.Rand) []any {
		start, col := powerLaw(r, n/4)
		return []any{start, col, make([]int64, 1)}
	}},
	{kernel: PlainSkips, tolerance: 1e-12, args: func(n int, r *rand.Rand) []any {
		start, col := powerLaw(r, n)
		return []any{start, col, ints[int32](r, n, 4), floats[float64](r, n), make([]float64, n), make([]int32, n)}
	}},
	{kernel: PlainQueue, args: func(n int, r *rand.Rand) []any {
		start, col := powerLaw(r, n)
		return []any{ints[int32](r, n/2, max(n, 1)), start, col, ints[int32](r, n, 50), ints[int32](r, n, 50)}
	}},
	{kernel: PlainChanged, args: func(n int, r *rand.Rand) []any {
		start, col := powerLaw(r, n)
		return []any{start, col, ints[int32](r, len(col), 50), ints[int32](r, n, 9), ints[uint8](r, n, 2), ints[int32](r, n, 90), ints[int64](r, n, 9)}
	}},
	{kernel: PlainFree, args: func(n int, r *rand.Rand) []any {
		start, col := powerLaw(r, n)
		return []any{int32(5), start, col, ints[int32](r, n, 9), ints[int32](r, n, 3), make([]int32, n), make([]int64, 1)}
	}},
	{kernel: PlainOther, args: func(n int, r *rand.Rand) []any {
		start, col := powerLaw(r, n)
		return []any{start, col, ints[int64](r, n, 9), make([]int64, n)}
	}},
	{kernel: PlainSifted, tolerance: 1e-3, args: func(n int, r *rand.Rand) []any {
		start, col := powerLaw(r, n)
		return []any{float32(0.5), start, col, ints[int32](r, n, 4), floats[float32](r, n), make([]float32, n), ints[int64](r, n, 9), make([]int32, 1)}
	}},
}

// Iterations of several blocks come to the groups of lanes that share what a condition lets pass,
// in one order of sums.
func TestNested_Sifted(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "nested_kernels_test.go", Text: nestedKernelsSource})
	require.NoError(t, err)
	cases := map[string]corpusCase{}
	for _, c := range append(append([]corpusCase{}, nestedCases...), plainCases...) {
		cases[name(c.kernel)] = c
	}
	for _, kernel := range []string{"NestedBFS", "NestedPageRank", "PlainLevel", "PlainSkips", "PlainSifted", "PlainChanged", "PlainFree"} {
		t.Run(kernel, func(t *testing.T) {
			t.Parallel()
			c := cases[kernel]
			l := lowerKernel(t, p, kernel, codegen.LowerOptions{})
			require.Contains(t, l.Explain(), "a thread each tests whether it continues")
			program, err := simt.New(l.Program)
			require.NoError(t, err)
			for _, n := range []int{31, shortRows, 255, 257, 700} {
				want := c.makeArgs(n)
				c.runGo(want)
				for k, cfg := range []simt.Config{{Teams: 2, Threads: 64}, {Teams: 5, Threads: 256}} {
					cfg.Seed, cfg.Races, cfg.Steps = uint64(k), true, 200_000_000
					got := c.makeArgs(n)
					require.NoError(t, runDevice(program, got, cfg), "size %d\n%s", n, l.Program)
					require.Empty(t, c.differ(want, got), "size %d\n%s", n, l.Program)
				}
			}
		})
	}
}

func plainRows(n int, r *rand.Rand) []any {
	start, col := powerLaw(r, n)
	return []any{start, col, floats[float64](r, len(col)), floats[float64](r, n), make([]float64, n)}
}

// A nested loop whose length memory decides is shared by lanes and teams however it is written.
func TestNested_PlainForms(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "nested_kernels_test.go", Text: nestedKernelsSource})
	require.NoError(t, err)
	for _, c := range plainCases {
		t.Run(name(c.kernel), func(t *testing.T) {
			t.Parallel()
			l := lowerKernel(t, p, name(c.kernel), codegen.LowerOptions{})
			require.Contains(t, l.Explain(), "lanes of a warp share each iteration")
			require.Contains(t, l.Explain(), "whose teams share out the long ones")
			c.compareNested(t, l, false)
			c.compareNested(t, lowerKernel(t, p, name(c.kernel), codegen.LowerOptions{NoShuffles: true, KeepChecks: true}), true)
		})
	}
}

// A second loop over the same row has no contexts of its own: no iteration with a long row gets to
// it.
func TestNested_SecondLoopOfARow(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "nested_kernels_test.go", Text: nestedText("none")})
	require.NoError(t, err)
	for kernel, launches := range map[string]int{"PlainSkips": 2, "NestedColour": 2, "PlainOther": 3} {
		require.Len(t, lowerKernel(t, p, kernel, codegen.LowerOptions{}).Program.Launches, launches, kernel)
	}
}

// Where the memory that a plain nested loop updates is also what it reads, its iterations run in
// order.
func TestNested_OverlapRunsInOrder(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "nested_kernels_test.go", Text: nestedKernelsSource})
	require.NoError(t, err)
	program, err := simt.New(lowerKernel(t, p, name(PlainQueue), codegen.LowerOptions{}).Program)
	require.NoError(t, err)
	start, col := []int32{0, 70}, make([]int32, 70)
	for i := range col {
		col[i] = int32(i % 3)
	}
	want, got := []int32{1, 2, 3}, []int32{1, 2, 3}
	PlainQueue([]int32{0}, start, col, want, want)
	args := []simt.Arg{deviceArg(0, []int32{0}), deviceArg(1, start), deviceArg(2, col), deviceArg(3, got), deviceArg(4, got)}
	args[4].Memory = args[3].Memory
	_, err = program.Run(args, simt.Config{Teams: 2, Threads: 64})
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func (c corpusCase) compareNested(t *testing.T, l *codegen.Lowering, odd bool) {
	program, err := simt.New(l.Program)
	require.NoError(t, err)
	for _, n := range []int{0, 3, shortRows, 150} {
		want := c.makeArgs(n)
		c.runGo(want)
		for k, s := range shapes {
			cfg := simt.Config{Teams: s.teams, Threads: s.threads, Seed: uint64(k), Races: true, Steps: 200_000_000}
			got := c.makeArgs(n)
			where := fmt.Sprintf("size %d, %d teams of %d threads, any number of threads %v", n, s.teams, s.threads, odd)
			require.NoError(t, runDevice(program, got, cfg), "%s\n%s", where, l.Program)
			if d := c.differ(want, got); d != "" {
				t.Fatalf("%s: %s\n%s", where, d, l.Program)
			}
		}
	}
}

// A sum over a row has the same bits in every strategy but inline, on every grid and on devices
// without warps: its order follows from the length of the row alone.
func TestNested_SumsHaveOneOrder(t *testing.T) {
	for _, c := range nestedCases {
		if c.tolerance < 1e-9 && c.tolerance > 0 {
			t.Run(name(c.kernel), func(t *testing.T) {
				t.Parallel()
				first := map[int][]any{}
				for _, how := range nestedHow {
					if how == "inline" {
						continue
					}
					p, err := codegen.Load(codegen.File{Name: "nested_kernels_test.go", Text: nestedText(how)})
					require.NoError(t, err)
					for _, opt := range []codegen.LowerOptions{{}, {NoShuffles: true}} {
						program, err := simt.New(lowerKernel(t, p, name(c.kernel), opt).Program)
						require.NoError(t, err)
						for k, s := range shapes {
							if s.threads%32 != 0 {
								continue
							}
							for _, n := range []int{shortRows, 150} {
								got := c.makeArgs(n)
								require.NoError(t, runDevice(program, got, simt.Config{Teams: s.teams, Threads: s.threads, Seed: uint64(k)}))
								if first[n] == nil {
									first[n] = got
								}
								require.Equal(t, bitsOf(first[n]), bitsOf(got), "%s, %d teams of %d threads, without warps %v", how, s.teams, s.threads, opt.NoShuffles)
							}
						}
					}
				}
			})
		}
	}
}

func bitsOf(args []any) (out [][]uint64) {
	for _, a := range args {
		if x, ok := a.([]float64); ok {
			list := make([]uint64, len(x))
			for i := range x {
				list[i] = math.Float64bits(x[i])
			}
			out = append(out, list)
		}
	}
	return out
}
