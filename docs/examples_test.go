package docs_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each example has a README and a test, and stands in the list of the guide.
func TestDocuments_ExamplesAreListed(t *testing.T) {
	list, err := os.ReadFile("guide/README.md")
	require.NoError(t, err)
	folders, err := os.ReadDir("../examples")
	require.NoError(t, err)
	for _, f := range folders {
		if !f.IsDir() || f.Name() == "internal" {
			continue
		}
		folder := filepath.Join("../examples", f.Name())
		require.FileExists(t, filepath.Join(folder, "README.md"))
		tests, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
		require.NoError(t, err)
		require.NotEmpty(t, tests, folder)
		require.Contains(t, string(list), "(../../examples/"+f.Name()+")")
	}
}
