package codegen_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/simt"
)

// candidateShapes are the natural grid and those of other sizes of teams.
var candidateShapes = []struct{ teams, threads int }{{0, 0}, {2, 256}, {9, 32}}

// Whichever candidate runs, in whichever shape, a kernel of the corpus leaves what the Go function
// does, and the same bits as what the model chose.
func TestCandidates_EveryOneEqualsGo(t *testing.T) {
	t.Parallel()
	p := loadCorpus(t)
	var others atomic.Int32
	t.Run("corpus", func(t *testing.T) {
		for _, c := range corpus {
			t.Run(name(c.kernel), func(t *testing.T) {
				t.Parallel()
				c.exclusive(t)
				k, err := p.Kernel(name(c.kernel))
				require.NoError(t, err)
				for _, kernel := range []*ir.Kernel{k, codegen.NewContract(k).Unchecked(k)} {
					if kernel != nil {
						others.Add(int32(c.compareCandidates(t, kernel)))
					}
				}
			})
		}
	})
	t.Logf("%d candidates beside the first ones", others.Load())
	require.Greater(t, others.Load(), int32(len(corpus)/4))
}

// compareCandidates returns how many candidates it compared with the first.
func (c corpusCase) compareCandidates(t *testing.T, k *ir.Kernel) int {
	list, err := codegen.Candidates(k, codegen.LowerOptions{}, 5)
	require.NoError(t, err)
	if list[0].OrderShows() != "" {
		require.Len(t, list, 1)
		return 0
	}
	same := c
	same.tolerance = 0
	if k.Target.FastMath || k.Target.Contract {
		same = c
	}
	for _, n := range []int{1, 333} {
		want := c.makeArgs(n)
		c.runGo(want)
		var first []any
		for i, one := range list {
			program, err := simt.New(one.Program)
			require.NoError(t, err)
			for j, s := range candidateShapes {
				where := fmt.Sprintf("size %d, %v, %d teams of %d threads", n, one.Choice, s.teams, s.threads)
				got := c.makeArgs(n)
				require.NoError(t, runDevice(program, got, simt.Config{Teams: s.teams, Threads: s.threads, Races: true, Steps: 50_000_000}), where)
				require.Empty(t, c.differ(want, got), where)
				if i == 0 && j == 0 {
					first = got
				}
				require.Empty(t, same.differ(first, got), where)
			}
		}
	}
	return len(list) - 1
}

// A kernel whose loop has strategies to choose from has candidates, each of other code, and the first
// is the model's.
func TestCandidates_LeaveStrategiesOut(t *testing.T) {
	k := loadText(t, "package k\n\n//omp:target device(acc)\n//omp:task in(a, b) inout(c)\nfunc K(a, b, c []float32, n int) {\n"+
		"//omp:teams distribute parallel for collapse(2)\nfor i := 0; i < n; i++ {\nfor j := 0; j < n; j++ {\nvar s float32\n"+
		"for k := 0; k < n; k++ {\ns += a[i*n+k] * b[k*n+j]\n}\nc[i*n+j] = s\n}\n}\n}")
	list, err := codegen.Candidates(k, codegen.LowerOptions{}, 4)
	require.NoError(t, err)
	require.Greater(t, len(list), 1)
	require.Equal(t, "as the model chose", list[0].Choice.String())
	require.NotEmpty(t, list[0].Strategies)
	for i, c := range list[1:] {
		require.NotEqual(t, list[0].Program.String(), c.Program.String())
		require.NotEmpty(t, c.Choice)
		for s := range c.Choice {
			require.Equal(t, !c.Choice.LeavesOut(s), slices.Contains(c.Strategies, s), c.Choice)
		}
		require.False(t, slices.ContainsFunc(list[:i+1], func(o codegen.Candidate) bool { return o.Choice.String() == c.Choice.String() }))
	}
}

// Blocks have candidates of other sides, rows of as many rows as a team has threads.
func TestCandidates_OtherParameters(t *testing.T) {
	const product = "//omp:teams distribute parallel for collapse(2)\nfor i := 0; i < n; i++ {\nfor j := 0; j < n; j++ {\nvar s T\n" +
		"for k := 0; k < n; k++ {\ns += a[i*n+k] * b[k*n+j]\n}\nc[i*n+j] = s\n}\n}\n}"
	for _, c := range []struct{ name, body, typ, want string }{
		{"wide slabs", product, "float32", "8 rows and 8 columns; 8 rows and 4 columns; 4 rows and 4 columns"},
		{"slabs of two words", product, "float64", "4 rows and 4 columns; 4 rows and 2 columns"},
		{"blocks", "//omp:teams distribute parallel for collapse(2)\nfor i := 2; i < n-2; i++ {\nfor j := 2; j < n-2; j++ {\nvar s T\n" +
			"for k := -2; k < 3; k++ {\nfor l := -2; l < 3; l++ {\ns += b[k*5+l+12] * a[(i+k)*n+j+l]\n}\n}\nc[i*n+j] = s\n}\n}\n}",
			"float32", "8 rows and 1 columns; 4 rows and 1 columns; 8 rows and 2 columns"},
		{"rows", "//omp:teams distribute parallel for\nfor i := 0; i < n; i++ {\nvar s T\nfor j := 0; j < n; j++ {\ns = s*0.5 + a[i*n+j]\n}\nc[i] = s\n}\n}",
			"float32", "32 iterations at once; 128 iterations at once"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := loadText(t, strings.ReplaceAll("package k\n\n//omp:target device(acc)\n//omp:task in(a, b) inout(c)\nfunc K(a, b, c []T, n int) {\n"+c.body, "T", c.typ))
			list, err := codegen.Candidates(k, codegen.LowerOptions{}, 8)
			require.NoError(t, err)
			sides := regexp.MustCompile(`\d+ rows and \d+ columns|\d+ iterations at once`)
			var got []string
			for _, one := range list {
				if len(one.Choice) > 0 && one.Choice.Parameter("blocks")+one.Choice.Parameter("rows") == 0 {
					continue
				}
				got = append(got, sides.FindString(one.Explain()))
			}
			require.Equal(t, c.want, strings.Join(got, "; "))
		})
	}
}

// Strategies of several loops of one launch take no more team memory than a team has: those for
// which it is not enough are left out.
func TestStrategies_FitIntoTeamMemory(t *testing.T) {
	const short = "//omp:distribute parallel for\nfor i := 0; i < n; i++ {\nvar s float32\nfor k := 0; k < m; k++ {\nfor j := 0; j < d; j++ {\ns = 0.5*s + x[i*d+j]*c[k*d+j]\n}\n}\ny[i] = s\n}\n"
	const kept = "//omp:distribute parallel for\nfor i := 0; i < n; i++ {\nvar s, q float32\nfor j := 0; j < d; j++ {\ns = 0.5*s + 1/(2+w[i*d+j])\n}\n" +
		"for j := 0; j < d; j++ {\nq = 0.5*q + 1/(3+w[i*d+j]*s)\n}\nz[i] = q\n}\n"
	for _, body := range []string{short, kept, short + kept, kept + short} {
		l, err := lowerText(t, "//omp:target device(acc)\n//omp:task in(x, c, w) inout(y, z)\nfunc K(n, d, m int, x, c, w, y, z []float32) {\n//omp:teams\n{\n"+body+"}\n}",
			codegen.LowerOptions{})
		require.NoError(t, err)
		var strategies int
		for _, launch := range l.Program.Launches {
			var size ir.Bytes
			for _, v := range launch.Team {
				size += v.Type.Size
			}
			require.LessOrEqual(t, size, ir.Bytes(48<<10), body)
			strategies = len(l.Strategies)
		}
		require.Equal(t, 1, strategies, body)
	}
}

// A kernel in which the number of threads, or the order of a sum, may show has one way to run.
func TestCandidates_NoneWhereTheOrderShows(t *testing.T) {
	const sum = "//omp:teams distribute parallel for reduction(+: s)\nfor i := range x { s += x[i] }\nx[0] = s\n"
	const collapsed = "var s float64\n" +
		"//omp:teams distribute parallel for collapse(2) reduction(+: s)\n" +
		"for i := range x { for j := range 9 { s += x[i] * float64(j) } }\nx[0] = s\n"
	for _, c := range []struct{ name, clause, body, why string }{
		{"sum of floats in blocks", "", "var s float64\n" + sum, ""},
		{"sum of floats of a collapsed loop", "", collapsed, "the order of a sum of floats would differ"},
		{"fastmath", " fastmath", "var s float64\n" + sum, ""},
		{"number of a thread", "", "//omp:teams\n{\n//omp:parallel\n{\nx[kernel.TeamNum()*100+kernel.ThreadNum()] = 1\n}\n}\n", "it asks for the number"},
		{"a count of the threads", "", "//omp:teams\n{\n//omp:parallel\n{\n//omp:atomic\nx[0] += 1\n}\n}\n", "may count them"},
		{"elements", "", "//omp:teams distribute parallel for\nfor i := range x { x[i] += 1 }\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := codegen.Load(codegen.File{Name: "k.go", Text: "package k\n\nimport \"github.com/gompss/gompss/codegen/kernel\"\n\nvar _ = kernel.Barrier\n\n" +
				"//omp:target device(acc)" + c.clause + "\n//omp:task inout(x)\nfunc K(x []float64) {\n" + c.body + "}"})
			require.NoError(t, err)
			list, err := codegen.Candidates(p.Kernels()[0], codegen.LowerOptions{}, 4)
			require.NoError(t, err)
			why := list[0].OrderShows()
			if c.why == "" {
				require.Empty(t, why)
				return
			}
			require.Contains(t, why, c.why)
			require.Len(t, list, 1)
		})
	}
}
