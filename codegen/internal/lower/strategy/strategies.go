// Package strategy has the ways to share the iterations of a loop among threads: tiles in team
// memory, lanes of a warp, rows, blocks, tables and others, in the order in which they are tried.
package strategy

import (
	"maps"
	"slices"

	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/spaces"
	"github.com/gompss/gompss/codegen/internal/mapping"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
)

// A Sharing is a loop whose iterations threads share out: what a strategy looks at.
type Sharing struct {
	Sp   *spaces.Space
	D    *ir.Directive
	P    spaces.Portion
	Body []ir.Stmt // of an iteration, lowered
	Sums []Sum     // parts are private to a thread
	Grid bool      // threads of all teams, not of one
}

// A Sum is the part of a reduction that a thread has.
type Sum struct {
	Acc, Idx *ir.Var
	N        int64 // elements, 0 of a scalar
}

// A Sharer shares loops among the threads of a team.
type Sharer struct {
	*crews.Crew
	Strategies []string // what was chosen, each once
}

// A strategy is a way to run the iterations of a sharing: apply returns the loop, nil where it is
// not right or gains nothing. Whatever is chosen gives the same bits, but for the order of what a
// reduction clause lets be done in any order.
type strategy struct {
	name  string
	needs need
	apply func(t *Sharer, n Sharing) []ir.Stmt
}

// A need is what a strategy asks of a sharing before it looks at the body.
type need uint8

const (
	ofLeague need = 1 << iota // the whole league shares the loop
	noSums                    // the loop itself adds nothing up
	trusting                  // loops that only read may do so without branches first
	regroups                  // neighbouring threads read neighbours, which those of a thread an iteration do not
)

// AsItIs is the directive by which a thread runs an iteration as it stands, where another schedule
// would not: chunks of a warp's iterations to the teams, one to a thread.
const AsItIs = "dist_schedule(static, 32)"

// strategies are tried in this order: what saves most memory traffic, where it fits, comes first.
var strategies = []strategy{
	{"groups", 0, groups},
	{"bundles", 0, bundles},
	{"tables", ofLeague | noSums, tables},
	{"tiles", 0, func(t *Sharer, n Sharing) []ir.Stmt { return t.tiles(n.Sp, n.P, n.Body) }},
	{"lanes", ofLeague | regroups, func(t *Sharer, n Sharing) []ir.Stmt { return t.lanes(n.Sp, n.D, n.P, n.Body, n.Grid) }},
	{"rows", ofLeague | regroups, longRowsOfNest},
	{"lanes", ofLeague | regroups, lanesOfNest},
	{"columns", ofLeague | regroups, func(t *Sharer, n Sharing) []ir.Stmt { return t.columnSums(n.Sp, n.D, n.P, n.Body, n.Grid) }},
	{"rows", ofLeague | regroups, func(t *Sharer, n Sharing) []ir.Stmt { return rowTiles(t, n.Sp, n.D, n.P, n.Body) }},
	{"rows", ofLeague | regroups, rowsOfNest},
	{"short rows", ofLeague | noSums | regroups, rowsInTiles},
	{"records", ofLeague | noSums | regroups, records},
	{"several at once", trusting, func(t *Sharer, n Sharing) []ir.Stmt { return t.jam(n.Sp, n.D, n.P, n.Body, n.Sums) }},
	{"squares", ofLeague | noSums | trusting, func(t *Sharer, n Sharing) []ir.Stmt { return t.squares(n.Sp, n.D, n.P, n.Body) }},
	{"rows at once", ofLeague | noSums | trusting, func(t *Sharer, n Sharing) []ir.Stmt { return t.jamRows(n.Sp, n.D, n.P, n.Body) }},
	{"points", ofLeague | noSums, func(t *Sharer, n Sharing) []ir.Stmt { return points(t, n.Sp, n.D, n.P, n.Body) }},
	{"blocks", ofLeague | noSums | trusting, func(t *Sharer, n Sharing) []ir.Stmt { return t.blocks(n.Sp, n.D, n.P, n.Body) }},
	{"rows of points", ofLeague | noSums, func(t *Sharer, n Sharing) []ir.Stmt { return rowsOfPoint(t, n.Sp, n.D, n.P, n.Body) }},
}

// Parameters has, by the names of strategies, how many parameters beside the model's they may be
// asked for (crews.Choice): a smaller and a larger block (in slabs, two smaller ones), and as
// many rows a team as it has threads where the model takes a warp's, or the other way round.
// What does not fit gives the code of the model's.
var Parameters = map[string]int{"blocks": 2, "rows": 1}

// Regroup runs n by the first strategy that fits of those whose neighbouring threads read
// neighbours, nil where none does.
func Regroup(t *Sharer, n Sharing) []ir.Stmt { return first(t, n, regroups, nil) }

// ShareBy runs n by the first strategy that fits, else a thread an iteration.
func (t *Sharer) ShareBy(n Sharing) []ir.Stmt {
	var trusted []ir.Stmt
	trust := func() []ir.Stmt {
		if trusted == nil {
			trusted = t.TrustedIn(n.Body)
		}
		return trusted
	}
	if out := first(t, n, 0, trust); out != nil {
		return out
	}
	return t.Walk(n.Sp, n.P, Alone(t, checksTogether(t, n.Body)), nil)
}

// Fits reports whether a strategy fits n, which is then not a thread an iteration.
func Fits(t *Sharer, n Sharing) bool {
	return first(t, n, 0, func() []ir.Stmt { return t.TrustedIn(n.Body) }) != nil
}

// first returns the loop over n by the first strategy that fits of those with all of only, nil
// where none does. trust returns the body as trusting strategies take it.
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

// fitting returns what apply does where the team memory of the launch is enough for it, as that of
// several loops may not be; else it takes that back and returns nil.
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

// A state is what strategies change of a launch.
type state struct {
	launch     ir.Launch
	trips      crews.TripCounts
	work       mapping.Work
	slots      map[crews.Slot]*ir.Var
	types      map[*ir.Var]*ir.Type // of team memory: a strategy may make larger what another has
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

// Try runs what asks whether a strategy fits, and leaves the launch as it was.
func Try(t *Sharer, ask func()) {
	s := save(t)
	defer s.restore(t)
	ask()
}

// teamAlign is more than the alignment of any variable in team memory.
const teamAlign = 16

// grown reports whether a variable has another type than before.
func grown(before map[*ir.Var]*ir.Type) bool {
	for v, typ := range before {
		if v.Type != typ {
			return true
		}
	}
	return false
}

// useTeams says that teams of so many threads suit the launch best, and that none has more.
func useTeams(t *Sharer, threads int, at ir.Pos) {
	t.LimitThreads(build.Int(int64(threads), at))
	t.Launch.Threads = threads
}

// useLaneTeams bounds the teams of a launch whose lanes share iterations, see target.Lanes. A
// launch of one team has as many threads as a team can have: measured on an H200, Potrf of a tile
// of 512, 7.9 ms with 256 threads and 3.7 with 1024.
func useLaneTeams(t *Sharer, at ir.Pos) {
	lanes := t.Device().Tuning.Lanes
	t.LimitThreads(build.Int(int64(lanes.Threads), at))
	t.Launch.Abreast = lanes.Abreast
}
