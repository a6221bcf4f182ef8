package codegen

import (
	"go/parser"
	"go/token"
	"testing"

	"github.com/stretchr/testify/require"
)

// A generated file is in the builds of its source, whose name and text say which.
func TestConstraintOfAFile(t *testing.T) {
	for _, c := range []struct{ name, head, want string }{
		{"kernels.go", "", ""},
		{"linux.go", "", ""},
		{"kernels_windows.go", "", "windows"},
		{"kernels_arm64.go", "", "arm64"},
		{"a_kernels_linux_amd64.go", "", "linux && amd64"},
		{"kernels_linux_fast.go", "", ""},
		{"kernels_unix.go", "", ""},
		{"kernels.go", "// A comment.\n\n//go:build fast || !cgo\n\n", "fast || !cgo"},
		{"kernels_linux.go", "//go:build a || b\n\n", "(a || b) && linux"},
		{"kernels.go", "//go:build go1.20\n// +build go1.20\n\n", "go1.20"},
	} {
		syntax, err := parser.ParseFile(token.NewFileSet(), c.name, c.head+"package p\n\n//go:build no\n", parser.ParseComments)
		require.NoError(t, err)
		got := ""
		if expr := Constraint("dir/"+c.name, syntax); expr != nil {
			got = expr.String()
		}
		require.Equal(t, c.want, got, c.name+" "+c.head)
	}
}
