package lower

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/lower/spaces"
	"github.com/gompss/gompss/codegen/ir"
)

// A sharing is a loop whose iterations threads share out: what a strategy looks at.
type sharing struct {
	sp   *spaces.Space
	d    *ir.Directive
	p    spaces.Portion
	body []ir.Stmt // of an iteration, lowered
	sums []sum     // parts are private to a thread
	grid bool      // threads of all teams, not of one
}

// A sum is the part of a reduction that a thread has.
type sum struct {
	acc, idx *ir.Var
	n        int64 // elements, 0 of a scalar
}

// A sharer shares loops among the threads of a team.
type sharer struct {
	*crew
	strategies []string // what was chosen, each once
}

// A strategy is a way to run the iterations of a sharing: apply returns the loop, nil where it is
// not right or gains nothing. Whatever is chosen gives the same bits, but for the order of what a
// reduction clause lets be done in any order.
type strategy struct {
	name  string
	needs need
	apply func(t *sharer, n sharing) []ir.Stmt
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
	{"tiles", 0, func(t *sharer, n sharing) []ir.Stmt { return t.tiles(n.sp, n.p, n.body) }},
	{"lanes", ofLeague, func(t *sharer, n sharing) []ir.Stmt { return t.lanes(n.sp, n.d, n.p, n.body, n.grid) }},
	{"columns", ofLeague, func(t *sharer, n sharing) []ir.Stmt { return t.columnSums(n.sp, n.d, n.p, n.body, n.grid) }},
	{"rows", ofLeague, func(t *sharer, n sharing) []ir.Stmt { return rowTiles(t, n.sp, n.d, n.p, n.body) }},
	{"records", ofLeague | noSums, records},
	{"several at once", trusting, func(t *sharer, n sharing) []ir.Stmt { return t.jam(n.sp, n.d, n.p, n.body, n.sums) }},
	{"squares", ofLeague | noSums | trusting, func(t *sharer, n sharing) []ir.Stmt { return t.squares(n.sp, n.d, n.p, n.body) }},
	{"rows at once", ofLeague | noSums | trusting, func(t *sharer, n sharing) []ir.Stmt { return t.jamRows(n.sp, n.d, n.p, n.body) }},
	{"points", ofLeague | noSums, func(t *sharer, n sharing) []ir.Stmt { return points(t, n.sp, n.d, n.p, n.body) }},
	{"blocks", ofLeague | noSums | trusting, func(t *sharer, n sharing) []ir.Stmt { return t.blocks(n.sp, n.d, n.p, n.body) }},
	{"rows of points", ofLeague | noSums, func(t *sharer, n sharing) []ir.Stmt { return rowsOfPoint(t, n.sp, n.d, n.p, n.body) }},
}

// shareBy runs n by the first strategy that fits, else a thread an iteration.
func (t *sharer) shareBy(n sharing) []ir.Stmt {
	plain, trusted := n.body, []ir.Stmt(nil)
	for _, s := range strategies {
		if s.needs&ofLeague != 0 && !n.grid || s.needs&noSums != 0 && len(n.sums) > 0 {
			continue
		}
		n.body = plain
		if s.needs&trusting != 0 {
			if trusted == nil {
				trusted = t.trustedIn(plain)
			}
			n.body = trusted
		}
		if out := s.apply(t, n); out != nil {
			if !t.slow && !slices.Contains(t.strategies, s.name) {
				t.strategies = append(t.strategies, s.name)
			}
			return out
		}
	}
	if trusted == nil {
		trusted = t.trustedIn(plain)
	}
	return t.Walk(n.sp, n.p, trusted, nil)
}
