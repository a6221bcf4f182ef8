package syntax

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/ir"
)

const Prefix = "//omp:"

// Attach returns the directives of f by the *ast.FuncDecl or statement that each governs: the one
// on the line right below the comment. The key of a labelled statement is the statement behind its
// labels; that of a scan is the body of the loop that it cuts. Directives that govern nothing, or
// not what they can govern, and all that is wrong with their text, are in the diagnostics; so is,
// as a warning, a comment that looks like a directive and is none.
//
// The file must have been parsed with comments.
func Attach(fset *token.FileSet, f *ast.File) (map[ast.Node]*Directive, []diag.Diagnostic) {
	a := &attacher{fset: fset, below: map[int]ast.Node{}, busy: map[int]bool{}, bodies: map[ast.Node]bool{}, found: map[ast.Node]*Directive{}}
	ast.Inspect(f, a.index)
	for _, g := range f.Comments {
		a.group(g)
	}
	return a.found, a.diags
}

type attacher struct {
	fset  *token.FileSet
	below map[int]ast.Node // what starts on a line and can be governed: functions and statements
	busy  map[int]bool     // lines that code starts or ends on
	found map[ast.Node]*Directive
	diags []diag.Diagnostic

	blocks []ast.Node        // lists of statements, outer ones first
	bodies map[ast.Node]bool // those that are bodies of loops
}

// index notes where n starts. Outer nodes come first and win, so that a line belongs to its first
// statement.
func (a *attacher) index(n ast.Node) bool {
	switch n := n.(type) {
	case nil, *ast.Comment, *ast.CommentGroup:
		return false
	case *ast.File:
		a.busy[a.lineOf(n.Name.Pos())] = true
		return true
	case *ast.FuncDecl:
		a.start(n.Type.Pos(), n)
	case *ast.ForStmt:
		a.bodies[n.Body] = true
	case *ast.RangeStmt:
		a.bodies[n.Body] = true
	case *ast.BlockStmt:
		a.blocks = append(a.blocks, n)
		a.statements(n.List)
	case *ast.CaseClause:
		a.blocks = append(a.blocks, n)
		a.statements(n.Body)
	}
	a.busy[a.lineOf(n.Pos())] = true
	a.busy[a.lineOf(n.End()-1)] = true
	return true
}

func (a *attacher) statements(list []ast.Stmt) {
	for _, s := range list {
		for {
			a.start(s.Pos(), unlabelled(s))
			labelled, ok := s.(*ast.LabeledStmt)
			if !ok {
				break
			}
			s = labelled.Stmt
		}
	}
}

func unlabelled(s ast.Stmt) ast.Stmt {
	for {
		l, ok := s.(*ast.LabeledStmt)
		if !ok {
			return s
		}
		s = l.Stmt
	}
}

func (a *attacher) start(pos token.Pos, n ast.Node) {
	if l := a.lineOf(pos); a.below[l] == nil {
		a.below[l] = n
	}
}

func (a *attacher) lineOf(p token.Pos) int { return a.fset.PositionFor(p, false).Line }

// group reads the directives of one comment group.
func (a *attacher) group(g *ast.CommentGroup) {
	d := &Directive{}
	var texts []string
	for _, c := range g.List {
		rest, ok := strings.CutPrefix(c.Text, Prefix)
		if !ok {
			a.lookalike(c)
			continue
		}
		rest, _ = WithoutSilence(rest)
		if a.busy[a.lineOf(c.Pos())] {
			a.fail(lineError{c.Pos(), "directive " + FirstWord(rest), "it stands behind code",
				"put it on a line of its own, right above what it governs"})
			continue
		}
		l, errs := parseLine(Piece{rest, c.Pos() + token.Pos(len(Prefix))}, c.Pos())
		a.fail(errs...)
		if l != nil && l.name() == "scan" {
			a.scan(&Directive{At: l.at, Lines: []*Line{l}, Text: strings.TrimSpace(rest)})
		} else if l != nil {
			d.Lines = append(d.Lines, l)
			texts = append(texts, strings.TrimSpace(rest))
		}
	}
	if len(d.Lines) > 0 {
		d.At, d.Text = d.Lines[0].at, strings.Join(texts, " ")
		last := a.lineOf(g.End() - 1)
		d.parted = a.below[last+1] == nil && !a.busy[last+1] && a.below[last+2] != nil
		a.place(d, a.below[last+1])
	}
}

// place hangs d on n. Of a directive with wrong clauses the others stay, so that what they govern
// is looked at too.
func (a *attacher) place(d *Directive, n ast.Node) {
	errs := d.misplaced(n)
	if len(errs) == 0 && !d.onFunc() {
		errs = d.combination()
	}
	if len(errs) > 0 {
		a.fail(errs...)
		return
	}
	a.fail(d.check()...)
	a.found[n] = d
}

// misplaced returns why d cannot govern n.
func (d *Directive) misplaced(n ast.Node) []lineError {
	if n == nil && d.parted {
		return []lineError{{d.At, "directive " + d.Lines[0].name(), "an empty line parts it from what it governs", "put it right above " + d.governed()}}
	}
	if n == nil {
		return []lineError{{d.At, "directive " + d.Lines[0].name(), "nothing that it could govern starts on the line below",
			"put it right above " + d.governed()}}
	}
	if errs := d.mixed(); len(errs) > 0 {
		return errs
	}
	_, onFunction := n.(*ast.FuncDecl)
	name := strings.Join(d.Words(), " ")
	switch {
	case onFunction && !d.onFunc():
		return []lineError{{d.At, "directive " + name, "it stands above a function", "put it above " + d.governed() + " in the body"}}
	case !onFunction && d.onFunc():
		return []lineError{{d.At, "directive " + d.Lines[0].name(), "it stands above a statement", "put it above a top-level function"}}
	case !onFunction && !d.governs(n):
		return []lineError{{d.At, "directive " + name, "it governs " + d.governed() + ", not " + describe(n), d.correction(n)}}
	}
	return nil
}

// mixed finds directives of functions and of statements in one group.
func (d *Directive) mixed() []lineError {
	var errs []lineError
	for _, l := range d.Lines[1:] {
		if slices.Contains(functionWords, l.name()) != d.onFunc() {
			errs = append(errs, lineError{l.at, "directive " + l.name(),
				"directives of functions and of statements do not mix", "put it right above what it governs"})
		}
	}
	return errs
}

// governed says what d stands above.
func (d *Directive) governed() string {
	switch {
	case d.onFunc():
		return "a top-level function"
	case d.OnLoop():
		return "a for loop"
	case d.Has("atomic"):
		return "a statement or a body { }"
	case d.Has("teams") && !d.Has("parallel"):
		return "a body { } or a for loop"
	}
	return "a body { }"
}

func (d *Directive) governs(n ast.Node) bool {
	_, body := n.(*ast.BlockStmt)
	switch {
	case d.OnLoop():
		return isLoop(n)
	case d.Has("atomic"):
		switch n.(type) {
		case *ast.AssignStmt, *ast.IncDecStmt, *ast.IfStmt:
			return true
		}
		return body
	case d.Has("teams") && !d.Has("parallel"):
		return body || isLoop(n)
	}
	return body
}

func (d *Directive) correction(n ast.Node) string {
	switch {
	case isLoop(n) && d.Has("parallel"):
		return "write //omp:" + strings.Join(d.Words(), " ") + " for, or put the loop in a body { }"
	case d.OnLoop():
		return "put it right above the loop"
	case d.Has("atomic"):
		return "write x op= e, x++, or a body { } of an update and a read"
	}
	return "put the statements in a body { }"
}

func isLoop(n ast.Node) bool {
	switch n.(type) {
	case *ast.ForStmt, *ast.RangeStmt:
		return true
	}
	return false
}

func describe(n ast.Node) string {
	switch n.(type) {
	case *ast.ForStmt, *ast.RangeStmt:
		return "a loop"
	case *ast.BlockStmt:
		return "a body"
	case *ast.IfStmt:
		return "an if"
	case *ast.SwitchStmt:
		return "a switch"
	case *ast.DeclStmt:
		return "a declaration"
	case *ast.AssignStmt, *ast.IncDecStmt:
		return "an assignment"
	case *ast.ExprStmt:
		return "a call"
	}
	return "this statement"
}

// lookalike warns of comments that were surely meant to be directives.
func (a *attacher) lookalike(c *ast.Comment) {
	if word := wordOfLookalike(c.Text); word != "" {
		a.diags = append(a.diags, diag.Diagnostic{Pos: a.pos(c.Pos()), Severity: diag.Warning, What: "comment",
			Why: "it looks like a directive but is none", Instead: "write " + Prefix + word + ", without blanks before the name"})
	}
}

// lookalikes are how other languages, and fingers, write what begins a directive.
var lookalikes = regexp.MustCompile(`(?i)^(//\s*omp\s*:|//omp\s|/[/*]\s*#?\s*pragma\s+omp\s|/\*\s*omp\s*:)\s*(\w+)`)

// otherPrefix matches comments that begin as directives of another tool do, with one letter more or
// less than omp at most.
var otherPrefix = regexp.MustCompile(`^//(\w{2,4}):(\w+)`)

// wordOfLookalike returns the directive that a comment was surely meant to be, "" where it is one
// or was not meant.
func wordOfLookalike(comment string) string {
	if strings.HasPrefix(comment, Prefix) {
		return ""
	}
	m := lookalikes.FindStringSubmatch(comment)
	if m == nil {
		m = otherPrefix.FindStringSubmatch(comment)
		if m == nil || editDistance(strings.ToLower(m[1]), "omp") > 1 {
			return ""
		}
	}
	if word := strings.ToLower(m[2]); slices.Contains(directiveWords, word) {
		return word
	}
	return ""
}

// MeansKernel reports whether a comment of a file is, or nearly is, a directive that makes a
// function a kernel.
func MeansKernel(text string) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		word := wordOfLookalike(line)
		if rest, ok := strings.CutPrefix(line, Prefix); ok {
			word = strings.ToLower(FirstWord(strings.TrimLeft(rest, Blanks)))
		}
		if word == "target" || word == "task" {
			return true
		}
	}
	return false
}

// HasDirectives reports whether a file may have directives, or comments that were meant to be some.
func HasDirectives(text string) bool { return strings.Contains(text, Prefix) || MeansKernel(text) }

// UnknownDirectives returns an ErrorList of the comments of a file that begin as directives do and
// name none, nil where there are none. Nothing else of the file need be right.
func UnknownDirectives(f File) error {
	if !strings.Contains(f.Text, Prefix) {
		return nil
	}
	a := &attacher{fset: token.NewFileSet()}
	syntax, _ := parser.ParseFile(a.fset, f.Name, f.Text, parser.ParseComments|parser.SkipObjectResolution)
	if syntax == nil {
		return nil
	}
	for _, g := range syntax.Comments {
		for _, c := range g.List {
			if rest, ok := strings.CutPrefix(c.Text, Prefix); ok {
				if _, _, err := directiveName(Piece{rest, c.Pos() + token.Pos(len(Prefix))}, c.Pos()); err != nil {
					a.fail(*err)
				}
			}
		}
	}
	if len(a.diags) == 0 {
		return nil
	}
	return diag.Sorted(a.diags)
}

func FirstWord(s string) string {
	w, _ := NextWord(Piece{Text: s})
	return w.Text
}

func (a *attacher) fail(errs ...lineError) {
	for _, e := range errs {
		a.diags = append(a.diags, diag.Diagnostic{Pos: a.pos(e.at), Severity: diag.Error, What: e.what, Why: e.why, Instead: e.instead})
	}
}

func (a *attacher) pos(p token.Pos) ir.Pos { return PositionOf(a.fset, p) }
