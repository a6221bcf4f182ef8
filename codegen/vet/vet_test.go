package vet_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/vet"
)

// diagnose runs the analyzer over the files of a folder and returns what it reports, with file and line.
func diagnose(t *testing.T, files map[string]string) (out []string) {
	dir := t.TempDir()
	fset := token.NewFileSet()
	pass := &analysis.Pass{Analyzer: vet.Analyzer, Fset: fset, ReadFile: os.ReadFile, Report: func(d analysis.Diagnostic) {
		at := fset.Position(d.Pos)
		out = append(out, fmt.Sprintf("%s:%d: %s", filepath.Base(at.Filename), at.Line, d.Message))
	}}
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		require.NoError(t, err)
		pass.Files = append(pass.Files, f)
	}
	_, err := vet.Analyzer.Run(pass)
	require.NoError(t, err)
	return out
}

const good = `package made

//omp:target device(smp)
//omp:task inout(y)
func Add(y []float32) {
	//omp:teams distribute parallel for
	for i := range y {
		y[i] += 1
	}
}
`

func wrapperOf(t *testing.T, name, text string) string {
	loaded, err := codegen.LoadFile(name, codegen.File{Name: name, Text: text})
	require.NoError(t, err)
	made, err := codegen.Generate(loaded, codegen.GenerateOptions{File: name, Sources: []codegen.File{{Name: name, Text: text}}})
	require.NoError(t, err)
	return string(made)
}

func TestAnalyzer_IsValid(t *testing.T) {
	require.NoError(t, analysis.Validate([]*analysis.Analyzer{vet.Analyzer}))
}

func TestAnalyzer_Wrappers(t *testing.T) {
	made := wrapperOf(t, "k.go", good)
	require.Empty(t, diagnose(t, map[string]string{"k.go": good, "zk_gompss.go": made}))
	require.Empty(t, diagnose(t, map[string]string{"k.go": "// Moved by a line.\n" + good, "zk_gompss.go": made}))
	require.Equal(t, []string{"k.go:1: zk_gompss.go is missing: run go tool gompss gen k.go"}, diagnose(t, map[string]string{"k.go": good}))
	require.Equal(t, []string{"k.go:1: zk_gompss.go is stale: a kernel, or what it uses, has changed: run go tool gompss gen k.go"},
		diagnose(t, map[string]string{"k.go": strings.Replace(good, "+= 1", "+= 2", 1), "zk_gompss.go": made}))
	require.Empty(t, diagnose(t, map[string]string{"k.go": good, "main.go": "package made\n\nimport _ \"embed\"\n\n//go:embed k.go\nvar text string\n"}), "one that is embedded needs no wrapper")
	require.Empty(t, diagnose(t, map[string]string{"plain.go": "package made\n\nfunc F() {}\n"}))
}

// What gompss gen refuses or warns of is reported at its line.
func TestAnalyzer_Kernels(t *testing.T) {
	for _, c := range []struct{ was, is, want string }{
		{"inout(y)", "in(y)", "k.go:8: "},
		{"y[i] += 1", "y[i]++\n\t\tgo Add(y)", "k.go:9: go "},
		{"y[i] += 1", "y[0] += y[i]", "k.go:8: "},
		{"//omp:task", "//omp:tsak", "k.go:4: "},
		{"inout(y)", "inout(z)", "k.go:4: "},
	} {
		got := diagnose(t, map[string]string{"k.go": strings.Replace(good, c.was, c.is, 1)})
		require.NotEmpty(t, got, c.is)
		require.True(t, strings.HasPrefix(got[0], c.want), "%s: %v", c.is, got)
	}
	got := diagnose(t, map[string]string{"k_test.go": "package made\n\n//omp:targte device(smp)\nfunc F() {}\n"})
	require.Len(t, got, 1)
	require.Contains(t, got[0], "k_test.go:3: ")
}
