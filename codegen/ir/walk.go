package ir

// Lists calls f with every list of statements directly in s, in program order: both sides of an If,
// the parts of a loop, the body of a construct.
func Lists(s Stmt, f func(list []Stmt)) {
	switch s := s.(type) {
	case *If:
		f(s.Then)
		f(s.Else)
	case *Block:
		f(s.Body)
	case *While:
		f(s.Pre)
		f(s.Body)
		f(s.Post)
	case *For:
		f(s.Body)
	case *Construct:
		f(s.Body)
	}
}

// WalkStmts calls visit for every statement of list and of the lists inside it, outer ones first,
// in program order. If visit returns false, the lists inside the statement are skipped. Called
// functions are not visited.
func WalkStmts(list []Stmt, visit func(Stmt) bool) {
	for _, s := range list {
		if visit(s) {
			Lists(s, func(inner []Stmt) { WalkStmts(inner, visit) })
		}
	}
}

// Operands calls f for the direct operands of e, left to right.
func Operands(e Expr, f func(Expr)) {
	switch e := e.(type) {
	case *Unary:
		f(e.X)
	case *Binary:
		each(f, e.X, e.Y)
	case *Convert:
		f(e.X)
	case *Math:
		each(f, e.Args...)
	case *Select:
		each(f, e.Cond, e.X, e.Y)
	case *Index:
		each(f, e.X, e.I)
	case *Member:
		f(e.X)
	case *Deref:
		f(e.X)
	case *AddrOf:
		f(e.X)
	case *Reslice:
		each(f, e.X, e.Lo, e.Hi, e.Max)
	case *Len:
		f(e.X)
	case *Cap:
		f(e.X)
	case *Apart:
		each(f, e.X, e.Y)
	case *Composite:
		each(f, e.Elems...)
	case *Shuffle:
		each(f, e.X, e.By)
	}
}

// each calls f for those of list that are not nil.
func each(f func(Expr), list ...Expr) {
	for _, e := range list {
		if e != nil {
			f(e)
		}
	}
}

// WalkExpr calls visit for e and every expression in it, outer ones first; where visit returns
// false, the operands are left out.
func WalkExpr(e Expr, visit func(Expr) bool) {
	if e != nil && visit(e) {
		Operands(e, func(x Expr) { WalkExpr(x, visit) })
	}
}

// StmtExprs calls f for every expression that stands directly in s, places too, and the expressions
// of its directive; not those of the statements inside it.
func StmtExprs(s Stmt, f func(Expr)) {
	switch s := s.(type) {
	case *Decl:
		each(f, s.Init)
	case *Assign:
		each(f, s.Place, s.Value)
	case *Call:
		each(f, s.Args...)
	case *If:
		f(s.Cond)
	case *While:
		each(f, s.Cond)
	case *For:
		DirectiveExprs(s.Directive, f)
		each(f, s.Lo, s.Hi, s.Step)
	case *Return:
		each(f, s.Results...)
	case *Atomic:
		each(f, s.Place, s.Value, s.Compare, s.Old)
	case *Barrier:
		each(f, s.Count)
	case *Construct:
		DirectiveExprs(s.Directive, f)
	}
}

// DirectiveExprs calls f for the expressions of the clauses of d, which may be nil.
func DirectiveExprs(d *Directive, f func(Expr)) {
	if d == nil {
		return
	}
	each(f, d.NumTeams, d.ThreadLimit, d.NumThreads, d.If, d.Schedule.Chunk, d.DistSchedule.Chunk)
	for _, r := range d.Reductions {
		each(f, r.Place, r.Index)
	}
	for _, a := range d.DistArrays {
		each(f, a.Chunk)
	}
}

// DirectiveOf returns the directive on s, nil where there is none.
func DirectiveOf(s Stmt) *Directive {
	switch s := s.(type) {
	case *For:
		return s.Directive
	case *Construct:
		return s.Directive
	}
	return nil
}

// WalkExprs calls visit for every expression in list, as WalkStmts and WalkExpr do.
func WalkExprs(list []Stmt, visit func(Expr) bool) {
	WalkStmts(list, func(s Stmt) bool {
		StmtExprs(s, func(e Expr) { WalkExpr(e, visit) })
		return true
	})
}

// Inspect calls stmt for every statement of list and expr for every expression in it, in program
// order; either may be nil.
func Inspect(list []Stmt, stmt func(Stmt), expr func(Expr)) {
	WalkStmts(list, func(s Stmt) bool {
		if stmt != nil {
			stmt(s)
		}
		if expr != nil {
			StmtExprs(s, func(e Expr) { WalkExpr(e, func(e Expr) bool { expr(e); return true }) })
		}
		return true
	})
}
