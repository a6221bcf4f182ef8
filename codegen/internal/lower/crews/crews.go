// Package crews describes the team of a launch for the parts of lowering: where its variables are,
// how many threads it may have, and the cost of the loops that it shares.
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

// A Crew describes the team of a launch, as far as the distribution of a loop over its threads
// depends on it.
type Crew struct {
	spaces.Walker
	Opt    Options
	Launch *ir.Launch
	Single bool // the league has one team
	Whole  bool // all teams run the code like a single one
	Slow   bool // the lowered code runs only to find the failing access
	Mode   ir.TeamMode

	Shared   map[*ir.Var]bool // variables in team memory
	Changing *ir.VarSet       // the variables that the current parallel region changes; nil outside
	Slots    map[Slot]*ir.Var
	Effects  *analysis.Effects
	Simds    map[*ir.For]*ir.Directive // the directives of lowered loops: the permitted orders of their lanes
	Trips    TripCounts

	OnHost func(ir.Expr) ir.Expr // returns an expression that the host can evaluate before the launch, or nil
	// Box returns memory shared by all teams instead of team memory; it is called if Whole is set.
	Box func(s Slot, typ *ir.Type, name string, at ir.Pos) *ir.Var
}

// TripCounts are the iteration counts, evaluated on the host, of the loops of a launch.
type TripCounts struct {
	Grid, Team, Threads []ir.Expr
	Unknown             bool
	Width               int      // iterations that a thread of the only grid loop interleaves
	Laned               ir.Expr  // the latest element of Grid if several threads share an iteration
	Whole               ir.Expr  // teams, of at least Launch.Threads threads, for which the only grid loop is divided
	Resident            bool     // each team has a fixed cost
	Cyclic              bool     // a schedule requests at most as many teams for Whole as can run concurrently
	Reread              ir.Bytes // the maximum number of bytes of rows that an iteration of the league reads again
}

// A Slot identifies a piece of team or scratch memory that a launch uses repeatedly.
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

// Shuffles reports whether teams of this launch certainly consist of whole warps.
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

// IsShared reports whether all threads of the team share one v, in team memory or scratch memory.
func (t *Crew) IsShared(v *ir.Var) bool {
	return t.Shared[v] || t.Scratch[v] != nil || v.Space == ir.Team || v.Space == ir.Scratch
}

// LimitThreads lowers the upper limit of the threads of a team to n, which may be nil.
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

// UseTeams sets the preferred and the largest size of the teams of the launch to threads.
func UseTeams(t *Crew, threads int, at ir.Pos) {
	t.LimitThreads(build.Int(int64(threads), at))
	t.Launch.Threads = threads
}

// UseLaneTeams bounds the teams of a launch whose lanes share iterations, see target.Lanes. A
// launch of one team has as many threads as a team can have: measured on an H200, Potrf of a tile
// of 512, 7.9 ms with 256 threads and 3.7 with 1024.
func UseLaneTeams(t *Crew, at ir.Pos) {
	lanes := t.Device().Tuning.Lanes
	t.LimitThreads(build.Int(int64(lanes.Threads), at))
	t.Launch.ResidentTeams = lanes.ResidentTeams
}

// limitedBy reports whether e is n, or a minimum of n and other values.
func limitedBy(e, n ir.Expr) bool {
	m, ok := e.(*ir.Math)
	return query.Same(e, n) || ok && m.Fn == ir.IMin && (limitedBy(m.Args[0], n) || limitedBy(m.Args[1], n))
}

// GPU returns the target of the code.
func (o Options) GPU() *target.Target {
	if o.Device != nil {
		return o.Device
	}
	return target.Default()
}

// Device returns the target of the code.
func (t *Crew) Device() *target.Target { return t.Opt.GPU() }

// Options describes the capabilities of the device. The zero value is a GPU.
type Options struct {
	// Target names the device in errors; "" is "device code".
	Target string
	// NoShuffles excludes warp operations and grid barriers: the device lacks them, or runs teams
	// of any number of threads.
	NoShuffles bool
	// TeamUnit, for a device with NoShuffles, is a number such that teams can be multiples of it
	// (Launch.Warps). With 32, forms that need such teams but no warp operations are used. 0 means
	// any number of threads. For a device without NoShuffles it means that warps are subgroups of
	// that many threads, 32: code for it has neither grid barriers nor named barriers.
	TeamUnit int
	// AtomicReductions lets each team add its part of a reduction over the league to the result
	// with an atomic operation, if type and operator have one. No team then waits for the parts of
	// others, and the last bits of floats may differ between runs. Without it, the parts are
	// combined in the order of the teams, with the same result for the same launch shape.
	AtomicReductions bool
	// KeepChecks keeps every index check in its loop that is not proved for all arguments: half as
	// much code, but slower.
	KeepChecks bool
	// Device is the GPU whose costs decide between forms that are all correct on every device; nil
	// means target.Default.
	Device *target.Target
	// Choice overrides the choices of the cost model; see Choice.
	Choice Choice
}

// Subgroups reports whether warps are subgroups: their threads exchange values, and have no barrier
// but that of the team.
func (o Options) Subgroups() bool { return !o.NoShuffles && o.TeamUnit > 0 }

// WholeTeams reports whether the teams of a launch certainly consist of whole groups of 32 threads,
// which need not be warps.
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
