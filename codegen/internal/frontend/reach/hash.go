package reach

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/gompss/gompss/codegen/internal/frontend/source"
	"github.com/gompss/gompss/codegen/internal/syntax"
)

// This file identifies the source of a wrapper: the declarations that its kernel reaches, as tokens
// and directives. Comments, line ends, the positions of declarations and the rest of their files
// have no influence.

// Hash returns the hash of the declarations that the named kernels reach, themselves included:
// functions, methods, types, constants and variables of the package and of other packages of the
// program. It is "" where there is no such kernel.
func (p *Graph) Hash(kernels ...string) string {
	roots := p.kernelsNamed(kernels...)
	if len(roots) == 0 {
		return ""
	}
	return p.HashOf(roots)
}

// HashOf returns a hash of all declarations that roots reach, without comments and positions.
func (p *Graph) HashOf(roots []*source.Decl) string {
	var list []string
	for d := range p.reach(roots...) {
		list = append(list, p.canonical(d))
	}
	slices.Sort(list)
	h := sha256.New()
	for _, text := range list {
		fmt.Fprintf(h, "%d\n%s", len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil))[:32]
}

// canonical returns d without comments and positions, with its package, the imports that it names,
// and the number of a constant in its group where that counts.
func (p *Graph) canonical(d *source.Decl) string {
	var b strings.Builder
	if pkg := p.PackageAt(d.Node.Pos()); pkg != p.GoTypes {
		fmt.Fprintf(&b, "package %q\n", pkg.Path())
	}
	var imports []string
	for name := range p.importsIn(map[*source.Decl]bool{d: true}) {
		imports = append(imports, fmt.Sprintf("import %s %q\n", name.Name(), name.Imported().Path()))
	}
	slices.Sort(imports)
	b.WriteString(strings.Join(imports, ""))
	from := d.Node.Pos()
	if f, ok := d.Node.(*ast.FuncDecl); ok && f.Doc != nil {
		from = f.Doc.Pos()
	}
	file := p.Fset.File(from)
	text := p.Texts[file.Name()][file.Offset(from):file.Offset(d.Node.End())]
	if d.Group != nil {
		b.WriteString(d.Group.Tok.String() + " ")
	}
	if n := p.iotaOf(d); n >= 0 {
		fmt.Fprintf(&b, "%d ", n)
	}
	b.WriteString(CanonicalTokens(text, func(comment string) bool { return strings.HasPrefix(comment, syntax.Prefix) }))
	if d.Repeats != nil {
		b.WriteString("repeats " + p.canonical(d.Repeats))
	}
	return b.String()
}

func isIota(o types.Object) bool { return o == types.Universe.Lookup("iota") }

// iotaOf returns the value of iota in a specification of constants that names it or repeats one
// that does, else -1.
func (p *Graph) iotaOf(d *source.Decl) int {
	values := d
	if d.Repeats != nil {
		values = d.Repeats
	}
	named := slices.ContainsFunc(p.usedBy(values.Node), isIota)
	if d.Group == nil || d.Group.Tok != token.CONST || !named {
		return -1
	}
	return slices.Index(d.Group.Specs, d.Node.(ast.Spec))
}

// CanonicalTokens returns the tokens of a text, one a line, and the comments that keep says. Commas
// and semicolons that only line ends ask for are left out.
func CanonicalTokens(text string, keep func(comment string) bool) string {
	var b strings.Builder
	pending := ""
	scan(text, func(_ int, tok token.Token, lit string) {
		switch {
		case tok == token.COMMENT && !keep(lit):
			return
		case tok == token.SEMICOLON || tok == token.COMMA:
			pending = tok.String() + "\n"
			return
		case tok != token.RPAREN && tok != token.RBRACE && tok != token.RBRACK:
			b.WriteString(pending)
		}
		pending = ""
		if lit == "" {
			lit = tok.String()
		}
		b.WriteString(strings.TrimRight(lit, syntax.Blanks) + "\n")
	})
	return b.String()
}

// scan gives f the tokens and comments of a text, and the line of each, from 1.
func scan(text string, f func(line int, tok token.Token, lit string)) {
	fset := token.NewFileSet()
	file := fset.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), func(token.Position, string) {}, scanner.ScanComments) // the parser has told of errors
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return
		}
		f(fset.PositionFor(pos, false).Line, tok, lit)
	}
}

// CodeLines returns the lines of a kernel's file on which code of its function begins or continues,
// as "12-16 18": comments and empty lines are not among them. It is "" where there is no such
// kernel.
func (p *Graph) CodeLines(kernel string) string {
	for o, f := range p.Funcs {
		if f.Recv != nil || f.Name.Name != kernel || p.PackageAt(o.Pos()) != p.GoTypes {
			continue
		}
		file := p.Fset.File(f.Pos())
		first := p.Position(f.Pos()).Line
		var lines []int
		scan(p.Texts[file.Name()][file.Offset(f.Pos()):file.Offset(f.End())], func(line int, tok token.Token, lit string) {
			if at := first + line - 1; tok != token.COMMENT && lit != "\n" && (len(lines) == 0 || lines[len(lines)-1] < at) {
				lines = append(lines, at)
			}
		})
		return rangesOf(lines)
	}
	return ""
}

// rangesOf returns ascending numbers as text.
func rangesOf(list []int) string {
	var out []string
	for i := 0; i < len(list); {
		j := i + 1
		for j < len(list) && list[j] == list[j-1]+1 {
			j++
		}
		part := strconv.Itoa(list[i])
		if j > i+1 {
			part += "-" + strconv.Itoa(list[j-1])
		}
		out = append(out, part)
		i = j
	}
	return strings.Join(out, " ")
}

// NumbersIn returns the numbers of a text of rangesOf, nil where it is none.
func NumbersIn(text string) []int {
	var out []int
	for part := range strings.FieldsSeq(text) {
		lo, hi, isRange := strings.Cut(part, "-")
		from, err := strconv.Atoi(lo)
		to := from
		if err == nil && isRange {
			to, err = strconv.Atoi(hi)
		}
		if err != nil {
			return nil
		}
		for n := from; n <= to; n++ {
			out = append(out, n)
		}
	}
	return out
}

// MovedLine returns the present line in a kernel's file of code that was on a given line before, by
// the CodeLines of both; 0 where that is not known, as the code is on more lines now, or on fewer.
func MovedLine(before, now string, line int) int {
	if before == now {
		return line
	}
	from, to := NumbersIn(before), NumbersIn(now)
	if i := slices.Index(from, line); i >= 0 && len(from) == len(to) {
		return to[i]
	}
	return 0
}
