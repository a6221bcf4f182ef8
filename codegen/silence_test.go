package codegen

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const noisy = `package k

//omp:target device(acc, smp)
//omp:task in(x, at) inout(y[0:n]) out(z) HERE
func K(n int, x []float64, at []int, y, z []float64) {
	ABOVE
	y[at[0]] = 1 BEHIND
	z[at[1]] = 2
}
`

func TestSilence_IsOfOneLine(t *testing.T) {
	said := func(replace ...string) (what []string) {
		p, err := Load(File{Name: "k.go", Text: strings.NewReplacer(append(replace, "HERE", "", "ABOVE", "", "BEHIND", "")...).Replace(noisy)})
		require.NoError(t, err)
		for _, w := range p.Warnings() {
			what = append(what, w.What)
		}
		return what
	}
	require.Equal(t, []string{"out(z)", "access to y"}, said())
	for _, comment := range []string{"//nolint", "//nolint:gompss", "//nolint:staticcheck,gompss", "//nolint:all", "//nolint:gompss // it is a permutation"} {
		require.Equal(t, []string{"out(z)"}, said("BEHIND", comment), comment)
		require.Equal(t, []string{"out(z)"}, said("ABOVE", comment), comment)
		require.Equal(t, []string{"access to y"}, said("HERE", comment), comment)
		require.Equal(t, []string{"access to y"}, said("//omp:task", comment+"\n//omp:task"), comment)
	}
	for _, comment := range []string{"// nolint:gompss", "//nolint:staticcheck", "//nolinting", "// see //nolint:gompss"} {
		require.Equal(t, []string{"out(z)", "access to y"}, said("BEHIND", comment), comment)
	}
	_, err := Load(File{Name: "k.go", Text: "package k\n\n//omp:target\n//omp:task in(x)\nfunc K(x []int) {\n\tx[0] = 1 //nolint:gompss\n}\n"})
	require.ErrorContains(t, err, "the task declares it in", "an error")
}

func TestWarnings_AreFoldedBySlice(t *testing.T) {
	p, err := Load(File{Name: "k.go", Text: `package k

//omp:target device(acc, smp)
//omp:task in(at) inout(y[0:n], z[0:n])
func K(n int, at []int, y, z []float64) {
	for i := 0; i < n; i++ {
		m := at[i]
		for j := 0; j < m; j++ {
			y[j] = z[j+1]
			y[j+1] = 2
			y[j+2] = 3
			z[j+3] = y[j+4]
			y[j+5] = y[j+6]
		}
	}
}
`})
	require.NoError(t, err)
	perSlice := map[string]int{}
	for _, w := range p.Warnings() {
		perSlice[w.What]++
		require.Contains(t, w.Why, "the same at k.go:")
	}
	require.Equal(t, 1, perSlice["access to y"], "%v", p.Warnings())
	require.Equal(t, 1, perSlice["access to z"])
	require.Contains(t, p.Warnings()[0].Why, "more places")
}

func TestNotes_AreNoWarnings(t *testing.T) {
	p, err := Load(File{Name: "k.go", Text: "package k\n\n//omp:target\n//omp:task inout(x[0:n])\nfunc K(n int, x []int) {\n\tfor i := range x {\n\t\tx[i]++\n\t}\n}\n"})
	require.NoError(t, err)
	require.Empty(t, p.Warnings())
	require.Len(t, p.Notes("K"), 1)
	require.EqualError(t, p.Notes("K")[0], "k.go:7:5: note: access to x: the body reads x[i], which cannot be proved to stay inside x[0:n] before the arguments are known; "+
		"a task that goes outside is refused when it is submitted")
	require.Empty(t, p.Notes("Other"))
}
