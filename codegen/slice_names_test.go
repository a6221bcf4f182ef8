package codegen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
)

// TestInferredAccesses_SlicesAssignedAgain has the accesses of kernels that assign to slices: what is read through such a name was in none, or in
// that of another slice.
func TestInferredAccesses_SlicesAssignedAgain(t *testing.T) {
	const loop = "//omp:teams distribute parallel for\nfor i := 0; i < len(y); i++ { y[i] += d[i] }\n"
	for _, c := range []struct {
		name, body string
		want       []string
	}{
		{"part of a parameter", "d := x\nd = d[c:]\n" + loop, []string{"in x[c:len(y) + c]", "inout y"}},
		{"parameter", "x = x[c:]\nd := x\n" + loop, []string{"in x[c:len(y) + c]", "inout y"}},
		{"other parameter", "x = z[c:]\nd := x[1:]\n" + loop, []string{"inout y", "in z[c + 1:len(y) + c + 1]"}},
		{"in a block", "d := x\n{\nd = z[1:]\n}\n" + loop, []string{"inout y", "in z[1:len(y) + 1]"}},
		{"helper", "d := tail(x, c)\n" + loop, []string{"in x", "inout y"}},
		{"either", "d := x\nif c > 3 {\nd = z\n}\n" + loop, []string{"in x", "inout y", "in z"}},
		{"written", "d := x\nif c > 3 {\nd = z\n}\n//omp:teams distribute parallel for\nfor i := range d { d[i] = y[i] }\n", []string{"inout x", "in y", "inout z"}},
		{"swapped", "for t := 0; t < c; t++ {\n//omp:teams distribute parallel for\nfor i := range y { y[i] = x[i] }\nx, y = y, x\n}\n", []string{
			"in x[0:0 <= c - 1 && 0 <= len(y) - 1 ? min(len(y), len(x)) : 0]", "inout x[0:0 <= c - 1 && 0 <= len(x) - 1 ? len(x) : 0]",
			"inout y[0:0 <= c - 1 && 0 <= len(y) - 1 ? len(y) : 0]", "in y[0:0 <= c - 1 && 0 <= len(x) - 1 ? min(len(x), len(y)) : 0]"}},
		{"pointer", "p := &x[0]\nif c > 1 {\np = &z[1]\n}\ny[0] = *p\n", []string{"in x", "out y[0:1]", "in z"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := loadText(t, "package k\nfunc tail(x []float64, c int) []float64 {\nfor c > 1 {\nx, c = x[1:], c-1\n}\nreturn x\n}\n//omp:target\nfunc K(x, y, z []float64, c int) {\n"+c.body+"}\n")
			var got []string
			for _, a := range k.Task.Accesses {
				got = append(got, a.Mode.String()+" "+a.Region.Text)
			}
			require.Equal(t, c.want, got, "%s", k)
		})
	}
}

// TestDeclaredAccesses_SlicesAssignedAgain has what is said of accesses that leave out what such a name may be.
func TestDeclaredAccesses_SlicesAssignedAgain(t *testing.T) {
	const loop = "//omp:teams distribute parallel for\nfor i := 0; i < len(y); i++ { y[i] += d[i] }\n}\n"
	const head = "package k\n//omp:target\n//omp:task inout(y)\nfunc K(x, y, z []float64, c int) {\n"
	_, err := codegen.Load(codegen.File{Name: "k.go", Text: head + "d := y\nd = x[c:]\n" + loop})
	require.EqualError(t, err, "k.go:8:41: access to x: the body reads d[i], and no clause of the task names x; write in(x) in //omp:task")
	_, err = codegen.Load(codegen.File{Name: "k.go", Text: head + "d := x\nfor len(d) > c { d = d[1:] }\n" + loop})
	require.EqualError(t, err, "k.go:8:41: access to x: the body reads d[i], and no clause of the task names x; write in(x) in //omp:task")
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: head + "d := x\nif c > 3 { d = y }\n" + loop})
	require.NoError(t, err)
	require.Len(t, p.Warnings(), 1)
	require.Equal(t, "k.go:8:41: warning: access to x: the body reads d[i], which may be x, and no clause of the task says so; write in(x) in //omp:task where it is", p.Warnings()[0].Error())
}

func loadText(t *testing.T, text string) *ir.Kernel {
	t.Helper()
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
	require.NoError(t, err, text)
	k, err := p.Kernel("K")
	require.NoError(t, err)
	return k
}
