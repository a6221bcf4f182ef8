package codegen_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cuda"
	"github.com/gompss/gompss/codegen/ir"
)

// checkedPackages are the kernels of which testdata/checks.txt says what a GPU still checks.
func checkedPackages(t testing.TB) []*codegen.Package {
	t.Helper()
	load := func(files ...codegen.File) *codegen.Package {
		p, err := codegen.Load(files...)
		require.NoError(t, err)
		return p
	}
	return []*codegen.Package{loadCorpus(t),
		load(codegen.File{Name: "practice_kernels_test.go", Text: practiceSource}, codegen.File{Name: "practice_bits_test.go", Text: practiceBits}),
		load(codegen.File{Name: "language_kernels_test.go", Text: languageSource},
			codegen.File{Name: "language_helpers_test.go", Text: languageHelpers}),
		load(codegen.File{Name: "apart_kernels_test.go", Text: apartSource})}
}

// provedOf returns what a GPU runs where the host proves the launch, and whether the host proves anything.
func provedOf(t testing.TB, k *ir.Kernel) (p *ir.Program, proved bool) {
	t.Helper()
	unchecked := codegen.NewContract(k).Unchecked(k)
	if proved = unchecked != nil; proved {
		k = unchecked
	}
	l, err := codegen.Lower(k, codegen.LowerOptions{})
	require.NoError(t, err)
	q, guards := cuda.Proved(l.Program)
	if len(guards) > 0 {
		return q, true
	}
	return l.Program, proved
}

// checksLeft lists the checks that a GPU makes in a program.
func checksLeft(t testing.TB, p *ir.Program) []string {
	t.Helper()
	source, err := cuda.Print(p, cuda.Options{})
	require.NoError(t, err)
	var out []string
	for _, s := range source.Sites {
		text := fmt.Sprintf("%s:%d:%d", s.What, s.Pos.Line, s.Pos.Col)
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	slices.Sort(out)
	return out
}

// TestChecksLeft_Table lists the checks that the host leaves to the GPU, of every kernel (issue 16 14).
func TestChecksLeft_Table(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	kernels, affected := 0, 0
	for _, pkg := range checkedPackages(t) {
		for _, k := range pkg.Kernels() {
			if _, err := codegen.Lower(k, codegen.LowerOptions{}); err != nil {
				continue
			}
			kernels++
			p, _ := provedOf(t, k)
			if left := checksLeft(t, p); len(left) > 0 {
				affected++
				fmt.Fprintf(&b, "%s: %s\n", k.Name, strings.Join(left, " "))
			}
		}
	}
	fmt.Fprintf(&b, "%d of %d kernels\n", affected, kernels)
	golden := filepath.Join("testdata", "checks.txt")
	if updating() {
		require.NoError(t, os.WriteFile(golden, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
}
