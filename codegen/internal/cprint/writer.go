package cprint

import (
	"fmt"
	"strings"

	"github.com/gompss/gompss/codegen/ir"
)

// A Writer takes the lines of one function.
type Writer struct {
	Out   strings.Builder
	Depth int    // of indentation
	Lines bool   // #line directives name the Go source
	Line  ir.Pos // of the output line, as a compiler counts it
}

// Printf writes one line of code that belongs to the Go position at, with a #line directive where
// the compiler would count another one.
func (w *Writer) Printf(at ir.Pos, format string, args ...any) {
	at.Col = 0
	if w.Lines && at.Line > 0 && at != w.Line {
		fmt.Fprintf(&w.Out, "#line %d %q\n", at.Line, at.File)
		w.Line = at
	}
	w.Out.WriteString(strings.Repeat("\t", w.Depth))
	fmt.Fprintf(&w.Out, format, args...)
	w.Out.WriteByte('\n')
	w.Line.Line++
}

// WrapLines breaks a list of parameters into lines of at most so many columns.
func WrapLines(params []string, columns int) string {
	var b strings.Builder
	column := 0
	for i, s := range params {
		if i > 0 {
			b.WriteByte(',')
			if column+len(s) > columns {
				b.WriteString("\n\t")
				column = 4
			} else {
				b.WriteByte(' ')
			}
		}
		b.WriteString(s)
		column += len(s) + 2
	}
	return b.String()
}
