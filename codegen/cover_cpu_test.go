//go:build linux && amd64

package codegen_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
)

// scalarKernels are the kernels of the corpus that have no vector code, and what explain says of them.
var scalarKernels = map[string]string{
	"Recurrence": "there is no loop whose iterations may run together: write //omp:teams distribute parallel for above one whose iterations are independent",
}

// TestNearlyEveryKernelIsVectorCode holds the list of kernels that run as Go functions to the few that have to, on every machine, and the
// text about each to a place in the source and what to change.
func TestNearlyEveryKernelIsVectorCode(t *testing.T) {
	p := loadCorpus(t)
	for _, o := range []cpu.Options{{}, {AVX512: true}, {AVX512: true, Width: cpu.W256}} {
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
	loop := "	//omp:teams distribute parallel for\n	for i := range x {\n"
	for _, c := range []struct {
		name, params, body string
		line               int    // of the construct, the body being line 1 on
		why                string // of the refusal, or of the note
		note               bool
	}{
		{"no loop", "x []int", "	x[0] = 1\n", 1, "there is no loop whose iterations may run together: write //omp:teams distribute parallel for above one whose iterations are independent", false},
		{"a variable of all", "x []int", "	s := 0\n" + loop + "		s += x[i]\n	}\n	x[0] = s\n", 3, "s is shared by the iterations and assigned: write a reduction or private(s)", false},
		{"two bases", "x, y []int", loop + "		part := x[:1]\n		if i > 3 {\n			part = y[:1]\n		}\n		x[i] = part[0]\n	}\n", 5,
			"part is a part of y here and of x elsewhere, and code for lanes must know the slice that it reads: use one variable for each, or an index into the whole", false},
		{"a huge array", "x []int", loop + "		var t [900000]int\n		t[x[i]&7] = i\n		x[i] = t[i&3]\n	}\n", 3,
			"the local array t takes", false},
		{"every iteration writes", "x []int", loop + "		x[0] = i\n	}\n", 3, "runs lane by lane: every iteration writes x[0]: write a reduction, or make it atomic", true},
		{"an atomic", "x []int", loop + "		//omp:atomic\n		x[0] *= i\n	}\n", 2, "runs on one worker: its atomic updates are cheap there", true},
		{"a function of Go's", "x []float64", loop + "		x[i] = math.Gamma(x[i])\n	}\n", 3, "is computed by Go, lane by lane, some 10 ns each", true},
		{"part of an array", "x []int", "	var t [2][3]int\n	//omp:teams distribute parallel for reduction(+: t[1])\n	for i := range x {\n		t[1][i%3]++\n	}\n	x[0] = t[1][2]\n", 2,
			"reduction of t[1], a part of an array, has no form for lanes: reduce the whole array, or a variable of its own", false},
		{"an array's last value", "x []int", "	var t [3]int\n	//omp:teams distribute parallel for lastprivate(t)\n	for i := range x {\n		t = [3]int{i, i + 1, x[i]}\n		x[i] = t[x[i]&1]\n	}\n	x[0] = t[2]\n", 3,
			"lastprivate(t) of an array has no form for lanes: store what the last iteration has behind the loop", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := "package k\n\nimport \"math\"\n\nvar _ = math.Pi\n\n//omp:target device(smp)\n//omp:task inout(x)\nfunc K(" + c.params + ") {\n" + c.body + "}\n"
			p, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
			require.NoError(t, err)
			k, err := p.Kernel("K")
			require.NoError(t, err)
			code, err := cpu.Compile(codegen.ForCPU(k), cpu.Options{AVX512: true})
			if c.note {
				require.NoError(t, err)
				all := strings.Join(code.Notes, "\n")
				require.Contains(t, all, c.why)
				require.Contains(t, all, fmt.Sprintf("k.go:%d:", 9+c.line))
				return
			}
			var refusal *cpu.Refusal
			require.ErrorAs(t, err, &refusal)
			require.Contains(t, refusal.Why, c.why)
			if c.name != "no loop" {
				require.Equal(t, 9+c.line, refusal.At.Line, refusal.Error())
			}
		})
	}
}
