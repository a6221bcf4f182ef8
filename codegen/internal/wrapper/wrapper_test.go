package wrapper

import (
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/internal/frontend"
	"github.com/gompss/gompss/codegen/internal/frontend/reach"
	"github.com/gompss/gompss/codegen/internal/syntax"
	"github.com/gompss/gompss/codegen/ir"
)

// TestTripText counts the iterations of every small loop and compares the expression that the
// generator writes.
func TestTripText(t *testing.T) {
	runs := map[ir.Op]func(i, hi int64) bool{
		ir.Lt: func(i, hi int64) bool { return i < hi }, ir.Le: func(i, hi int64) bool { return i <= hi },
		ir.Gt: func(i, hi int64) bool { return i > hi }, ir.Ge: func(i, hi int64) bool { return i >= hi },
	}
	for rel, runs := range runs {
		for _, step := range []int64{1, 2, 3} {
			if rel == ir.Gt || rel == ir.Ge {
				step = -step
			}
			for lo := int64(-3); lo <= 4; lo++ {
				for hi := int64(-3); hi <= 4; hi++ {
					want := int64(0)
					for i := lo; runs(i, hi); i += step {
						want++
					}
					text := tripText(fmt.Sprint(lo), fmt.Sprint(hi), rel, step)
					got, err := types.Eval(token.NewFileSet(), nil, token.NoPos, text)
					require.NoError(t, err, text)
					n, _ := constant.Int64Val(got.Value)
					require.Equal(t, want, max(n, 0), "i := %d; i %s %d; i += %d: %s", lo, rel, hi, step, text)
				}
			}
		}
	}
}

func TestSourcesFollowNames(t *testing.T) {
	pkg := []syntax.File{
		{Name: "a.go", Text: "package p\n\n//omp:task inout(x[0:size])\nfunc K(x []float32) { scale(x) }\n\nfunc Unused() { other() }\n"},
		{Name: "b.go", Text: "package p\n\nfunc scale(x []float32) { x[0] *= factor }\n"},
		{Name: "c.go", Text: "package p\n\nconst factor = half + 1\nconst size = 4\n"},
		{Name: "d.go", Text: "package p\n\nfunc other() {}\n"},
		{Name: "e.go", Text: "package p\n\nconst half = 2\n"},
	}
	files, err := reach.SourcesFor("a.go", pkg, nil)
	require.NoError(t, err)
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	require.Equal(t, []string{"a.go", "b.go", "c.go", "e.go"}, names)
	_, err = reach.SourcesFor("a.go", []syntax.File{{Name: "a.go", Text: "package"}}, nil)
	require.Error(t, err)
	files, err = reach.SourcesFor("z.go", pkg, nil)
	require.NoError(t, err)
	require.Empty(t, files)
}

func TestSourcesRefuseNamesOfTwoFiles(t *testing.T) {
	kernel := syntax.File{Name: "a.go", Text: "package p\n\n//omp:task inout(x)\nfunc K(x []float32) { scale(x) }\n\nfunc init() {}\n"}
	one := syntax.File{Name: "b.go", Text: "package p\n\nfunc scale(x []float32) { x[0] *= 2 }\n\nfunc unused() {}\n\nvar _ = 0\n\nfunc init() {}\n"}
	other := syntax.File{Name: "c.go", Text: "package p\n\nvar _ = 0\n\nfunc init() {}\n\nfunc unused() {}\n\nfunc scale(x []float32) { x[0] *= 3 }\n"}
	_, err := reach.SourcesFor("a.go", []syntax.File{kernel, one, other}, nil)
	require.EqualError(t, err, "c.go:9:6: name scale: it is declared at b.go:3:6, too; rename one, or leave a file out by a build constraint")
	for _, alone := range []syntax.File{one, other} {
		files, err := reach.SourcesFor("a.go", []syntax.File{kernel, alone}, nil)
		require.NoError(t, err)
		require.Equal(t, []syntax.File{kernel, alone}, files)
	}
}

func TestGeneratedHash(t *testing.T) {
	text := GeneratedHeader + "\n" + SourcesLine + "abc\n\npackage p\n"
	require.Equal(t, "abc", GeneratedHash(text))
	require.Empty(t, GeneratedHash("package p\n"))
	require.Equal(t, "zkernels_gompss.go", GeneratedName("x/kernels.go"))
}

func TestWrapperNames(t *testing.T) {
	require.Equal(t, "forcesKernel", kernelVar("Forces"))
	require.Equal(t, "SubmitForces", submitName("Forces"))
	require.Equal(t, "submitStep", submitName("step"))
}

func TestVersionsAreGivenToTheKernelThatTheyImplement(t *testing.T) {
	file := syntax.File{Name: "k.go", Text: `package k

//omp:target device(acc)
//omp:task inout(x)
func Twice(x []int32) {
	for i := range x {
		x[i] *= 2
	}
}

//omp:target device(smp) implements(Twice)
//omp:task inout(x)
func TwiceOnHost(x []int32) {
	for i := range x {
		x[i] += x[i]
	}
}
`}
	p, err := frontend.Load(file)
	require.NoError(t, err)
	text, err := Generate(p, Options{File: "k.go", Sources: []syntax.File{file}})
	require.NoError(t, err)
	require.Contains(t, string(text), "Versions: []*task.Kernel{"+kernelVar("TwiceOnHost")+"},")
	require.Contains(t, string(text), "(rt task.Submitter, x []int32, options ...task.Option)")
}

// TestWrappers_HiddenNames: what the bounds of pieces are written with may be hidden by the kernel, or by any file of its package (issue 16 12).
func TestWrappers_HiddenNames(t *testing.T) {
	const head = "package k\n\n//omp:target device(smp)\n//omp:task inout(x)\nfunc K(x []int32, n int) {\n"
	const loop = "//omp:teams distribute parallel for\nfor i := 0; i < n; i++ {\nx[i]++\n}\n}\n"
	generate := func(text, other string) (string, error) {
		file := syntax.File{Name: "k.go", Text: text}
		p, err := frontend.Load(file)
		require.NoError(t, err)
		out, err := Generate(p, Options{File: "k.go", Sources: []syntax.File{file}, Package: []syntax.File{file, {Name: "o.go", Text: "package k\n" + other}}})
		return string(out), err
	}
	for _, c := range []struct{ before, other, want, not string }{
		{"", "", "return max(0,", "gompssTrips"},
		{"max := 3\n_ = max\n", "", "if gompssTrips := int64(n) - int64(0); gompssTrips > 0", "return max("},
		{"const max = 3\n", "", "if gompssTrips := ", "return max("},
		{"", "func max(a, b int) int { return a }", "if gompssTrips := ", "return max("},
		{"int := 3\n_ = int\n", "", "It is not cut over workers: its own int hides a name", "Split:"},
		{"", "type int64 = uint8", "It is not cut over workers: its own int64 hides a name", "Split:"},
	} {
		text, err := generate(head+c.before+loop, c.other)
		require.NoError(t, err)
		require.Contains(t, text, c.want)
		require.True(t, c.not == "" || !strings.Contains(text, c.not), text)
	}
	_, err := generate(head+loop, "var devices = 3")
	require.ErrorContains(t, err, "k.go:5:6: kernel K: its wrapper imports github.com/gompss/gompss/devices as devices, a name that the package declares already; rename devices")
}

// TestWrappers_Part: a kernel with nested(cpu) and atomics has a function that runs parts of its loop on one worker.
func TestWrappers_Part(t *testing.T) {
	for _, c := range []struct{ how, body, want, not string }{
		{"cpu", "//omp:atomic\nx[j]++", "Part: func(a *task.Args, from, to int64) {\n\t\tkRange(from, to,", "kTrips"},
		{"cpu", "x[i*n+j]++", "Split: func(a *task.Args, from, to int64) {\n\t\tkRange(from, to,", "Part:"},
		{"host", "//omp:atomic\nx[j]++", "It is not cut over workers: it has atomics", "kRange"},
		{"cpu", "//omp:atomic\nx[j]++\n}\nfor k := 0; k < 3; k++ {\n//omp:parallel for nested(cpu)\nfor j := 0; j < n; j++ {\nx[i*n+j]++\n}", "It is not cut over workers: it has atomics", "kRange"},
	} {
		file := syntax.File{Name: "k.go", Text: "package k\n\n//omp:target device(acc)\n//omp:task inout(x)\nfunc K(x []int32, n int) {\n//omp:teams distribute parallel for\nfor i := 0; i < n; i++ {\n" +
			"//omp:parallel for nested(" + c.how + ")\nfor j := 0; j < n; j++ {\n" + c.body + "\n}\n}\n}\n"}
		p, err := frontend.Load(file)
		require.NoError(t, err)
		out, err := Generate(p, Options{File: "k.go", Sources: []syntax.File{file}})
		require.NoError(t, err)
		require.Contains(t, string(out), c.want)
		require.NotContains(t, string(out), c.not)
	}
}
