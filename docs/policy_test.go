package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// The page of the default policy has all its constants, in the order of the code, and no others. No other file of the policy has
// one.
func TestDocuments_PolicyHasItsConstants(t *testing.T) {
	constants := func(file string) (names []string, values []string) {
		text := read(t, file)
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, 0)
		require.NoError(t, err)
		for _, d := range parsed.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, s := range g.Specs {
				v := s.(*ast.ValueSpec)
				require.Len(t, v.Values, 1, v.Names[0].Name)
				names = append(names, v.Names[0].Name)
				values = append(values, text[v.Values[0].Pos()-1:v.Values[0].End()-1])
			}
		}
		return names, values
	}
	names, values := constants("../sched/costs.go")
	require.NotEmpty(t, names)
	rows := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| `([^`]+)`").FindAllStringSubmatch(read(t, "reference/policy.md"), -1)
	var shown, said []string
	for _, r := range rows {
		shown, said = append(shown, r[1]), append(said, r[2])
	}
	require.Equal(t, names, shown)
	require.Equal(t, values, said)
	for _, file := range []string{"locality", "load", "link", "versioning"} {
		names, _ := constants("../sched/" + file + ".go")
		require.Empty(t, names, file)
	}
}
