package simt_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/simt"
)

// planted are kernels with one mistake each. The lines that the report must name are marked "// first" and
// "// second", or "// both".
const planted = `package planted

import "github.com/gompss/gompss/codegen/kernel"

//omp:target
func MissingBarrier(a, out []int) {
	//omp:teams num_teams(2)
	{
		var box [64]int
		//omp:parallel num_threads(8)
		{
			t := kernel.ThreadNum()
			box[t] = a[t] // first
			out[t+8*kernel.TeamNum()] = box[(t+1)%kernel.NumThreads()] // second
		}
	}
}

//omp:target
func MissingAtomic(a, out []int) {
	//omp:teams distribute parallel for
	for i := range a {
		out[a[i]&3]++ // both
	}
}

//omp:target
func MixedAtomic(a, out []int) {
	//omp:teams distribute parallel for
	for i := range a {
		//omp:atomic
		out[0] += a[i] // first
		if a[i] == 5 {
			out[1] = out[0] // second
		}
	}
}

//omp:target
func MissingPrivate(a, out []int) {
	//omp:teams num_teams(1)
	{
		tmp := 0
		//omp:parallel for
		for i := range a {
			tmp = a[i] * 2 // both
			out[i] = tmp
		}
	}
}

//omp:target
func Neighbour(a, out []int) {
	//omp:teams distribute parallel for
	for i := 0; i < len(a)-1; i++ {
		a[i] = a[i+1+out[0]] + 1 // both
	}
}

//omp:target
func Divergent(a, out []int) {
	//omp:teams num_teams(1)
	{
		//omp:parallel num_threads(8)
		{
			t := kernel.ThreadNum()
			if a[t] > 3 {
				kernel.Barrier() // first
			}
			out[t] = t
		}
	}
}

//omp:target
func Outside(a, out []int) {
	//omp:teams distribute parallel for
	for i := range a {
		out[a[i]] = i // first
	}
}

//omp:target
func Divide(a, out []int) {
	//omp:teams distribute parallel for
	for i := range a {
		out[i] = 100 / a[i] // first
	}
}
`

// marked returns the lines of kernel name that are marked.
func marked(t *testing.T, name string) (first, second int) {
	inside := false
	for i, line := range strings.Split(planted, "\n") {
		switch {
		case strings.HasPrefix(line, "func "):
			inside = strings.HasPrefix(line, "func "+name+"(")
		case !inside:
		case strings.HasSuffix(line, "// both"):
			first, second = i+1, i+1
		case strings.HasSuffix(line, "// first"):
			first = i + 1
		case strings.HasSuffix(line, "// second"):
			second = i + 1
		}
	}
	require.NotZero(t, first)
	return first, second
}

func lowered(t testing.TB, p *codegen.Package, name string) *simt.Program {
	k, err := p.Kernel(name)
	require.NoError(t, err)
	l, err := codegen.Lower(k, codegen.LowerOptions{})
	require.NoError(t, err)
	s, err := simt.New(l.Program)
	require.NoError(t, err)
	return s
}

func TestPlantedBugsAreReportedWithTheirLines(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "planted.go", Text: planted})
	require.NoError(t, err)
	for _, name := range []string{"MissingBarrier", "MissingAtomic", "MixedAtomic", "MissingPrivate", "Neighbour", "Divergent",
		"Outside", "Divide"} {
		t.Run(name, func(t *testing.T) {
			first, second := marked(t, name)
			s := lowered(t, p, name)
			for seed := range uint64(4) {
				lines := runPlanted(t, s, seed)
				require.Contains(t, lines, [2]int{first, second})
			}
		})
	}
}

// runPlanted returns the lines of all reports, the smaller one first.
func runPlanted(t *testing.T, s *simt.Program, seed uint64) (lines [][2]int) {
	_, a := ints("a", 1, 2, 3, 4, 5, 60, 0, 2, 1, 2, 3, 4, 5, 6, 0, 2)
	_, out := ints("out", make([]int64, 16)...)
	_, err := s.Run([]simt.Arg{a, out}, simt.Config{Threads: 8, Seed: seed, Races: true})
	require.Error(t, err)
	list := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		list = joined.Unwrap()
	}
	for _, e := range list {
		lines = append(lines, linesOf(t, e))
	}
	return lines
}

func linesOf(t *testing.T, err error) [2]int {
	require.ErrorContains(t, err, "planted.go:")
	switch e := err.(type) {
	case *simt.RaceError:
		x, y := e.First.At.Line, e.Second.At.Line
		return [2]int{min(x, y), max(x, y)}
	case *simt.CheckError:
		return [2]int{e.At.Line, 0}
	case *simt.DivergenceError:
		return [2]int{e.At.Line, 0}
	}
	t.Fatalf("%T: %v", err, err)
	return [2]int{}
}
