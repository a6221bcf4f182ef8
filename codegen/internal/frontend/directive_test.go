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
)

func init() {
	if flag.Lookup("update") == nil { // the tests outside the package have the same flag
		flag.Bool("update", false, "rewrite the golden files")
	}
}

func rewriting() bool { return flag.Lookup("update").Value.String() == "true" }

// TestDirectives loads every NAME.go of the archives in testdata/directives and compares what is said about it, or the
// loop IR of its kernels, with NAME.want.
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
	p, err := Load(File{Name: name, Text: text})
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

func TestAttachFindsWhatADirectiveGoverns(t *testing.T) {
	const text = `package p

// F does something.
//
//omp:target device(acc)
//omp:task in(a), in(b)
func F(a, b []int) {
	// why
	//omp:teams num_teams(4)
	//omp:distribute parallel for, collapse(2)
	for i := range a {
		if i > 2 {
			//omp:atomic
			a[i]++
		}
	}
outer:
	//omp:parallel for
	for i := range a {
		continue outer
	}
	//omp:parallel
inner:
	{
		break inner
	}
	switch {
	case true:
		//omp:simd
		for range a {
		}
	}
	func() {
		//omp:simd
		for range a {
		}
	}()
}
`
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "p.go", text, parser.ParseComments)
	require.NoError(t, err)
	found, diags := attach(fset, f)
	require.Empty(t, diags)
	got := map[int]string{}
	for n, d := range found {
		got[fset.Position(n.Pos()).Line] = fmt.Sprintf("%T %s | %s", n, strings.Join(d.words(), " "), d.text)
	}
	require.Equal(t, map[int]string{
		7:  "*ast.FuncDecl target task | target device(acc) task in(a), in(b)",
		11: "*ast.RangeStmt teams distribute parallel for | teams num_teams(4) distribute parallel for, collapse(2)",
		14: "*ast.IncDecStmt atomic | atomic",
		19: "*ast.RangeStmt parallel for | parallel for",
		24: "*ast.BlockStmt parallel | parallel",
		30: "*ast.RangeStmt simd | simd",
		35: "*ast.RangeStmt simd | simd",
	}, got)
}

func TestPieces(t *testing.T) {
	p := piece{` a(b, c), "x,y" , [1,2]z `, 10}
	var got []string
	for _, s := range p.split(',') {
		got = append(got, fmt.Sprintf("%d:%s", s.at, s.text))
	}
	require.Equal(t, []string{"11:a(b, c)", `20:"x,y"`, "28:[1,2]z"}, got)
	before, after, found := piece{"a[b:c]: d", 1}.cut(':')
	require.True(t, found)
	require.Equal(t, "a[b:c]", before.text)
	require.Equal(t, piece{"d", 9}, after)
	require.Equal(t, 8, piece{`("a)", b)`, 0}.closing())
	require.Equal(t, -1, piece{`("a)`, 0}.closing())
	require.Empty(t, piece{"  ", 0}.split(','))
}

func TestNearest(t *testing.T) {
	for wrong, want := range map[string]string{"taget": "target", "sheduel": "", "paralel": "parallel", "fro": "for", "xyz": "", "": ""} {
		require.Equal(t, want, nearest(wrong, directiveWords), wrong)
	}
	require.Equal(t, 1, editDistance("fro", "for"))
	require.Equal(t, 3, editDistance("", "for"))
}

func TestLetsAreReplacedAsWholeNames(t *testing.T) {
	r := &clauseReader{lets: map[string]string{"lo": "n-1", "hi": "(n-1)+2"}}
	text, ok := r.expand("lo+x.lo+loo+hi*0x10lo")
	require.True(t, ok)
	require.Equal(t, "(n-1)+x.lo+loo+((n-1)+2)*0x10lo", text)
}

// FuzzDirective puts any text behind //omp: on a function, a loop and a statement: it must not panic.
func FuzzDirective(f *testing.F) {
	archives, err := filepath.Glob("../../testdata/directives/*.txtar")
	require.NoError(f, err)
	for _, path := range archives {
		archive, err := txtar.ParseFile(path)
		require.NoError(f, err)
		for _, file := range archive.Files {
			for line := range strings.Lines(string(file.Data)) {
				if _, rest, ok := strings.Cut(line, prefix); ok {
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
		comment := prefix + text
		for _, at := range [][3]string{{comment, "", ""}, {"", comment, ""}, {"", "", comment}} {
			said("p.go", fmt.Sprintf(body, at[0], at[1], at[2]))
		}
	})
}

func TestKernelsAreTold(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "p.go", "package p\n\n//omp:task in(a)\nfunc F(a []int) {}\n\n// omp:task\nfunc G() {}\n",
		parser.ParseComments)
	require.NoError(t, err)
	require.True(t, IsKernel(f.Decls[0].(*ast.FuncDecl)))
	require.False(t, IsKernel(f.Decls[1].(*ast.FuncDecl)))
}
