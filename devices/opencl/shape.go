//go:build linux && (amd64 || arm64)

package opencl

import (
	"fmt"

	"github.com/gompss/gompss/codegen/ir"
)

// A grid is the shape of a launch.
type grid struct{ teams, threads int64 }

// maxTeam is the most threads that a team of a program can have, maxGrid the most teams of a grid.
const (
	maxTeam = 1024
	maxGrid = 1<<31 - 1
)

// A fit is what a device allows a kernel.
type fit struct {
	units    int64 // compute units
	threads  int64 // of a team, at most
	usual    int64 // of a team without other known limits
	resident int64 // threads that run at once on a unit
}

// group is what teams are made of where a launch asks for whole groups of threads (Launch.Warps).
const group = 32

// fitOf returns what the device allows a kernel.
func (d *Device) fitOf(e *entry) fit {
	team := &d.info.Target.Team
	f := fit{units: int64(max(d.info.Units, 1)), threads: int64(min(max(e.threads, 1), maxTeam)), usual: 128, resident: int64(team.Warps * team.Warp)}
	if d.info.Type == "cpu" {
		f.usual = residentOnCPU
	}
	return f
}

// bound evaluates an expression of the launch, or gives other where there is none.
func bound(e ir.Expr, env ir.Env, other int64) (int64, error) {
	if e == nil {
		return other, nil
	}
	n, err := ir.EvalInt(e, env)
	if err != nil {
		return 0, fmt.Errorf("launch bounds: %w", err)
	}
	return n, nil
}

func clamp(n, most int64) int64 { return max(1, min(n, most)) }

// shapeOf chooses the grid of a launch: teams of the usual size within the bounds, smaller where
// there are too few iterations to give each unit a team; one team a team iteration, or enough for a
// thread Width iterations, and no more than run at once where the launch requires that or the
// number of iterations is unknown.
func shapeOf(l *ir.Launch, env ir.Env, f fit) (grid, error) {
	trip, err := bound(l.Trip, env, -1)
	if err != nil {
		return grid{}, err
	}
	leagues, err := bound(l.TeamTrip, env, -1)
	if err != nil {
		return grid{}, err
	}
	mostThreads, err := bound(l.MaxThreads, env, maxTeam)
	if err != nil {
		return grid{}, err
	}
	mostTeams, err := bound(l.MaxTeams, env, maxGrid)
	if err != nil {
		return grid{}, err
	}
	most := clamp(mostThreads, f.threads)
	width := int64(max(l.Width, 1))
	least := int64(1)
	if l.Warps {
		if least = group; f.threads < group {
			return grid{}, fmt.Errorf("teams of %d threads at most: the kernel needs whole groups of %d", f.threads, group)
		}
	}
	g := grid{threads: min(f.usual, most)}
	if l.Threads > 0 {
		g.threads = min(int64(l.Threads), most)
	}
	switch {
	case mostTeams == 1: // all that one team can have
		g.threads = most
		if l.Trip != nil {
			g.threads = clamp((trip+least-1)/least*least, most)
		}
	case l.TeamTrip != nil && l.Trip != nil:
		for g.threads/2 >= max(trip, least) {
			g.threads /= 2
		}
	case l.TeamTrip == nil && l.Trip != nil:
		for g.threads > 32 && trip/g.threads/width < f.units {
			g.threads /= 2
		}
	}
	if l.Warps {
		g.threads = max(g.threads/group*group, group)
	}
	resident := f.units * max(f.resident/g.threads, 1)
	switch {
	case l.TeamTrip != nil:
		g.teams = leagues
		if l.Resident {
			g.teams = min(g.teams, resident)
		}
	case l.Trip != nil:
		each := g.threads * width
		g.teams = trip/each + min(1, trip%each)
		if l.Resident {
			g.teams = min(g.teams, resident)
		}
	default:
		g.teams = resident
	}
	g.teams = clamp(g.teams, clamp(mostTeams, maxGrid))
	return g, nil
}
