package selection

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// neutral are the words of package vcode that are no operations: registers, memory operands and
// widths.
var neutral = map[string]bool{"Reg": true, "NoReg": true, "Arg": true, "RegArg": true, "MemArg": true, "Mem": true, "At": true, "Indexed": true, "Width": true, "W128": true, "W256": true, "W512": true}

// TestSelection_NamesNoInstruction: statements, loops, reductions and stages are selected by what
// package vector offers; another machine comes in below.
func TestSelection_NamesNoInstruction(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	seen := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			switch p, _ := s.X.(*ast.Ident); {
			case p == nil:
			case p.Name == "vcode":
				seen++
				require.True(t, neutral[s.Sel.Name], "%s: vcode.%s", fset.Position(s.Pos()), s.Sel.Name)
			case p.Name == "g":
				require.False(t, s.Sel.Name == "Op" || s.Sel.Name == "Emit", "%s: instructions are emitted by package vector", fset.Position(s.Pos()))
			}
			return true
		})
	}
	require.Greater(t, seen, 100)
}
