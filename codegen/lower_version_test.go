package codegen_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/simt"
)

// dropChecked empties the Else of every If whose Else, not its Then, checks indices: the version for what the test in
// front of a loop does not admit. It returns how many there were.
func dropChecked(p *ir.Program) int {
	n := 0
	r := &ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		if f, ok := s.(*ir.If); ok && checks(f.Else) > 0 && checks(f.Then) < checks(f.Else) {
			n++
			g := *f
			g.Else = nil
			return []ir.Stmt{&g}
		}
		return []ir.Stmt{s}
	}}
	for _, g := range p.Launches {
		g.Body = r.CopyStmts(g.Body)
	}
	return n
}

// checks counts the checked indices in list.
func checks(list []ir.Stmt) int {
	n := 0
	ir.WalkExprs(list, func(e ir.Expr) bool {
		if ix, ok := e.(*ir.Index); ok && ix.Checked {
			n++
		}
		return true
	})
	return n
}

// The version without checks is the one that runs where all is in range: without the other one the result is the same.
func TestFastVersionRuns(t *testing.T) {
	p := loadCorpus(t)
	for _, kernel := range []any{MatMul, Transpose, ColumnLoop, Jacobi2D, FloydStep, Mandelbrot, UndirectedNest} {
		c := corpusCaseOf(t, kernel)
		t.Run(name(kernel), func(t *testing.T) {
			l := lowerKernel(t, p, name(kernel), codegen.LowerOptions{}).Program
			require.Positive(t, dropChecked(l), "no second version in\n%s", l)
			program, err := simt.New(l)
			require.NoError(t, err)
			for _, n := range []int{64, 333} {
				want, got := c.makeArgs(n), c.makeArgs(n)
				c.runGo(want)
				require.NoError(t, runDevice(program, got, simt.Config{Teams: 2, Threads: 32}))
				require.Empty(t, c.differ(want, got), "size %d:\n%s", n, l)
				require.NotEmpty(t, c.differ(c.makeArgs(n), want), "the kernel changes nothing at size %d", n)
			}
		})
	}
}

// Two versions of a loop do what one with all its checks does, for every sign of the sizes and every length: the same
// memory, and the same failure at the same place.
func TestVersionsEqualChecked(t *testing.T) {
	for _, c := range []struct {
		body string
		fast int // the least percentage that the version without checks serves; not those of negative and huge sizes
	}{
		{"for i := 0; i < n; i++ { for j := 0; j < m; j++ { x[i*m+j] += 1 + i } }", 90}, // where m is 0 it is no space of two loops
		{"for i := 0; i < n; i++ { for j := 0; j < n; j++ { x[i*n+j] += 1 + i } }", 100},
		{"for i := 0; i < n; i++ { x[len(x)-1-i*m]++ }", 60},
		{"for i := 0; i < n; i++ { x[7-i*m]++ }", 60},
		{"for i := 0; i < n; i++ { x[i*(n-m)]++ }", 60},
		{"for i := 0; i < n; i++ { x[(n-1-i)*m]++ }", 60},
		{"for i := n; i > 0; i-- { x[i*m-m]++ }", 60},
		{"for i := 0; i < n; i++ { if i*m < len(x) && i*m >= 0 { x[i*m]++ } }", 40},
		{"for i := 0; i < n; i++ { for j := 0; j < i; j++ { x[i*m+j]++ } }", 100},
	} {
		t.Run(c.body, func(t *testing.T) {
			text := "//omp:target device(acc)\n//omp:task inout(x)\nfunc K(x []int, n, m int) {\n//omp:teams distribute parallel for\n" + c.body + "\n}"
			run := map[string]*simt.Program{}
			for _, which := range []string{"checked", "both", "fast"} {
				l, err := lowerText(t, text, codegen.LowerOptions{KeepChecks: which == "checked"})
				require.NoError(t, err)
				if which == "fast" {
					require.Positive(t, dropChecked(l.Program), "no second version in\n%s", l.Program)
				}
				run[which], err = simt.New(l.Program)
				require.NoError(t, err)
			}
			require.GreaterOrEqual(t, compareVersions(t, run), c.fast)
		})
	}
}

// ofAnyThread is where a failure says which thread it was: the versions may share the loop in other
// ways.
var ofAnyThread = regexp.MustCompile(`team \d+ thread \d+: `)

// compareVersions returns the percentage of the runs that change x without a failure in which the test admits the
// version without checks.
func compareVersions(t *testing.T, run map[string]*simt.Program) int {
	good, fast := 0, 0
	do := func(which string, size, n, m int) (x []int, failure string) {
		x = make([]int, size)
		if err := runDevice(run[which], []any{x, n, m}, simt.Config{Teams: 1, Threads: 1}); err != nil {
			failure = ofAnyThread.ReplaceAllString(err.Error(), "")
		}
		return x, failure
	}
	huge := []int{1 << 31, 1 << 32, 1<<62 + 1, -1 << 62}
	for size := range 13 {
		for n := -2; n < 5; n++ {
			for _, m := range append([]int{-3, -2, -1, 0, 1, 2, 3, 4}, huge...) {
				want, failure := do("checked", size, n, m)
				got, gotFailure := do("both", size, n, m)
				require.Equal(t, failure, gotFailure, "len %d, n %d, m %d", size, n, m)
				require.Equal(t, want, got, "len %d, n %d, m %d", size, n, m)
				if failure != "" || !slices.ContainsFunc(want, func(v int) bool { return v != 0 }) {
					continue
				}
				good++
				if got, _ = do("fast", size, n, m); slices.Equal(got, want) {
					fast++
				}
			}
		}
	}
	require.Positive(t, good)
	return fast * 100 / good
}

// A test that cannot hold in a loop that runs makes no version, and one index with such a test does not keep the checks of the others.
//
// Issue 16, item 14.
func TestVersions_ThatNeverRun(t *testing.T) {
	const head = "package k\n\n//omp:target device(acc)\n//omp:task in(m) inout(x, y)\nfunc K(n, w int, m []int32, x, y []int) {\n//omp:teams distribute parallel for\n"
	for body, left := range map[string]int{
		"for i := 0; i < n; i++ { if m[i] != 0 { y[i] += 1 } }":                                            0,
		"for i := 0; i < n; i++ { if m[i] != 0 { y[i] += x[i-1] } }":                                       1, // 0 <= -1
		"for i := 0; i < n; i++ { if m[i] != 0 { y[i] += x[i-n] } }":                                       1, // n <= 0
		"for i := 0; i < n; i++ { if m[i] != 0 { y[i] += x[len(x)+i] } }":                                  1, // len(x) <= 0 ... <= -1
		"for i := 0; i < n; i++ { for j := 0; j < w; j++ { if m[i] != 0 { y[i] += x[i*w+j-n*w] } } }":      1, // n*w <= 0, and both are 1 or more
		"for i := 0; i < n; i++ { for j := 0; j < w; j++ { if m[i] != 0 { y[i] += x[i*w+j] + x[j-w] } } }": 1,
		"for i := 1; i < n; i++ { if m[i] != 0 { y[i] += x[i-1] } }":                                       0,
		"for i := w; i < n; i++ { if m[i] != 0 { y[i] += x[i-w] } }":                                       0,
		"for i := 0; i < n; i++ { for j := i; j < n; j++ { if m[i] != 0 { y[i] += x[j-i] + x[i*n+j] } } }": 0,
	} {
		p, err := codegen.Load(codegen.File{Name: "k.go", Text: head + body + "\n}\n"})
		require.NoError(t, err, body)
		l := lowerKernel(t, p, "K", codegen.LowerOptions{}).Program
		least := -1
		for _, g := range l.Launches {
			ir.WalkStmts(g.Body, func(s ir.Stmt) bool {
				if f, ok := s.(*ir.If); ok && checks(f.Else) > checks(f.Then) && len(f.Then) > 0 {
					least = checks(f.Then)
				}
				return least < 0
			})
		}
		require.Equal(t, left, least, "%s:\n%s", body, l)
	}
}

// A version of a loop that holds only where the loop has no iteration was made: rows that follow each other were assumed to be
// longer than themselves.
func TestVersions_OfRowsThatHaveNoElements(t *testing.T) {
	for body, want := range map[string]bool{
		"y[i*n+j] += y[(i-1)*n+j] + x[i*n+j]":   false,
		"y[i*n+j] += y[(i-2)*n+j] + x[i*n+j]":   false,
		"y[i*n+j] += y[(i-1)*n+j+1] + x[i*n+j]": false,
		"y[i*w+j] += x[i*w+j]":                  true, // a row of w elements may have n of them
		"y[i*w+j] += y[i*w+j+1] + x[i*w+j]":     true, // and one more
	} {
		p, err := codegen.Load(codegen.File{Name: "k.go", Text: "package k\n\n//omp:target device(acc)\n//omp:task in(x) inout(y)\nfunc K(n, w int, x, y []int) {\n" +
			"//omp:loop\nfor i := 2; i < n; i++ {\nfor j := 0; j < n; j++ { " + body + " }\n}\n}\n"})
		require.NoError(t, err, body)
		text := lowerKernel(t, p, "K", codegen.LowerOptions{}).Explain()
		require.NotContains(t, text, "n <= 0", body)
		require.Equal(t, want, regexp.MustCompile(`k.go:7:1: loop i -> two versions`).MatchString(text), "%s:\n%s", body, text)
	}
}
