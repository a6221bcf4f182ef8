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
// The statements after the loop are copied in the same way if they use the names.

// maxExchanged bounds the statements that copies add to a kernel: copies of copies may be many.
const maxExchanged = 1 << 12

// A separator copies the loops of one function.
type separator struct {
	*Pass
	taken *ir.VarSet // variables of the function that pointers point at
	left  *int       // number of statements that copies may still add
}

// SeparateExchanges copies the bodies of loops that exchange slices.
func SeparateExchanges(u *Pass) {
	left := maxExchanged
	separated := func(params []*ir.Var, body []ir.Stmt) []ir.Stmt {
		if !assignsAddress(body) {
			return body
		}
		own := &ir.VarSet{}
		for _, v := range params {
			own.Add(v)
		}
		return separator{u, ir.AddressTaken(body), &left}.list(body, own)
	}
	u.Kernel.Body = separated(u.Kernel.Params, u.Kernel.Body)
	for _, f := range u.Kernel.Funcs {
		f.Body = separated(f.Params, f.Body)
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

// An exchange is a loop in which the statements from first up to behind, directly in its body, give
// the variables that from has the values of each other, and nothing else changes them.
type exchange struct {
	u             separator
	s             ir.Stmt
	body          []ir.Stmt
	first, behind int
	from          map[*ir.Var]*ir.Var
	states        []map[*ir.Var]*ir.Var // by state: the variable that stands for each in the first
	turn          *ir.Var
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
	for first := 0; first < len(x.body); first++ {
		behind := first
		for behind < len(x.body) && movesVariable(x.body[behind]) {
			behind++
		}
		for ; behind > first; behind-- {
			if x.first, x.behind = first, behind; x.permutes() && x.alone(own, head) {
				return true
			}
		}
	}
	return false
}

// alone reports whether only the moves change the exchanged variables, so that the copies of the
// loop know the state.
func (x *exchange) alone(own, head *ir.VarSet) bool {
	changed := ir.Assigned(append(slices.Clone(x.body[:x.first]), x.body[x.behind:]...))
	usedBehind := ir.Used(x.body[x.behind:])
	for _, v := range ir.Declared(x.body[x.first:x.behind]).List() {
		if usedBehind.Has(v) {
			return false
		}
	}
	for v := range x.from {
		if !own.Has(v) || changed.Has(v) || x.u.taken.Has(v) || head.Has(v) {
			return false
		}
	}
	return true
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
	for _, s := range x.body[x.first:x.behind] {
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
	if n *= len(x.states) - 1; n > *x.u.left {
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

// loop returns the loop, behind the declaration of the variable that says which copy is next.
func (x *exchange) loop() []ir.Stmt {
	at := x.s.Pos()
	x.turn = &ir.Var{Name: "turn", Type: ir.IntType, Space: ir.Local, ID: x.u.Kernel.NumVars, At: at}
	x.u.Kernel.NumVars++
	moved := x.body[x.first].Pos()
	test := x.test()
	body := x.choose(at, func(state int) []ir.Stmt {
		next := (state + 1) % len(x.states)
		out := build.WithVars(x.states[state]).CopyStmts(append(slices.Clone(test), x.body[:x.first]...))
		out = append(out, build.Assign(build.Ref(x.turn, moved), build.Int(int64(next), moved), moved))
		return append(out, build.WithVars(x.states[next]).CopyStmts(x.body[x.behind:])...)
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
