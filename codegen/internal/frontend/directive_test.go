package frontend

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/gompss/gompss/codegen/internal/frontend/clauses"
	"github.com/gompss/gompss/codegen/internal/frontend/source"
	"github.com/gompss/gompss/codegen/internal/syntax"
)

func init() {
	if flag.Lookup("update") == nil { // the tests outside the package have the same flag
		flag.Bool("update", false, "rewrite the golden files")
	}
}

func rewriting() bool { return flag.Lookup("update").Value.String() == "true" }

// TestDirectives loads every NAME.go of the archives in testdata/directives and compares what is
// said about it, or the loop IR of its kernels, with NAME.want.
func TestDirectives(t *testing.T) {
	archives, err := filepath.Glob("../../testdata/directives/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, archives)
	for _, path := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) { checkArchive(t, path) })
	}
}

func checkArchive(t *testing.T, path string) {
	archive, err := txtar.ParseFile(path)
	require.NoError(t, err)
	want := map[string]string{}
	var out []txtar.File
	for _, f := range archive.Files {
		if name, ok := strings.CutSuffix(f.Name, ".want"); ok {
			want[name] = string(f.Data)
		}
	}
	for _, f := range archive.Files {
		name, ok := strings.CutSuffix(f.Name, ".go")
		if !ok {
			continue
		}
		got := said(f.Name, string(f.Data))
		out = append(out, f, txtar.File{Name: name + ".want", Data: []byte(got)})
		if !rewriting() {
			t.Run(name, func(t *testing.T) { require.Equal(t, want[name], got) })
		}
	}
	if rewriting() {
		archive.Files = out
		require.NoError(t, os.WriteFile(path, txtar.Format(archive), 0o644))
	}
}

// said returns the errors of a file, or its warnings and its kernels.
func said(name, text string) string {
	p, err := Load(syntax.File{Name: name, Text: text})
	if err != nil {
		return strings.TrimSpace(err.Error()) + "\n"
	}
	var b strings.Builder
	for _, w := range p.Warnings() {
		fmt.Fprintln(&b, w.Error())
	}
	for _, k := range p.Kernels() {
		for _, n := range p.Notes(k.Name) {
			fmt.Fprintln(&b, n.Error())
		}
		b.WriteString(k.String())
	}
	return b.String()
}

func TestLetsAreReplacedAsWholeNames(t *testing.T) {
	r := &clauses.ClauseReader{Lets: map[string]string{"lo": "n-1", "hi": "(n-1)+2"}}
	text, ok := r.Expand("lo+x.lo+loo+hi*0x10lo")
	require.True(t, ok)
	require.Equal(t, "(n-1)+x.lo+loo+((n-1)+2)*0x10lo", text)
}

// FuzzDirective puts any text behind //omp: on a function, a loop and a statement: it must not
// panic.
func FuzzDirective(f *testing.F) {
	archives, err := filepath.Glob("../../testdata/directives/*.txtar")
	require.NoError(f, err)
	for _, path := range archives {
		archive, err := txtar.ParseFile(path)
		require.NoError(f, err)
		for _, file := range archive.Files {
			for line := range strings.Lines(string(file.Data)) {
				if _, rest, ok := strings.Cut(line, syntax.Prefix); ok {
					f.Add(strings.TrimSpace(rest))
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsAny(text, "\n\r") {
			return
		}
		const body = "package p\n\n//omp:task inout(x)\n%s\nfunc F(n int, x []int) {\n\ts := 0\n%s\n\tfor i := 0; i < n; i++ {\n%s\n\t\tx[i] += s\n\t}\n}\n"
		comment := syntax.Prefix + text
		for _, at := range [][3]string{{comment, "", ""}, {"", comment, ""}, {"", "", comment}} {
			said("p.go", fmt.Sprintf(body, at[0], at[1], at[2]))
		}
	})
}

func TestKernelsAreTold(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "p.go", "package p\n\n//omp:task in(a)\nfunc F(a []int) {}\n\n// omp:task\nfunc G() {}\n",
		parser.ParseComments)
	require.NoError(t, err)
	require.True(t, source.IsKernel(f.Decls[0].(*ast.FuncDecl)))
	require.False(t, source.IsKernel(f.Decls[1].(*ast.FuncDecl)))
}
