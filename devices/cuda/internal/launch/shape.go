package launch

import (
	"errors"
	"fmt"
	"math"

	"github.com/gompss/gompss/codegen/cuda"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
)

// maxTeam is the most threads that a team can have, maxGrid the most teams of a grid.
const (
	maxTeam = 1024
	maxGrid = 1<<31 - 1
)

// An Occupancy is what a kernel can have at once on one multiprocessor: the teams of a size, in
// threads.
type Occupancy struct {
	Threads, Teams int
}

// Limits are what a chip allows a kernel.
type Limits struct {
	Multiprocessors, Warp int
	MaxThreads            int         // registers and bounds of the kernel allow a team of so many
	Occupancies           []Occupancy // sizes of teams that were asked for, ascending
	L1                    deps.Bytes  // of a multiprocessor; 0: not known
	InFlight              deps.Bytes  // that a multiprocessor has to have on their way; 0: not known
	// Resize makes teams larger than Shape chooses them by a power of two, or smaller, where the
	// launch leaves their size open.
	Resize int
}

// A Grid is the shape of a launch.
type Grid struct {
	Teams, Threads int64
}

// usual is the least size of a team that is chosen freely: smaller ones meet the limit of teams on
// a multiprocessor.
const usual = 128

// best returns the least size of a team, from usual up to most threads, with which the most threads
// run at once: small teams end and make room early, and leave registers to others.
func (f *Limits) best(most int64) int64 {
	threads, running := min(most, usual), 0
	for _, o := range f.Occupancies {
		if o.Threads >= usual && int64(o.Threads) <= most && o.Threads*o.Teams > running {
			threads, running = int64(o.Threads), o.Threads*o.Teams
		}
	}
	return threads
}

// keeping returns a size of a team with which the rows of all teams of a multiprocessor stay in its
// cache while their loops read them again: n, or else the least multiple by a power of two, up to
// most threads, that leaves each thread enough of a row to load at once; n where there is none. A
// row is that many bytes long. Half of the cache is counted: results and team memory take from it.
// Source: measured on an H100, softmax of rows of 4096 float32 with 40 registers a thread, 12 teams
// of 128 threads or 6 of 256 at once: 0.67 ms and 0.44.
func (f *Limits) keeping(n, most int64, row deps.Bytes) int64 {
	for size := n; size <= most; size *= 2 {
		teams := f.residentTeams(size)
		if teams == 0 || deps.Bytes(size)*f.eachInFlight(teams*size) > row {
			break
		}
		if deps.Bytes(teams)*row <= f.L1/2 {
			return size
		}
	}
	return n
}

// residentTeams returns the number of teams of the given size that a multiprocessor runs at once.
func (f *Limits) residentTeams(threads int64) int64 {
	for _, o := range f.Occupancies {
		if int64(o.Threads) == threads {
			return int64(o.Teams)
		}
	}
	return 0
}

// eachInFlight returns how many bytes each of so many threads of a multiprocessor has to have on
// their way.
func (f *Limits) eachInFlight(threads int64) deps.Bytes {
	return (f.InFlight + deps.Bytes(threads) - 1) / deps.Bytes(threads)
}

// resident returns how many teams of a size run at once on the whole chip.
func (f *Limits) resident(threads int64) int64 {
	teams := 1
	for _, o := range f.Occupancies {
		if int64(o.Threads) >= threads {
			teams = o.Teams
			break
		}
	}
	return int64(max(teams, 1)) * int64(f.Multiprocessors)
}

// cooperative returns the grid of a launch whose teams wait for each other and must all be
// resident: the most threads, in the fewest teams.
func (f *Limits) cooperative(mostThreads, mostTeams, limit int64) Grid {
	g, running := Grid{Teams: 1, Threads: min(mostThreads, int64(f.Warp))}, 0
	for _, o := range f.Occupancies {
		if int64(o.Threads) <= mostThreads && o.Threads*o.Teams >= running && o.Teams > 0 {
			g, running = Grid{Teams: int64(o.Teams * f.Multiprocessors), Threads: int64(o.Threads)}, o.Threads*o.Teams
		}
	}
	g.Teams = clamp(g.Teams, min(mostTeams, max(1, limit/g.Threads)))
	return g
}

// bound evaluates an expression of the launch, or gives other where there is none.
func bound(e ir.Expr, env ir.Env, other int64) (int64, error) {
	if e == nil {
		return other, nil
	}
	return ir.EvalInt(e, env)
}

func clamp(n, most int64) int64 { return max(1, min(n, most)) }

// errEval means that a bound of a launch could not be computed from its arguments.
var errEval = errors.New("launch bounds")

// Shape chooses the grid of a launch.
//
// Threads: the bound of the launch and of the kernel, and among those the size that fills a
// multiprocessor with the smallest teams; smaller when there are too few iterations to give each
// multiprocessor a team; larger where the rows that teams read several times leave the cache
// otherwise. Teams: one a team iteration, or enough for a thread Width iterations; no more than are
// resident where the launch requires that or the number of iterations is unknown. Cooperative
// launches: as many teams of the largest size as run at once. limit bounds the threads of the whole
// grid, times Width. Errors: *ir.EvalError.
func Shape(l *ir.Launch, env ir.Env, f *Limits, limit int64) (Grid, error) {
	trip, err := bound(l.Trip, env, -1)
	if err != nil {
		return Grid{}, fmt.Errorf("%w: %w", errEval, err)
	}
	leagues, err := bound(l.TeamTrip, env, -1)
	if err != nil {
		return Grid{}, fmt.Errorf("%w: %w", errEval, err)
	}
	mostThreads, err := bound(l.MaxThreads, env, maxTeam)
	if err != nil {
		return Grid{}, fmt.Errorf("%w: %w", errEval, err)
	}
	mostTeams, err := bound(l.MaxTeams, env, maxGrid)
	if err != nil {
		return Grid{}, fmt.Errorf("%w: %w", errEval, err)
	}
	if l.Cooperative {
		return f.cooperative(clamp(mostThreads, int64(f.MaxThreads)), clamp(mostTeams, maxGrid), limit), nil
	}
	var g Grid
	g.Threads = f.threads(l, trip, mostTeams, clamp(mostThreads, int64(f.MaxThreads)))
	switch {
	case l.TeamTrip != nil:
		g.Teams = leagues
		if l.Resident {
			g.Teams = min(g.Teams, f.resident(g.Threads))
		}
	case l.Trip != nil:
		each := g.Threads * int64(max(l.Width, 1))
		g.Teams = trip/each + min(1, trip%each)
		if l.Resident {
			g.Teams = min(g.Teams, f.resident(g.Threads))
		}
	default:
		g.Teams = f.resident(g.Threads)
	}
	g.Teams = clamp(g.Teams, min(clamp(mostTeams, maxGrid), max(1, limit/g.Threads/int64(max(l.Width, 1)))))
	return g, nil
}

// threads chooses the size of a team.
func (f *Limits) threads(l *ir.Launch, trip, mostTeams, most int64) int64 {
	warp := int64(f.Warp)
	extra := int64(l.ExtraWarps) * warp
	most = max(min(most, int64(f.MaxThreads)-extra), 1)
	n := f.best(most)
	if l.Threads > 0 {
		n = min(int64(l.Threads), most)
	}
	switch {
	case mostTeams == 1: // all that one team can have
		n = most
		if l.Trip != nil {
			n = min(n, max(1, (trip+warp-1)/warp)*warp)
		}
	case l.TeamTrip != nil && l.Trip != nil:
		for n/2 >= max(trip, warp) {
			n /= 2
		}
		if l.Reread > 0 && l.Threads == 0 && trip > 0 && deps.Bytes(trip) <= f.L1/l.Reread {
			n = f.keeping(n, min(most, trip), deps.Bytes(trip)*l.Reread)
		}
	case l.TeamTrip == nil && l.Trip != nil:
		for n > 2*warp && trip/n/int64(max(l.Width, 1)) < int64(f.Multiprocessors) {
			n /= 2
		}
	}
	if f.Resize != 0 && mostTeams != 1 && l.Threads == 0 && extra == 0 {
		n = f.resized(n, most)
	}
	if l.Warps {
		return max(n/warp*warp, warp) + extra
	}
	return n
}

// resized returns a size of a team that is Resize powers of two from n, of whole warps up to most
// threads; n where that is none.
func (f *Limits) resized(n, most int64) int64 {
	size := n << max(f.Resize, 0) >> max(-f.Resize, 0)
	if size < int64(f.Warp) || size > most || size%int64(f.Warp) != 0 {
		return n
	}
	return size
}

// Exact reports whether the launches of p that are written for teams of one size get that size, on
// a chip of so many multiprocessors with such warps, whatever registers their code takes.
func Exact(p *ir.Program, env ir.Env, multiprocessors, warp int) bool {
	f := &Limits{Multiprocessors: multiprocessors, Warp: warp, MaxThreads: maxTeam}
	for _, l := range p.Launches {
		if l.Exact == 0 {
			continue
		}
		if g, err := Shape(l, env, f, maxGrid); err != nil || g.Threads != l.TeamSize(warp) {
			return false
		}
	}
	return true
}

// Fits32 reports whether the version of a kernel that indexes in 32 bits may run with these
// arguments.
//
// Trips of nil are not promised by anyone, so they do not matter.
func Fits32(src *cuda.Source, env ir.Env) bool {
	within := func(n int64) bool { return n >= -cuda.Limit && n <= cuda.Limit }
	for i := range src.Entries {
		e := &src.Entries[i]
		for _, a := range e.Args {
			if !a.Narrow {
				continue
			}
			if n, ok := numberOf(a, env); !ok || !within(n) {
				return false
			}
		}
		for _, n := range append([]ir.Expr{e.Launch.Trip, e.Launch.TeamTrip}, e.Promises...) {
			if n, err := bound(n, env, 0); err != nil || !within(n) {
				return false
			}
		}
	}
	return true
}

// numberOf returns the value of an argument that is a number, and the length of a slice; scratch
// memory is not known before the shapes are, and its length is checked when it is.
func numberOf(a cuda.Argument, env ir.Env) (int64, bool) {
	switch a.Kind {
	case cuda.Length, cuda.Capacity, cuda.Data:
		if a.Var.Space == ir.Scratch {
			return 0, true
		}
		length, capacity, ok := env.Slice(a.Var)
		if a.Kind == cuda.Capacity {
			return capacity, ok
		}
		return length, ok
	case cuda.Value:
		bits, ok := env.Scalar(a.Var)
		n := int64(bits)
		if a.Var.Type.Kind == ir.Uint64 && n < 0 {
			n = math.MaxInt64
		}
		return n, ok
	}
	return 0, true
}
