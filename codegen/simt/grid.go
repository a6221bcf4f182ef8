package simt

import (
	"fmt"

	"github.com/gompss/gompss/codegen/ir"
)

// The bounds of a grid, and what it is where nothing else decides.
const (
	maxTeam        = 1024
	maxWarps       = 32
	maxTeams       = 1024 // of the natural grid: code is right for any number, and more cost time
	defaultThreads = 128
	defaultTeams   = 8
)

// hostEnv is what the host knows: the arguments and, for scratch memory, the teams of one launch.
type hostEnv struct {
	ir.Values
	teams int64
}

// Query implements ir.Env.
func (e hostEnv) Query(q ir.QueryKind) (int64, bool) { return e.teams, q == ir.NumTeams && e.teams > 0 }

// shapes chooses the grids of all launches.
func (m *machine) shapes(p *Program, env ir.Values) error {
	for _, c := range p.launches {
		l := c.launch
		threads, err := m.cfg.threadsOf(l, env)
		if err != nil {
			return fmt.Errorf("simt: %s: %w", l.Name, err)
		}
		teams, err := m.cfg.teamsOf(l, env, threads)
		if err != nil {
			return fmt.Errorf("simt: %s: %w", l.Name, err)
		}
		m.stats.Launches = append(m.stats.Launches, Grid{Name: l.Name, Teams: int(teams), Threads: int(threads)})
		m.stats.TeamBytes = max(m.stats.TeamBytes, c.team)
	}
	return nil
}

// bound evaluates e, or gives other where there is none.
func bound(e ir.Expr, env ir.Env, other int64) (int64, error) {
	if e == nil {
		return other, nil
	}
	return ir.EvalInt(e, env)
}

// threadsOf returns the number of threads of a team.
func (c *Config) threadsOf(l *ir.Launch, env ir.Env) (int64, error) {
	if n := l.TeamSize(c.Warp); n > 0 {
		return n, nil
	}
	most, err := bound(l.MaxThreads, env, maxTeam)
	if err != nil {
		return 0, err
	}
	trip, err := bound(l.Trip, env, defaultThreads)
	if err != nil {
		return 0, err
	}
	most = clamp(most, maxTeam)
	threads := int64(c.Threads)
	if threads == 0 {
		threads = min(clamp(trip, maxTeam), defaultThreads)
	}
	threads = min(threads, most)
	if l.Warps {
		warp := int64(c.Warp)
		extra := int64(l.ExtraWarps) * warp
		most = max(min(most, maxWarps*warp-extra)/warp*warp, warp)
		threads = min(align(threads, warp), most) + extra
	}
	return threads, nil
}

// teamsOf returns the number of teams.
func (c *Config) teamsOf(l *ir.Launch, env ir.Env, threads int64) (int64, error) {
	most, err := bound(l.MaxTeams, env, 1<<31)
	if err != nil {
		return 0, err
	}
	natural := int64(defaultTeams)
	switch {
	case l.TeamTrip != nil:
		natural, err = ir.EvalInt(l.TeamTrip, env)
	case l.Trip != nil:
		natural, err = ir.EvalInt(l.Trip, env)
		each := threads * int64(max(l.Width, 1))
		natural = (natural + each - 1) / each
	}
	if err != nil {
		return 0, err
	}
	if c.Teams > 0 {
		return min(int64(c.Teams), clamp(most, 1<<31)), nil
	}
	return min(clamp(natural, maxTeams), clamp(most, 1<<31)), nil
}

// clamp brings n between 1 and most.
func clamp(n, most int64) int64 { return max(1, min(n, most)) }

// unset is what each byte of memory holds that the host does not zero: a number that is far outside
// of every slice.
const unset = 0xa5

// scratch allocates the program's scratch memory.
func (m *machine) scratch(env ir.Values) error {
	for _, s := range m.program.Scratch {
		n, err := ir.EvalInt(s.Count, hostEnv{env, int64(m.stats.Launches[s.Launch].Teams)})
		size := int64(s.Var.Type.Elem.Size)
		if err == nil && (n < 0 || n > 1<<34/max(size, 1)) {
			err = fmt.Errorf("%d elements of scratch memory", n)
		}
		if err != nil {
			return fmt.Errorf("simt: %s: scratch memory %s: %w", m.program.Name, s.Var.Name, err)
		}
		memory := make([]byte, n*size)
		if s.Unset {
			for i := range memory {
				memory[i] = unset
			}
		}
		id := m.segment("scratch memory "+s.Var.Name, memory)
		m.pads = append(m.pads, pointer(int64(id), 0))
		m.padLens = append(m.padLens, n)
	}
	return nil
}
