package stmts

import (
	"go/ast"
	"go/token"

	"github.com/gompss/gompss/codegen/internal/frontend/scope"
	"github.com/gompss/gompss/codegen/ir"
)

// branch emits break and continue.
func (b *Builder) branch(s *ast.BranchStmt) {
	switch s.Tok {
	case token.GOTO:
		b.Fail(s.Pos(), "goto", "the compiler needs structured control flow", "write a loop, or a labelled break or continue")
		b.BadStmt(s.Pos())
		return
	case token.FALLTHROUGH:
		return // the switch has taken it
	}
	name := ""
	if s.Label != nil {
		name = s.Label.Name
	}
	i := b.target(s.Tok, name)
	if i < 0 {
		b.Unknown(s.Pos())
		b.BadStmt(s.Pos())
		return
	}
	if text := b.crossed(i, s.Tok); text != "" {
		b.Fail(s.Pos(), s.Tok.String(), "it leaves what the directive "+text+" governs, where others go on in parallel",
			"let the remaining iterations do nothing: test a flag at their start")
		b.BadStmt(s.Pos())
		return
	}
	at := b.Pos(s.Pos())
	if s.Tok == token.CONTINUE {
		b.Emit(&ir.Continue{Label: b.Exits[i].Label, At: at})
		return
	}
	b.Exits[i].Used = true
	b.Emit(&ir.Break{Label: b.Exits[i].Label, At: at})
}

// target returns the index of the exit that a jump means, -1 where there is none.
func (b *Builder) target(tok token.Token, name string) int {
	for i := len(b.Exits) - 1; i >= b.Env.Exits; i-- {
		x := b.Exits[i]
		if x.Label == nil || tok == token.CONTINUE && !x.Loop {
			continue
		}
		if name == "" || x.Name == name {
			return i
		}
	}
	return -1
}

// crossed returns the text of the outermost directive that a jump to exit i leaves, "" where it
// leaves none.
func (b *Builder) crossed(i int, tok token.Token) string {
	for j := i; j < len(b.Exits); j++ {
		if b.Exits[j].Governed != "" && (j > i || tok == token.BREAK) {
			return b.Exits[j].Governed
		}
	}
	return ""
}

// mayReturn reports a return out of the statement that a directive governs.
func (b *Builder) mayReturn(s *ast.ReturnStmt) {
	for _, x := range b.Exits[b.Env.Exits:] {
		if x.Governed != "" {
			b.Fail(s.Pos(), "return", "it leaves what the directive "+x.Governed+" governs, where others go on in parallel",
				"write continue, or test a flag around the rest")
			return
		}
	}
}

// within builds the body of a loop or switch.
func (b *Builder) within(x scope.Exit, body func() []ir.Stmt) (list []ir.Stmt, used bool) {
	b.Exits = append(b.Exits, x)
	list = body()
	n := len(b.Exits) - 1
	used = b.Exits[n].Used
	b.Exits = b.Exits[:n]
	return list, used
}
