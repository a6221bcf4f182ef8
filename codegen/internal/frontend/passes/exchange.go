package passes

import (
	"slices"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A loop over time steps often exchanges slices at the end of a step, src, dst = dst, src, so that
// the slice of a name depends on the step. Such a loop gets one copy of its body for each state of
// the exchange, in which every name is one slice, and a variable with the state of the next step.
// The statements after the loop are copied in the same way if they use the names. The exchange may
// stand under conditions: a branch that makes it sets the variable. So are the statements behind a
// branch outside of loops that exchanges slices.

// maxExchanged bounds the statements that copies add to a kernel: copies of copies may be many.
const maxExchanged = 1 << 12

// A separator copies the loops of one function.
type separator struct {
	*Pass
	taken   *ir.VarSet // variables of the function that pointers point at
	left    *int       // number of statements that copies may still add
	threads bool       // several threads may run what it looks at, each with conditions of its own
}

// SeparateExchanges copies the bodies of loops that exchange slices.
func SeparateExchanges(u *Pass) {
	left := maxExchanged
	separated := func(params []*ir.Var, body []ir.Stmt, threads bool) []ir.Stmt {
		if !assignsAddress(body) {
			return body
		}
		own := &ir.VarSet{}
		for _, v := range params {
			own.Add(v)
		}
		return separator{u, ir.AddressTaken(body), &left, threads}.list(body, own)
	}
	u.Kernel.Body = separated(u.Kernel.Params, u.Kernel.Body, false)
	for _, f := range u.Kernel.Funcs {
		f.Body = separated(f.Params, f.Body, true)
	}
}

// list returns list, outside of which nothing uses the variables that it declares and those in
// own.
func (u separator) list(list []ir.Stmt, own *ir.VarSet) []ir.Stmt {
	mine := &ir.VarSet{}
	for _, v := range own.List() {
		mine.Add(v)
	}
	for i := 0; i < len(list); i++ {
		s := list[i]
		if b, ok := s.(*ir.Block); ok && u.exchangesIn(b, mine) { // as one around a loop and its counter
			list = slices.Concat(list[:i], b.Body, list[i+1:])
			s = list[i]
		}
		if d, ok := s.(*ir.Decl); ok {
			mine.Add(d.Var)
		}
		if x := u.exchangeOf(s, mine); x != nil && x.fits(list[i+1:]) {
			out := append(slices.Clip(list[:i]), x.loop()...)
			for k := range out {
				out[k] = u.inside(out[k], &ir.VarSet{})
			}
			return append(out, x.rest(list[i+1:], mine)...)
		}
		if x := u.branchOf(list[i:], mine); x != nil && x.fits(nil) {
			list = append(slices.Clip(list[:i]), x.branch()...)
		}
	}
	for i, s := range list {
		after := ir.Used(list[i+1:])
		unused := &ir.VarSet{}
		for _, v := range mine.List() {
			if !after.Has(v) {
				unused.Add(v)
			}
		}
		list[i] = u.inside(s, unused)
	}
	return list
}

// exchangesIn reports whether b is no more than a scope, and a loop directly in it exchanges
// variables of its own or of own.
func (u separator) exchangesIn(b *ir.Block, own *ir.VarSet) bool {
	if b.Label != nil {
		return false
	}
	mine := &ir.VarSet{}
	for _, v := range own.List() {
		mine.Add(v)
	}
	return slices.ContainsFunc(b.Body, func(s ir.Stmt) bool {
		if d, ok := s.(*ir.Decl); ok {
			mine.Add(d.Var)
		}
		return u.exchangeOf(s, mine) != nil
	})
}

// inside copies loops in the lists of s. The statements after s use none of own.
func (u separator) inside(s ir.Stmt, own *ir.VarSet) ir.Stmt {
	none := &ir.VarSet{} // variables that a loop may use again
	if d := ir.DirectiveOf(s); d != nil && d.Parts&^(ir.Teams|ir.Distribute) != 0 {
		u.threads = true
	}
	switch s := s.(type) {
	case *ir.If:
		s.Then, s.Else = u.list(s.Then, own), u.list(s.Else, own)
	case *ir.Block:
		s.Body = u.list(s.Body, own)
	case *ir.While:
		s.Body = u.list(s.Body, none)
	case *ir.For:
		if second := secondPhase(s); second != nil {
			second.Body = u.list(second.Body, none)
			if first := s.Body[:len(s.Body)-1]; !usesAny(second.Body, ir.Declared(first)) {
				s.Body = append(u.list(slices.Clip(first), none), second)
			}
			break
		}
		s.Body = u.list(s.Body, none)
	case *ir.Construct:
		s.Body = u.list(s.Body, none)
	}
	return s
}

// secondPhase returns the block behind the scan directive of f, nil where it has none.
func secondPhase(f *ir.For) *ir.Block {
	if f.Directive == nil || f.Directive.Scan == nil || len(f.Body) == 0 {
		return nil
	}
	second, _ := f.Body[len(f.Body)-1].(*ir.Block)
	return second
}

func usesAny(list []ir.Stmt, vars *ir.VarSet) bool {
	used := ir.Used(list)
	return slices.ContainsFunc(vars.List(), used.Has)
}

// An exchange is a loop in which the moves, statements directly in its body or in a branch of it,
// give the variables that from has the values of each other, and nothing else changes them.
type exchange struct {
	u      separator
	s      ir.Stmt
	body   []ir.Stmt
	site   site
	from   map[*ir.Var]*ir.Var
	states []map[*ir.Var]*ir.Var // by state: the variable that stands for each in the first
	turn   *ir.Var
}

// A site is the place of the moves: the statements from first up to behind of the list that path
// leads to.
type site struct {
	path          []step
	first, behind int
	list          []ir.Stmt
}

// A step leads into statement number at of a list: a block, or a branch of an if statement.
type step struct {
	at        int
	otherwise bool
}

func (p site) moves() []ir.Stmt { return p.list[p.first:p.behind] }

// lists calls f for list and the lists in its branches and blocks, until it returns true.
func lists(list []ir.Stmt, path []step, f func(list []ir.Stmt, path []step) bool) bool {
	if f(list, path) {
		return true
	}
	for i, s := range list {
		into := func(inner []ir.Stmt, otherwise bool) bool {
			return lists(inner, append(slices.Clip(path), step{i, otherwise}), f)
		}
		switch s := s.(type) {
		case *ir.Block:
			if into(s.Body, false) {
				return true
			}
		case *ir.If:
			if into(s.Then, false) || into(s.Else, true) {
				return true
			}
		}
	}
	return false
}

// exchangeOf returns the exchange that s is, of variables in own; nil where it is none.
func (u separator) exchangeOf(s ir.Stmt, own *ir.VarSet) *exchange {
	x := &exchange{u: u, s: s}
	var head []ir.Stmt
	switch s := s.(type) {
	case *ir.For:
		if s.Directive != nil {
			return nil
		}
		x.body = s.Body
		head = []ir.Stmt{&ir.For{Label: &ir.Label{}, Var: s.Var, Lo: s.Lo, Hi: s.Hi, Step: s.Step, Rel: s.Rel, At: s.At}}
	case *ir.While:
		x.body = s.Body
		head = s.Post // the copies of the body test the condition, so it may use the exchanged variables
	default:
		return nil
	}
	if !x.find(own, ir.Used(head)) {
		return nil
	}
	return x
}

// find finds the first and longest sequence of moves that exchange variables in own. They do not
// exchange variables of the head of the loop.
func (x *exchange) find(own, head *ir.VarSet) bool {
	return lists(x.body, nil, func(list []ir.Stmt, path []step) bool {
		if len(path) > 0 && x.u.threads && meets(x.body) {
			return false
		}
		return x.longest(list, path, func() bool { return x.alone(own, head) })
	})
}

// longest finds the first and longest sequence of moves directly in list that fits.
func (x *exchange) longest(list []ir.Stmt, path []step, fits func() bool) bool {
	for first := 0; first < len(list); first++ {
		behind := first
		for behind < len(list) && movesVariable(list[behind]) {
			behind++
		}
		for ; behind > first; behind-- {
			if x.site = (site{path, first, behind, list}); x.permutes() && x.local() && fits() {
				return true
			}
		}
	}
	return false
}

// meets reports whether threads may meet in list, where all of them must run the same copy.
func meets(list []ir.Stmt) bool { return meetIn(list, map[*ir.Func]bool{}) }

func meetIn(list []ir.Stmt, seen map[*ir.Func]bool) (found bool) {
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.Barrier:
			found = true
		case *ir.Call:
			if !seen[s.Fn] {
				seen[s.Fn] = true
				found = found || meetIn(s.Fn.Body, seen)
			}
		default:
			found = found || ir.DirectiveOf(s) != nil
		}
		return !found
	})
	return found
}

// local reports whether nothing behind the moves uses what they declare.
func (x *exchange) local() bool {
	usedBehind := ir.Used(x.site.list[x.site.behind:])
	return !slices.ContainsFunc(ir.Declared(x.site.moves()).List(), usedBehind.Has)
}

// alone reports whether only the moves change the exchanged variables, so that the copies of the
// loop know the state.
func (x *exchange) alone(own, head *ir.VarSet) bool {
	kept := slices.Clone(x.site.moves())
	for i := range kept {
		x.site.moves()[i] = &ir.Block{}
	}
	changed := ir.Assigned(x.body)
	copy(x.site.moves(), kept)
	for v := range x.from {
		if !own.Has(v) || changed.Has(v) || x.u.taken.Has(v) || head.Has(v) {
			return false
		}
	}
	return true
}

// branchOf returns the exchange of variables in own that a branch of the first statement of list
// makes, nil where it makes none or the statements behind it do not use them.
func (u separator) branchOf(list []ir.Stmt, own *ir.VarSet) *exchange {
	if _, ok := list[0].(*ir.If); !ok || u.threads && meets(list) {
		return nil
	}
	x := &exchange{u: u, s: list[0], body: list}
	found := lists(list[:1], nil, func(inner []ir.Stmt, path []step) bool {
		return len(path) > 0 && x.longest(inner, path, func() bool {
			for v := range x.from {
				if !own.Has(v) || u.taken.Has(v) {
					return false
				}
			}
			return x.usedIn(list[1:])
		})
	})
	if !found {
		return nil
	}
	return x
}

// movesVariable reports whether s gives a variable the value of another.
func movesVariable(s ir.Stmt) bool {
	switch s := s.(type) {
	case *ir.Decl:
		return s.Init != nil && query.RefVar(s.Init) != nil
	case *ir.Assign:
		return query.RefVar(s.Place) != nil && query.RefVar(s.Value) != nil
	}
	return false
}

// permutes determines the effect of the moves, and reports whether they permute the values of
// variables, among them slices or pointers.
func (x *exchange) permutes() bool {
	value := map[*ir.Var]*ir.Var{}
	of := func(v *ir.Var) *ir.Var {
		if from := value[v]; from != nil {
			return from
		}
		return v
	}
	own := &ir.VarSet{}
	for _, s := range x.site.moves() {
		switch s := s.(type) {
		case *ir.Decl:
			value[s.Var] = of(query.RefVar(s.Init))
			own.Add(s.Var)
		case *ir.Assign:
			value[query.RefVar(s.Place)] = of(query.RefVar(s.Value))
		}
	}
	x.from = map[*ir.Var]*ir.Var{}
	address, sources := false, map[*ir.Var]bool{}
	for v, from := range value {
		if own.Has(v) || v == from {
			continue
		}
		x.from[v] = from
		sources[from] = true
		address = address || query.IsAddress(v.Type)
	}
	for v, from := range x.from {
		if !sources[v] || x.from[from] == nil || v.Type.String() != from.Type.String() {
			address = false
		}
	}
	if !address {
		x.from = nil
	}
	return address
}

// fits reports whether the copies may be made, where list follows the loop, and counts them.
func (x *exchange) fits(list []ir.Stmt) bool {
	x.findStates()
	n := statements(x.body)
	if x.usedIn(list) {
		n += statements(list)
	}
	copies := len(x.states) - 1
	if len(x.site.path) > 0 {
		copies = 2 * len(x.states)
	}
	if n *= copies; n > *x.u.left {
		return false
	}
	*x.u.left -= n
	return true
}

func statements(list []ir.Stmt) (n int) {
	ir.WalkStmts(list, func(ir.Stmt) bool { n++; return true })
	return n
}

func (x *exchange) usedIn(list []ir.Stmt) bool {
	used := ir.Used(list)
	for v := range x.from {
		if used.Has(v) {
			return true
		}
	}
	return false
}

// findStates applies the exchange repeatedly until all variables have their initial values again.
func (x *exchange) findStates() {
	now := map[*ir.Var]*ir.Var{}
	for v := range x.from {
		now[v] = v
	}
	for {
		x.states = append(x.states, now)
		next, same := map[*ir.Var]*ir.Var{}, true
		for v, from := range x.from {
			next[v] = now[from]
			same = same && next[v] == v
		}
		if same {
			return
		}
		now = next
	}
}

// branch returns the statements of the branch and of all behind it.
func (x *exchange) branch() []ir.Stmt {
	x.declare()
	at := x.s.Pos()
	return append([]ir.Stmt{build.Decl(x.turn, build.Int(0, at), at)}, x.copy(x.body, x.site.path, 0)...)
}

func (x *exchange) declare() {
	x.turn = &ir.Var{Name: "turn", Type: ir.IntType, Space: ir.Local, ID: x.u.Kernel.NumVars, At: x.s.Pos()}
	x.u.Kernel.NumVars++
}

// in returns a copy of list, with variables of its own, for a state.
func (x *exchange) in(list []ir.Stmt, state int) []ir.Stmt {
	list = build.WithVars(x.states[state]).CopyStmts(list)
	return ir.Fresh(list, x.u.anew).CopyStmts(list)
}

// copy returns a copy of list, which path leads from to the moves, for a state. Behind a branch
// that may make them it has two copies of the rest.
func (x *exchange) copy(list []ir.Stmt, path []step, state int) []ir.Stmt {
	now, next := build.WithVars(x.states[state]), (state+1)%len(x.states)
	if len(path) == 0 {
		at := x.site.moves()[0].Pos()
		out := append(now.CopyStmts(list[:x.site.first]), build.Assign(build.Ref(x.turn, at), build.Int(int64(next), at), at))
		return append(out, build.WithVars(x.states[next]).CopyStmts(list[x.site.behind:])...)
	}
	i := path[0].at
	out := now.CopyStmts(list[:i])
	switch s := list[i].(type) {
	case *ir.Block:
		out = append(out, &ir.Block{Label: s.Label, Body: x.copy(s.Body, path[1:], state), At: s.At})
	case *ir.If:
		c := &ir.If{Cond: now.CopyExpr(s.Cond), At: s.At}
		if path[0].otherwise {
			c.Then, c.Else = now.CopyStmts(s.Then), x.copy(s.Else, path[1:], state)
		} else {
			c.Then, c.Else = x.copy(s.Then, path[1:], state), now.CopyStmts(s.Else)
		}
		out = append(out, c)
	}
	rest := list[i+1:]
	if !x.usedIn(rest) {
		return append(out, now.CopyStmts(rest)...)
	}
	at := rest[0].Pos()
	same := build.Compare(ir.Eq, build.Ref(x.turn, at), build.Int(int64(state), at), at)
	return append(out, &ir.If{Cond: same, Then: x.in(rest, state), Else: x.in(rest, next), At: at})
}

// loop returns the loop, behind the declaration of the variable that says which copy is next.
func (x *exchange) loop() []ir.Stmt {
	at := x.s.Pos()
	x.declare()
	test := x.test()
	body := x.choose(at, func(state int) []ir.Stmt {
		out := build.WithVars(x.states[state]).CopyStmts(slices.Clone(test))
		return append(out, x.copy(x.body, x.site.path, state)...)
	})
	var loop ir.Stmt
	switch s := x.s.(type) {
	case *ir.For:
		c := *s
		c.Body, loop = body, &c
	case *ir.While:
		c := *s
		if c.Body = body; len(test) > 0 {
			c.Pre, c.Cond = nil, build.Bool(true, s.At)
		}
		loop = &c
	}
	return []ir.Stmt{build.Decl(x.turn, build.Int(0, at), at), loop}
}

// test returns the test of the condition of a loop, nil where that uses nothing that is exchanged.
func (x *exchange) test() []ir.Stmt {
	w, ok := x.s.(*ir.While)
	if !ok {
		return nil
	}
	if w.Label == nil {
		w.Label = &ir.Label{}
	}
	out := append(slices.Clone(w.Pre), &ir.If{Cond: build.Not(w.Cond, w.At), Then: []ir.Stmt{&ir.Break{Label: w.Label, At: w.At}}, At: w.At})
	if !x.usedIn(out) {
		return nil
	}
	return out
}

// choose returns a branch to the copy of each state.
func (x *exchange) choose(at ir.Pos, of func(state int) []ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	for state := len(x.states) - 1; state >= 0; state-- {
		list := of(state)
		list = ir.Fresh(list, x.u.anew).CopyStmts(list)
		if state == len(x.states)-1 {
			out = list
			continue
		}
		out = []ir.Stmt{&ir.If{Cond: build.Compare(ir.Eq, build.Ref(x.turn, at), build.Int(int64(state), at), at), Then: list, Else: out, At: at}}
	}
	return out
}

// rest returns list, which follows the loop; outside of it nothing uses the variables in own.
func (x *exchange) rest(list []ir.Stmt, own *ir.VarSet) []ir.Stmt {
	if !x.usedIn(list) {
		return x.u.list(list, own)
	}
	return x.choose(list[0].Pos(), func(state int) []ir.Stmt {
		return x.u.list(build.WithVars(x.states[state]).CopyStmts(list), own)
	})
}
