package deps

import (
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBuild_32BitProcessorsAreNamed: GOARCH=386 failed with a constant that overflows (issue 16,
// point h). The error says what is wanted, and no processor of 64 bits has it.
func TestBuild_32BitProcessorsAreNamed(t *testing.T) {
	for arch, want := range map[string]bool{"386": true, "arm": true, "mips": true, "mipsle": true, "amd64": false, "arm64": false, "loong64": false,
		"mips64": false, "mips64le": false, "ppc64": false, "ppc64le": false, "riscv64": false, "s390x": false, "wasm": false} {
		context := build.Default
		context.GOARCH = arch
		have, err := context.MatchFile(".", "bits32.go")
		require.NoError(t, err)
		require.Equal(t, want, have, arch)
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "bits32.go", nil, 0)
	require.NoError(t, err)
	_, err = (&types.Config{Importer: importer.Default()}).Check("deps", fset, []*ast.File{f}, nil)
	require.EqualError(t, err, "bits32.go:7:9: undefined: gompss_needs_a_64_bit_GOARCH_such_as_amd64_or_arm64")
}
