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
	files := kernelFiles(t, []string{"../corpus_test.go", "../corpus_team_test.go"})
	text, err := os.ReadFile("../corpus_modes_test.go")
	require.NoError(t, err)
	var out []goldenCase
	for _, mode := range []string{"broadcast", "control_loop", "warp_specialized"} {
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
