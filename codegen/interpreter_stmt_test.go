package codegen_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
)

func (c *goCompiler) block(list []ast.Stmt) func() goJump {
	var run []func() goJump
	for _, s := range list {
		run = append(run, c.stmt(s, ""))
	}
	return func() goJump {
		for _, s := range run {
			if c.steps--; c.steps < 0 {
				panic(goEndless{})
			}
			if j := s(); j.kind != goesOn {
				return j
			}
		}
		return goJump{}
	}
}

// stmt is a statement, which has a label or none.
func (c *goCompiler) stmt(s ast.Stmt, label string) func() goJump {
	does := func(f func()) func() goJump { return func() goJump { f(); return goJump{} } }
	switch s := s.(type) {
	case *ast.LabeledStmt:
		return c.stmt(s.Stmt, s.Label.Name)
	case *ast.BlockStmt:
		return c.block(s.List)
	case *ast.DeclStmt:
		return does(c.declare(s.Decl.(*ast.GenDecl)))
	case *ast.AssignStmt:
		return does(c.assign(s))
	case *ast.IncDecStmt:
		op := map[token.Token]token.Token{token.INC: token.ADD, token.DEC: token.SUB}[s.Tok]
		k := c.kind(s.X)
		one := uint64(1)
		if isFloat(k) {
			one = floatBits(1, k)
		}
		return does(c.update(s.X, op, func() uint64 { return one }))
	case *ast.ExprStmt:
		call := s.X.(*ast.CallExpr)
		if b, ok := c.info.Uses[ast.Unparen(call.Fun).(*ast.Ident)].(*types.Builtin); ok {
			run := c.builtin(b.Name(), call)
			return does(func() { run() })
		}
		run := c.calls(call)
		return does(func() { run() })
	case *ast.IfStmt:
		return c.ifStmt(s)
	case *ast.ForStmt:
		return c.forStmt(s, label)
	case *ast.RangeStmt:
		return c.rangeStmt(s, label)
	case *ast.SwitchStmt:
		return c.switchStmt(s, label)
	case *ast.BranchStmt:
		j := goJump{kind: map[token.Token]goEnd{token.BREAK: breaks, token.CONTINUE: continues}[s.Tok]}
		if s.Label != nil {
			j.label = s.Label.Name
		}
		return func() goJump { return j }
	case *ast.ReturnStmt:
		return c.returnStmt(s)
	}
	panic(fmt.Sprintf("the interpreter has no %T", s))
}

func (c *goCompiler) declare(d *ast.GenDecl) func() {
	var run []func()
	for _, spec := range d.Specs {
		v := spec.(*ast.ValueSpec)
		for i, name := range v.Names {
			x := c.use(name)
			array, isArray := c.info.TypeOf(name).Underlying().(*types.Array)
			switch {
			case isArray:
				t, k := goKinds[basic(array.Elem())], basic(array.Elem())
				run = append(run, func() {
					x.vec = goVec{reflect.MakeSlice(reflect.SliceOf(t), int(array.Len()), int(array.Len())).UnsafePointer(), int(array.Len()), k}
				})
			case i < len(v.Values):
				value := c.expr(v.Values[i])
				run = append(run, func() { x.bits = value() })
			default:
				run = append(run, func() { x.bits = 0 })
			}
		}
	}
	return all(run)
}

func all(list []func()) func() {
	return func() {
		for _, f := range list {
			f()
		}
	}
}

func (c *goCompiler) assign(s *ast.AssignStmt) func() {
	if s.Tok != token.ASSIGN && s.Tok != token.DEFINE {
		return c.update(s.Lhs[0], assignOps[s.Tok], c.expr(s.Rhs[0]))
	}
	if len(s.Rhs) == 1 {
		if _, ok := c.info.TypeOf(s.Rhs[0]).Underlying().(*types.Slice); ok {
			to, x := c.use(s.Lhs[0].(*ast.Ident)), c.slice(s.Rhs[0])
			return func() { to.vec = x() }
		}
	}
	if len(s.Lhs) > 1 && len(s.Rhs) == 1 {
		call := c.calls(ast.Unparen(s.Rhs[0]).(*ast.CallExpr))
		var set []func(uint64)
		for _, e := range s.Lhs {
			set = append(set, c.place(e))
		}
		return func() {
			values := append([]uint64(nil), call()...)
			for i, f := range set {
				f(values[i])
			}
		}
	}
	var set []func(uint64)
	var values []func() uint64
	for i, e := range s.Lhs {
		set, values = append(set, c.place(e)), append(values, c.expr(s.Rhs[i]))
	}
	if len(set) == 1 {
		return func() { set[0](values[0]()) }
	}
	return func() {
		var now []uint64
		for _, v := range values {
			now = append(now, v())
		}
		for i, f := range set {
			f(now[i])
		}
	}
}

var assignOps = map[token.Token]token.Token{token.ADD_ASSIGN: token.ADD, token.SUB_ASSIGN: token.SUB, token.MUL_ASSIGN: token.MUL, token.QUO_ASSIGN: token.QUO, token.REM_ASSIGN: token.REM,
	token.AND_ASSIGN: token.AND, token.OR_ASSIGN: token.OR, token.XOR_ASSIGN: token.XOR, token.SHL_ASSIGN: token.SHL, token.SHR_ASSIGN: token.SHR, token.AND_NOT_ASSIGN: token.AND_NOT}

// place stores to a variable or an element.
func (c *goCompiler) place(e ast.Expr) func(uint64) {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		if e.Name == "_" {
			return func(uint64) {}
		}
		v := c.use(e)
		return func(bits uint64) { v.bits = bits }
	case *ast.IndexExpr:
		x, i := c.slice(e.X), c.index(e.Index)
		return func(bits uint64) { v := x(); v.store(v.check(i()), bits) }
	}
	panic(fmt.Sprintf("the interpreter has no place %T", e))
}

func (c *goCompiler) update(to ast.Expr, op token.Token, value func() uint64) func() {
	load, store, k := c.expr(to), c.place(to), c.kind(to)
	if op == token.SHL || op == token.SHR {
		return func() { store(goShift(op, load(), value(), k, types.Uint32)) }
	}
	return func() { store(goArithmetic(op, load(), value(), k)) }
}

func (c *goCompiler) ifStmt(s *ast.IfStmt) func() goJump {
	first := func() goJump { return goJump{} }
	if s.Init != nil {
		first = c.stmt(s.Init, "")
	}
	cond, then, other := c.expr(s.Cond), c.block(s.Body.List), func() goJump { return goJump{} }
	if s.Else != nil {
		other = c.stmt(s.Else, "")
	}
	return func() goJump {
		first()
		if cond() != 0 {
			return then()
		}
		return other()
	}
}

// rounds runs a loop's body until it is left; next reports whether there is a round.
func (c *goCompiler) rounds(label string, next func() bool, body func() goJump, post func()) goJump {
	for next() {
		if c.steps--; c.steps < 0 {
			panic(goEndless{})
		}
		switch j := body(); {
		case j.kind == goesOn, j.kind == continues && (j.label == "" || j.label == label):
		case j.kind == breaks && (j.label == "" || j.label == label):
			return goJump{}
		default:
			return j
		}
		post()
	}
	return goJump{}
}

func (c *goCompiler) forStmt(s *ast.ForStmt, label string) func() goJump {
	none := func() goJump { return goJump{} }
	first, post, cond := none, none, func() uint64 { return 1 }
	if s.Init != nil {
		first = c.stmt(s.Init, "")
	}
	if s.Post != nil {
		post = c.stmt(s.Post, "")
	}
	if s.Cond != nil {
		cond = c.expr(s.Cond)
	}
	body := c.block(s.Body.List)
	return func() goJump {
		first()
		return c.rounds(label, func() bool { return cond() != 0 }, body, func() { post() })
	}
}

// rangeStmt goes over an integer or a slice.
func (c *goCompiler) rangeStmt(s *ast.RangeStmt, label string) func() goJump {
	set := func(e ast.Expr) func(uint64) {
		if e == nil {
			return func(uint64) {}
		}
		return c.place(e)
	}
	key, value, body := set(s.Key), set(s.Value), c.block(s.Body.List)
	var over func() goVec
	if _, ok := c.info.TypeOf(s.X).Underlying().(*types.Basic); ok {
		n := c.index(s.X)
		over = func() goVec { return goVec{len: n()} }
	} else {
		over = c.slice(s.X)
	}
	return func() goJump {
		v, i := over(), 0
		next := func() bool {
			if i >= v.len {
				return false
			}
			key(uint64(i))
			if s.Value != nil {
				value(v.load(i))
			}
			return true
		}
		return c.rounds(label, next, body, func() { i++ })
	}
}

func (c *goCompiler) switchStmt(s *ast.SwitchStmt, label string) func() goJump {
	tag, k := func() uint64 { return 1 }, types.Bool
	if s.Tag != nil {
		tag, k = c.expr(s.Tag), c.kind(s.Tag)
	}
	type clause struct {
		values []func() uint64
		body   func() goJump
	}
	var list []clause
	otherwise := func() goJump { return goJump{} }
	for _, x := range s.Body.List {
		x := x.(*ast.CaseClause)
		body := c.block(x.Body)
		if x.List == nil {
			otherwise = body
			continue
		}
		var values []func() uint64
		for _, e := range x.List {
			values = append(values, c.expr(e))
		}
		list = append(list, clause{values, body})
	}
	choose := func() goJump {
		t := tag()
		for _, x := range list {
			for _, v := range x.values {
				if goCompare(token.EQL, t, v(), k) {
					return x.body()
				}
			}
		}
		return otherwise()
	}
	return func() goJump {
		if j := choose(); j.kind != breaks || j.label != "" && j.label != label {
			return j
		}
		return goJump{}
	}
}

func (c *goCompiler) returnStmt(s *ast.ReturnStmt) func() goJump {
	var values []func() uint64
	for _, e := range s.Results {
		values = append(values, c.expr(e))
	}
	f := c.of
	return func() goJump {
		var now []uint64
		for _, v := range values {
			now = append(now, v())
		}
		if len(values) == 0 {
			for _, r := range f.results {
				now = append(now, r.bits)
			}
		}
		f.values = now
		return goJump{kind: returns}
	}
}
