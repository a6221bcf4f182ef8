package clauses

import (
	"go/parser"
	"go/token"
	"go/types"
	"strings"

	"github.com/gompss/gompss/codegen/internal/frontend/exprs"
	"github.com/gompss/gompss/codegen/internal/frontend/scope"
	"github.com/gompss/gompss/codegen/internal/frontend/source"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// clauseExpr returns the expression that text means at scopeAt; nil, and the errors reported, where
// it means none. textPos is where it stands in the comment.
func clauseExpr(b *exprs.Builder, text string, textPos, scopeAt token.Pos) ir.Expr {
	before := len(b.Diags)
	kept := b.Text
	b.Text = &scope.ClauseText{At: textPos, Size: len(text)}
	defer func() { b.Text = kept }()
	e := parseClause(b, text, scopeAt)
	if e == nil || len(b.Diags) > before {
		return nil
	}
	return e
}

func parseClause(b *exprs.Builder, text string, scopeAt token.Pos) ir.Expr {
	what := "expression " + strings.TrimSpace(text)
	fset := token.NewFileSet()
	syntax, err := parser.ParseExprFrom(fset, "", text, parser.SkipObjectResolution)
	if err != nil {
		why := "it is no Go expression"
		if list := source.SyntaxErrors(err); len(list) > 0 {
			why = list[0].Why
		}
		b.Fail(1, what, why, "write a Go expression")
		return nil
	}
	if deep, most := source.Deepest(syntax); deep != nil {
		b.Fail(1, what[:min(len(what), 40)], source.TooDeep(most), "assign it to a variable before")
		return nil
	}
	if err := types.CheckExpr(fset, b.Program.PackageAt(scopeAt), scopeAt, syntax, b.Program.Info); err != nil {
		pos, why := token.Pos(1), err.Error()
		if e, ok := err.(types.Error); ok {
			pos, why = e.Pos, source.GoMessage(e.Msg)
		}
		b.Fail(pos, what, why, "write a Go expression over what is in scope here")
		return nil
	}
	var e ir.Expr
	before := len(b.Diags)
	hoisted := b.Collect(func() { e = b.Expr(syntax) })
	switch {
	case len(b.Diags) > before:
		return nil
	case query.HasBadValue(e) || scope.IsBad(e):
		b.Unknown(1)
		return nil
	case len(hoisted) > 0:
		b.Fail(1, what, "it calls a function or needs memory of its own", "assign it to a variable before")
		return nil
	}
	return e
}
