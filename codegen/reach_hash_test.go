package codegen

import (
	"strings"
	"testing"

	"github.com/gompss/gompss/codegen/internal/frontend/reach"
	"github.com/gompss/gompss/codegen/internal/wrapper"
	"github.com/stretchr/testify/require"
)

const hashKernels = `package p

import "math"

//omp:target device(acc, smp)
//omp:task inout(x[0:size])
func K(x []float64) {
	p := pair{b: half}
	//omp:parallel for
	for i := range x {
		x[i] = p.twice(x[i]) + math.Sqrt(table[i&1])
	}
}

//omp:target
//omp:task inout(x)
func Other(x []float64) { x[0] = away(x[0]) }
`

const hashMain = `package p

import "fmt"

const (
	zero = iota
	one
	size
)

const half = 0.5

var table = [2]float64{1, 2}

type pair struct{ a, b float64 }

func (p pair) twice(x float64) float64 { return p.b * x }

func away(x float64) float64 { return x + one }

func main() { fmt.Println("started") }
`

// hashOfTwo returns the hash of K in two files, the second of which has replacements.
func hashOfTwo(t *testing.T, kernels, main string, replace ...string) string {
	t.Helper()
	changed := strings.NewReplacer(replace...)
	p, err := Load(File{Name: "k.go", Text: changed.Replace(kernels)}, File{Name: "main.go", Text: changed.Replace(main)})
	require.NoError(t, err)
	require.Empty(t, p.Hash("Missing"))
	return p.Hash("K")
}

func TestHash_CountsWhatIsReached(t *testing.T) {
	want := hashOfTwo(t, hashKernels, hashMain)
	require.Len(t, want, 32)
	for name, replace := range map[string][]string{
		"another statement":    {`fmt.Println("started")`, `fmt.Println("started", 1)`},
		"a comment":            {"const half", "// half is new.\nconst half", "\tp := pair", "\t// about p\n\n\tp := /* a */ pair"},
		"Windows line ends":    {"\n", "\r\n"},
		"a line more":          {"{ return p.b * x }", "{\n\treturn p.b * x\n}", "pair{b: half}", "pair{\n\t\tb: half,\n\t}"},
		"what another reaches": {"x + one", "x - one"},
		"another kernel":       {"away(x[0])", "away(x[0] + 1)"},
	} {
		require.Equal(t, want, hashOfTwo(t, hashKernels, hashMain, replace...), name)
	}
	for name, replace := range map[string][]string{
		"constant":      {"half = 0.5", "half = 0.25"},
		"iota":          {"\tone\n\tsize", "\tsize\n\tone"},
		"repeated":      {"zero = iota", "zero = iota + 1"},
		"type":          {"a, b float64", "b, a float64"},
		"method":        {"p.b * x", "x * p.b"},
		"variable":      {"[2]float64{1, 2}", "[2]float64{1, 3}"},
		"kernel":        {"i&1", "i&0"},
		"directive":     {"parallel for", "parallel for schedule(dynamic)"},
		"target":        {"device(acc, smp)", "device(smp)"},
		"clause":        {"x[0:size]", "x[0:size+0]"},
		"import":        {`import "math"`, `import math "math/cmplx"`, "math.Sqrt(table[i&1])", "table[i&1]"},
		"less imported": {"math.Sqrt(", "("},
	} {
		require.NotEqual(t, want, hashOfTwo(t, hashKernels, hashMain, replace...), name)
	}
}

func TestHash_DoesNotCountPlaces(t *testing.T) {
	want := hashOfTwo(t, hashKernels, hashMain)
	half := "const half = 0.5\n"
	moved := strings.Replace(hashMain, half, "", 1) + "\n" + half
	require.Equal(t, want, hashOfTwo(t, hashKernels, moved), "to the end of its file")
	require.Equal(t, want, hashOfTwo(t, hashKernels+"\n"+half, strings.Replace(hashMain, half, "", 1)), "to another file")
}

func TestHash_CountsOtherPackages(t *testing.T) {
	kernel := File{Name: "k.go", Text: "package p\n\nimport \"m/q\"\n\n//omp:target\n//omp:task inout(x)\nfunc K(x []float64) { x[0] = q.Twice(x[0]) }\n"}
	hash := func(text string) string {
		files, err := SourcesFor("k.go", []File{kernel}, func(string) []File { return []File{{Name: "q.go", Text: "package q\n\n" + text}} })
		require.NoError(t, err)
		p, err := Load(files...)
		require.NoError(t, err)
		return p.Hash("K")
	}
	want := hash("const two = 2\n\nfunc Twice(x float64) float64 { return two * x }\n")
	require.Equal(t, want, hash("// Twice doubles.\nfunc Twice(x float64) float64 {\n\treturn two * x\n}\n\nfunc main() {}\n\nconst two = 2\n"))
	require.NotEqual(t, want, hash("const two = 3\n\nfunc Twice(x float64) float64 { return two * x }\n"))
}

func TestSameGenerated_OverlooksLines(t *testing.T) {
	text := func(hash, code string) string {
		return GeneratedHeader + "\n" + wrapper.SourcesLine + hash + "\n\n//go:build linux\n\npackage p\n\n" + code
	}
	const code = "func f() {\n//line k.go:3\n\tg(1)\n}\nvar s = \"\" +\n\t\"line 1\\n\"\n"
	one := text("abc", code)
	require.True(t, SameGenerated(one, text("abc", "func f() {\n//line k.go:5\n\n\tg(1) // why\n}\nvar s = \"\" +\n\t\"line 2\\n\" +\n\t\"line 3\\n\"\n")))
	require.False(t, SameGenerated(one, text("abd", code)))
	require.False(t, SameGenerated(one, text("abc", strings.Replace(code, "g(1)", "g(2)", 1))))
	require.False(t, SameGenerated(one, strings.Replace(one, "linux", "darwin", 1)))
}

func TestMovedLine_FollowsCode(t *testing.T) {
	lines := func(text string) string {
		p, err := Load(File{Name: "k.go", Text: "package p\n\n" + text})
		require.NoError(t, err)
		return p.CodeLines("K")
	}
	const head = "//omp:target\n//omp:task inout(x)\n"
	before := lines(head + "func K(x []int) {\n\tx[0] = 1\n\tx[1] = 2\n}\n")
	require.Equal(t, "5-8", before)
	now := lines("const c = 1\n\n" + head + "func K(x []int) {\n\t// one\n\tx[0] = 1\n\n\tx[1] = 2 /* two\n\tlines */\n}\n")
	require.Equal(t, "7 9 11 13", now)
	for i, want := range []int{7, 9, 11, 13} {
		require.Equal(t, want, MovedLine(before, now, 5+i))
	}
	require.Equal(t, 6, MovedLine(before, before, 6))
	require.Zero(t, MovedLine(before, "5-9", 6), "on more lines")
	require.Zero(t, MovedLine(before, now, 99))
	require.Empty(t, reach.NumbersIn("a-b"))
}
