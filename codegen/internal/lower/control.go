package lower

import (
	"strconv"

	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// controlLoop makes a state machine of the leader's code: states of sequential code, which thread 0
// runs by itself until the next one is a region, and regions, which all threads run. Between them
// all threads meet. Source: Bertolli et al., Integrating GPU Support for OpenMP Offloading
// Directives into Clang, 2015; differs: no barrier between two sequential states, and the state is
// read before the region that it names, behind a barrier, so that no thread sees the one after it.
func (ld *leader) controlLoop(list []ir.Stmt, at ir.Pos) []ir.Stmt {
	f := &flow{at: at, jumps: map[*ir.Label]jumpStates{}}
	entry := f.list(list, finished)
	f.number()
	state := ld.Local("state", ir.IntType, at)
	c := ld.newCall(len(f.regions), at)
	hoisted := f.hoist()

	var sequential, regions [][]ir.Stmt
	for _, s := range f.seqs {
		sequential = append(sequential, append(s.list, s.then(state, at)))
	}
	for _, s := range f.regions {
		regions = append(regions, append(s.list, s.then(state, at)))
	}
	first := build.Compare(ir.Eq, build.Query(ir.ThreadNum, at), build.Int(0, at), at)
	var lead []ir.Stmt
	if len(sequential) > 0 {
		lead = append(lead, &ir.While{Label: &ir.Label{}, At: at, Body: choice(state, len(f.regions)+1, sequential, at),
			Cond: build.Compare(ir.Gt, build.Ref(state, at), build.Int(int64(len(f.regions)), at), at)})
	}
	lead = append(lead, c.ask(build.Ref(state, at), at))
	loop := &ir.While{Label: &ir.Label{}, At: at}
	k := ld.Local("region", ir.IntType, at)
	loop.Body = append([]ir.Stmt{c.next(at), &ir.If{Cond: first, Then: lead, At: at}, build.Barrier(at)}, c.answer(k, loop.Label, at)...)
	loop.Body = append(append(loop.Body, choice(k, 1, regions, at)...), build.Barrier(at))

	ld.Decide(at, "code of the team", "a control loop", "mode(control_loop) says so: thread 0 runs "+
		strconv.Itoa(len(f.seqs))+" sequential states, the team "+strconv.Itoa(len(f.regions))+" parallel ones", "mode(auto)")
	out := append(hoisted, build.Decl(state, f.target(entry), at), build.Decl(c.turn, build.Int(0, at), at),
		&ir.If{Cond: first, Then: []ir.Stmt{c.reset(at)}, At: at})
	return append(out, loop)
}

// A flow is the graph of states under construction.
type flow struct {
	at            ir.Pos
	states        []*flowState
	seqs, regions []*flowState // in the order of their numbers: regions from 1, then the sequential ones
	jumps         map[*ir.Label]jumpStates
}

// A flowState runs list and continues with next or, where cond is given and false, with other.
type flowState struct {
	list        []ir.Stmt
	cond        ir.Expr
	next, other *flowState
	region      bool
	loop        bool // the head of one, which its end comes back to
	id          int64
}

// finished is where the kernel ends: state 0.
var finished = &flowState{}

// jumpStates is where break and continue of a label lead.
type jumpStates struct{ after, again *flowState }

func (f *flow) add(s *flowState) *flowState {
	f.states = append(f.states, s)
	return s
}

// list returns the state that list begins with, when next comes after it.
func (f *flow) list(list []ir.Stmt, next *flowState) *flowState {
	for end := len(list); end > 0; {
		s := list[end-1]
		if whole(s) {
			begin := end
			for begin > 0 && whole(list[begin-1]) {
				begin--
			}
			next = f.before(list[begin:end], next)
			end = begin
			continue
		}
		next = f.stmt(s, next)
		end--
	}
	return next
}

// whole reports whether thread 0 runs s by itself from beginning to end.
func whole(s ir.Stmt) bool { return !forms.IsParallel(s) && !query.JumpsOut(s) }

// before returns a state that runs list and continues with next. The state of a branch, which
// nothing else leads to yet, takes list in.
func (f *flow) before(list []ir.Stmt, next *flowState) *flowState {
	if n := len(f.states); n > 0 && f.states[n-1] == next && next.cond != nil && len(next.list) == 0 && !next.loop {
		next.list = list
		return next
	}
	return f.add(&flowState{list: list, next: next})
}

func (f *flow) stmt(s ir.Stmt, next *flowState) *flowState {
	switch s := s.(type) {
	case *ir.Construct:
		return f.add(&flowState{list: s.Body, next: next, region: true})
	case *ir.If:
		then, other := f.list(s.Then, next), f.list(s.Else, next)
		return f.add(&flowState{cond: s.Cond, next: then, other: other})
	case *ir.Block:
		if s.Label != nil {
			f.jumps[s.Label] = jumpStates{after: next}
		}
		return f.list(s.Body, next)
	case *ir.While:
		return f.loop(s, next)
	case *ir.Break:
		return f.jumps[s.Label].after
	case *ir.Continue:
		return f.jumps[s.Label].again
	case *ir.Return:
		return finished
	}
	panic("gompss: bug: no state for this statement of a team")
}

func (f *flow) loop(s *ir.While, next *flowState) *flowState {
	test := f.add(&flowState{cond: s.Cond, other: next, loop: true})
	head := test
	if forms.AnyParallel(s.Pre) { // a function that the condition calls has regions
		head = f.list(s.Pre, test)
	} else {
		test.list = s.Pre
	}
	again := f.list(s.Post, head)
	f.jumps[s.Label] = jumpStates{after: next, again: again}
	test.next = f.list(s.Body, again)
	return head
}

// number gives the states that can be reached their numbers.
func (f *flow) number() {
	for i := len(f.states) - 1; i >= 0; i-- { // in the order of the source
		if s := f.states[i]; s.region {
			f.regions = append(f.regions, s)
			s.id = int64(len(f.regions))
		}
	}
	for i := len(f.states) - 1; i >= 0; i-- {
		if s := f.states[i]; !s.region {
			f.seqs = append(f.seqs, s)
			s.id = int64(len(f.regions) + len(f.seqs))
		}
	}
}

func (f *flow) target(s *flowState) ir.Expr { return build.Int(s.id, f.at) }

// then continues with the next state.
func (s *flowState) then(state *ir.Var, at ir.Pos) ir.Stmt {
	var to ir.Expr = build.Int(s.next.id, at)
	if s.cond != nil {
		to = build.Choose(s.cond, to, build.Int(s.other.id, at), at)
	}
	return build.Assign(build.Ref(state, at), to, at)
}

// hoist declares in front of the loop the variables that more than one state uses, and makes their
// declarations assignments.
func (f *flow) hoist() []ir.Stmt {
	home, several := map[*ir.Var]*flowState{}, map[*ir.Var]bool{}
	for _, s := range f.seqs {
		use := append([]ir.Stmt{}, s.list...)
		if s.cond != nil {
			use = append(use, &ir.If{Cond: s.cond, At: f.at})
		}
		for _, v := range append(ir.Used(use).List(), ir.Declared(use).List()...) {
			if home[v] != nil && home[v] != s {
				several[v] = true
			}
			home[v] = s
		}
	}
	var out []ir.Stmt
	r := &ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		d, ok := s.(*ir.Decl)
		if !ok || !several[d.Var] {
			return []ir.Stmt{s}
		}
		out = append(out, build.Decl(d.Var, nil, d.At))
		return []ir.Stmt{firstValue(d)}
	}}
	for _, s := range f.seqs {
		s.list = r.CopyStmts(s.list)
	}
	return out
}
