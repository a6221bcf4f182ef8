package cuda_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
)

// packages hold the kernels of the repository: the corpus of the compiler's own tests, and the demos.
var packages = [][]string{
	{"../corpus_test.go", "../corpus_team_test.go", "../corpus_loops_test.go", "../corpus_codes_test.go", "../corpus_apps_test.go", "../corpus_vars_test.go", "../fuse_kernels_test.go", "../nest_kernels_test.go",
		"../block_kernels_test.go", "../word_kernels_test.go"},
	{"../../examples/nbody/kernels.go"},
	{"../../examples/stream/kernels.go"},
}

// corpus compiles and lowers every kernel of the repository. A kernel that lowering does not take yet has no golden.
func corpus(t *testing.T) []goldenCase {
	t.Helper()
	var out []goldenCase
	for _, paths := range packages {
		pkg, err := codegen.Load(kernelFiles(t, paths)...)
		require.NoError(t, err)
		for _, k := range pkg.Kernels() {
			low, err := codegen.Lower(k, codegen.LowerOptions{Target: "cuda"})
			if err != nil {
				t.Logf("%s is not lowered: %v", k.Name, err)
				continue
			}
			out = append(out, goldenCase{k.Name, low.Program})
		}
	}
	return out
}

func kernelFiles(t *testing.T, paths []string) []codegen.File {
	var out []codegen.File
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		out = append(out, codegen.File{Name: filepath.Base(path), Text: string(text)})
	}
	return out
}
