package codegen_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/codegen/simt"
)

// TestBlank_TakesFunctions: a function that is assigned to _ does nothing in Go, and was refused
// (issue 16, 11).
func TestBlank_TakesFunctions(t *testing.T) {
	kernel := func(use string) string {
		text := "package k\n\nfunc twice(v int64) int64 { return 2 * v }\n\n//omp:target device(acc, smp)\n//omp:task in(x) inout(y)\nfunc K(x, y []int64) {\n" +
			"\t//omp:teams distribute parallel for\n\tfor i := range y {\n\t\tf := func(a int64) int64 { return a + 1 }\n\t\t" + use + "\n\t\ty[i] += f(x[i])\n\t}\n}\n"
		p, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
		require.NoError(t, err, use)
		k, err := p.Kernel("K")
		require.NoError(t, err, use)
		return k.String()
	}
	for _, use := range []string{"_ = f", "_ = func(a int64) int64 { return a }", "_, _ = f, x", "_ = twice", "var _ = f"} {
		require.Equal(t, kernel(""), kernel(use), use)
	}
	require.Equal(t, kernel("y[i] = y[i] + 1"), kernel("_, y[i] = f, y[i] + 1"))
}

// TestDivision_LaneByLane: a quotient of a variable that is there for every copy of an unrolled loop, in code for one lane, ended the compiler
// (issue 16 f).
func TestDivision_LaneByLane(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: `package k

type s struct {
	a int64
	b float32
	c float32
}

//omp:target device(smp)
//omp:task in(in4, in5) inout(out, *last)
func K(n int, in4 []float32, in5 []int32, out []s, last *int) {
	l := 5
	//omp:teams distribute parallel for lastprivate(l)
	for i := int32(0); i < int32(n); i += 3 {
		l = int(in5[i&15])
		out[i].a = int64(in4[uint(int64(l))%uint(len(in4))]) & int64(l)
	}
	*last = l
}
`})
	require.NoError(t, err)
	k, err := p.Kernel("K")
	require.NoError(t, err)
	for _, o := range []cpu.Options{{}, {AVX512: true}, {Unroll: 1}, {AVX512: true, Unroll: 2}, {Unroll: 2}} {
		o.Single = cpu.SingleNever
		_, err = cpu.Compile(codegen.ForCPU(k), o)
		require.NoError(t, err)
	}
}

// TestLanes_CombineOnce: where the lanes of a group share an inner loop, each of them took part in a reduction of the outer one that stands in
// front of it (issue 16 f).
func TestLanes_CombineOnce(t *testing.T) {
	for _, sum := range []string{
		"var red struct { a int32; b uint }\nred.b = k3\n%sred.b = red.b + 3%sacc[1] = int64(red.b)",
		"red := k3\n%sred += 3%sacc[1] = int64(red)",
	} {
		place := "red"
		if strings.Contains(sum, "red.b") {
			place = "red.b"
		}
		text := "package k\n\n//omp:target device(acc, smp)\n//omp:task in(q) inout(acc, y)\nfunc K(n int, k3 uint, q, acc, y []int64) {\n" + fmt.Sprintf(sum,
			"//omp:parallel for reduction(+: "+place+")\nfor i := range n {\nown := int64(i)\n", "\nfor _, j := range q[0:3] {\n_ = j\nown--\n}\ny[i] = own\n}\n") + "\n}\n"
		p, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
		require.NoError(t, err, text)
		k, err := p.Kernel("K")
		require.NoError(t, err)
		for _, s := range []struct{ teams, threads int }{{1, 1}, {3, 64}, {2, 32}, {0, 0}} {
			acc, y := make([]int64, 8), make([]int64, 15)
			require.NoError(t, runDevice(simulated(t, k, text), []any{15, uint(1), make([]int64, 8), acc, y}, simt.Config{Teams: s.teams, Threads: s.threads}))
			require.Equal(t, []int64{46, 11}, []int64{acc[1], y[14]}, text)
		}
	}
}

// TestContract_KeepsScans: under contract the second phase of a scan was no block of its own, and lowering panicked (issue 16 f).
func TestContract_KeepsScans(t *testing.T) {
	for _, when := range []string{"inclusive", "exclusive"} {
		first, second := "s += x[i]*2 + 1", "y[i] = s"
		if when == "exclusive" {
			first, second = second, first
		}
		text := "package k\n\n//omp:target device(acc, smp) contract\n//omp:task in(x) out(y)\nfunc K(x, y []float64) {\ns := 0.0\n" +
			"//omp:teams distribute parallel for reduction(inscan, +: s)\nfor i := range x {\n" + first + "\n//omp:scan " + when + "(s)\n{\n" + second + "\n}\n}\n}\n"
		p, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
		require.NoError(t, err, text)
		k, err := p.Kernel("K")
		require.NoError(t, err)
		require.NotEmpty(t, k.Fused)
		x, y, want := make([]float64, 40), make([]float64, 40), make([]float64, 40)
		sum := 0.0
		for i := range x {
			x[i] = float64(i)
			if when == "exclusive" {
				want[i] = sum
			}
			if sum += 2*x[i] + 1; when == "inclusive" {
				want[i] = sum
			}
		}
		require.NoError(t, runDevice(simulated(t, k, text), []any{x, y}, simt.Config{Teams: 3, Threads: 32, Races: true}))
		require.Equal(t, want, y)
	}
}

// TestLanes_WriteWhatTheyRead: the lane that ended an iteration wrote an element that the others read in front of their loop, with no barrier
// between (issue 16 f, seed 70001560 of TestRandomNests).
func TestLanes_WriteWhatTheyRead(t *testing.T) {
	for _, body := range []string{
		"b[i+3] += 3*a[i*n+j] + int64(j)",
		"c[i] = max(c[i], a[i*n+j])",
	} {
		text := "package k\n\n//omp:target device(acc, smp)\n//omp:task inout(a, b, c)\nfunc K(n int, a, b, c []int64) {\n//omp:loop\nfor i := range n {\n" +
			"//omp:loop\nfor j := 2; j < n-1; j++ {\n" + body + "\n}\n}\n}\n"
		p, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
		require.NoError(t, err, text)
		k, err := p.Kernel("K")
		require.NoError(t, err)
		for _, n := range []int{5, 7, 20, 60} {
			for seed := range uint64(4) {
				a, b, c := make([]int64, n*n), make([]int64, n+3), make([]int64, n)
				require.NoError(t, runDevice(simulated(t, k, text), []any{n, a, b, c}, simt.Config{Teams: 3, Threads: 64, Seed: seed, Races: true}), "%s, n=%d", body, n)
			}
		}
	}
}

// TestGroups_WriteWhatTheyRead: of the lanes that share an iteration, one wrote what others read,
// with no barrier between (issue 16 f, seed 777072 of the odd programs).
func TestGroups_WriteWhatTheyRead(t *testing.T) {
	for _, body := range []string{
		"x := b[i]\ns := int64(0)\n//omp:loop reduction(+: s)\nfor j := start[i]; j < start[i+1]; j++ {\ns += a[j] * x\n}\nb[i] = s + x",
		"//omp:loop\nfor j := start[i]; j < start[i+1]; j++ {\nc[j] = a[j]\n}\nb[i] = c[start[i+1]-1]",
		"//omp:loop\nfor j := start[i]; j < start[i+1]; j++ {\nc[j] = a[j]\n}\nx := c[start[i+1]-1]\n//omp:loop\nfor j := start[i]; j < start[i+1]; j++ {\na[j] += x\n}",
		"if b[i] > 3 {\nb[i] = 1\ncontinue\n}\ns := int64(0)\n//omp:loop reduction(+: s)\nfor j := start[i]; j < start[i+1]; j++ {\ns += a[j]\n}\nb[i] = s",
		"if b[i] > 3 {\n//omp:loop\nfor j := start[i]; j < start[i+1]; j++ {\na[j]++\n}\n}\nb[i]++",
	} {
		text := "package k\n\n//omp:target device(acc, smp)\n//omp:task inout(a, b, c) in(start)\nfunc K(n int, a, b, c []int64, start []int) {\n//omp:loop\nfor i := range n {\n" + body + "\n}\n}\n"
		p, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
		require.NoError(t, err, text)
		k, err := p.Kernel("K")
		require.NoError(t, err)
		for _, n := range []int{5, 40, 100} {
			for seed := range uint64(4) {
				start := make([]int, n+1)
				for i := range n {
					start[i+1] = start[i] + 1 + i*7%19
				}
				a, b, c := make([]int64, start[n]), make([]int64, n), make([]int64, start[n])
				for i := range b {
					b[i] = int64(i % 6)
				}
				require.NoError(t, runDevice(simulated(t, k, text), []any{n, a, b, c, start}, simt.Config{Teams: 3, Threads: 64, Seed: seed, Races: true}), "%s, n=%d", body, n)
			}
		}
	}
}
