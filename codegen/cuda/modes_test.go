package cuda_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
)

// modeCorpus lowers the kernels that run in every mode, in each mode but those that the corpus shows.
func modeCorpus(t *testing.T) []goldenCase {
	t.Helper()
	return modesOf(t, "broadcast", "control_loop", "warp_specialized")
}

// modesOf lowers the kernels that run in every mode; of mode(broadcast) only one, for the corpus shows it.
func modesOf(t *testing.T, modes ...string) []goldenCase {
	t.Helper()
	files := kernelFiles(t, []string{"../corpus_test.go", "../corpus_team_test.go"})
	text, err := os.ReadFile("../corpus_modes_test.go")
	require.NoError(t, err)
	var out []goldenCase
	for _, mode := range modes {
		pkg, err := codegen.Load(append(files, codegen.File{Name: "corpus_modes_test.go",
			Text: strings.ReplaceAll(string(text), "mode(auto)", "mode("+mode+")")})...)
		require.NoError(t, err)
		for _, k := range pkg.Kernels() {
			if !strings.HasPrefix(k.Name, "Mode") || mode == "broadcast" && k.Name != "ModeCrew" {
				continue
			}
			low, err := codegen.Lower(k, codegen.LowerOptions{Target: "cuda"})
			require.NoError(t, err)
			out = append(out, goldenCase{k.Name + "_" + mode, low.Program})
		}
	}
	return out
}

// TestNVRTCRegisters counts the registers of a thread in each mode: what auto takes has the fewest over all kernels,
// a warp of its own the most.
func TestNVRTCRegisters(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles for seconds")
	}
	names := []string{"auto", "control_loop", "warp_specialized"}
	total := map[string]int{}
	for _, mode := range names {
		var sources []nvrtcSource
		cases := modesOf(t, mode)
		for _, c := range cases {
			sources = append(sources, source(c.name, c.print(t, versions[0].options)))
		}
		answer := ask(t, map[string]any{"archs": []string{"sm_90"}, "sources": sources, "registers": true})
		for i, r := range answer.Results {
			if r.Registers == nil {
				t.Skip("no ptxas beside NVRTC: pip install nvidia-cuda-nvcc")
			}
			n := r.Registers[cases[i].prog.Name]
			require.Positive(t, n, r.Name)
			total[mode] += n
			t.Logf("%-32s %3d registers", r.Name, n)
		}
	}
	t.Log("all kernels:", total)
	require.Less(t, total["auto"], total["control_loop"])
	require.Less(t, total["control_loop"], total["warp_specialized"])
}
