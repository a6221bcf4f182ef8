// Package cost estimates how long a launch of device IR takes on a target. An estimate ranks the
// candidates of a kernel; it is no promise of a time.
//
// One thread in the middle of a team runs the launch in the mind: it knows the arguments that the
// host knows, its own number and what follows from these, and so the trips of most loops. Its
// neighbour runs beside it, which shows what a warp reads together, and so does its own next
// iteration, which shows what it reads again.
//
// Source: the counts of Ozen's and XLA's models (xla/service/gpu/model): instructions by unit,
// sectors of 32 bytes by warp, what the second level of the cache holds.
package cost

import (
	"time"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/target"
	"github.com/gompss/gompss/deps"
)

// unknownTurns are the turns of a loop of which nothing tells the trips, as in the choice of how
// the code of a team runs (codegen/internal/lower).
const unknownTurns = 8

// A Grid is the shape of a launch, and how many of its warps run at once on a multiprocessor; 0 for
// as many as the target has for the variables of the launch.
type Grid struct {
	Teams, Threads int64
	Warps          int
}

// Of estimates one launch in a grid, with the arguments that env has.
//
// Cost: a walk through the body, some microseconds.
func Of(l *ir.Launch, env ir.Env, t *target.Target, g Grid) target.Estimate {
	g.Teams, g.Threads = max(g.Teams, 1), max(g.Threads, 1)
	if g.Warps == 0 {
		g.Warps = max(t.ResidentWarps(int(g.Threads), registers(l), sharedOf(l)), 1)
	}
	c := &counter{target: t, grid: g, slices: map[*ir.Var]float64{}, lengths: map[*ir.Var]float64{}}
	for i := range c.mind {
		c.mind[i] = &mind{env: env, grid: g, thread: g.Threads / 2, known: map[*ir.Var]ir.Bits{}}
	}
	c.mind[beside].thread++
	c.stmts(l.Body, 1)
	return c.estimate()
}

// estimate is the time of what was counted of one thread, for all of them.
func (c *counter) estimate() target.Estimate {
	t, g := c.target, c.grid
	threads := float64(g.Teams * g.Threads)
	warps := (g.Threads + int64(t.Team.Warp) - 1) / int64(t.Team.Warp)
	running := max(int64(g.Warps)/warps, 1) * int64(t.Team.Multiprocessors)
	waves := (g.Teams + running - 1) / running
	var requested, missed float64
	for v, bytes := range c.slices {
		asked, all := bytes*threads, c.lengths[v]
		requested += asked
		if passes := float64(waves); all > 0 {
			if all <= float64(t.Memory.L2)/2 {
				passes = 1
			}
			asked = min(asked, passes*all)
		}
		missed += asked
	}
	w := c.work
	w.Bytes = missed / threads
	concurrent := min(g.Teams, running)
	resident := max(int(concurrent*warps)/t.Team.Multiprocessors, 1)
	e := t.Estimate(threads, w, resident, max(c.flight, t.Memory.Sector/deps.Bytes(t.Team.Warp)))
	// The last wave, or the only one, leaves multiprocessors without work.
	if busy := threads / float64(waves*running*g.Threads); e.Bound == "instructions" && busy < 1 {
		e.Time = t.Cost.Launch + scaled(e.Time-t.Cost.Launch, 1/busy)
	}
	if cache := t.Cost.Launch + seconds(requested/t.Memory.L2Bandwidth); cache > e.Time {
		e.Time, e.Bound = cache, "the cache"
	}
	e.Time += scaled(t.Cost.TeamBarrier, c.barriers*float64(waves))
	return e
}

// A mind is what one thread knows.
type mind struct {
	env    ir.Env
	grid   Grid
	thread int64
	known  map[*ir.Var]ir.Bits
}

// The minds: the thread itself, its neighbour, and itself in the next iteration of the innermost
// loop.
const (
	self = iota
	beside
	next
	minds
)

// Scalar returns the value of v.
func (m *mind) Scalar(v *ir.Var) (ir.Bits, bool) {
	if bits, ok := m.known[v]; ok {
		return bits, true
	}
	if v.Space != ir.Param || m.env == nil {
		return 0, false
	}
	return m.env.Scalar(v)
}

// Bytes returns the value of a struct or array.
func (m *mind) Bytes(v *ir.Var) ([]byte, bool) {
	if m.env == nil {
		return nil, false
	}
	return m.env.Bytes(v)
}

// Slice returns length and capacity of a slice.
func (m *mind) Slice(v *ir.Var) (length, capacity int64, ok bool) {
	if m.env == nil || v.Space != ir.Param {
		return 0, 0, false
	}
	return m.env.Slice(v)
}

// Apart reports that slices do not overlap, as those of most launches.
func (m *mind) Apart(_, _ *ir.Var) (apart, ok bool) { return true, true }

// Query returns a coordinate of the thread.
func (m *mind) Query(q ir.QueryKind) (int64, bool) {
	switch q {
	case ir.ThreadNum:
		return m.thread, true
	case ir.NumThreads:
		return m.grid.Threads, true
	case ir.TeamNum:
		return 0, true
	case ir.NumTeams:
		return m.grid.Teams, true
	case ir.Lane:
		return m.thread % warpOfLane, true
	case ir.WarpSize:
		return warpOfLane, true
	}
	return 0, false
}

// warpOfLane is the warp of device IR on GPUs of NVIDIA.
const warpOfLane = 32

// set notes the value of v, or that it is not known.
func (m *mind) set(v *ir.Var, e ir.Expr) {
	if e == nil {
		m.known[v] = 0
		return
	}
	if v.Type.IsScalar() && !v.Type.IsFloat() {
		if bits, err := ir.Eval(e, m); err == nil {
			m.known[v] = bits
			return
		}
	}
	delete(m.known, v)
}

// Nominal is what an estimate takes for arguments that are not known: n for each number, and slices
// of that many elements.
func Nominal(params []*ir.Var, n, length int64) ir.Env {
	out := ir.Values{}
	for _, v := range params {
		switch {
		case v.Type.Kind == ir.Slice:
			out[v] = ir.Value{Len: length, Cap: length}
		case v.Type.IsScalar() && !v.Type.IsFloat():
			out[v] = ir.Value{Bits: ir.Bits(n)}
		}
	}
	return out
}

// Natural is the grid of a launch where nothing of the device is asked: teams of the size that
// suits the launch, else of 256 threads, and enough of them; as many as run at once where nothing
// says how many iterations there are.
func Natural(l *ir.Launch, env ir.Env, t *target.Target) Grid {
	const usual = 256
	threads, most := int64(usual), int64(t.Team.Threads)
	if l.Threads > 0 {
		threads = int64(l.Threads)
	}
	threads = min(threads, bound(l.MaxThreads, env, most))
	trip, teams := bound(l.Trip, env, -1), bound(l.TeamTrip, env, -1)
	switch {
	case l.TeamTrip != nil:
		if trip > 0 {
			threads = min(threads, max(trip, int64(t.Team.Warp)))
		}
	case l.Trip != nil && !l.Cooperative:
		each := threads * int64(max(l.Width, 1))
		teams = (trip + each - 1) / each
	}
	if teams < 0 {
		teams = int64(t.Team.Multiprocessors * max(t.ResidentWarps(int(threads), registers(l), sharedOf(l))*t.Team.Warp/int(threads), 1))
	}
	return Grid{Teams: max(1, min(teams, bound(l.MaxTeams, env, teams))), Threads: max(threads, 1)}
}

// bound evaluates a bound of a launch; other where there is none or it is not known.
func bound(e ir.Expr, env ir.Env, other int64) int64 {
	if e == nil {
		return other
	}
	n, err := ir.EvalInt(e, env)
	if err != nil {
		return other
	}
	return n
}

// Program estimates all launches of p in their natural grids; what bounds it is what bounds the
// longest.
func Program(p *ir.Program, env ir.Env, t *target.Target) (sum target.Estimate) {
	longest := time.Duration(-1)
	for _, l := range p.Launches {
		e := Of(l, env, t, Natural(l, env, t))
		sum.Time += e.Time
		if e.Time > longest {
			longest, sum.Bound = e.Time, e.Bound
		}
	}
	return sum
}
