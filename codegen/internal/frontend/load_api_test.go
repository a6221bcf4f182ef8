package frontend

import (
	"errors"
	"go/types"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/internal/frontend/calls"
	"github.com/gompss/gompss/codegen/internal/frontend/source"
	"github.com/gompss/gompss/codegen/internal/frontend/typing"
	"github.com/gompss/gompss/codegen/internal/syntax"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/verify"
)

const scaleText = `package p

import "github.com/gompss/gompss/codegen/kernel"

type Celsius float32

//omp:target
//omp:task inout(x)
func Scale[T kernel.Float](x []T, s T) {
	for i := range x {
		x[i] = x[i]*s + 1/2.0
	}
}
`

func TestInstanceOfGenericKernel(t *testing.T) {
	p, err := Load(syntax.File{Name: "scale.go", Text: scaleText})
	require.NoError(t, err)
	require.Empty(t, p.Kernels())
	_, err = p.Kernel("Scale")
	require.EqualError(t, err, "codegen: kernel Scale: it is generic: ask Instance for it with 1 type argument")

	var wg sync.WaitGroup
	for name, kind := range map[string]ir.Kind{"float32": ir.Float32, "float64": ir.Float64, "Celsius": ir.Float32} {
		wg.Go(func() {
			k, err := p.Instance("Scale", name)
			require.NoError(t, err)
			require.Equal(t, "Scale_"+name, k.Name)
			require.Equal(t, kind, k.Params[1].Type.Kind)
			require.Equal(t, name, k.Params[0].Type.Elem.Name)
			require.NoError(t, verify.Kernel(k))
			require.Contains(t, k.String(), "x[i?] = x[i?] * s + 0.5")
		})
	}
	wg.Wait()
}

func TestInstanceErrors(t *testing.T) {
	p, err := Load(syntax.File{Name: "scale.go", Text: scaleText})
	require.NoError(t, err)
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"Nope", []string{"int"}, "codegen: kernel Nope: package p has no generic kernel of this name"},
		{"Scale", nil, "codegen: kernel Scale: it takes 1 type argument, not 0"},
		{"Scale", []string{"int"}, "codegen: kernel Scale: int does not satisfy kernel.Float"},
		{"Scale", []string{"1+"}, "codegen: kernel Scale: type argument 1+: "},
		{"Scale", []string{"1"}, "codegen: kernel Scale: type argument 1: it is no type"},
		{"Scale", []string{"Kelvin"}, "codegen: kernel Scale: type argument Kelvin: "},
	} {
		_, err := p.Instance(c.name, c.args...)
		require.ErrorContains(t, err, c.want)
	}
}

func TestKernelsOfSeveralFiles(t *testing.T) {
	p, err := Load(
		syntax.File{Name: "dir/b.go", Text: "package p\n\nimport \"fmt\"\n\nfunc twice(x int) int { return N * x }\n\nfunc other() { fmt.Println(undefined) }\n"},
		syntax.File{Name: "dir/a.go", Text: "package p\n\nconst N = 2\n\n//omp:target\nfunc Second(x []int) {\n\tx[0] = twice(x[0])\n}\n\n//omp:target\nfunc First(x []int) {}\n"})
	require.NoError(t, err)
	require.Equal(t, "p", p.Name())
	var names []string
	for _, k := range p.Kernels() {
		names = append(names, k.Name)
	}
	require.Equal(t, []string{"Second", "First"}, names)
	k, err := p.Kernel("Second")
	require.NoError(t, err)
	require.Equal(t, "twice", k.Funcs[0].Name)
	require.Equal(t, ir.Pos{File: "b.go", Line: 5, Col: 6}, k.Funcs[0].At)
	_, err = p.Kernel("Third")
	require.EqualError(t, err, "codegen: kernel Third: package p has no kernel of this name: put //omp:target above the function")
}

func TestErrorsOfPackages(t *testing.T) {
	for _, c := range []struct {
		files []syntax.File
		want  string
	}{
		{nil, "package: it has no files; give Load at least one"},
		{[]syntax.File{{Name: "a.go", Text: "package a\n"}, {Name: "b.go", Text: "package b\n"}},
			"b.go:1:9: package b: the first file is in package a; load the packages one by one"},
		{[]syntax.File{{Name: "a.go", Text: "package a\n"}, {Name: "x/a.go", Text: "package a\n"}}, "a.go:0: file a.go: it is given twice; give it once"},
		{[]syntax.File{{Name: "a.go", Text: ""}}, "a.go:1:1: syntax: expected 'package', found 'EOF'"},
		{[]syntax.File{{Name: "a.go", Text: "package a\n\nvar x = " + strings.Repeat("-(", 3000) + "1" + strings.Repeat(")", 3000) + "\n"}},
			"a.go:3:2006: syntax: this is nested too deeply: 6004 levels, at most 2000; name parts of it"},
	} {
		_, err := Load(c.files...)
		require.EqualError(t, err, c.want)
	}
}

// Errors come sorted, each once, and can be taken apart.
func TestErrorList(t *testing.T) {
	_, err := Load(syntax.File{Name: "b.go", Text: "package p\n\n//omp:target\nfunc B(x []int) {\n\tgo h()\n\th()\n}\n"},
		syntax.File{Name: "a.go", Text: "package p\n\n//omp:target\nfunc A(x []int) {\n\th()\n\tdefer h()\n}\n\nfunc h() {\n\tselect {}\n}\n"})
	var list diag.ErrorList
	require.ErrorAs(t, err, &list)
	var at []string
	for _, d := range list {
		at = append(at, d.Pos.String())
		require.ErrorIs(t, err, d)
	}
	require.Equal(t, []string{"a.go:6:2", "a.go:10:2", "b.go:5:2"}, at)
	var d diag.Diagnostic
	require.True(t, errors.As(err, &d))
	require.Equal(t, "defer", d.What)
}

func TestDiagnosticText(t *testing.T) {
	d := diag.Diagnostic{Pos: ir.Pos{File: "k.go", Line: 3, Col: 5}, What: "map", Why: "there are none", Instead: "use slices"}
	require.Equal(t, "k.go:3:5: map: there are none; use slices", d.Error())
	d.Severity, d.Instead = diag.Warning, ""
	require.Equal(t, "k.go:3:5: warning: map: there are none", d.Error())
	require.Equal(t, "error, warning", diag.Error.String()+", "+diag.Warning.String())
}

// Structs lie in memory as gc lays them out.
func TestLayoutIsThatOfTheGoCompiler(t *testing.T) {
	p, err := Load(syntax.File{Name: "p.go", Text: `package p

type (
	A struct { a bool; b float64; c int8 }
	B struct { a [3]int8; b int16; c [2]A; d bool }
	C struct { a int32; b []A; c *B; d uint8 }
	D struct { a, b uint8; c uint16; d uint32; e float32 }
	E [5]D
	F struct { E; x bool }
	G[T any] struct { a bool; b T; c [3]bool }
	H struct { a G[float64]; b G[bool]; c G[int16] }
)
`})
	require.NoError(t, err)
	y := typing.New()
	for _, name := range p.src.GoTypes.Scope().Names() {
		goType := p.src.GoTypes.Scope().Lookup(name).Type()
		if name == "G" {
			continue
		}
		got, typeErr := y.Convert(goType)
		require.Nil(t, typeErr)
		require.EqualValues(t, source.Sizes().Sizeof(goType), got.Size, name)
		require.EqualValues(t, source.Sizes().Alignof(goType), got.Align, name)
		if s, ok := goType.Underlying().(*types.Struct); ok {
			fields := make([]*types.Var, s.NumFields())
			for i := range fields {
				fields[i] = s.Field(i)
			}
			for i, offset := range source.Sizes().Offsetsof(fields) {
				require.EqualValues(t, offset, got.Fields[i].Offset, "%s.%s", name, fields[i].Name())
			}
		}
	}
}

// Every function of the library packages is an operation, a query, or has an error that says what
// to do.
func TestLibraryIsComplete(t *testing.T) {
	imp := source.NewImporter()
	missing := []string{}
	for _, path := range []string{"math", "math/bits", source.KernelPath} {
		p, err := imp.Import(path)
		require.NoError(t, err)
		for _, name := range p.Scope().Names() {
			f, ok := p.Scope().Lookup(name).(*types.Func)
			if ok && f.Exported() && calls.Library(f) == ir.NoMath {
				missing = append(missing, p.Name()+"."+name)
			}
		}
	}
	require.Equal(t, []string{"math.Erfcinv", "math.Erfinv", "math.Frexp", "math.Ilogb", "math.Inf", "math.J0", "math.J1", "math.Jn",
		"math.Ldexp", "math.Lgamma", "math.Logb", "math.Modf", "math.NaN", "math.Nextafter", "math.Nextafter32", "math.Pow10",
		"math.Sincos", "math.Y0", "math.Y1", "math.Yn", "bits.Add", "bits.Add32", "bits.Add64", "bits.Div", "bits.Div32",
		"bits.Div64", "bits.Mul", "bits.Mul32", "bits.Mul64", "bits.Rem", "bits.Rem32", "bits.Rem64", "bits.Sub", "bits.Sub32",
		"bits.Sub64", "kernel.Barrier", "kernel.NumTeams", "kernel.NumThreads", "kernel.TeamNum", "kernel.ThreadNum"}, missing)
}
