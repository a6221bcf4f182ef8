package codegen

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/gompss/gompss/codegen/ir/verify"
)

// FuzzLoad gives Load any text. Nothing may panic, and what Load takes must be right loop IR.
func FuzzLoad(f *testing.F) {
	paths, err := filepath.Glob("testdata/*/*.txtar")
	require.NoError(f, err)
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		require.NoError(f, err)
		for _, file := range archive.Files {
			if strings.HasSuffix(file.Name, ".go") {
				f.Add(string(file.Data))
			}
		}
	}
	corpus, err := os.ReadFile("corpus_test.go")
	require.NoError(f, err)
	f.Add(string(corpus))
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Load(File{Name: "fuzz.go", Text: text})
		if err != nil {
			require.NotEmpty(t, err.Error())
			require.NotContains(t, strings.ReplaceAll(err.Error(), "'?'", ""), " ?:")
			return
		}
		for _, k := range p.Kernels() {
			require.NoError(t, verify.Kernel(k))
			require.NotEmpty(t, k.String())
		}
	})
}
