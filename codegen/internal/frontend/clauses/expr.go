package clauses

import (
	"fmt"
	"go/token"
	"strings"

	"github.com/gompss/gompss/codegen/internal/frontend/exprs"
	"github.com/gompss/gompss/codegen/internal/frontend/source"
	"github.com/gompss/gompss/codegen/internal/syntax"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A ClauseReader turns the arguments of clauses into IR. Every method reports an error at its
// position and then returns a zero value, so that all errors of a directive are found.
type ClauseReader struct {
	b     *exprs.Builder
	scope token.Pos         // where the names in clauses are looked up
	host  bool              // the clauses are evaluated at submission: no memory may be read
	Lets  map[string]string // of the function, expanded; "" where one could not be read
}

func (r *ClauseReader) fail(p syntax.Piece, what, why, instead string) {
	r.b.Fail(p.At, what, why, instead)
}

// Expr returns p as an expression, nil where it is none.
func (r *ClauseReader) expr(what string, p syntax.Piece) ir.Expr {
	if p.Text == "" {
		r.fail(p, what, "an expression is missing", "write one, or leave the clause out")
		return nil
	}
	text, ok := r.Expand(p.Text)
	if !ok {
		return nil // reported at the let
	}
	if len(text) > source.MaxClause {
		r.fail(p, what, fmt.Sprintf("the expression has %d bytes with what its lets stand for, at most %d", len(text), source.MaxClause), "write it with parameters")
		return nil
	}
	r.b.Host = r.host
	e := clauseExpr(r.b, text, p.At, r.scope)
	r.b.Host = false
	if e == nil || !r.host {
		return e
	}
	e = r.b.OfLeaves(e)
	if bad := query.ReadsMemory(e); bad != nil {
		r.fail(p, what, query.Source(bad)+" reads memory, but this clause is evaluated when the task is submitted",
			"use parameters, constants and len of slices")
		return nil
	}
	return e
}

// Expand replaces the names of lets in text by their definitions. It reports false if one of these
// could not be read.
func (r *ClauseReader) Expand(text string) (expanded string, ok bool) {
	if len(r.Lets) == 0 {
		return text, true
	}
	var out strings.Builder
	p := syntax.Piece{Text: text}
	for i := 0; i < len(p.Text); {
		word, _ := syntax.NextWord(p.From(i))
		switch by, isLet := r.Lets[word.Text]; {
		case word.Text == "":
			n := syntax.LiteralLength(p.Text, i)
			out.WriteString(p.Text[i : i+n])
			i += n
			continue
		case isLet && !strings.HasSuffix(strings.TrimRight(p.Text[:i], syntax.Blanks), "."):
			if by == "" {
				return "", false
			}
			out.WriteString("(" + by + ")")
		default:
			out.WriteString(word.Text)
		}
		i += len(word.Text)
	}
	return out.String(), true
}

func (r *ClauseReader) integer(what string, p syntax.Piece) ir.Expr {
	e := r.expr(what, p)
	if e != nil && !e.Type().IsInteger() {
		instead := "convert it: int(" + p.Text + ")"
		if _, constant := e.(*ir.Const); constant {
			instead = "write a whole number"
		}
		r.fail(p, what, "it needs an integer, and "+p.Text+" is "+e.Type().String(), instead)
		return nil
	}
	return e
}

// positive returns an integer expression that, if it is constant, is at least 1.
func (r *ClauseReader) positive(what string, p syntax.Piece) ir.Expr {
	e := r.integer(what, p)
	if v, ok := query.Int64(e); ok && v < 1 {
		r.fail(p, what, "it needs a number of at least 1, not "+p.Text, "write 1 or more")
		return nil
	}
	return e
}

// constant returns a constant of at least 1; 0 where there is none.
func (r *ClauseReader) constant(what string, p syntax.Piece) int {
	e := r.positive(what, p)
	if e == nil {
		return 0
	}
	v, ok := query.Int64(e)
	switch {
	case !ok:
		r.fail(p, what, p.Text+" is not a constant", "write a number or a constant")
		return 0
	case v > 1<<20:
		r.fail(p, what, p.Text+" is too large", "write at most 1048576")
		return 0
	}
	return int(v)
}

func (r *ClauseReader) boolean(what string, p syntax.Piece) ir.Expr {
	e := r.expr(what, p)
	if e != nil && e.Type().Kind != ir.Bool {
		r.fail(p, what, "it needs a condition, and "+p.Text+" is "+e.Type().String(), "compare it: "+p.Text+" > 0")
		return nil
	}
	return e
}

// word returns the index of p in words; ok is false, and the error reported, where it is none of
// them.
func (r *ClauseReader) word(what string, p syntax.Piece, words []string) (i int, ok bool) {
	for i, w := range words {
		if w == p.Text {
			return i, true
		}
	}
	instead := "write " + syntax.OrList(words)
	if near := syntax.Nearest(p.Text, words); near != "" {
		instead = "write " + near
	}
	r.fail(p, what, "it does not know '"+p.Text+"'", instead)
	return 0, false
}

// Variable returns the variable that p names.
func (r *ClauseReader) variable(what string, p syntax.Piece) *ir.Var {
	name, rest := syntax.NextWord(p)
	if name.Text == "" || rest.Text != "" {
		r.fail(p, what, "'"+p.Text+"' is not the name of a variable", "list variables by name")
		return nil
	}
	v := r.b.Lookup(name.Text, r.scope)
	if v == nil {
		r.fail(p, what, p.Text+" is not a variable that is declared above and can be seen here", "name such a variable")
	}
	return v
}

// reductionOps are the operators as written in clauses.
var reductionOps = map[string]ir.Op{"+": ir.Add, "*": ir.Mul, "min": ir.Min, "max": ir.Max, "&": ir.And, "|": ir.Or,
	"^": ir.Xor, "&&": ir.LAnd, "||": ir.LOr, "minloc": ir.MinLoc, "maxloc": ir.MaxLoc}

const reductionNames = "+ * min max & | ^ && || minloc maxloc"

// reduction splits "op: list".
func (r *ClauseReader) reduction(what string, args syntax.Piece) (ir.Op, []syntax.Piece) {
	op, list, found := args.Cut(':')
	if !found {
		r.fail(args.Trim(), what, "the operator and its colon are missing", "write reduction(+: x)")
		return ir.NoOp, nil
	}
	o, known := reductionOps[op.Text]
	if !known {
		instead := "write one of " + reductionNames
		if op.Text == "-" {
			instead = "write reduction(+: x); s -= e is one of its forms"
		}
		r.fail(op, what, "there is no operator '"+op.Text+"'", instead)
		return ir.NoOp, nil
	}
	items := list.Split(',')
	if len(items) == 0 {
		r.fail(list, what, "no variable follows the colon", "write reduction("+op.Text+": x)")
	}
	return o, items
}
