package frontend

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/internal/frontend/reach"
	"github.com/gompss/gompss/codegen/internal/frontend/source"
	"github.com/gompss/gompss/codegen/internal/syntax"
)

// names returns the names of files, those of other packages with their path.
func namesOfFiles(files []syntax.File) []string {
	var out []string
	for _, f := range files {
		out = append(out, f.FileName())
	}
	return out
}

// Uses are followed by the objects that they mean (issue 16, 12): what hides the name of a
// function of another file does not pull that in.
func TestSourcesFor_HiddenNames(t *testing.T) {
	broken := syntax.File{Name: "b.go", Text: "package p\n\nfunc other(x []int) { undefined() }\n\ntype T struct{ other int }\n\nfunc (T) method() {}\n\nconst n = 3\n"}
	for what, kernel := range map[string]string{
		"a local":               "other := 1\n\tx[0] = other",
		"a variable":            "var other int\n\tx[0] = other",
		"a constant":            "const other = 2\n\tx[0] = other",
		"a range":               "for other := range x {\n\t\tx[other] = 0\n\t}",
		"a label":               "other:\n\tfor i := range x {\n\t\tx[i] = 0\n\t\tcontinue other\n\t}",
		"a field":               "var v struct{ other int }\n\tx[0] = v.other",
		"a key of a literal":    "v := struct{ other int }{other: 1}\n\tx[0] = v.other",
		"a literal's parameter": "f := func(other int) int { return other }\n\tx[0] = f(1)",
		"a type":                "type other int\n\tx[0] = int(other(1))",
		"a clause":              "other := 0\n\t//omp:teams distribute parallel for reduction(+: other)\n\tfor i := range x {\n\t\tother += x[i]\n\t}\n\tx[0] = other",
		"a clause's word":       "//omp:teams distribute parallel for schedule(static)\n\tfor i := range x {\n\t\tx[i] = 0\n\t}",
	} {
		a := syntax.File{Name: "a.go", Text: "package p\n\n//omp:target\n//omp:task inout(x)\nfunc K(x []int) {\n\t" + kernel + "\n}\n"}
		static := syntax.File{Name: "c.go", Text: "package p\n\nfunc device() { undefined() }\n"}
		files, err := reach.SourcesFor("a.go", []syntax.File{broken, a, static}, nil)
		require.NoError(t, err, what)
		require.Equal(t, []string{"a.go"}, namesOfFiles(files), what)
		_, err = Load(a)
		require.NoError(t, err, what)
		_, err = LoadFile("a.go", a, broken, static)
		require.NoError(t, err, what)
	}
}

func TestSourcesFor_ParameterHidesAName(t *testing.T) {
	a := syntax.File{Name: "a.go", Text: "package p\n\n//omp:target\n//omp:task inout(x[0:n])\n//omp:let other = n + 1\nfunc K(x []int, n int) { x[0] = n }\n"}
	b := syntax.File{Name: "b.go", Text: "package p\n\nconst n = 3\n\nfunc other() { undefined() }\n\nfunc x() {}\n"}
	files, err := reach.SourcesFor("a.go", []syntax.File{a, b}, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"a.go"}, namesOfFiles(files))
}

// What a kernel reaches by other ways than a name in its body counts, too.
func TestSourcesFor_MethodsAndTypes(t *testing.T) {
	pkg := []syntax.File{
		{Name: "a.go", Text: "package p\n\n//omp:target\n//omp:task inout(x)\nfunc K(x []int) {\n\tv := newT(x[0])\n\tv.grow()\n\tx[0] = v.n + apply(v) + b\n}\n"},
		{Name: "b.go", Text: "package p\n\nfunc newT(n int) T { return T{n} }\n\nfunc apply[M interface{ size() int }](m M) int { return m.size() }\n"},
		{Name: "c.go", Text: "package p\n\nfunc (t *T) grow() { t.n += step }\n"},
		{Name: "d.go", Text: "package p\n\ntype T struct{ n int }\n"},
		{Name: "e.go", Text: "package p\n\nfunc (t T) size() int { return t.n }\n\nconst unused = more\n"},
		{Name: "f.go", Text: "package p\n\nconst step = 1\n"},
		{Name: "g.go", Text: "package p\n\nconst (\n\ta = base + iota\n\tb\n)\n"},
		{Name: "h.go", Text: "package p\n\nconst base = 7\n"},
		{Name: "i.go", Text: "package p\n\nconst more = 7\n"},
	}
	files, err := reach.SourcesFor("a.go", pkg, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"a.go", "b.go", "c.go", "d.go", "e.go", "f.go", "g.go", "h.go"}, namesOfFiles(files))
	_, err = Load(files...)
	require.NoError(t, err)
}

// Of another package the declarations that kernels reach come along, in files of their own, with
// their places (issue 16, 11).
func TestSourcesFor_OtherPackages(t *testing.T) {
	other := map[string][]syntax.File{
		"example.com/m/geom": {
			{Name: "geom.go", Text: "package geom\n\nimport \"example.com/m/deep\"\n\nfunc unused() { undefined() }\n\n// Far is far.\nfunc Far(x []int) int {\n\treturn x[deep.Index] // here\n}\n"},
			{Name: "more.go", Text: "package geom\n\nfunc More() {}\n"}},
		"example.com/m/deep": {{Name: "deep.go", Text: "package deep\n\nconst (\n\tNo = iota\n\tIndex\n)\n"}},
		"example.com/m/gone": nil,
	}
	var asked []string
	find := func(path string) []syntax.File { asked = append(asked, path); return other[path] }
	a := syntax.File{Name: "a.go", Text: "package p\n\nimport (\n\t\"example.com/m/geom\"\n\t\"example.com/m/unused\"\n)\n\nvar _ = unused.X\n\n" +
		"//omp:target\n//omp:task inout(x)\nfunc K(x []int) { x[0] = geom.Far(x) }\n"}
	files, err := reach.SourcesFor("a.go", []syntax.File{a}, find)
	require.NoError(t, err)
	require.Equal(t, []string{"example.com/m/geom", "example.com/m/deep"}, asked)
	require.Equal(t, []syntax.File{a,
		{Name: "geom.go", Package: "example.com/m/geom", Text: "package geom\nimport deep \"example.com/m/deep\"\n\n//line geom.go:8:1\nfunc Far(x []int) int {\n\treturn x[deep.Index]\n}\n"},
		{Name: "deep.go", Package: "example.com/m/deep", Text: "package deep\n\n//line deep.go:3:1\nconst (\n\tNo = iota\n\tIndex\n)\n"},
	}, files)
	p, err := Load(files...)
	require.NoError(t, err)
	require.Contains(t, p.Kernels()[0].String(), "x[1?]")
	require.Equal(t, "geom/geom.go:8:6", p.Kernels()[0].Funcs[0].At.String())

	files[1].Text = "package geom\n\n//line geom.go:8:1\nfunc Far(x []int) int {\n\tgo func() {}()\n\treturn 0\n}\n"
	_, err = Load(files...)
	require.ErrorContains(t, err, "geom/geom.go:9:2: go statement: there are no goroutines on a device")
}

// The name of a package is not always the last part of its path, and files import what kernels do
// not use.
func TestLoad_NamesOfImports(t *testing.T) {
	for _, path := range []string{"math/rand/v2", "math/rand", "gopkg.in/rand.v1", "example.com/go-rand", "example.com/rand-go/v5", "example.com/rand.git", "C", "example.com/quite/another"} {
		file := func(body string) syntax.File {
			return syntax.File{Name: "k.go", Text: "package p\n\nimport \"" + path + "\"\n\nfunc f() { rand.Seed() }\n\n//omp:target\n//omp:task inout(x)\nfunc K(x []int) {\n\t" + body + "\n}\n"}
		}
		_, err := Load(file("x[0] = 1"))
		require.NoError(t, err, path)
		_, err = Load(file("rand := 1\n\tx[0] = rand"))
		require.NoError(t, err, path)
		if path != "C" {
			_, err = Load(file("x[0] = rand.Int()"))
			require.ErrorContains(t, err, "k.go:10:9: rand.Int: ", path)
			require.NotContains(t, err.Error(), "undefined", path)
		}
	}
}

// One broken kernel does not take the others with it (issue 16, 12).
func TestLoad_BrokenKernelAlone(t *testing.T) {
	file := syntax.File{Name: "k.go", Text: `package p

//omp:target
//omp:task inout(x)
func Good(x []int) { x[0] = helper(1) }

func helper(n int) int { return n }

func bad(x []int) { go helper(1) }

//omp:target
//omp:task inout(x)
func Bad(x []int) { bad(x) }

//omp:target
//omp:task inout(x)
func Worse(x []int) { bad(x); x[0] = missing }

//omp:target
//omp:task inout(y)
func Clause(x []int) { x[0] = 1 }

//omp:target
//omp:task inout(x)
func Generic[T int | int32](x []T) { x[0] = 1 }
`}
	const want = "k.go:9:21: go statement: there are no goroutines on a device; put a parallel directive on a loop or body"
	p, err := Load(file)
	require.ErrorContains(t, err, want)
	require.ErrorContains(t, err, "k.go:17:38: Go: undefined: missing")
	require.ErrorContains(t, err, "k.go:20:18: clause inout: 'y' is not a parameter of Clause")
	require.Len(t, err.(diag.ErrorList), 3, "each once: %v", err)
	require.Len(t, p.Kernels(), 1)
	require.Len(t, p.Samples(), 1)
	_, err = p.Kernel("Good")
	require.NoError(t, err)
	_, err = p.Instance("Generic", "int32")
	require.NoError(t, err)
	_, err = p.Kernel("Bad")
	require.EqualError(t, err, want)
	for _, name := range []string{"Good", "Generic"} {
		_, err = LoadKernel(name, file)
		require.NoError(t, err)
	}
	_, err = LoadKernel("Bad", file)
	require.EqualError(t, err, want)
}

// The packages below codegen/kernel come with the compiler: with the kernel at run time, and as
// parts in what a wrapper embeds.
func TestLibrary_PackagesBelowKernel(t *testing.T) {
	k := syntax.File{Name: "k.go", Text: "package p\n\nimport (\n\t\"" + source.KernelPath + "/ordered\"\n\tr \"" + source.KernelPath + "/random\"\n)\n\n" +
		"//omp:target\n//omp:task in(x) out(y)\nfunc K(x []float64, y []int) {\n\t//omp:teams distribute parallel for\n\tfor i := range y {\n" +
		"\t\ty[i] = ordered.Search(x, r.Float64(1, uint64(i)))\n\t}\n}\n"}
	_, err := Load(k)
	require.NoError(t, err)
	files, err := reach.SourcesFor("k.go", []syntax.File{k}, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"k.go", "ordered/ordered.go", "random/random.go"}, namesOfFiles(files))
	require.NotContains(t, files[2].Text, "func Normal(", "a kernel embeds what it reaches")
	_, err = Load(files...)
	require.NoError(t, err)
	_, err = Load(syntax.File{Name: "k.go", Text: "package p\n\nimport \"" + source.KernelPath + "/none\"\n\n//omp:target\nfunc K() { none.F() }\n"})
	require.ErrorContains(t, err, "none")
}
