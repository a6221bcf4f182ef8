package codegen_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/verify"
)

func init() {
	if flag.Lookup("update") == nil {
		flag.Bool("update", false, "rewrite the golden files")
	}
}

func updating() bool { return flag.Lookup("update").Value.String() == "true" }

// golden compares text with testdata/path, or rewrites it.
func golden(t *testing.T, path, text string) {
	t.Helper()
	path = filepath.Join("testdata", path)
	if updating() {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), text, "run go test ./codegen -update and read the diff")
}

func lowerKernel(t testing.TB, p *codegen.Package, name string, opt codegen.LowerOptions) *codegen.Lowering {
	t.Helper()
	k, err := p.Kernel(name)
	require.NoError(t, err)
	before := k.String()
	l, err := codegen.Lower(k, opt)
	require.NoError(t, err)
	require.Equal(t, before, k.String(), "Lower changed its argument")
	return l
}

// longestGolden is the size in bytes of the longest text that is kept, for people to read its changes.
const longestGolden = 32 << 10

// Every kernel has its device IR and the reasons for it in a golden file; lowering it again gives the same text.
func TestLowerGolden(t *testing.T) {
	p := loadCorpus(t)
	for _, c := range corpus {
		t.Run(name(c.kernel), func(t *testing.T) {
			l := lowerKernel(t, p, name(c.kernel), codegen.LowerOptions{})
			text := l.Explain() + "\n" + l.Program.String()
			if len(text) <= longestGolden {
				golden(t, "lower/"+name(c.kernel)+".txt", text)
			}
			again := lowerKernel(t, p, name(c.kernel), codegen.LowerOptions{})
			require.Equal(t, text, again.Explain()+"\n"+again.Program.String())
			require.NoError(t, verify.Program(l.Program))
		})
	}
}

func TestCorpusIsComplete(t *testing.T) {
	have := map[string]bool{}
	for _, c := range corpus {
		have[name(c.kernel)] = true
	}
	for _, k := range loadCorpus(t).Kernels() {
		require.True(t, have[k.Name], "kernel %s has no case", k.Name)
	}
}

// lowerText lowers the kernel K of a source text.
func lowerText(t *testing.T, text string, opt codegen.LowerOptions) (*codegen.Lowering, error) {
	t.Helper()
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: "package k\n\n" + text})
	require.NoError(t, err)
	k, err := p.Kernel("K")
	require.NoError(t, err)
	return codegen.Lower(k, opt)
}

func TestLowerRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"spmd with a broadcast", `
//omp:target device(acc)
//omp:task inout(x)
func K(x []int) {
	//omp:teams distribute mode(spmd)
	for i := range x {
		k := x[i]
		for j := 0; j < 3; j++ {
			x[i] += k
			k++
		}
		//omp:parallel for
		for j := 0; j < 3; j++ {
			x[i+j*len(x)] = k
		}
	}
}`, "mode(spmd): the value of k depends on code that only one thread may run"},
		{"nested strategy", `
//omp:target device(acc)
//omp:task inout(x)
func K(x []int, n int) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		//omp:parallel for nested(cross)
		for j := 0; j < n; j++ {
			x[i*n+j]++
		}
	}
}`, "not supported yet by device code"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := lowerText(t, c.text, codegen.LowerOptions{})
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "k.go:")
		})
	}
}

// A number in the source finds its way to the bounds of the launch.
func TestLaunchBounds(t *testing.T) {
	l, err := lowerText(t, `
//omp:target device(acc)
//omp:task inout(x)
func K(x []int, n int) {
	m := n / 2
	//omp:teams distribute parallel for num_teams(m) thread_limit(96)
	for i := 2; i < n; i += 3 {
		x[i] += m
	}
}`, codegen.LowerOptions{})
	require.NoError(t, err)
	require.Len(t, l.Program.Launches, 1)
	g := l.Program.Launches[0]
	require.Equal(t, "n / 2", ir.ExprString(g.MaxTeams))
	require.Equal(t, "96", ir.ExprString(g.MaxThreads))
	require.Equal(t, "max((max(n, 2) - 2 + 2) / 3, 0)", ir.ExprString(g.Trip))
}

func TestChecksAreClearedWhereProved(t *testing.T) {
	for _, c := range []struct {
		name, body string
		checked    int
	}{
		{"own length", "for i := range x { x[i]++ }", 0},
		{"inner rows", "for i := 0; i < len(x)-1; i++ { x[i] = x[i+1] }", 0},
		{"down", "for i := len(x) - 1; i >= 0; i-- { x[i]++ }", 0},
		{"other slice", "for i := range x { x[i] = y[i] }", 2},
		{"past the end", "for i := 0; i < len(x); i++ { x[i] = x[i+1] }", 1},
		{"before the start", "for i := 0; i < len(x); i++ { x[i] = x[i-1] }", 1},
		{"parameter", "for i := 0; i < n; i++ { x[i]++ }", 2},
		{"part", "r := x[3:9]\n for i := 0; i < 6; i++ { r[i] = 1 }", 0},
		{"array", "var a [8]int\n for i := 0; i < 8; i++ { a[7-i] = i; x[0] = a[i] }", 1},
		{"changed length", "for i := range x { z := x\n if n > 3 { z = y }\n z[i] = 1 }", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := lowerText(t, "//omp:target device(acc)\n//omp:task inout(x, y)\nfunc K(x, y []int, n int) {\n"+c.body+"\n}",
				codegen.LowerOptions{KeepChecks: true})
			require.NoError(t, err)
			checked := 0
			for _, g := range l.Program.Launches {
				ir.WalkExprs(g.Body, func(e ir.Expr) bool {
					if ix, ok := e.(*ir.Index); ok && ix.Checked {
						checked++
					}
					return true
				})
			}
			require.Equal(t, c.checked, checked, l.Program.String())
		})
	}
}

func TestExplain(t *testing.T) {
	l, err := lowerText(t, `
//omp:target device(acc)
//omp:task inout(x) in(y)
func K(x, y []float32, n int) {
	for i := range x {
		x[i] = x[i] + 1
	}
	for i := range x {
		x[i] += y[i]
	}
}`, codegen.LowerOptions{})
	require.NoError(t, err)
	text := l.Explain()
	require.Contains(t, text, "k.go:7:2: loop i -> threads of all teams: the compiler proved its iterations independent")
	require.Contains(t, text, "k.go:10:2: loop i -> one thread: the memory of x and y may overlap; to change it: a directive that says")
	require.Equal(t, 1, strings.Count(text, "kernel K: "))
}

// A loop without a directive goes to the whole league where its iterations are provably independent, else to one thread
// for the reason given.
func TestIndependence(t *testing.T) {
	for _, c := range []struct{ name, body, why string }{
		{"own element", "for i := range x { x[i] *= 2 }", ""},
		{"reads other types", "for i := range x { x[i] += int(f[i]) }", ""},
		{"rows", "for i := 0; i < n; i++ { for j := 0; j < n; j++ { x[i*n+j]++ } }", ""},
		{"shifted rows", "for i := 0; i < n; i++ { for j := 0; j < n; j++ { x[i*n+j+5]++ } }", ""},
		{"stride", "for i := 0; i < n; i += 2 { x[i] = x[i+1] }", ""},
		{"fields of one element", "for i := range x { v := x[i]; v++; x[i] = v }", ""},
		{"overlapping rows", "for i := 0; i < n; i++ { for j := 0; j <= n; j++ { x[i*n+j]++ } }", "the same element of x"},
		{"neighbour", "for i := 1; i < n; i++ { x[i] = x[i-1] }", "the same element of x"},
		{"mirror", "for i := 0; i < n; i++ { x[i] = x[n-1-i] }", "the same element of x"},
		{"one element", "for i := 0; i < n; i++ { x[0] += i }", "the same element of x"},
		{"from memory", "for i := range x { x[y[i]] = 1 }", "may overlap"},
		{"another slice", "for i := range x { x[i] = y[i] }", "the memory of x and y may overlap"},
		{"variable", "s := 0\nfor i := range x { s += x[i] }\nx[0] = s", "every iteration changes s"},
		{"early exit", "for i := range x { if x[i] == 3 { break }\nx[i] = 0 }", "left early"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := lowerText(t, "//omp:target device(acc)\n//omp:task inout(x, y, f)\nfunc K(x, y []int, f []float32, n int) {\n"+
				c.body+"\n}", codegen.LowerOptions{})
			require.NoError(t, err)
			if text := l.Explain(); c.why == "" {
				require.Contains(t, text, "loop i -> threads of all teams: the compiler proved its iterations independent")
			} else {
				require.Regexp(t, "loop i -> one thread: .*"+c.why, text)
			}
		})
	}
}
