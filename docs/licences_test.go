package docs_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each module that go.mod requires stands in licences.md.
func TestLicences_NameEveryModule(t *testing.T) {
	mod, err := os.ReadFile("../go.mod")
	require.NoError(t, err)
	page, err := os.ReadFile("licences.md")
	require.NoError(t, err)
	required := regexp.MustCompile(`(?m)^\t(\S+) v\d`).FindAllStringSubmatch(string(mod), -1)
	require.Greater(t, len(required), 8)
	for _, m := range required {
		name := strings.Replace(m[1], "go.opentelemetry.io/otel/", "otel/", 1)
		require.Contains(t, string(page), name)
	}
}
