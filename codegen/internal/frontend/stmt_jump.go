package frontend

import (
	"go/ast"
	"go/token"

	"github.com/gompss/gompss/codegen/ir"
)

// An exit is a statement that jumps can leave or continue: a loop or a switch; or a construct,
// which none may leave.
type exit struct {
	name     string    // the user's label
	label    *ir.Label // nil of a construct
	loop     bool
	governed string // the text of the directive that governs it, "" where none does
	used     bool   // a break names it
}

// branch emits break and continue.
func (b *builder) branch(s *ast.BranchStmt) {
	switch s.Tok {
	case token.GOTO:
		b.fail(s.Pos(), "goto", "the compiler needs structured control flow", "write a loop, or a labelled break or continue")
		b.hole(s.Pos())
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
		b.unknown(s.Pos())
		b.hole(s.Pos())
		return
	}
	if text := b.crossed(i, s.Tok); text != "" {
		b.fail(s.Pos(), s.Tok.String(), "it leaves what the directive "+text+" governs, where others go on in parallel",
			"let the remaining iterations do nothing: test a flag at their start")
		b.hole(s.Pos())
		return
	}
	at := b.pos(s.Pos())
	if s.Tok == token.CONTINUE {
		b.emit(&ir.Continue{Label: b.exits[i].label, At: at})
		return
	}
	b.exits[i].used = true
	b.emit(&ir.Break{Label: b.exits[i].label, At: at})
}

// target returns the index of the exit that a jump means, -1 where there is none.
func (b *builder) target(tok token.Token, name string) int {
	for i := len(b.exits) - 1; i >= b.env.exits; i-- {
		x := b.exits[i]
		if x.label == nil || tok == token.CONTINUE && !x.loop {
			continue
		}
		if name == "" || x.name == name {
			return i
		}
	}
	return -1
}

// crossed returns the text of the outermost directive that a jump to exit i leaves, "" where it
// leaves none.
func (b *builder) crossed(i int, tok token.Token) string {
	for j := i; j < len(b.exits); j++ {
		if b.exits[j].governed != "" && (j > i || tok == token.BREAK) {
			return b.exits[j].governed
		}
	}
	return ""
}

// mayReturn reports a return out of what a directive governs.
func (b *builder) mayReturn(s *ast.ReturnStmt) {
	for _, x := range b.exits[b.env.exits:] {
		if x.governed != "" {
			b.fail(s.Pos(), "return", "it leaves what the directive "+x.governed+" governs, where others go on in parallel",
				"write continue, or test a flag around the rest")
			return
		}
	}
}

// within builds the body of a loop or switch.
func (b *builder) within(x exit, body func() []ir.Stmt) (list []ir.Stmt, used bool) {
	b.exits = append(b.exits, x)
	list = body()
	n := len(b.exits) - 1
	used = b.exits[n].used
	b.exits = b.exits[:n]
	return list, used
}
