package codegen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
)

// TestBlank_TakesFunctions: a function that is assigned to _ does nothing in Go, and was refused
// (issue 16, 11).
func TestBlank_TakesFunctions(t *testing.T) {
	kernel := func(use string) string {
		text := "package k\n\nfunc twice(v int64) int64 { return 2 * v }\n\n//omp:target device(acc, smp)\n//omp:task in(x) inout(y)\nfunc K(x, y []int64) {\n" +
			"\t//omp:teams distribute parallel for\n\tfor i := range y {\n\t\tf := func(a int64) int64 { return a + 1 }\n\t\t" + use + "\n\t\ty[i] += f(x[i])\n\t}\n}\n"
		p, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
		require.NoError(t, err, use)
		k, err := p.Kernel("K")
		require.NoError(t, err, use)
		return k.String()
	}
	for _, use := range []string{"_ = f", "_ = func(a int64) int64 { return a }", "_, _ = f, x", "_ = twice", "var _ = f"} {
		require.Equal(t, kernel(""), kernel(use), use)
	}
	require.Equal(t, kernel("y[i] = y[i] + 1"), kernel("_, y[i] = f, y[i] + 1"))
}
