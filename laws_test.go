package gompss_test

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// lawsFile lists what is larger than the law of size and words allows: a kind, a name, its number, and the reason. A
// number may only shrink, and a line goes when the law holds.
const lawsFile = "testdata/laws.txt"

var shrink = flag.Bool("shrink", false, "write the numbers of testdata/laws.txt that have become smaller")

// laws are the largest numbers that need no line in lawsFile.
var laws = map[string]int{
	"files":    25, // source files of a package, generated ones left out
	"fields":   20, // of a struct
	"methods":  40, // of a type
	"spread":   6,  // files with methods of a type
	"booleans": 3,  // fields of a struct
	"wide":     0,  // lines of comments of a folder at the root beyond commentColumns
	"words":    0,  // comments of a folder at the root with a replaced word
}

const commentColumns = 100

// replacedWords are words of the glossary's left column, where they are the subject or the verb of a comment.
var replacedWords = regexp.MustCompile(`\b(who|whoever|somebody|nobody)\b|\b(is|are|was) over\b|\b(is|are) told\b` +
	`|\bhea(r|rs|rd) of\b|\bnothing (is|was) said\b|\b(is|are) known of\b|\bgo(es)? on\b`)

// An excess is what one line of lawsFile allows.
type excess struct {
	kind, name string
	n          int
	reason     string
}

// TestLayers_SizesAndWordsOnlyShrink measures every source file, of every system.
func TestLayers_SizesAndWordsOnlyShrink(t *testing.T) {
	found := measure(t)
	allowed := readLaws(t)
	for _, problem := range lawProblems(found, allowed) {
		t.Error(problem)
	}
	if *shrink {
		writeLaws(t, found, allowed)
	}
}

func TestLayers_LawsCatchGrowth(t *testing.T) {
	found := map[string]int{"fields p.Big": 30, "fields p.Small": 20, "methods p.Big": 41}
	require.Empty(t, lawProblems(found, []excess{{"fields", "p.Big", 30, "r"}, {"methods", "p.Big", 41, "r"}}))
	require.Len(t, lawProblems(found, []excess{{"fields", "p.Big", 29, "r"}}), 2)
	require.Len(t, lawProblems(map[string]int{"spread p.Wide": 7, "spread p.Narrow": 6}, nil), 1)
	require.Len(t, lawProblems(found, []excess{{"fields", "p.Big", 30, "r"}, {"methods", "p.Big", 41, "r"}, {"fields", "p.Small", 25, "r"}}), 1)
}

// lawProblems returns where found is larger than allowed, and lines of allowed that are no longer needed.
func lawProblems(found map[string]int, allowed []excess) (out []string) {
	most := map[string]int{}
	for _, e := range allowed {
		key := e.kind + " " + e.name
		most[key] = e.n
		if found[key] <= laws[e.kind] {
			out = append(out, fmt.Sprintf("%s: %s: the law holds, with %d: remove the line, go test . -run Layers_Sizes -shrink", lawsFile, key, found[key]))
		}
	}
	for key, n := range found {
		kind, _, _ := strings.Cut(key, " ")
		if limit := max(laws[kind], most[key]); n > limit {
			out = append(out, fmt.Sprintf("%s: %d, at most %d: STYLE.md, section 2; numbers in %s only shrink", key, n, limit, lawsFile))
		}
	}
	slices.Sort(out)
	return out
}

func readLaws(t *testing.T) (out []excess) {
	t.Helper()
	f, err := os.Open(lawsFile)
	require.NoError(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		require.Greater(t, len(words), 3, "%s: want kind, name, number and reason: %s", lawsFile, lines.Text())
		require.Contains(t, laws, words[0])
		n, err := strconv.Atoi(words[2])
		require.NoError(t, err)
		out = append(out, excess{words[0], words[1], n, strings.Join(words[3:], " ")})
	}
	return out
}

// writeLaws writes the smaller of the numbers found and allowed.
func writeLaws(t *testing.T, found map[string]int, allowed []excess) {
	t.Helper()
	text := "# kind, name, number and reason of what is larger than STYLE.md, section 2, allows. Numbers only shrink:\n# go test . -run Layers_Sizes -shrink\n"
	for _, e := range allowed {
		if n := found[e.kind+" "+e.name]; n > laws[e.kind] {
			text += fmt.Sprintf("%s %s %d %s\n", e.kind, e.name, min(n, e.n), e.reason)
		}
	}
	require.NoError(t, os.WriteFile(lawsFile, []byte(text), 0o644))
}

// measure returns the numbers above the laws, and below, by kind and name.
func measure(t *testing.T) map[string]int {
	t.Helper()
	found := map[string]int{}
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		case strings.HasPrefix(d.Name(), "z") || strings.HasSuffix(d.Name(), "_gompss.go"):
			return nil // generated
		}
		return measureFile(path, found)
	}))
	return found
}

func measureFile(path string, found map[string]int) error {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	dir := filepath.ToSlash(filepath.Dir(path))
	root, _, _ := strings.Cut(dir, "/")
	found["files "+dir]++
	here := map[string]bool{} // types with methods in this file
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if name := receiverOf(d); name != "" {
				found["methods "+dir+"."+name]++
				if !here[name] {
					here[name] = true
					found["spread "+dir+"."+name]++
				}
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if s, ok := s.(*ast.TypeSpec); ok {
					measureType(dir+"."+s.Name.Name, s.Type, found)
				}
			}
		}
	}
	for _, group := range f.Comments {
		for _, c := range group.List {
			column := files.Position(c.Pos()).Column - 1
			for i, line := range strings.Split(c.Text, "\n") {
				if width := len([]rune(line)); width > commentColumns || i == 0 && column < 8 && column+width > commentColumns {
					found["wide "+root]++
				}
			}
		}
		if replacedWords.MatchString(group.Text()) {
			found["words "+root]++
		}
	}
	return nil
}

func receiverOf(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if index, ok := t.(*ast.IndexExpr); ok {
		t = index.X
	}
	if name, ok := t.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}

func measureType(name string, t ast.Expr, found map[string]int) {
	s, ok := t.(*ast.StructType)
	if !ok {
		return
	}
	for _, field := range s.Fields.List {
		n := max(1, len(field.Names))
		found["fields "+name] += n
		if kind, ok := field.Type.(*ast.Ident); ok && kind.Name == "bool" {
			found["booleans "+name] += n
		}
		if kind, ok := field.Type.(*ast.SelectorExpr); ok && kind.Sel.Name == "Bool" {
			found["booleans "+name] += n
		}
	}
}

// TestLayers_LawsAreSorted keeps the lines of one kind together, by name.
func TestLayers_LawsAreSorted(t *testing.T) {
	list := readLaws(t)
	require.True(t, slices.IsSortedFunc(list, func(a, b excess) int {
		return cmp.Or(strings.Compare(a.kind, b.kind), strings.Compare(a.name, b.name))
	}), "%s is not sorted", lawsFile)
}
