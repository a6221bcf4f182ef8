// Package crews has what the parts of lowering know of the team of a launch: where its variables
// lie, how many threads it may have, and what the loops that it shares out cost.
package crews

import (
	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/lower/spaces"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
	"github.com/gompss/gompss/codegen/target"
)

// A Crew is the team of a launch, as far as sharing a loop among its threads has to know it.
type Crew struct {
	spaces.Walker
	Opt    Options
	Launch *ir.Launch
	Single bool // the league has one team
	Whole  bool // all teams run the code as if they were one
	Slow   bool // what is lowered runs only to fail
	Mode   ir.TeamMode

	Shared   map[*ir.Var]bool // variables in team memory
	Changing *ir.VarSet       // what the parallel region changes that is being lowered; nil outside
	Slots    map[Slot]*ir.Var
	Effects  *analysis.Effects
	Simds    map[*ir.For]*ir.Directive // of lowered loops: what their lanes may do in any order
	Trips    TripCounts

	OnHost func(ir.Expr) ir.Expr // what the host can evaluate before the launch, or nil
	// Box returns memory of all teams in place of a team's; it is called where Whole is set.
	Box func(s Slot, typ *ir.Type, name string, at ir.Pos) *ir.Var
}

// TripCounts are the iteration counts, on the host, of the loops that a launch shares out.
type TripCounts struct {
	Grid, Team, Threads []ir.Expr
	Unknown             bool
	Width               int      // iterations of the only grid loop that a thread takes at once
	Laned               ir.Expr  // what the latest of Grid is where several threads share an iteration
	Whole               ir.Expr  // teams of Launch.Threads threads, no fewer, that the only grid loop is cut for
	Resident            bool     // each team costs something of its own
	Cyclic              bool     // of Whole no more teams than run at once: a schedule says so
	Reread              ir.Bytes // most bytes of rows that an iteration of the league reads again
}

// A Slot names a piece of team or scratch memory that a launch uses again and again.
type Slot struct {
	What string
	Of   *ir.Var
	Kind ir.Kind
	N    int
}

// Slot returns the team variable of s.
func (t *Crew) Slot(s Slot, typ *ir.Type, name string, at ir.Pos) *ir.Var {
	if v := t.Slots[s]; v != nil {
		return v
	}
	if t.Whole && s.Of != nil {
		return t.Box(s, typ, name, at)
	}
	v := t.Variable(name, typ, ir.Team, at)
	v.At = ir.Pos{}
	t.Slots[s] = v
	t.Effects.Exact[v] = true
	t.Launch.Team = append(t.Launch.Team, v)
	return v
}

// Shuffles reports whether teams of this launch are sure to be whole warps.
func (t *Crew) Shuffles() bool {
	if t.Opt.NoShuffles {
		return false
	}
	if t.Launch.MaxThreads == nil {
		return true
	}
	n, ok := query.Int64(t.Launch.MaxThreads)
	return ok && n >= forms.MostWarp
}

// Leads reports whether the team has a leader.
func (t *Crew) Leads() bool { return t.Mode == ir.ModeControlLoop || t.Mode == ir.ModeWarpSpecialized }

// IsShared reports whether all threads of the team have one v, on chip or in scratch memory.
func (t *Crew) IsShared(v *ir.Var) bool {
	return t.Shared[v] || t.Scratch[v] != nil || v.Space == ir.Team || v.Space == ir.Scratch
}

// LimitThreads lowers the upper bound on the threads of a team to n, which may be nil.
func (t *Crew) LimitThreads(n ir.Expr) {
	if n == nil {
		return
	}
	g := t.Launch
	have, okHave := query.Int64(forms.OrZero(g.MaxThreads))
	want, okWant := query.Int64(n)
	switch {
	case g.MaxThreads == nil:
		g.MaxThreads = n
	case limitedBy(g.MaxThreads, n):
	case okHave && okWant:
		g.MaxThreads = build.Int(min(have, want), n.Pos())
	default:
		g.MaxThreads = &ir.Math{Fn: ir.IMin, Args: []ir.Expr{g.MaxThreads, n}, T: ir.IntType, At: n.Pos()}
	}
}

// limitedBy reports whether e is n, or the least of n and others.
func limitedBy(e, n ir.Expr) bool {
	m, ok := e.(*ir.Math)
	return query.Same(e, n) || ok && m.Fn == ir.IMin && (limitedBy(m.Args[0], n) || limitedBy(m.Args[1], n))
}

// GPU is what the code is generated for.
func (o Options) GPU() *target.Target {
	if o.Device != nil {
		return o.Device
	}
	return target.Default()
}

// Device is what the code is generated for.
func (t *Crew) Device() *target.Target { return t.Opt.GPU() }

// Options describes the capabilities of the device. The zero value is a GPU.
type Options struct {
	// Target names the device in errors; "" is "device code".
	Target string
	// NoShuffles keeps warp operations and grid barriers out of the code: the device has none, or
	// runs teams of any number of threads.
	NoShuffles bool
	// TeamUnit says, of a device with NoShuffles, that its teams can be whole multiples of so many
	// threads (Launch.Warps): with 32, forms that ask for such teams, and for no operation of
	// warps, are used. 0 is any number of threads. Of a device without NoShuffles it says that its
	// warps are subgroups of so many threads, 32: code for it has neither grid barriers nor named
	// barriers.
	TeamUnit int
	// AtomicReductions lets each team add its part of a reduction over the league to the result by
	// an atomic, where the type and the operator have one: no team waits for the others' parts, and
	// floats may end with other last bits in each run. Without it the parts are combined in the
	// order of the teams: the same bits for the same launch shape.
	AtomicReductions bool
	// KeepChecks leaves every index check in its loop that is not proved for all arguments: half
	// the code, more time.
	KeepChecks bool
	// Device is the GPU whose costs decide between forms that are all right on every device; nil is
	// target.Default.
	Device *target.Target
	// Choice departs from what the cost model chooses; see Choice.
	Choice Choice
}

// Subgroups reports whether warps are subgroups: their threads exchange values, and wait for no
// more than their team.
func (o Options) Subgroups() bool { return !o.NoShuffles && o.TeamUnit > 0 }

// WholeTeams reports whether the teams of a launch are sure to be whole groups of 32 threads, which
// need not be warps.
func (t *Crew) WholeTeams() bool {
	if t.Opt.NoShuffles && t.Opt.TeamUnit > 0 && t.Opt.TeamUnit%forms.LeastWarp == 0 {
		n, known := query.Int64(forms.OrZero(t.Launch.MaxThreads))
		return t.Launch.MaxThreads == nil || known && n >= forms.MostWarp
	}
	return t.Shuffles()
}

// Stride runs body for k = ThreadNum, ThreadNum+NumThreads, ... below n.
func (t *Crew) Stride(k *ir.Var, n ir.Expr, body []ir.Stmt, at ir.Pos) []ir.Stmt {
	next := build.Assign(build.Ref(k, at), build.Binary(ir.Add, build.Ref(k, at), build.Query(ir.NumThreads, at), at), at)
	loop := &ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Lt, build.Ref(k, at), n, at), Post: []ir.Stmt{next}, Body: body, At: at}
	return []ir.Stmt{&ir.Block{Body: []ir.Stmt{build.Decl(k, build.Query(ir.ThreadNum, at), at), loop}, At: at}}
}
