package wrapper

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/gompss/gompss/codegen/internal/lower"
	"github.com/gompss/gompss/codegen/internal/syntax"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// splitCode is the Go code that runs a range of the iterations of a kernel's parallel loop.
type splitCode struct {
	rangeName, tripsName string
	text                 string
	alone                bool // one worker runs the pieces
}

// split returns the code for cutting k, nil and the reason where it cannot be cut.
//
// Each chunk runs the statements in front of the loop for itself, so they may only declare locals;
// what a chunk writes must not meet what another one does, so atomics and reductions, which plain
// Go code does not make, forbid it.
//
// Where CPU workers run iterations that accelerators defer, one worker may run pieces with atomics.
func (g *generator) split(k *ir.Kernel, decl *ast.FuncDecl) (*splitCode, string) {
	loop, why := lower.SplitLoop(k)
	alone := false
	if loop == nil {
		if both, err := lower.DeferToCPU(k); both == nil || err != nil {
			return nil, why
		}
		loop, why = lower.PartLoop(k)
		alone = true
	}
	if loop == nil {
		return nil, why
	}
	if _, why := lower.Independent(k); why != "" && !alone {
		return nil, "its loop runs in order: " + why
	}
	s := &splitter{generator: g, k: k, decl: decl, loop: loop, alone: alone}
	if !s.find(decl.Body.List) {
		return nil, "its parallel loop is not at the end of the function"
	}
	if why := s.head(); why != "" {
		return nil, why
	}
	used := []string{"int", "int64", "len", "gompssFrom", "gompssTo", "gompssEnd", "gompssAt", "gompssTrips"}
	if t := s.loop.Var.Type.String(); types.Universe.Lookup(t) != nil {
		used = append(used, t)
	}
	if hidden := s.hidden(used...); hidden != "" {
		return nil, "its own " + hidden + " hides a name that the code of a piece needs"
	}
	for _, n := range s.before {
		g.need(n)
	}
	g.need(s.body)
	return s.code(), ""
}

// A splitter writes the code for one kernel.
type splitter struct {
	*generator
	k      *ir.Kernel
	decl   *ast.FuncDecl
	loop   *ir.For
	before []ast.Stmt // the statements in front of the loop
	label  string
	stmt   ast.Stmt
	body   *ast.BlockStmt
	alone  bool // there are atomics

	index string // the name of the loop variable, "" where it has none
	from  string // its first value
	trips string // the expression of the trip count, an int64

	mayBeNegative bool // that

	step     string // as a factor; "1" and "-1" keep the loop's own form
	value    string // the second variable of a range loop
	sequence string // what that ranges over
}

// find descends through bodies and labels to the loop.
func (s *splitter) find(list []ast.Stmt) bool {
	for len(list) > 0 {
		last := list[len(list)-1]
		s.before = append(s.before, list[:len(list)-1]...)
		for {
			l, ok := last.(*ast.LabeledStmt)
			if !ok {
				break
			}
			s.label, last = l.Label.Name, l.Stmt
		}
		switch n := last.(type) {
		case *ast.BlockStmt:
			list = n.List
			continue
		case *ast.ForStmt:
			s.stmt, s.body = n, n.Body
		case *ast.RangeStmt:
			s.stmt, s.body = n, n.Body
		}
		break
	}
	return s.stmt != nil && s.fset.Position(s.stmt.Pos()).Line == s.loop.At.Line
}

// head reads the head of the loop, or says why it cannot be cut.
func (s *splitter) head() string {
	if n, ok := s.stmt.(*ast.RangeStmt); ok {
		return s.rangeHead(n)
	}
	n := s.stmt.(*ast.ForStmt)
	init, ok1 := n.Init.(*ast.AssignStmt)
	cond, ok2 := n.Cond.(*ast.BinaryExpr)
	step, constant := query.Int64(s.loop.Step)
	if !ok1 || !ok2 || len(init.Lhs) != 1 || init.Tok != token.DEFINE {
		return "its loop declares more than one variable"
	}
	if !constant {
		return "the step of its loop is not constant"
	}
	bound := cond.Y
	if x, ok := cond.X.(*ast.Ident); !ok || x.Name != s.loop.Var.Name {
		bound = cond.X
	}
	s.index, s.from, s.step = s.loop.Var.Name, s.text(init.Rhs[0]), fmt.Sprint(step)
	s.trips, s.mayBeNegative = tripText(s.from, s.text(bound), s.loop.Rel, step), true
	return ""
}

// tripText returns the number of iterations of a loop from lo to hi as a Go expression, which is
// negative for some that have none.
func tripText(lo, hi string, rel ir.Op, step int64) string {
	a, b := "int64("+lo+")", "int64("+hi+")"
	if step < 0 {
		a, b, step = b, a, -step
	}
	inclusive := int64(0)
	if rel == ir.Le || rel == ir.Ge {
		inclusive = 1
	}
	if step == 1 && inclusive == 0 {
		return fmt.Sprintf("%s-%s", b, a)
	}
	if step == 1 {
		return fmt.Sprintf("%s-%s+1", b, a)
	}
	return fmt.Sprintf("(%s-%s+%d)/%d", b, a, step-1+inclusive, step)
}

func (s *splitter) rangeHead(n *ast.RangeStmt) string {
	over := s.text(n.X)
	s.step = "1"
	name := func(e ast.Expr) string {
		if id, ok := e.(*ast.Ident); ok && id.Name != "_" {
			return id.Name
		}
		return ""
	}
	if n.Tok == token.ASSIGN {
		return "its loop assigns to variables from outside"
	}
	s.index, s.value = name(n.Key), name(n.Value)
	s.from = "0"
	if n, ok := query.Int64(s.loop.Hi); ok && s.value == "" { // the length of an array, or a constant
		s.trips = fmt.Sprintf("int64(%d)", max(n, 0))
		return ""
	}
	if s.overMemory(n) {
		s.trips, s.sequence = "int64(len("+over+"))", over
		return ""
	}
	s.trips, s.mayBeNegative = "int64("+over+")", true
	return ""
}

// hidden returns a predeclared name of names that the package, the function or what it does in
// front of the loop declares anew.
func (s *splitter) hidden(names ...string) string {
	own := map[string]bool{}
	for _, n := range s.before {
		for _, name := range definedNames(n) {
			own[name] = true
		}
		if d, ok := n.(*ast.DeclStmt); ok {
			for _, name := range declaredNames(d.Decl) {
				own[name] = true
			}
		}
	}
	for _, p := range s.params(s.decl) {
		own[p.name] = true
	}
	for _, name := range names {
		if own[name] || s.names[name] || s.others[name] {
			return name
		}
	}
	return ""
}

// overMemory reports whether n ranges over a slice or an array: then its bound is a length, or a
// second variable is there.
func (s *splitter) overMemory(n *ast.RangeStmt) bool {
	if s.value != "" {
		return true
	}
	length, ok := s.loop.Hi.(*ir.Len)
	return ok && length != nil && !strings.HasPrefix(s.text(n.X), "len(")
}

func (s *splitter) code() *splitCode {
	out := &splitCode{rangeName: RangeName(s.k.Name), tripsName: strings.TrimSuffix(kernelVar(s.k.Name), "Kernel") + "Trips", alone: s.alone}
	var params []string
	for _, p := range s.params(s.decl) {
		params = append(params, p.name+" "+p.typ)
	}
	list := strings.Join(params, ", ")
	var b strings.Builder
	fmt.Fprintf(&b, "\n// %s runs iterations gompssFrom to gompssTo of the parallel loop of %s.\nfunc %s(gompssFrom, gompssTo int64, %s) {\n",
		out.rangeName, s.k.Name, out.rangeName, list)
	s.writeBefore(&b)
	s.writeLoop(&b)
	b.WriteString("}\n")
	if !s.alone {
		s.writeTrips(&b, out.tripsName, list)
	}
	out.text = b.String()
	return out
}

// writeTrips writes the function that returns the number of iterations.
func (s *splitter) writeTrips(b *strings.Builder, name, params string) {
	fmt.Fprintf(b, "\n// %s returns the number of iterations of the parallel loop of %s.\nfunc %s(%s) int64 {\n", name, s.k.Name, name, params)
	s.writeBefore(b)
	switch {
	case !s.mayBeNegative:
		fmt.Fprintf(b, "return %s\n}\n", s.trips)
	case s.hidden("max") != "":
		fmt.Fprintf(b, "if gompssTrips := %s; gompssTrips > 0 {\nreturn gompssTrips\n}\nreturn 0\n}\n", s.trips)
	default:
		fmt.Fprintf(b, "return max(0, %s)\n}\n", s.trips)
	}
}

// RangeName returns the name of the function that runs a part of a kernel's iterations.
func RangeName(kernel string) string {
	return strings.TrimSuffix(kernelVar(kernel), "Kernel") + "Range"
}

// writeBefore writes the statements in front of the loop; a variable that only the other function
// reads is used here.
func (s *splitter) writeBefore(b *strings.Builder) {
	for _, n := range s.before {
		fmt.Fprintln(b, s.text(n))
		for _, name := range definedNames(n) {
			fmt.Fprintf(b, "_ = %s\n", name)
		}
	}
}

func definedNames(n ast.Stmt) []string {
	var out []string
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			return nil
		}
		for _, e := range n.Lhs {
			if id, ok := e.(*ast.Ident); ok && id.Name != "_" {
				out = append(out, id.Name)
			}
		}
	case *ast.DeclStmt:
		if d, ok := n.Decl.(*ast.GenDecl); ok && d.Tok == token.VAR {
			for _, name := range declaredNames(d) {
				if name != "_" {
					out = append(out, name)
				}
			}
		}
	}
	return out
}

// writeLoop writes the loop over a part of its iterations. A loop over int by one keeps its own
// form, which the Go compiler knows; any other counts iterations, so that nothing can wrap.
func (s *splitter) writeLoop(b *strings.Builder) {
	if s.label != "" {
		fmt.Fprintf(b, "%s:\n", s.label)
	}
	typ := s.loop.Var.Type.String()
	switch {
	case s.counts(typ):
		s.countedLoop(b, typ)
	case s.step == "1":
		fmt.Fprintf(b, "for %s, gompssEnd := %sint(gompssFrom), %sint(gompssTo); %s < gompssEnd; %s++ {\n",
			s.index, plus(s.from), plus(s.from), s.index, s.index)
	default:
		fmt.Fprintf(b, "for %s, gompssEnd := %s-int(gompssFrom), %s-int(gompssTo); %s > gompssEnd; %s-- {\n",
			s.index, operand(s.from), operand(s.from), s.index, s.index)
	}
	declares := s.value != "" || s.index != "" && s.counts(typ) // which the body may declare anew
	if s.value != "" {
		index := s.index
		if index == "" {
			index = "gompssAt"
		}
		fmt.Fprintf(b, "%s := %s[%s]\n", s.value, operand(s.sequence), index)
	}
	open, end := "", ""
	if declares {
		open, end = "{\n", "}\n"
	}
	text := s.text(s.body)
	inside := strings.TrimLeft(text[1:len(text)-1], "\n")
	at := s.fset.Position(s.body.Lbrace)
	fmt.Fprintf(b, "%s%s%s:%d\n%s\n%s%s:1\n%s}\n", open, linePrefix, at.Filename, at.Line+len(text)-2-len(inside),
		strings.TrimRight(inside, "\n"+syntax.Blanks), linePrefix, GeneratedName(s.opt.File), end)
}

// linePrefix starts a comment that says which line of which file the next line is: a panic in the
// body of a cut loop names the line that the user wrote.
const linePrefix = "//line "

// countLines puts the numbers of their own lines into the line comments that lead back to the
// generated file.
func countLines(text []byte, name string) []byte {
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		if line == linePrefix+name+":1" {
			lines[i] = fmt.Sprintf("%s%s:%d", linePrefix, name, i+2)
		}
	}
	return []byte(strings.Join(lines, "\n"))
}

// counts reports whether the loop over a part counts iterations: a loop over int by one needs not.
func (s *splitter) counts(typ string) bool {
	return s.index == "" || typ != "int" || s.step != "1" && s.step != "-1"
}

func plus(from string) string {
	if from == "0" {
		return ""
	}
	return operand(from) + "+"
}

// operand returns an expression so that it can stand beside any operator.
func operand(text string) string {
	if !strings.ContainsFunc(text, syntax.NotInWord) {
		return text
	}
	return "(" + text + ")"
}

func (s *splitter) countedLoop(b *strings.Builder, typ string) {
	b.WriteString("for gompssAt := gompssFrom; gompssAt < gompssTo; gompssAt++ {\n")
	if s.index == "" {
		return
	}
	factor := ""
	if s.step != "1" {
		factor = "*" + operand(s.step)
	}
	fmt.Fprintf(b, "%s := %s%s(gompssAt%s)\n_ = %s\n", s.index, plus(s.from), typ, factor, s.index)
}
