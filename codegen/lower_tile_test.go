package codegen_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
)

// A loop runs over tiles where all that it reads is the same for all threads of a team and moves along with it.
func TestTiledLoops(t *testing.T) {
	for _, c := range []struct {
		name, inner string
		tiled       bool
	}{
		{"all elements", "for j := range x { s += x[j] * y[i] }", true},
		{"two slices, shifted", "for j := 0; j < n-1; j++ { s += x[j] * x[j+1] }", true},
		{"every other", "for j := 0; j < n; j++ { s += x[2*j+1] }", true},
		{"by a name", "last := n - 1; for j := 0; j < n; j++ { back := last - j; s += x[back] }", true},
		{"of a part", "for j := 0; j < n; j++ { if j > i { s += x[j] } }", false}, // read by some iterations only
		{"triangle", "for j := 0; j < i; j++ { s += x[j] }", false},
		{"own row", "for j := 0; j < n; j++ { s += x[i*n+j] }", false},
		{"own row and all", "for j := 0; j < n; j++ { s += x[i*n+j] * x[j] }", false}, // has to wait for memory nevertheless
		{"from memory", "for j := range x { s += x[int(x[j])] }", false},
		{"strided", "for j := 0; j < n; j++ { s += x[j*n] }", false},
		{"few", "for j := 0; j < 40; j++ { s += x[j] }", false},
		{"left early", "for j := range x { if x[j] < 0 { break }; s += x[j] }", false},
		{"writes", "for j := range x { s += x[j]; y[i] = s }", true}, // y[i] waits in a variable
		{"asks", "for j := range x { s += x[j] * float64(kernel.ThreadNum()) }", false},
		{"iteration left early", "if y[i] < 0 { continue }; for j := range x { s += x[j] }", false},
		{"under a condition", "if y[i] < 0 { for j := range x { s += x[j] } }", false},
		{"nothing read", "for j := range x { s += float64(j) }", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := lowerText(t, `import "github.com/gompss/gompss/codegen/kernel"
var _ = kernel.ThreadNum
//omp:target device(acc) check(none)
//omp:task in(x) inout(y)
func K(x, y []float64, n int) {
	//omp:teams distribute parallel for
	for i := range y {
		s := 0.0
		`+c.inner+`
		y[i] += s
	}
}`, codegen.LowerOptions{})
			require.NoError(t, err)
			require.Equal(t, c.tiled, strings.Contains(l.Explain(), "tiles of 256 iterations"), "%s\n%s", l.Explain(), l.Program)
		})
	}
}

// A tile has the length that fits: elements of all slices together take at most 16 KiB.
func TestTileLength(t *testing.T) {
	text := "//omp:target device(acc) check(none)\n//omp:task in(b) inout(y)\nfunc K(b []B, y []float64) {\n" +
		"//omp:teams distribute parallel for\nfor i := range y {\ns := 0.0\nfor j := range b { s += SUM }\ny[i] += s\n}\n}\n" +
		"type B struct { a [40]float64 }\n"
	for _, c := range []struct {
		fields int
		want   string
	}{{8, "tiles of 256"}, {9, "tiles of 128"}, {17, "tiles of 64"}, {32, "tiles of 64"}, {33, ""}} {
		var sum []string
		for k := range c.fields {
			sum = append(sum, "b[j].a["+string(rune('0'+k/10))+string(rune('0'+k%10))+"]")
		}
		body := strings.ReplaceAll(text, "SUM", strings.ReplaceAll(strings.Join(sum, " + "), "[0", "["))
		l, err := lowerText(t, body, codegen.LowerOptions{})
		require.NoError(t, err)
		if c.want == "" {
			require.NotContains(t, l.Explain(), "tiles of")
			continue
		}
		require.Contains(t, l.Explain(), c.want)
	}
}
