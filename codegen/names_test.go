package codegen_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cuda"
	"github.com/gompss/gompss/codegen/simt"
)

// greek are kernels with names outside ASCII in every clause that takes a name.
const greek = `package p

type Maß struct{ α, u03b1, for_, for__ float64 }

const größe = 4

//omp:target device(acc, smp) resources(acc: größe) copy_in(länge[0:größe])
//omp:task in(länge) inout(ω[öl:üb]) priority(größe) if(ñ > 0) final(ñ > 9999) label("ä")
//omp:let öl = 0
//omp:let üb = ñ
func Κ(ñ int, länge, ω []float64) {
	é, ß := 1.0, 0.0
	//omp:teams distribute parallel for num_teams(größe) thread_limit(größe*8) private(ß) firstprivate(é)
	for ι := 0; ι < ñ; ι++ {
		ß = länge[ι] * é
		ω[ι] += ß
	}
}

//omp:target
//omp:task in([ñ][µ]länge[0:ñ][0:µ]) reduction(+: *σ)
//omp:shape länge [ñ][µ]
func Σ(ñ, µ int, länge []float64, σ *float64) {
	//omp:teams distribute parallel for collapse(2) reduction(+: *σ)
	for ι := 0; ι < ñ; ι++ {
		for к := 0; к < µ; к++ {
			*σ += länge[ι*µ+к]
		}
	}
}

//omp:target
//omp:task inout(ω)
func Ф(ω []float64) {
	λ, é := 0.0, 0
	//omp:teams distribute parallel for lastprivate(λ)
	for ι := range ω {
		λ = float64(ι)
	}
	//omp:teams loop bind(teams) firstprivate(λ) shared(é)
	for ι := range ω {
		ω[ι] = λ
		//omp:atomic
		é++
	}
}

//omp:target implements(Κ)
//omp:task in(länge) inout(ω[0:ñ])
func Λ(ñ int, länge, ω []float64) {
	//omp:teams
	{
		//omp:distribute dist_firstprivate([größe]länge)
		for ι := 0; ι < ñ/größe; ι++ {
			var ρ float64
			//omp:parallel num_threads(größe) shared(ρ)
			{
				var м Maß
				м.α, м.u03b1, м.for_, м.for__ = 1, 2, 3, 4
				//omp:for reduction(max: ρ) schedule(static, größe)
				for к := 0; к < größe; к++ {
					ρ = max(ρ, länge[ι*größe+к]*м.α)
				}
				//omp:for simd nowait simdlen(größe)
				for к := 0; к < größe; к++ {
					ω[ι*größe+к] += ρ + м.u03b1 - 2 + м.for_ - 3 + м.for__ - 4
				}
			}
		}
	}
}
`

// TestNames_OutsideASCIIInEveryClause is of issue 16 g: clauses took the letters of ASCII alone for names, and two fields
// of a struct could get one name in CUDA C++.
func TestNames_OutsideASCIIInEveryClause(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: greek})
	require.NoError(t, err)
	for _, k := range p.Kernels() {
		l, err := codegen.Lower(k, codegen.LowerOptions{})
		require.NoError(t, err)
		source, err := cuda.Print(l.Program, cuda.Options{})
		require.NoError(t, err)
		for line := range strings.Lines(source.Text) {
			code, _, _ := strings.Cut(line, "//")
			require.NotContains(t, strings.Map(func(r rune) rune {
				if r > unicode.MaxASCII {
					return '?'
				}
				return 'a'
			}, code), "?", line)
		}
		if k.Name == "Λ" {
			for _, field := range []string{"double u03b1;", "double u03b1_2;"} {
				require.Equal(t, 1, strings.Count(source.Text, field), source.Text)
			}
		}
		runGreek(t, k.Name, l)
	}
}

func runGreek(t *testing.T, name string, l *codegen.Lowering) {
	program, err := simt.New(l.Program)
	require.NoError(t, err)
	x, y, sum := []float64{1, 2, 3, 4, 5, 6, 7, 8}, make([]float64, 8), 0.5
	args, want := []any{8, x, y}, []float64{1, 2, 3, 4, 5, 6, 7, 8}
	switch name {
	case "Σ":
		args, want = []any{2, 4, x, &sum}, make([]float64, 8)
	case "Ф":
		args, want = []any{y}, []float64{7, 7, 7, 7, 7, 7, 7, 7}
	case "Λ":
		want = []float64{4, 4, 4, 4, 8, 8, 8, 8}
	}
	require.NoError(t, runDevice(program, args, simt.Config{Teams: 2, Threads: 4, Races: true}))
	require.Equal(t, want, y, name)
	if name == "Σ" {
		require.Equal(t, 36.5, sum)
	}
}

// TestMessages_NameTheCallOfTheUser: loops that the compiler makes of copy, clear and conversions to arrays were named by the variables that
// it makes for them: a warning spoke of to[k], explain of loop k and of the memory of to and from.
func TestMessages_NameTheCallOfTheUser(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"copy(y, x)", "which cannot be proved of copy(y, x) ("},
		{"copy(y, x)", "loop copy(y, x) -> one thread: the memory of y and x may overlap"},
		{"clear(y[x[0]:])", "which cannot be proved of clear(y[x[0]:]) ("},
		{"for i := range y {\nt := [100]int(x[i:])\ny[i] = t[0]\n}", "loop [100]int(x[i:]) -> "},
	} {
		p, err := codegen.Load(codegen.File{Name: "k.go", Text: "package k\n\n//omp:target device(acc, smp)\n//omp:task in(x) out(y)\nfunc K(x, y []int) {\n" + c.body + "\n}\n"})
		require.NoError(t, err, c.body)
		l, err := codegen.Lower(p.Kernels()[0], codegen.LowerOptions{})
		require.NoError(t, err, c.body)
		text := warnings(p) + l.Explain()
		require.Contains(t, text, c.want)
		require.NotRegexp(t, `loop k\b|\b(to|all|array)\[k\]`, text)
	}
}
