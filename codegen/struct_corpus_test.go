package codegen_test

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
)

// TestStructs_SameAsParameters puts the parameters of the kernels of the corpus into a struct each, of which some fields are in a struct of
// their own, and takes them from there everywhere, in clauses too: the loop IR is that of the kernel as it was, but for names.
func TestStructs_SameAsParameters(t *testing.T) {
	p := loadCorpus(t)
	for _, deep := range []bool{false, true} {
		var files []codegen.File
		for name, text := range map[string]string{"corpus_test.go": corpusSource, "corpus_team_test.go": corpusTeamSource, "corpus_loops_test.go": corpusLoopsSource,
			"corpus_codes_test.go": corpusCodesSource, "corpus_apps_test.go": corpusAppsSource, "corpus_vars_test.go": corpusVarsSource, "fuse_kernels_test.go": fuseKernelsSource, "nest_kernels_test.go": nestKernelsSource,
			"row_kernels_test.go": rowKernelsSource, "carried_kernels_test.go": carriedKernelsSource, "block_kernels_test.go": blockKernelsSource, "word_kernels_test.go": wordKernelsSource, "pick_kernels_test.go": pickKernelsSource} {
			files = append(files, codegen.File{Name: name, Text: withStructs(t, text, deep)})
		}
		slices.SortFunc(files, func(a, b codegen.File) int { return strings.Compare(a.Name, b.Name) })
		q, err := codegen.Load(files...)
		require.NoError(t, err)
		same := 0
		for _, k := range p.Kernels() {
			s, err := q.Kernel(k.Name)
			require.NoError(t, err)
			if len(s.Structs) == 0 {
				continue // it has no slices, or a clause lists a parameter by its name
			}
			same++
			sameButNames(t, k, s)
		}
		require.Greater(t, same, 90)
		t.Logf("%d of %d kernels have a struct", same, len(p.Kernels()))
	}
}

// namingClause matches the clauses that take variables by their names alone.
var namingClause = regexp.MustCompile(`//omp:.*\b(private|firstprivate|lastprivate|shared|dist_\w+)\(([^)]*)\)`)

// withStructs returns a file of kernels with a parameter gompss each in place of all.
func withStructs(t *testing.T, text string, deep bool) string {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", text, parser.ParseComments)
	require.NoError(t, err)
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || !codegen.IsKernel(fn) || fn.Type.TypeParams != nil {
			continue
		}
		with := map[string]string{}
		var outer, inner []string
		holds := false
		for n, field := range fn.Type.Params.List {
			for _, id := range field.Names {
				path := "gompss."
				typ := types.ExprString(field.Type)
				if deep && 2*n >= len(fn.Type.Params.List) {
					path += "part."
					inner = append(inner, id.Name+" "+typ)
				} else {
					outer = append(outer, id.Name+" "+typ)
				}
				holds = holds || strings.HasPrefix(typ, "[]") || strings.HasPrefix(typ, "*")
				with[id.Name] = path + id.Name
			}
		}
		if !holds || namesAny(f, fn, with) || shadowsAny(fn, with) || deep && len(inner) > 0 && !slices.ContainsFunc(inner, func(s string) bool { return strings.Contains(s, " []") || strings.Contains(s, " *") }) {
			continue
		}
		takeFromStruct(f, fn, with)
		if len(inner) > 0 {
			outer = append(outer, "part struct{ "+strings.Join(inner, "; ")+" }")
		}
		typ, err := parser.ParseExpr("struct{ " + strings.Join(outer, "; ") + " }")
		require.NoError(t, err)
		fn.Type.Params.List = []*ast.Field{{Names: []*ast.Ident{ast.NewIdent("gompss")}, Type: unplaced(typ, fn.Type.Params.Opening)}}
	}
	var out bytes.Buffer
	require.NoError(t, format.Node(&out, fset, f))
	return out.String()
}

// unplaced gives all of a type one place, before any comment of the body.
func unplaced(typ ast.Expr, at token.Pos) ast.Expr {
	text := types.ExprString(typ)
	return &ast.Ident{Name: text, NamePos: at}
}

// namesAny reports whether a clause inside fn lists one of the parameters.
func namesAny(f *ast.File, fn *ast.FuncDecl, with map[string]string) bool {
	for _, g := range f.Comments {
		for _, c := range g.List {
			if c.Pos() < fn.Doc.Pos() || c.Pos() > fn.End() {
				continue
			}
			for _, m := range namingClause.FindAllStringSubmatch(c.Text, -1) {
				for _, word := range strings.FieldsFunc(m[2], func(r rune) bool { return strings.ContainsRune(", []()", r) }) {
					if with[word] != "" {
						return true
					}
				}
			}
		}
	}
	return false
}

// shadowsAny reports whether fn declares a local of the name of a parameter.
func shadowsAny(fn *ast.FuncDecl, with map[string]string) bool {
	found := false
	declares := func(list ...ast.Expr) {
		for _, e := range list {
			if id, ok := e.(*ast.Ident); ok && with[id.Name] != "" {
				found = true
			}
		}
	}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				declares(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				declares(n.Key, n.Value)
			}
		case *ast.ValueSpec:
			for _, id := range n.Names {
				declares(id)
			}
		case *ast.FuncLit:
			for _, field := range n.Type.Params.List {
				for _, id := range field.Names {
					declares(id)
				}
			}
		}
		return true
	})
	return found
}

// clauseWord matches a name, and the clause that names no variables.
var clauseWord = regexp.MustCompile(`device\([^)]*\)|[A-Za-z_]\w*`)

// clauseWith returns a part of a directive with other names: not of fields, clauses and functions.
func clauseWith(text string, with map[string]string) string {
	var out strings.Builder
	last := 0
	for _, at := range clauseWord.FindAllStringIndex(text, -1) {
		field := at[0] > 0 && text[at[0]-1] == '.'
		called := at[1] < len(text) && text[at[1]] == '('
		if to := with[text[at[0]:at[1]]]; to != "" && !field && !called {
			out.WriteString(text[last:at[0]] + to)
			last = at[1]
		}
	}
	return out.String() + text[last:]
}

func takeFromStruct(f *ast.File, fn *ast.FuncDecl, with map[string]string) {
	fields := map[ast.Node]bool{}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			fields[n.Sel] = true
		case *ast.KeyValueExpr:
			fields[n.Key] = true
		case *ast.Ident:
			if to := with[n.Name]; to != "" && !fields[n] {
				n.Name = to
			}
		}
		return true
	})
	for _, g := range f.Comments {
		for _, c := range g.List {
			if c.Pos() < fn.Doc.Pos() || c.Pos() > fn.End() || !strings.HasPrefix(c.Text, "//omp:") {
				continue
			}
			head, rest, _ := strings.Cut(c.Text, " ")
			c.Text = head + " " + clauseWith(rest, with)
		}
	}
}

var irName = regexp.MustCompile(`[A-Za-z_]\w*\(|[A-Za-z_][\w.]*|\d[\w.]*|[^\sA-Za-z_\d]`)

// sameButNames compares the text of two kernels: in each function one name stands wherever another one does.
func sameButNames(t *testing.T, k, s *ir.Kernel) {
	t.Helper()
	kinds := strings.NewReplacer("device(acc, smp)", "")
	before, after := strings.Split(kinds.Replace(k.String()), "\n}\n"), strings.Split(kinds.Replace(s.String()), "\n}\n")
	require.Len(t, after, len(before))
	for f := range before {
		a, b := irName.FindAllString(before[f], -1), irName.FindAllString(after[f], -1)
		to, from := map[string]string{}, map[string]string{}
		for i := range min(len(a), len(b)) {
			x, y := a[i], b[i]
			if to[x] == "" && from[y] == "" {
				to[x], from[y] = y, x
			}
			if to[x] != y || from[y] != x {
				t.Fatalf("%s: %s is %s\n%s\n%s", k.Name, x, y, before[f], after[f])
			}
		}
		require.Len(t, b, len(a), "%s\n%s\n%s", k.Name, before[f], after[f])
	}
}
