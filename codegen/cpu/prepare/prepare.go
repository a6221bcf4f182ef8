package prepare

import "github.com/gompss/gompss/codegen/ir"

// maxStatements bounds what inlining and unrolling may make of a kernel.
const maxStatements = 4000

// A Result is a kernel that the selection can take, and what it has to know of it.
type Result struct {
	Kernel  *ir.Kernel // that is selected
	next    int        // ID of the next new variable
	size    int
	refused *Refusal
	Names   map[ir.Pos]string   // of the slices and arrays whose indices are checked by within
	Bounds  map[ir.Pos]bool     // where within checks a bound of a part, by one more than its limit
	Caps    map[*ir.Var]*ir.Var // the capacities of parameters, where they matter: they come behind the parameters
	Pointed map[*ir.Var]bool    // slices that were pointers
	Arrays  map[*ir.Var]int64   // the lengths of local arrays in memory, which are slice variables from here on
}

// Kernel prepares k, which stays as it is. The error is a *Refusal.
func Kernel(k *ir.Kernel) (*Result, error) {
	p := newResult(k)
	c := *k
	for _, pass := range passes {
		c.Params, c.Body = pass.run(p, c.Params, c.Body)
	}
	c.NumVars, c.Funcs = p.next, nil
	if p.refused != nil {
		return nil, p.refused
	}
	p.Kernel = &c
	return p, nil
}

// newResult is the beginning of all: nothing is prepared yet.
func newResult(k *ir.Kernel) *Result {
	return &Result{Kernel: k, next: k.NumVars, Names: map[ir.Pos]string{}, Bounds: map[ir.Pos]bool{}, Caps: map[*ir.Var]*ir.Var{}, Arrays: map[*ir.Var]int64{}, Pointed: map[*ir.Var]bool{}}
}

// A pass makes another body of a body, and other parameters of the parameters.
type pass struct {
	name string
	run  func(p *Result, params []*ir.Var, body []ir.Stmt) ([]*ir.Var, []ir.Stmt)
}

// onBody is a pass that leaves the parameters alone.
func onBody(name string, run func(p *Result, body []ir.Stmt) []ir.Stmt) pass {
	return pass{name, func(p *Result, params []*ir.Var, body []ir.Stmt) ([]*ir.Var, []ir.Stmt) {
		return params, run(p, body)
	}}
}

// passes are run in this order.
var passes = []pass{
	onBody("inline calls, open constructs", (*Result).list),
	{"make pointers slices", (*Result).pointers},
	onBody("merge declarations", func(_ *Result, body []ir.Stmt) []ir.Stmt { return mergeDecls(body) }),
	{"copy slice parameters that are assigned", func(p *Result, params []*ir.Var, body []ir.Stmt) ([]*ir.Var, []ir.Stmt) {
		return params, p.ownSlices(params, body)
	}},
	onBody("make parts of slices numbers", (*Result).cutViews),
	onBody("count loops without a constant step", (*Result).steps),
	onBody("collapse loops", (*Result).collapsed),
	onBody("make continue a jump out of a block", func(_ *Result, body []ir.Stmt) []ir.Stmt { return continues(body) }),
	onBody("make private variables", (*Result).privates),
	onBody("unroll short loops", unroll),
	onBody("cut arrays and structs into scalars", cutAggregates),
	onBody("reduce into variables", (*Result).reduceParts),
	onBody("make fields of own elements variables", (*Result).rowFields),
	onBody("load fields before the loops that do not change them", invariants),
	onBody("name indices", namedIndices),
	onBody("store last private values", (*Result).lasts),
	onBody("lift loops out of branches", (*Result).liftLoops),
	onBody("merge declarations", func(_ *Result, body []ir.Stmt) []ir.Stmt { return mergeDecls(body) }),
}

func (p *Result) fail(at ir.Pos, why string) {
	if p.refused == nil {
		p.refused = &Refusal{Kernel: p.Kernel.Name, At: at, Why: why}
	}
}

func (p *Result) local(name string, t *ir.Type, at ir.Pos) *ir.Var {
	p.next++
	return &ir.Var{Name: name, Type: t, Space: ir.Local, ID: p.next - 1, At: at}
}

// pointers turns every pointer parameter into a slice of length one, or none for nil, and a
// reduction into what it points at into one of a variable.
func (p *Result) pointers(params []*ir.Var, body []ir.Stmt) ([]*ir.Var, []ir.Stmt) {
	with := map[*ir.Var]*ir.Var{}
	out := make([]*ir.Var, len(params))
	for i, v := range params {
		out[i] = v
		if v.Type.Kind == ir.Pointer {
			c := *v
			c.Type = ir.SliceOf(v.Type.Elem)
			out[i], with[v], p.Pointed[&c] = &c, &c, true
		}
	}
	if len(with) == 0 {
		return params, body
	}
	r := &ir.Rewrite{Var: func(v *ir.Var) *ir.Var {
		if w, ok := with[v]; ok {
			return w
		}
		return v
	}, Expr: func(e ir.Expr) ir.Expr {
		if d, ok := e.(*ir.Deref); ok && d.X.Type().Kind == ir.Slice {
			return &ir.Index{X: d.X, I: &ir.Const{T: ir.IntType, At: d.At}, Checked: d.Checked, At: d.At}
		}
		return e
	}}
	var list []ir.Stmt
	for _, s := range r.CopyStmts(body) {
		list = append(list, p.reduceThrough(s)...)
	}
	return out, list
}

// reduceParts is reduceThrough for the elements of local arrays, which are in memory by now.
func (p *Result) reduceParts(body []ir.Stmt) []ir.Stmt {
	return (&ir.Rewrite{Stmt: p.reduceThrough}).CopyStmts(body)
}

// reduceThrough lets a loop reduce into variables instead of parts of something - elements, fields
// -, which are read before and written after it.
func (p *Result) reduceThrough(s ir.Stmt) []ir.Stmt {
	f, ok := s.(*ir.For)
	if !ok || f.Directive == nil {
		return []ir.Stmt{s}
	}
	var before, after []ir.Stmt
	for i := range f.Directive.Reductions {
		for _, place := range []ir.Expr{f.Directive.Reductions[i].Place, f.Directive.Reductions[i].Index} {
			if place == nil || !isPart(place) {
				continue
			}
			v := p.local("sum", place.Type(), place.Pos())
			before = append(before, &ir.Decl{Var: v, Init: place, At: place.Pos()})
			after = append(after, &ir.Assign{Place: (&ir.Rewrite{}).CopyExpr(place), Value: &ir.Ref{Var: v, At: place.Pos()}, At: place.Pos()})
			f = through(f, place, v)
		}
	}
	return append(append(before, f), after...)
}

// through returns f with v in the place of place.
func through(f *ir.For, place ir.Expr, v *ir.Var) *ir.For {
	key := ir.ExprKey(place)
	r := &ir.Rewrite{Expr: func(e ir.Expr) ir.Expr {
		switch e.(type) {
		case *ir.Index, *ir.Member:
			if ir.ExprKey(e) == key {
				return &ir.Ref{Var: v, At: e.Pos()}
			}
		}
		return e
	}}
	return r.CopyStmt(f)[0].(*ir.For)
}

// isPart reports whether place is a scalar part of something that is known, or an element of a
// slice, of any type: an array behind a pointer parameter is one.
func isPart(place ir.Expr) bool {
	if ix, ok := place.(*ir.Index); ok && ix.X.Type().Kind == ir.Slice {
		if _, fixed := ir.ConstInt(ix.I); fixed {
			return true
		}
	}
	_, isVar := place.(*ir.Ref)
	return !isVar && place.Type().IsScalar() && !behindPointer(place)
}

// behindPointer reports whether a place lies behind a pointer that is not known yet to be a slice.
func behindPointer(place ir.Expr) bool {
	found := false
	ir.WalkExpr(place, func(e ir.Expr) bool {
		_, ok := e.(*ir.Deref)
		found = found || ok
		return !found
	})
	return found
}

// collapsed lets the inner loops of a collapse clause carry the directive, which holds for all of
// them.
func (p *Result) collapsed(body []ir.Stmt) []ir.Stmt {
	r := &ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		f, ok := s.(*ir.For)
		if !ok || f.Directive == nil || f.Directive.Collapse < 2 {
			return []ir.Stmt{s}
		}
		for n, l := f.Directive.Collapse, f; n > 1 && len(l.Body) == 1; n-- {
			inner, ok := l.Body[0].(*ir.For)
			if !ok || inner.Directive != nil {
				break
			}
			outer := *l.Directive
			inner.Directive = &ir.Directive{Parts: outer.Parts, Text: outer.Text, At: outer.At, Sharing: ir.Sharing{Reductions: outer.Reductions, Lastprivate: outer.Lastprivate,
				Private: outer.Private, Firstprivate: outer.Firstprivate}}
			outer.Private, outer.Firstprivate = nil, nil // of an iteration of all loops
			l.Directive = &outer
			l = inner
		}
		return []ir.Stmt{f}
	}}
	return r.CopyStmts(body)
}

// continues makes every continue of a counted loop a jump to the end of a block around the loop's
// body, which lanes may reach at different times.
func continues(body []ir.Stmt) []ir.Stmt {
	r := &ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		f, ok := s.(*ir.For)
		if !ok || f.Label == nil {
			return []ir.Stmt{s}
		}
		end, found := &ir.Label{Name: "next"}, false
		inner := (&ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
			if c, ok := s.(*ir.Continue); ok && c.Label == f.Label {
				found = true
				return []ir.Stmt{&ir.Break{Label: end, At: c.At}}
			}
			return []ir.Stmt{s}
		}}).CopyStmts(f.Body)
		if found {
			f.Body = []ir.Stmt{&ir.Block{Label: end, Body: inner, At: f.At}}
		}
		return []ir.Stmt{f}
	}}
	return r.CopyStmts(body)
}

// list copies statements, with calls inlined and constructs and plain blocks opened.
func (p *Result) list(body []ir.Stmt) []ir.Stmt {
	r := &ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		if p.size++; p.size > maxStatements {
			p.fail(s.Pos(), "the kernel is too large with its calls inlined")
			return nil
		}
		switch s := s.(type) {
		case *ir.Call:
			return p.list(p.inline(s))
		case *ir.Block:
			if s.Label == nil {
				return s.Body
			}
		case *ir.Construct:
			return p.strided(s)
		case *ir.Barrier:
			return nil
		}
		return []ir.Stmt{s}
	}}
	return r.CopyStmts(body)
}

// inline is the body of the function called, between assignments of arguments and results.
func (p *Result) inline(c *ir.Call) []ir.Stmt {
	if p.refused != nil {
		return nil
	}
	var out []ir.Stmt
	params := map[*ir.Var]*ir.Var{}
	known := constantArgs(c)
	for i, v := range c.Fn.Params {
		if known[v] != nil {
			continue
		}
		params[v] = p.local(v.Name, v.Type, c.At)
		out = append(out, &ir.Decl{Var: params[v], Init: c.Args[i], At: c.At})
	}
	body := ir.Fresh(c.Fn.Body, func(v *ir.Var) *ir.Var { return p.local(v.Name, v.Type, v.At) }).CopyStmts(c.Fn.Body)
	body = withConstants(body, known)
	body = (&ir.Rewrite{Var: func(v *ir.Var) *ir.Var {
		if w, ok := params[v]; ok {
			return w
		}
		return v
	}}).CopyStmts(body)
	if n := len(body); n > 0 {
		if r, ok := body[n-1].(*ir.Return); ok {
			body = append(body[:n-1], p.results(c, r)...)
		}
	}
	end := &ir.Label{Name: c.Fn.Name}
	early := false
	body = (&ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		r, ok := s.(*ir.Return)
		if !ok {
			return []ir.Stmt{s}
		}
		early = true
		return append(p.results(c, r), &ir.Break{Label: end, At: r.At})
	}}).CopyStmts(body)
	if early {
		return append(out, &ir.Block{Label: end, Body: body, At: c.At})
	}
	return append(out, body...)
}

// results assigns what a return returns; through temporaries where there are several, which may be
// read by one another.
func (p *Result) results(c *ir.Call, r *ir.Return) []ir.Stmt {
	var first, then []ir.Stmt
	for i, e := range r.Results {
		if c.Results[i] == nil {
			continue
		}
		value := e
		if len(r.Results) > 1 {
			t := p.local("result", e.Type(), r.At)
			first = append(first, &ir.Decl{Var: t, Init: e, At: r.At})
			value = &ir.Ref{Var: t, At: r.At}
		}
		then = append(then, &ir.Assign{Place: &ir.Ref{Var: c.Results[i], At: r.At}, Value: value, At: r.At})
	}
	return append(first, then...)
}

// privates gives every iteration of a loop its own copies of the variables that private and
// firstprivate name.
func (p *Result) privates(body []ir.Stmt) []ir.Stmt {
	r := &ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		f, ok := s.(*ir.For)
		if !ok || f.Directive == nil || len(f.Directive.Private)+len(f.Directive.Firstprivate) == 0 {
			return []ir.Stmt{s}
		}
		d := *f.Directive
		copies := map[*ir.Var]*ir.Var{}
		var decls []ir.Stmt
		for _, v := range d.Private {
			copies[v] = p.local(v.Name, v.Type, f.At)
			decls = append(decls, &ir.Decl{Var: copies[v], At: f.At})
		}
		for _, v := range d.Firstprivate {
			copies[v] = p.local(v.Name, v.Type, f.At)
			decls = append(decls, &ir.Decl{Var: copies[v], Init: &ir.Ref{Var: v, At: f.At}, At: f.At})
		}
		d.Private, d.Firstprivate = nil, nil
		inner := (&ir.Rewrite{Var: func(v *ir.Var) *ir.Var {
			if c, ok := copies[v]; ok {
				return c
			}
			return v
		}}).CopyStmts(f.Body)
		f.Directive, f.Body = &d, append(decls, inner...)
		return []ir.Stmt{f}
	}}
	return r.CopyStmts(body)
}

// mergeDecls moves a declaration without a value down to the one assignment of its variable in the
// same list, so that its shape is that of the value: the results of inlined calls.
func mergeDecls(body []ir.Stmt) []ir.Stmt {
	assigned := map[*ir.Var]int{}
	ir.WalkStmts(body, func(s ir.Stmt) bool {
		for _, v := range ir.Assigned([]ir.Stmt{s}).List() {
			if _, whole := s.(*ir.Assign); whole {
				assigned[v]++
			} else if _, nest := s.(*ir.Atomic); nest {
				assigned[v] += 2
			}
		}
		for _, r := range reductionsIn(s) {
			assigned[ir.RootVar(r.Place)] += 2
		}
		return true
	})
	r := &ir.Rewrite{}
	list := func(body []ir.Stmt) []ir.Stmt {
		waiting := map[*ir.Var]int{}
		out := make([]ir.Stmt, 0, len(body))
		for _, s := range body {
			for _, v := range ir.Used([]ir.Stmt{s}).List() {
				if a, ok := s.(*ir.Assign); ok && ir.IsRef(a.Place, v) && !ir.ExprVars(a.Value).Has(v) {
					continue
				}
				delete(waiting, v)
			}
			switch s := s.(type) {
			case *ir.Decl:
				if s.Init == nil && assigned[s.Var] == 1 {
					waiting[s.Var] = len(out)
				}
			case *ir.Assign:
				if ref, ok := s.Place.(*ir.Ref); ok {
					if i, ok := waiting[ref.Var]; ok {
						out[i] = nil
						out = append(out, &ir.Decl{Var: ref.Var, Init: s.Value, At: s.At})
						continue
					}
				}
			}
			out = append(out, s)
		}
		kept := out[:0]
		for _, s := range out {
			if s != nil {
				kept = append(kept, s)
			}
		}
		return kept
	}
	r.Stmt = func(s ir.Stmt) []ir.Stmt {
		switch s := s.(type) {
		case *ir.If:
			s.Then, s.Else = list(s.Then), list(s.Else)
		case *ir.For:
			s.Body = list(s.Body)
		case *ir.While:
			s.Pre, s.Body = list(s.Pre), list(s.Body)
		case *ir.Block:
			s.Body = list(s.Body)
		}
		return []ir.Stmt{s}
	}
	return list(r.CopyStmts(body))
}

func reductionsIn(s ir.Stmt) []ir.Reduction {
	if d := ir.DirectiveOf(s); d != nil {
		return d.Reductions
	}
	return nil
}
