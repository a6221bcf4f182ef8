//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"

	"github.com/gompss/gompss/codegen/cpu/vcode"
)

const noParallelLoop = "there is no loop whose iterations may run together: write //omp:teams distribute parallel for above one whose iterations are independent"

// scalarKernels are the kernels of the corpus that have no vector code, and what explain says of them.
var scalarKernels = map[string]string{
	"Recurrence": noParallelLoop,
	"PrefixSums": noParallelLoop, "Compact": noParallelLoop, // scans run in order on CPUs
}

// TestNearlyEveryKernelIsVectorCode holds the list of kernels that run as Go functions to the few that have to, on every machine, and the
// text about each to a place in the source and what to change.
func TestNearlyEveryKernelIsVectorCode(t *testing.T) {
	t.Parallel()
	p := loadCorpus(t)
	for _, o := range []cpu.Options{{}, {AVX512: true}, {AVX512: true, Width: vcode.W256}} {
		for _, c := range corpus {
			k, err := p.Kernel(name(c.kernel))
			require.NoError(t, err)
			_, err = cpu.Compile(codegen.ForCPU(k), o)
			want, scalar := scalarKernels[k.Name]
			if !scalar {
				require.NoError(t, err, k.Name)
				continue
			}
			var refusal *cpu.Refusal
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, want, refusal.Why)
			require.Positive(t, refusal.At.Line)
		}
	}
}

// TestWhatHasNoVectorFormSaysSo has a kernel for every construct that keeps a kernel, or a statement, out of the vectors: the text names the
// line, the construct and what to write instead.
func TestWhatHasNoVectorFormSaysSo(t *testing.T) {
	many, terms, sums, list, results, adds := "x []int", "", "", "", "", ""
	for i := range 500 {
		many, terms = many+fmt.Sprintf(", p%d []int", i), terms+fmt.Sprintf("		x[i] += p%d[i]\n", i)
	}
	for i := range 17 {
		sums, adds, results = sums+fmt.Sprintf("	s%d := 0\n", i), adds+fmt.Sprintf("		s%d += x[i] ^ %d\n", i, i), results+fmt.Sprintf("	x[%d] = s%d\n", i, i)
		list = strings.TrimPrefix(list+fmt.Sprintf(", s%d", i), ", ")
	}
	loop := "	//omp:teams distribute parallel for\n	for i := range x {\n"
	for _, c := range []struct {
		name, params, body string
		line               int    // of the construct, the body being line 1 on
		why                string // of the refusal, or of the note
		note               bool
	}{
		{"no loop", "x []int", "	x[0] = 1\n", 1, "there is no loop whose iterations may run together: write //omp:teams distribute parallel for above one whose iterations are independent", false},
		{"two bases", "x, y []int", loop + "		part := x[:1]\n		if i > 3 {\n			part = y[:1]\n		}\n		x[i] = part[0]\n	}\n", 5,
			"part is a part of y here and of x elsewhere, and code for lanes must know the slice that it reads: use one variable for each, or an index into the whole", false},
		{"a huge array", "x []int", loop + "		var t [9000000]int\n		t[x[i]&7] = i\n		x[i] = t[i&3]\n	}\n", 3,
			"the local array t takes", false},
		{"an atomic", "x []int", loop + "		//omp:atomic\n		x[0] *= i\n	}\n", 2, "runs on several workers, with locked instructions, where these cost little beside the rest; else on one", true},
		{"a function of Go's", "x []float64", loop + "		x[i] = math.Gamma(x[i])\n	}\n", 3, "is computed by Go, lane by lane, some 10 ns each", true},
		{"part of an array", "x []int", "	var t [2][3]int\n	//omp:teams distribute parallel for reduction(+: t[1])\n	for i := range x {\n		t[1][i%3]++\n	}\n	x[0] = t[1][2]\n", 2,
			"reduction of t[1], a part of an array, has no form for lanes: reduce the whole array, or a variable of its own", false},
		{"an array's last value", "x []int", "	var t [3]int\n	//omp:teams distribute parallel for lastprivate(t)\n	for i := range x {\n		t = [3]int{i, i + 1, x[i]}\n		x[i] = t[x[i]&1]\n	}\n	x[0] = t[2]\n", 3,
			"lastprivate(t) of an array has no form for lanes: store what the last iteration has behind the loop", false},
		{"too many words", many, loop + terms + "	}\n", 0, "its parameters and variables need 1030 words, 1024 are there", false},
		{"another end", "x []int", "	//omp:teams distribute parallel for\n	for i := 0; i != len(x); i++ {\n		x[i] = i\n	}\n", 2,
			"the parallel loop needs a constant step and <, <=, > or >=: write its end so", false},
		{"many sums", "x []int", sums + "	//omp:teams distribute parallel for reduction(+: " + list + ")\n	for i := range x {\n" + adds + "	}\n" + results, 18,
			"the loop has more than 16 reductions: write two loops", false},
		{"an array of bools", "x []int", "	var t [2]bool\n	//omp:teams distribute parallel for reduction(||: t)\n	for i := range x {\n		t[i&1] = t[i&1] || x[i] > 3\n	}\n	if t[0] {\n		x[0] = 3\n	}\n", 2,
			"a reduction(||) of an array of bools has no form for lanes: use numbers and & or |", false},
		{"a step of two loops", "x []int, k int", "	//omp:teams distribute parallel for collapse(2)\n	for i := 0; i < k; i++ {\n		for j := 0; j < k; j += k {\n			x[i*k+j] += j\n		}\n	}\n", 3,
			"a loop inside the one whose iterations are lanes needs a constant step: count in ones, and multiply", false},
		{"a copy of a slice", "x, y []int", "	d := y\n	//omp:teams distribute parallel for firstprivate(d)\n	for i := range x {\n		x[i] = d[0]\n	}\n", 3,
			"it is not known what the slice d is a part of: give it its value where it is declared, by slicing a parameter or an array", false},
		{"a pointer that moves", "x, y []int", loop + "		p := &x[i]\n		if i > 3 {\n			p = &y[i]\n		}\n		*p = 1\n	}\n", 3,
			"it is not known what p points at: give it its value, the address of an element or a variable, where it is declared, and no other later", false},
		{"no loop of the team's", "x []int", "	//omp:parallel\n	{\n		x[kernel.ThreadNum()] = 1\n	}\n", 0, "there is no loop whose iterations may run together", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := "package k\n\nimport (\n	\"math\"\n	\"github.com/gompss/gompss/codegen/kernel\"\n)\n\nvar _, _ = math.Pi, kernel.Barrier\n\n//omp:target device(smp)\nfunc K(" + c.params + ") {\n" + c.body + "}\n"
			p, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
			require.NoError(t, err)
			k, err := p.Kernel("K")
			require.NoError(t, err)
			code, err := cpu.Compile(codegen.ForCPU(k), cpu.Options{AVX512: true})
			if c.note {
				require.NoError(t, err)
				all := strings.Join(code.Notes, "\n")
				require.Contains(t, all, c.why)
				require.Contains(t, all, fmt.Sprintf("k.go:%d:", 11+c.line))
				return
			}
			var refusal *cpu.Refusal
			require.ErrorAs(t, err, &refusal)
			require.Contains(t, refusal.Why, c.why)
			if c.name != "no loop" {
				require.Equal(t, 11+c.line, refusal.At.Line, refusal.Error())
			}
		})
	}
}
