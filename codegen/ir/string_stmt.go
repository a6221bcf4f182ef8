package ir

import (
	"fmt"
	"strconv"
	"strings"
)

// text prints IR. Names are kept as the user wrote them; a variable that would hide another one
// that is visible at its declaration gets a number, so that the text is unambiguous.
type text struct {
	exprText
	b      strings.Builder
	depth  int
	labels map[*Label]string
	needed map[*Label]bool // jumped to from deeper inside than Go's bare break and continue reach
	loops  []*Label        // of the loops around, innermost last
}

// exprText prints expressions, with names for the variables in scope.
type exprText struct {
	names  map[*Var]string
	scopes []map[string]bool
}

// StmtsString returns a list of statements as Go-like text, for tests and diagnostics.
func StmtsString(list []Stmt) string {
	t := newText()
	t.need(list, nil)
	t.stmts(list)
	return t.b.String()
}

func newText() *text {
	return &text{exprText: exprText{names: map[*Var]string{}, scopes: []map[string]bool{{}}}, labels: map[*Label]string{},
		needed: map[*Label]bool{}}
}

// need notes the labels that jumps in list have to name, inner being that of the innermost loop
// around.
func (t *text) need(list []Stmt, inner *Label) {
	for _, s := range list {
		around := inner
		switch s := s.(type) {
		case *Break:
			t.needed[s.Label] = t.needed[s.Label] || s.Label != inner
		case *Continue:
			t.needed[s.Label] = t.needed[s.Label] || s.Label != inner
		case *For:
			around = s.Label
		case *While:
			around = s.Label
		}
		Lists(s, func(list []Stmt) { t.need(list, around) })
	}
}

func (t *text) line(format string, args ...any) {
	t.b.WriteString(strings.Repeat("\t", t.depth))
	fmt.Fprintf(&t.b, format, args...)
	t.b.WriteByte('\n')
}

// name returns the printed name of v. A variable that nothing declared is marked with its number.
func (t *exprText) name(v *Var) string {
	if t.names == nil {
		return v.Name
	}
	if s, ok := t.names[v]; ok {
		return s
	}
	return fmt.Sprintf("%s#%d", v.Name, v.ID)
}

// declare gives v its name in the innermost scope and returns it.
func (t *exprText) declare(v *Var) string {
	s := v.Name
	for n := 2; t.visible(s); n++ {
		s = v.Name + "_" + strconv.Itoa(n)
	}
	t.names[v] = s
	t.scopes[len(t.scopes)-1][s] = true
	return s
}

func (t *exprText) visible(s string) bool {
	for _, scope := range t.scopes {
		if scope[s] {
			return true
		}
	}
	return false
}

func (t *exprText) push() { t.scopes = append(t.scopes, map[string]bool{}) }
func (t *exprText) pop()  { t.scopes = t.scopes[:len(t.scopes)-1] }

// body prints list one level deeper, in a scope of its own, up to but without the closing brace.
func (t *text) body(list []Stmt) {
	t.push()
	t.depth++
	t.stmts(list)
	t.depth--
	t.pop()
}

func (t *text) stmts(list []Stmt) {
	for _, s := range list {
		t.stmt(s)
	}
}

func (t *text) stmt(s Stmt) {
	switch s := s.(type) {
	case *Decl:
		t.decl(s)
	case *Assign, *Call:
		t.line("%s", t.simple(s))
	case *If:
		t.ifElse(s, "if ")
	case *Block:
		t.label(s.Label)
		t.line("{")
		t.body(s.Body)
		t.line("}")
	case *While:
		t.while(s)
	case *For:
		t.forLoop(s)
	case *Break:
		t.line("break%s", t.target(s.Label))
	case *Continue:
		t.line("continue%s", t.target(s.Label))
	case *Return:
		t.line("%s", strings.TrimSpace("return "+t.list(s.Results)))
	case *Atomic:
		t.line("atomic%s { %s }", suffix(s.Ordered, " ordered"), t.atomic(s))
	case *Barrier:
		t.barrier(s)
	case *Construct:
		t.line("//omp:%s", t.directive(s.Directive))
		t.line("{")
		t.body(s.Body)
		t.line("}")
	default:
		panic(fmt.Sprintf("gompss: bug: ir: no text for statement %T", s))
	}
}

func (t *text) decl(s *Decl) {
	init := ""
	if s.Init != nil {
		init = " = " + t.expr(s.Init, 0) // before the name is declared: it may read a variable that s hides
	}
	t.line("var %s %s%s", t.declare(s.Var), s.Var.Type, init)
}

// simple returns a statement that fits one line and the head of a loop.
func (t *text) simple(s Stmt) string {
	switch s := s.(type) {
	case *Assign:
		value := t.expr(s.Value, 0)
		if s.Async {
			value = "async " + value
		}
		return t.expr(s.Place, 0) + " = " + value
	case *Call:
		return t.results(s.Results) + s.Fn.Name + "(" + t.list(s.Args) + ")"
	}
	return ""
}

func (t *text) results(vars []*Var) string {
	out, used := make([]string, len(vars)), false
	for i, v := range vars {
		out[i] = "_"
		if v != nil {
			out[i], used = t.name(v), true
		}
	}
	if !used {
		return ""
	}
	return strings.Join(out, ", ") + " = "
}

func (t *text) ifElse(s *If, head string) {
	t.line("%s%s {", head, t.expr(s.Cond, 0))
	t.body(s.Then)
	if len(s.Else) == 1 {
		if next, ok := s.Else[0].(*If); ok {
			t.ifElse(next, "} else if ")
			return
		}
	}
	if len(s.Else) > 0 {
		t.line("} else {")
		t.body(s.Else)
	}
	t.line("}")
}

// while prints a loop in Go's form where it fits, and with "pre" and "post" bodies where Go has no
// room for them.
func (t *text) while(s *While) {
	t.label(s.Label)
	t.line("for %s{", t.whileHead(s))
	t.loops = append(t.loops, s.Label)
	t.push()
	t.part("pre", s.Pre)
	t.depth++
	t.stmts(s.Body)
	t.depth--
	if !t.onOneLine(s) {
		t.part("post", s.Post)
	}
	t.pop()
	t.loops = t.loops[:len(t.loops)-1]
	t.line("}")
}

func (t *text) whileHead(s *While) string {
	cond := ""
	if s.Cond != nil && len(s.Pre) == 0 {
		cond = t.expr(s.Cond, 0) + " "
	}
	if s.Cond != nil && len(s.Pre) > 0 {
		cond = "/* after pre */ " + t.expr(s.Cond, 0) + " "
	}
	if len(s.Post) > 0 && t.onOneLine(s) {
		return "; " + strings.TrimSpace(cond) + "; " + t.simple(s.Post[0]) + " "
	}
	return cond
}

func (t *text) onOneLine(s *While) bool {
	return len(s.Pre) == 0 && (len(s.Post) == 0 || len(s.Post) == 1 && t.simple(s.Post[0]) != "")
}

// part prints one of the bodies of a loop that Go has no syntax for.
func (t *text) part(word string, list []Stmt) {
	if len(list) == 0 {
		return
	}
	t.depth++
	t.line("%s {", word)
	t.depth++
	t.stmts(list) // in the scope of the loop: the condition reads variables that pre declares
	t.depth--
	t.line("}")
	t.depth--
}

func (t *text) forLoop(s *For) {
	if s.Directive != nil {
		t.line("//omp:%s", t.directive(s.Directive))
	}
	if s.Unroll > 0 {
		t.line("// unrolled %d times", s.Unroll)
	}
	t.label(s.Label)
	lo, hi, step := t.expr(s.Lo, 0), t.expr(s.Hi, 4), t.step(s.Step)
	t.push()
	i := t.declare(s.Var)
	kind := ""
	if !Same(s.Var.Type, IntType) {
		kind = " " + s.Var.Type.String()
	}
	t.line("for %s%s := %s; %s %s %s; %s%s {", i, kind, lo, i, s.Rel, hi, i, step)
	t.loops = append(t.loops, s.Label)
	if s.Directive != nil && s.Directive.Scan != nil {
		t.phases(s)
	} else {
		t.body(s.Body)
	}
	t.loops = t.loops[:len(t.loops)-1]
	t.pop()
	t.line("}")
}

// phases prints the body of a loop that scans with the directive that cuts it.
func (t *text) phases(s *For) {
	word := "inclusive"
	if s.Directive.Scan.Exclusive {
		word = "exclusive"
	}
	last := len(s.Body) - 1
	t.push()
	t.depth++
	t.stmts(s.Body[:max(last, 0)])
	t.line("//omp:scan %s", word)
	t.stmts(s.Body[max(last, 0):])
	t.depth--
	t.pop()
}

func (t *text) step(e Expr) string {
	if c, ok := e.(*Const); ok && c.T.IsSigned() && int64(c.Bits) < 0 {
		if int64(c.Bits) == -1 {
			return "--"
		}
		return " -= " + strings.TrimPrefix(c.String(), "-")
	}
	if c, ok := e.(*Const); ok && c.Bits == 1 {
		return "++"
	}
	return " += " + t.expr(e, 0)
}

// label prints the name of a loop or block where a jump needs it: the user's, or a number.
func (t *text) label(l *Label) {
	if l == nil || !t.needed[l] {
		return
	}
	t.b.WriteString(strings.Repeat("\t", max(t.depth-1, 0)) + t.labelName(l) + ":\n")
}

func (t *text) labelName(l *Label) string {
	s, ok := t.labels[l]
	if !ok {
		s = l.Name
		if s == "" {
			s = fmt.Sprintf("L%d", len(t.labels)+1)
		}
		t.labels[l] = s
	}
	return s
}

// target returns the label of a jump, "" where it means the innermost loop.
func (t *text) target(l *Label) string {
	if l == nil || len(t.loops) > 0 && t.loops[len(t.loops)-1] == l {
		return ""
	}
	return " " + t.labelName(l)
}

func (t *text) atomic(s *Atomic) string {
	place := t.expr(s.Place, 0)
	old := ""
	if s.Old != nil {
		old = t.expr(s.Old, 0) + " = " + place
	}
	set := t.update(s, place)
	switch {
	case s.Kind == AtomicRead:
		return old
	case s.Kind == AtomicCompare:
		set = fmt.Sprintf("if %s == %s { %s }", place, t.expr(s.Compare, 4), set)
	}
	switch {
	case old == "":
		return set
	case s.After:
		return set + "; " + old
	}
	return old + "; " + set
}

func (t *text) update(s *Atomic, place string) string {
	if s.Value == nil {
		return ""
	}
	prec := s.Op.Precedence()
	switch {
	case s.Op == NoOp || s.Kind == AtomicCompare:
		return place + " = " + t.expr(s.Value, 0)
	case prec == 0:
		return fmt.Sprintf("%s = %s(%s, %s)", place, s.Op, place, t.expr(s.Value, 0))
	case s.Swapped:
		return fmt.Sprintf("%s = %s %s %s", place, t.expr(s.Value, prec), s.Op, place)
	case s.Op == LAnd || s.Op == LOr:
		return fmt.Sprintf("%s = %s %s %s", place, place, s.Op, t.expr(s.Value, prec+1))
	}
	return fmt.Sprintf("%s %s= %s", place, s.Op, t.expr(s.Value, 0))
}

func (t *text) barrier(s *Barrier) {
	if s.Scope == NamedBarrier {
		t.line("%s(%d, %s)", s.Scope, s.ID, t.expr(s.Count, 0))
		return
	}
	if s.Scope == GridBarrier {
		t.line("%s(%s)", s.Scope, t.expr(s.Count, 0))
		return
	}
	t.line("%s()", s.Scope)
}
