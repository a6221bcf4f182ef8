// Package strategy has the strategies that map a worksharing loop to threads: tiles in team memory,
// lanes of a warp, rows, blocks, tables and others, and the order in which lowering tries them.
package strategy

import (
	"maps"
	"slices"

	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/lower/spaces"
	"github.com/gompss/gompss/codegen/internal/lower/strategy/blocks"
	"github.com/gompss/gompss/codegen/internal/lower/strategy/tiling"
	"github.com/gompss/gompss/codegen/internal/lower/strategy/unchecked"
	"github.com/gompss/gompss/codegen/internal/mapping"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
)

// A Sharing is a worksharing loop, the input of a strategy.
type Sharing struct {
	Sp   *spaces.Space
	D    *ir.Directive
	P    spaces.Portion
	Body []ir.Stmt // lowered body of an iteration
	Sums []Sum     // partial sums, private to a thread
	Grid bool      // the threads of all teams share the loop, not those of one team
}

// A Sum is the partial result of a reduction in a thread.
type Sum struct {
	Acc, Idx *ir.Var
	N        int64 // number of elements; 0: a scalar
}

// A Sharer shares loops among the threads of a team.
type Sharer struct {
	*crews.Crew
	Strategies []string // names of the strategies chosen, without duplicates
}

// A strategy is a way to execute the iterations of a sharing. apply returns the loop, or nil if the
// strategy is not legal or not profitable. All strategies give bit-identical results, except for
// the order of reductions that a reduction clause permits in any order.
type strategy struct {
	name  string
	needs need
	apply func(t *Sharer, n Sharing) []ir.Stmt
}

// A need is a set of preconditions and properties of a strategy, checked before apply.
type need uint8

const (
	ofLeague need = 1 << iota // the whole league shares the loop
	noSums                    // the loop itself has no reduction
	trusting                  // apply takes the body with loops in two versions, see package unchecked
	regroups                  // makes accesses contiguous that are strided with one thread an iteration
)

// AsItIs is the directive that turns all strategies off: the teams take chunks of 32 iterations,
// and each thread executes one iteration of a chunk.
const AsItIs = "dist_schedule(static, 32)"

// strategies are tried in this order: those that save most memory traffic come first.
var strategies = []strategy{
	{"groups", 0, groups},
	{"bundles", 0, bundles},
	{"tables", ofLeague | noSums, tables},
	{"tiles", 0, func(t *Sharer, n Sharing) []ir.Stmt { return tiling.Share(t.Crew, n.Sp, n.P, n.Body) }},
	{"lanes", ofLeague | regroups, func(t *Sharer, n Sharing) []ir.Stmt { return t.lanes(n.Sp, n.D, n.P, n.Body, n.Grid) }},
	{"rows", ofLeague | regroups, longRowsOfNest},
	{"lanes", ofLeague | regroups, lanesOfNest},
	{"columns", ofLeague | regroups, func(t *Sharer, n Sharing) []ir.Stmt { return t.columnSums(n.Sp, n.D, n.P, n.Body, n.Grid) }},
	{"rows", ofLeague | regroups, func(t *Sharer, n Sharing) []ir.Stmt { return rowTiles(t, n.Sp, n.D, n.P, n.Body) }},
	{"rows", ofLeague | regroups, rowsOfNest},
	{"short rows", ofLeague | noSums | regroups, rowsInTiles},
	{"words", noSums | trusting, words},
	{"records", ofLeague | noSums | regroups, records},
	{"several at once", trusting, func(t *Sharer, n Sharing) []ir.Stmt { return t.jam(n.Sp, n.D, n.P, n.Body, n.Sums) }},
	{"squares", ofLeague | noSums | trusting, func(t *Sharer, n Sharing) []ir.Stmt { return blocks.ShareSquares(t.Crew, n.Sp, n.D, n.P, n.Body) }},
	{"rows at once", ofLeague | noSums | trusting, func(t *Sharer, n Sharing) []ir.Stmt { return t.jamRows(n.Sp, n.D, n.P, n.Body) }},
	{"points", ofLeague | noSums, func(t *Sharer, n Sharing) []ir.Stmt { return points(t, n.Sp, n.D, n.P, n.Body, false) }},
	{"blocks", ofLeague | noSums | trusting, func(t *Sharer, n Sharing) []ir.Stmt { return blocks.Share(t.Crew, n.Sp, n.D, n.P, n.Body) }},
	{"points", ofLeague | noSums, func(t *Sharer, n Sharing) []ir.Stmt { return points(t, n.Sp, n.D, n.P, n.Body, true) }},
	{"rows of points", ofLeague | noSums, func(t *Sharer, n Sharing) []ir.Stmt { return rowsOfPoint(t, n.Sp, n.D, n.P, n.Body) }},
}

// Parameters has, for the name of a strategy, the number of its variants besides the one that the
// cost model chooses (crews.Choice): a smaller and a larger block (two smaller ones in slabs), and
// for rows one row a thread of a team instead of one row a lane of a warp, or the reverse. A
// variant that does not fit gives the code of the model's choice.
var Parameters = map[string]int{"blocks": 2, "rows": 1}

// Regroup returns n lowered by the first applicable strategy with the property regroups, or nil if
// there is none.
func Regroup(t *Sharer, n Sharing) []ir.Stmt { return first(t, n, regroups, nil) }

// ShareBy returns n lowered by the first applicable strategy, or else with one thread an iteration.
func (t *Sharer) ShareBy(n Sharing) []ir.Stmt {
	var trusted []ir.Stmt
	trust := func() []ir.Stmt {
		if trusted == nil {
			trusted = unchecked.Loops(t.Crew, n.Body)
		}
		return trusted
	}
	if out := first(t, n, 0, trust); out != nil {
		return out
	}
	body := unchecked.ThreadBody(t.Crew, unchecked.HoistChecks(t.Crew, n.Body))
	n.P = dealtByWarps(t, n)
	if sp, inside := wholeLines(t, n); sp != nil {
		return t.Walk(sp, n.P, []ir.Stmt{&ir.If{Cond: inside, Then: body, At: sp.At}}, nil)
	}
	return t.Walk(n.Sp, n.P, body, nil)
}

// dealtByWarps returns the portion of a thread of n. In a launch with grid barriers, whose teams
// are large and few, loops between two barriers may have fewer iterations than the grid has
// threads: then its warps take them in turns of the teams, so that every multiprocessor has some.
func dealtByWarps(t *Sharer, n Sharing) spaces.Portion {
	p, at := n.P, n.Sp.At
	switch n.D.Schedule.Kind {
	case ir.ScheduleNone, ir.ScheduleStatic, ir.ScheduleAuto:
	default:
		return p
	}
	first, ok := p.First.(*ir.Binary)
	if !ok || !t.Launch.Cooperative || n.D.Parts&ir.Parallel == 0 || len(n.Sums) > 0 || p.Only != nil || len(p.Deals) > 0 || n.D.Schedule.Chunk != nil {
		return p
	}
	team, ok := first.X.(*ir.Binary)
	if !ok || first.Op != ir.Add || !isQuery(first.Y, ir.ThreadNum) || team.Op != ir.Mul || !isQuery(team.X, ir.TeamNum) || !isQuery(team.Y, ir.NumThreads) {
		return p
	}
	bin := func(op ir.Op, x, y ir.Expr) ir.Expr { return build.Binary(op, x, y, at) }
	width := build.Int(forms.LeastWarp, at)
	lane := bin(ir.Rem, build.Query(ir.ThreadNum, at), width)
	ahead := bin(ir.Sub, build.Query(ir.ThreadNum, at), lane) // threads of the warps before
	mine := build.IntMath(ir.IMin, width, bin(ir.Sub, build.Query(ir.NumThreads, at), ahead))
	turn := bin(ir.Add, bin(ir.Mul, ahead, build.Query(ir.NumTeams, at)), bin(ir.Mul, build.Query(ir.TeamNum, at), mine))
	p.First = bin(ir.Add, turn, build.Copy(lane))
	return p
}

// Fits reports whether a strategy is applicable to n.
func Fits(t *Sharer, n Sharing) bool {
	return first(t, n, 0, func() []ir.Stmt { return unchecked.Loops(t.Crew, n.Body) }) != nil
}

// first returns n lowered by the first applicable strategy that has all properties of only, or nil
// if there is none. trust returns the body for trusting strategies.
func first(t *Sharer, n Sharing, only need, trust func() []ir.Stmt) []ir.Stmt {
	plain := n.Body
	for _, s := range strategies {
		if s.needs&only != only || t.Opt.Choice.LeavesOut(s.name) {
			continue
		}
		if s.needs&ofLeague != 0 && !n.Grid || s.needs&noSums != 0 && len(n.Sums) > 0 {
			continue
		}
		n.Body = plain
		if s.needs&trusting != 0 {
			n.Body = trust()
		}
		if out := fitting(t, func() []ir.Stmt { return s.apply(t, n) }); out != nil {
			if !t.Slow && !slices.Contains(t.Strategies, s.name) {
				t.Strategies = append(t.Strategies, s.name)
			}
			return out
		}
	}
	return nil
}

// fitting returns the result of apply if the team memory of the launch suffices for it, which it
// may not for several loops. Otherwise it restores the state of the launch and returns nil.
func fitting(t *Sharer, apply func() []ir.Stmt) []ir.Stmt {
	s := save(t)
	out := apply()
	var size ir.Bytes
	for _, v := range t.Launch.Team {
		size += (v.Type.Size + teamAlign - 1) / teamAlign * teamAlign
	}
	if out == nil || size <= t.Device().Memory.StaticShared || len(t.Launch.Team) == len(s.launch.Team) && !grown(s.types) {
		return out
	}
	s.restore(t)
	return nil
}

// A state has the properties of a launch that strategies change.
type state struct {
	launch     ir.Launch
	trips      crews.TripCounts
	work       mapping.Work
	slots      map[crews.Slot]*ir.Var
	types      map[*ir.Var]*ir.Type // types of variables in team memory, which a strategy may enlarge
	strategies int
}

func save(t *Sharer) state {
	s := state{launch: *t.Launch, trips: t.Trips, work: *t.Work, slots: maps.Clone(t.Slots), types: map[*ir.Var]*ir.Type{}, strategies: len(t.Strategies)}
	for _, v := range t.Launch.Team {
		s.types[v] = v.Type
	}
	return s
}

func (s *state) restore(t *Sharer) {
	*t.Launch, t.Trips, *t.Work, t.Strategies = s.launch, s.trips, s.work, t.Strategies[:s.strategies]
	for k := range t.Slots {
		if s.slots[k] == nil {
			delete(t.Slots, k)
		}
	}
	for v, typ := range s.types {
		v.Type = typ
	}
}

// Try runs ask, which tries strategies, and then restores the state of the launch.
func Try(t *Sharer, ask func()) {
	s := save(t)
	defer s.restore(t)
	ask()
}

// teamAlign is an upper bound of the alignment of variables in team memory.
const teamAlign = 16

// grown reports whether a variable of before has another type now.
func grown(before map[*ir.Var]*ir.Type) bool {
	for v, typ := range before {
		if v.Type != typ {
			return true
		}
	}
	return false
}
