package codegen_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/simt"
)

// Rows dealt to threads are read by whole teams: in every form that keeps the order of a row.
func TestRows_Strategy(t *testing.T) {
	p := loadCorpus(t)
	for _, k := range []any{RowNormalised, RowStandardised, RowRunning, RowInPlace, RowSteps, RowBytes, RowsApart, RowUpright, RowUprightRunning, RowTriangle, RowBand, RowTurned, RowChecks, RowStates, RowCounts} {
		k, err := p.Kernel(name(k))
		require.NoError(t, err)
		l, err := codegen.Lower(k, codegen.LowerOptions{})
		require.NoError(t, err)
		require.Contains(t, l.Strategies, "rows", k.Name)
	}
}

// Elements that an iteration of a row stores and the next ones load are carried in variables.
func TestRows_Carried(t *testing.T) {
	p := loadCorpus(t)
	for _, k := range carriedKernels {
		l := lowerKernel(t, p, name(k), codegen.LowerOptions{})
		require.Contains(t, l.Strategies, "rows", name(k))
		require.Contains(t, l.Program.String(), "carried", name(k))
	}
}

// What is combined in an order that does not show is shared by the lanes of a warp, or by the
// threads of a team, without a clause.
func TestOrderFree_Strategy(t *testing.T) {
	p := loadCorpus(t)
	for want, kernels := range map[string][]any{"lanes": {RowLeast, RowPicks, RowCombines}, "columns": {ColumnPicks, ColumnPicksLast, ColumnExtremes}} {
		for _, k := range kernels {
			l := lowerKernel(t, p, name(k), codegen.LowerOptions{})
			require.Contains(t, l.Strategies, want, name(k))
		}
	}
}

// Sums are cut into parts where the loop that adds up does nothing else: not where it stores what a
// later iteration may read, and not where its constant length is too short.
func TestParts_WhereTheLoopAddsUpAlone(t *testing.T) {
	for body, cut := range map[string]bool{
		"for j := 0; j < m; j++ { k += int(x[i*m+j]) }":                                                                true,
		"for j := 1; j < m; j++ { k += int(x[i*m+j]); z[i*m+j] = z[i*m+j-1] + 1 }":                                     false,
		"//omp:simd safelen(2) reduction(+: k)\nfor j := 2; j < m; j++ { z[i*m+j] += z[i*m+j-2]; k += int(z[i*m+j]) }": false,
		"for j := 0; j < 8; j++ { k += int(x[i*8+j]) }":                                                                false,
		"for j := 0; j < 10000; j++ { k += int(x[i*10000+j]) }":                                                        true,
	} {
		l, err := lowerText(t, "//omp:target device(acc)\n//omp:task in(x) inout(y, z)\nfunc K(n, m int, x, y, z []float32) {\n"+
			"//omp:teams distribute parallel for\nfor i := 0; i < n; i++ {\nk := 0\n"+body+"\ny[i] = float32(k)\n}\n}", codegen.LowerOptions{})
		require.NoError(t, err, body)
		require.Equal(t, cut, strings.Contains(l.Program.String(), "kParts"), body)
	}
}

// What shows the order, or has more to do with what is combined, is not.
func TestOrderFree_Misses(t *testing.T) {
	for what, body := range map[string]string{
		"a sum of floats":      "f += x[i*m+j]",
		"read in between":      "k += int(x[i*m+j]); if k > 3 { b++ }",
		"two operators":        "k += int(x[i*m+j]); k *= 3",
		"subtracted from":      "k = int(x[i*m+j]) - k",
		"a pick of another":    "if x[i*m+j] < f { f = x[i*m+j] / 2 }",
		"a pick that is read":  "if x[i*m+j] < f { f, k = x[i*m+j], j }; b += k",
		"a pick of a sum":      "if x[i*m+j] < f { f, k = x[i*m+j], k+1 }",
		"a pick with an else":  "if x[i*m+j] < f { f = x[i*m+j] } else { k = j }",
		"a pick by what it is": "if x[i*m+j] < f && k < 9 { f, k = x[i*m+j], j }",
		"left early":           "if x[i*m+j] < f { f = x[i*m+j]; break }",
	} {
		l, err := lowerText(t, "//omp:target device(acc)\n//omp:task in(x) inout(y)\nfunc K(n, m int, x, y []float32) {\n"+
			"//omp:teams distribute parallel for\nfor i := 0; i < n; i++ {\nf, k, b := float32(i), 0, 0\nfor j := 0; j < m; j++ { "+body+" }\n"+
			"y[i] = f + float32(k+b)\n}\n}", codegen.LowerOptions{})
		require.NoError(t, err, what)
		require.NotContains(t, l.Strategies, "lanes", what)
	}
}

// What no tile of rows may stand for.
func TestRows_Misses(t *testing.T) {
	for what, body := range map[string]string{
		"short":         "s := float32(0)\nfor j := 0; j < 8; j++ {\ns += x[i*8+j]\n}\ny[i] = s",
		"bent by data":  "s := float32(0)\nfor j := 0; j < int(x[i]); j++ {\ns += x[i*m+j]\n}\ny[i] = s",
		"bent twice":    "s := float32(0)\nfor j := 0; j < i*i; j++ {\ns += x[i*m+j]\n}\ny[i] = s",
		"left early":    "s := float32(0)\nfor j := 0; j < m; j++ {\nif x[i*m+j] > 3 {\nbreak\n}\ns += x[i*m+j]\n}\ny[i] = s",
		"shifted far":   "for j := 5; j < m; j++ {\nx[i*m+j] = x[i*m+j-5]/2 + x[i*m+j]\n}",
		"shifted by m":  "for j := 5; j < m; j++ {\nx[i*m+j] = x[i*m+j-n]/2 + x[i*m+j]\n}",
		"in two places": "for j := 1; j < m; j++ {\nx[i*m+j] = x[i*m+j-1]/2\nx[i*m+j+1] = y[i*m+j]\n}",
		"maybe far":     "for j := 2; j < m; j++ {\nt := y[i*m+j]\nif t > 1 {\nt += x[i*m+j-2]\n}\nx[i*m+j] = t\n}",
		"writes in ifs": "s := float32(0)\nfor j := 0; j < m; j++ {\ns += x[i*m+j]\nif s > 0 {\ny[i*m+j] = s\n}\n}",
	} {
		l, err := lowerText(t, "//omp:target device(acc)\n//omp:task inout(x, y)\nfunc K(n, m int, x, y []float32) {\n"+
			"//omp:teams distribute parallel for\nfor i := 0; i < n; i++ {\n"+body+"\n}\n}", codegen.LowerOptions{})
		require.NoError(t, err, what)
		require.NotContains(t, l.Strategies, "rows", what)
	}
}

// Where the row that is written overlaps the row that is read, no element is loaded before its
// time.
func TestRows_Overlap(t *testing.T) {
	program, err := simt.New(lowerKernel(t, loadCorpus(t), "RowsApart", codegen.LowerOptions{}).Program)
	require.NoError(t, err)
	const n, m = 37, 150
	for _, shift := range []int{0, 1, n * m} {
		all := make([]float32, 2*n*m+8)
		for i := range all {
			all[i] = float32(i%13) - 5
		}
		want := slices.Clone(all)
		// Within a row alone: its last element is not of the loop.
		RowsApart(n, m, want[:n*m-shift%2], want[shift:shift+n*m-shift%2])
		got := slices.Clone(all)
		memory := memoryOfAll("both", got)
		slice := func(at, n int) simt.Arg {
			return simt.Arg{Memory: memory, Offset: int64(at) * 4, Len: int64(n), Cap: int64(n)}
		}
		_, err := program.Run([]simt.Arg{{Bits: ir.Bits(n)}, {Bits: ir.Bits(m)}, slice(0, n*m-shift%2), slice(shift, n*m-shift%2)}, simt.Config{Teams: 3, Threads: 128})
		require.NoError(t, err, fmt.Sprint(shift))
		require.Equal(t, want, got, "shift %d", shift)
	}
}

// Indices by quotients and remainders are proved by the test in front: the version behind it has no
// check.
func TestVersion_Quotients(t *testing.T) {
	for _, k := range []any{PointsBetween, PointsNumbered} {
		k, err := loadCorpus(t).Kernel(name(k))
		require.NoError(t, err)
		l, err := codegen.Lower(k, codegen.LowerOptions{})
		require.NoError(t, err)
		fast, slow, both := strings.Cut(l.Program.String(), "} else {\n\t\tvar end")
		require.True(t, both, "%s", l.Program)
		require.NotContains(t, fast, "?]", k.Name)
		require.Contains(t, slow, "?]", k.Name)
	}
	// What may be negative is cut towards zero: no bound.
	l, err := lowerText(t, "//omp:target device(acc)\n//omp:task inout(x)\nfunc K(n int, x []float32) {\n"+
		"//omp:teams distribute parallel for\nfor i := -5; i < n; i++ {\n//omp:atomic write\nx[i/3+1] = 0\n}\n}", codegen.LowerOptions{})
	require.NoError(t, err)
	require.NotContains(t, decisions(l), "a version without index checks")
}

func decisions(l *codegen.Lowering) string { return fmt.Sprint(l.Decisions) }

func memoryOfAll[T any](name string, s []T) *simt.Memory {
	return &simt.Memory{Name: name, Bytes: unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), len(s)*int(unsafe.Sizeof(s[0])))}
}

// What several loops along a row read is written down for each element of it; the device chooses the
// size of the teams by that.
func TestRows_Reread(t *testing.T) {
	for body, want := range map[string]ir.Bytes{
		"//omp:parallel for reduction(max: top)\nfor j := 0; j < m; j++ {\ntop = max(top, x[i*m+j])\n}\n" +
			"//omp:parallel for\nfor j := 0; j < m; j++ {\ny[i*m+j] = x[i*m+j] - top\n}": 4,
		"//omp:parallel for reduction(max: top)\nfor j := 0; j < m; j++ {\ntop = max(top, x[i*m+j])\n}\ny[i] = top":                           0,
		"//omp:parallel for\nfor j := 0; j < m; j++ {\ny[i*m+j] = x[i*m+j] + x[i*m+j]\n}":                                                     0,
		"//omp:parallel for\nfor j := 0; j < m; j++ {\ny[i*m+j] = x[j]\n}\n//omp:parallel for\nfor j := 0; j < m; j++ {\ny[i*m+j] *= x[j]\n}": 0,
		"//omp:parallel for\nfor j := 0; j < m; j++ {\ny[i*m+j] = x[i*m+2*j]\n}\n" +
			"//omp:parallel for\nfor j := 0; j < m; j++ {\ny[i*m+j] *= x[i*m+2*j]\n}": 0,
	} {
		l, err := lowerText(t, "//omp:target device(acc)\n//omp:task in(x) inout(y)\nfunc K(n, m int, x, y []float32) {\n"+
			"//omp:teams distribute\nfor i := 0; i < n; i++ {\ntop := x[i*m]\n_ = top\n"+body+"\n}\n}", codegen.LowerOptions{})
		require.NoError(t, err, body)
		require.Equal(t, want, l.Program.Launches[0].Reread, body)
	}
}

// What bounds a loop as the least or the greatest of several is known of its variable, each of them:
// the test in front of a band asks for no more than the band has. A quotient of bits needs no check
// in a table that has them all.
func TestVersion_Bounds(t *testing.T) {
	for _, c := range []struct {
		kernel any
		want   string
	}{{RowBand, "2 * b + 1 <= len(w)"}, {RowChecks, "256 <= len(table)"}, {RowStates, "256 <= len(next)"}} {
		text := lowerKernel(t, loadCorpus(t), name(c.kernel), codegen.LowerOptions{}).Program.String()
		require.Contains(t, text, c.want)
		fast, slow, both := strings.Cut(text, "\n\t} else {")
		require.True(t, both, "%s", text)
		require.NotContains(t, fast, "?]", text)
		require.Contains(t, slow, "?]", text)
	}
}

// Rows that several loops read are kept where two of them fit; the row may be written where it is read
// last.
func TestRows_Kept(t *testing.T) {
	for _, c := range []struct {
		kernel any
		kept   bool
	}{{RowNormalised, true}, {RowStandardised, true}, {RowCounts, true}, {RowRunning, false}, {RowTurned, false}, {RowChecks, false}} {
		l := lowerKernel(t, loadCorpus(t), name(c.kernel), codegen.LowerOptions{})
		require.Equal(t, c.kept, strings.Contains(decisions(l), "kept in team memory"), name(c.kernel))
	}
	for what, body := range map[string]string{
		"written between":      "for j := 0; j < m; j++ { s += x[i*m+j] }; x[i*m] = s; for j := 0; j < m; j++ { s = s/2 + x[i*m+j] }",
		"written before":       "for j := 0; j < m; j++ { x[i*m+j] *= 2 }; for j := 0; j < m; j++ { s += x[i*m+j] }",
		"written, then read":   "for j := 0; j < m; j++ { s += x[i*m+j] }; for j := 0; j < m; j++ { x[i*m+j] -= s; y[i*m+j] = x[i*m+j] }",
		"other lengths":        "for j := 0; j < m; j++ { s += x[i*m+j] }; for j := 1; j < m; j++ { y[i*m+j] = x[i*m+j] - s }",
		"another row in order": "for j := 0; j < m; j++ { s += x[i*m+j]*y[i*m+j] }; for j := 0; j < m; j++ { s = s/2 + x[i*m+j] }",
	} {
		l, err := lowerText(t, "//omp:target device(acc)\n//omp:task inout(x, y)\nfunc K(n, m int, x, y []float32) {\n"+
			"//omp:teams distribute parallel for\nfor i := 0; i < n; i++ {\ns := float32(0)\n"+body+"\ny[i*m] = s\n}\n}", codegen.LowerOptions{})
		require.NoError(t, err, what)
		require.NotContains(t, decisions(l), "kept in team memory", what)
	}
}

// The rows that a team keeps are copied beside its threads: without the barrier behind the copies,
// and without the first one of a device that does not copy beside its threads, results are wrong.
func TestRows_KeptAreAwaited(t *testing.T) {
	const n, m = 40, 600
	x := make([]float32, n*m)
	for i := range x {
		x[i] = float32(i%31) / 8
	}
	want := make([]float32, n*m)
	RowNormalised(n, m, x, want)
	run := func(p *ir.Program) []float32 {
		program, err := simt.New(p)
		require.NoError(t, err)
		got := make([]float32, n*m)
		require.NoError(t, runDevice(program, []any{n, m, x, got}, simt.Config{Teams: 3, Threads: 128}))
		return got
	}
	p := lowerKernel(t, loadCorpus(t), "RowNormalised", codegen.LowerOptions{}).Program
	require.Equal(t, want, run(p))
	text := p.String()
	require.Equal(t, 1, strings.Count(text, "= async x["), "%s", text)

	copied, dropped := false, 0
	ir.WalkStmts(p.Launches[0].Body, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.Assign:
			copied = copied || s.Async
		case *ir.Barrier:
			if copied {
				copied, s.Scope, dropped = false, ir.WarpBarrier, dropped+1
			}
		}
		return true
	})
	require.Equal(t, 1, dropped)
	require.NotEqual(t, want, run(p))
}

// Places that memory decides are checked by one branch; what is out of range fails where it is
// written first, and what was stored before stays.
func TestTogether_FailsAsWritten(t *testing.T) {
	l, err := lowerText(t, "//omp:target device(acc)\n//omp:task in(p, q, x) inout(y, z)\nfunc K(p, q []int32, x, y, z []int32) {\n"+
		"//omp:teams distribute parallel for\nfor i := range p {\ns := x[p[i]] + 1\nz[i] = s\nif s > 0 {\ns += x[q[i]]\n}\ny[q[i]] = s + x[p[i]+1]\n}\n}", codegen.LowerOptions{})
	require.NoError(t, err)
	require.Contains(t, decisions(l), "checked by one branch")
	program, err := simt.New(l.Program)
	require.NoError(t, err)
	run := func(p, q int32) ([]int32, []int32, error) {
		y, z := make([]int32, 4), make([]int32, 4)
		err := runDevice(program, []any{[]int32{p}, []int32{q}, []int32{7, -5, 3}, y, z}, simt.Config{Teams: 1, Threads: 32, Races: true})
		return y, z, err
	}
	y, z, err := run(0, 1)
	require.NoError(t, err)
	require.Equal(t, [][]int32{{0, 8 - 5 - 5, 0, 0}, {8, 0, 0, 0}}, [][]int32{y, z})
	y, z, err = run(1, 3)
	require.NoError(t, err, "the third slice has no element 3, and is not asked for it")
	require.Equal(t, [][]int32{{0, 0, 0, -1}, {-4, 0, 0, 0}}, [][]int32{y, z})
	for _, c := range []struct {
		p, q  int32
		index string
		first int32 // of z
	}{{3, 0, "index 3", 0}, {-1, 0, "index -1", 0}, {0, 3, "index 3", 8}, {1, 4, "index 4", -4}, {2, 0, "index 3", 4}} {
		_, z, err := run(c.p, c.q)
		require.ErrorContains(t, err, c.index, "%d %d", c.p, c.q)
		require.Equal(t, c.first, z[0], "%d %d", c.p, c.q)
	}
}

// Where the slices of a filter overlap, no element of a row is loaded before its time.
func TestRows_CarriedOverlap(t *testing.T) {
	program, err := simt.New(lowerKernel(t, loadCorpus(t), "CarriedFilter", codegen.LowerOptions{}).Program)
	require.NoError(t, err)
	const n, m = 1, 150
	for _, shift := range []int{0, 1, 2, n * m} {
		all := make([]float64, 2*n*m+8)
		for i := range all {
			all[i] = float64(i%13) - 5
		}
		want := slices.Clone(all)
		CarriedFilter(n, m, want[shift:shift+n*m], want[:n*m])
		got := slices.Clone(all)
		memory := memoryOfAll("both", got)
		slice := func(at, n int) simt.Arg {
			return simt.Arg{Memory: memory, Offset: int64(at) * 8, Len: int64(n), Cap: int64(n)}
		}
		_, err := program.Run([]simt.Arg{{Bits: ir.Bits(n)}, {Bits: ir.Bits(m)}, slice(shift, n*m), slice(0, n*m)}, simt.Config{Teams: 3, Threads: 128})
		require.NoError(t, err, fmt.Sprint(shift))
		require.Equal(t, want, got, "shift %d", shift)
	}
}

// A short loop beside that along the row carries no element that another of its stores may change.
func TestRows_CarriedTwice(t *testing.T) {
	l, err := lowerText(t, "//omp:target device(acc)\n//omp:task in(y) inout(w, x)\nfunc K(n, m int, y, w, x []float32) {\n"+
		"//omp:teams distribute parallel for\nfor i := 0; i < n; i++ {\nfor j := 1; j < 8; j++ {\nw[i*m+j] = w[i*m+j-1] + 1\nx[i*m+j] = 5\n}\n"+
		"s := float32(0)\nfor j := 0; j < m; j++ {\ns += y[i*m+j]\n}\nw[i*m] = s\n}\n}", codegen.LowerOptions{})
	require.NoError(t, err)
	require.Contains(t, l.Program.String(), "carried")
	require.Contains(t, l.Program.String(), "apart(w, x)")
}
