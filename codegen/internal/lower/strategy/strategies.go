// Package strategy has the ways to share the iterations of a loop among threads: tiles in team
// memory, lanes of a warp, rows, blocks, tables and others, in the order in which they are tried.
package strategy

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/spaces"
	"github.com/gompss/gompss/codegen/ir"
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
)

// strategies are tried in this order: what saves most memory traffic, where it fits, comes first.
var strategies = []strategy{
	{"groups", ofLeague, groups},
	{"bundles", 0, bundles},
	{"tables", ofLeague | noSums, tables},
	{"tiles", 0, func(t *Sharer, n Sharing) []ir.Stmt { return t.tiles(n.Sp, n.P, n.Body) }},
	{"lanes", ofLeague, func(t *Sharer, n Sharing) []ir.Stmt { return t.lanes(n.Sp, n.D, n.P, n.Body, n.Grid) }},
	{"rows", ofLeague, longRowsOfNest},
	{"lanes", ofLeague, lanesOfNest},
	{"columns", ofLeague, func(t *Sharer, n Sharing) []ir.Stmt { return t.columnSums(n.Sp, n.D, n.P, n.Body, n.Grid) }},
	{"rows", ofLeague, func(t *Sharer, n Sharing) []ir.Stmt { return rowTiles(t, n.Sp, n.D, n.P, n.Body) }},
	{"rows", ofLeague, rowsOfNest},
	{"records", ofLeague | noSums, records},
	{"several at once", trusting, func(t *Sharer, n Sharing) []ir.Stmt { return t.jam(n.Sp, n.D, n.P, n.Body, n.Sums) }},
	{"squares", ofLeague | noSums | trusting, func(t *Sharer, n Sharing) []ir.Stmt { return t.squares(n.Sp, n.D, n.P, n.Body) }},
	{"rows at once", ofLeague | noSums | trusting, func(t *Sharer, n Sharing) []ir.Stmt { return t.jamRows(n.Sp, n.D, n.P, n.Body) }},
	{"points", ofLeague | noSums, func(t *Sharer, n Sharing) []ir.Stmt { return points(t, n.Sp, n.D, n.P, n.Body) }},
	{"blocks", ofLeague | noSums | trusting, func(t *Sharer, n Sharing) []ir.Stmt { return t.blocks(n.Sp, n.D, n.P, n.Body) }},
	{"rows of points", ofLeague | noSums, func(t *Sharer, n Sharing) []ir.Stmt { return rowsOfPoint(t, n.Sp, n.D, n.P, n.Body) }},
}

// ShareBy runs n by the first strategy that fits, else a thread an iteration.
func (t *Sharer) ShareBy(n Sharing) []ir.Stmt {
	plain, trusted := n.Body, []ir.Stmt(nil)
	for _, s := range strategies {
		if t.Opt.Choice.LeavesOut(s.name) {
			continue
		}
		if s.needs&ofLeague != 0 && !n.Grid || s.needs&noSums != 0 && len(n.Sums) > 0 {
			continue
		}
		n.Body = plain
		if s.needs&trusting != 0 {
			if trusted == nil {
				trusted = t.TrustedIn(plain)
			}
			n.Body = trusted
		}
		if out := s.apply(t, n); out != nil {
			if !t.Slow && !slices.Contains(t.Strategies, s.name) {
				t.Strategies = append(t.Strategies, s.name)
			}
			return out
		}
	}
	if trusted == nil {
		trusted = t.TrustedIn(plain)
	}
	return t.Walk(n.Sp, n.P, trusted, nil)
}
