package syntax

import (
	"fmt"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

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
	found, diags := Attach(fset, f)
	require.Empty(t, diags)
	got := map[int]string{}
	for n, d := range found {
		got[fset.Position(n.Pos()).Line] = fmt.Sprintf("%T %s | %s", n, strings.Join(d.Words(), " "), d.Text)
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
	p := Piece{` a(b, c), "x,y" , [1,2]z `, 10}
	var got []string
	for _, s := range p.Split(',') {
		got = append(got, fmt.Sprintf("%d:%s", s.At, s.Text))
	}
	require.Equal(t, []string{"11:a(b, c)", `20:"x,y"`, "28:[1,2]z"}, got)
	before, after, found := Piece{"a[b:c]: d", 1}.Cut(':')
	require.True(t, found)
	require.Equal(t, "a[b:c]", before.Text)
	require.Equal(t, Piece{"d", 9}, after)
	require.Equal(t, 8, Piece{`("a)", b)`, 0}.Closing())
	require.Equal(t, -1, Piece{`("a)`, 0}.Closing())
	require.Empty(t, Piece{"  ", 0}.Split(','))
}

func TestNearest(t *testing.T) {
	for wrong, want := range map[string]string{"taget": "target", "sheduel": "", "paralel": "parallel", "fro": "for", "xyz": "", "": ""} {
		require.Equal(t, want, Nearest(wrong, directiveWords), wrong)
	}
	require.Equal(t, 1, editDistance("fro", "for"))
	require.Equal(t, 3, editDistance("", "for"))
}
