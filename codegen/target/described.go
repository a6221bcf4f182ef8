package target

import "github.com/gompss/gompss/deps"

// A Description is what a driver tells of a device. What is 0 is not known.
type Description struct {
	Name       string
	Units      int        // each of which runs teams by itself
	Clock      float64    // of a unit, in hertz
	Threads    int        // of a team, at most
	Resident   int        // threads that run at once on a unit
	TeamMemory deps.Bytes // of a team, at most
	UnitMemory deps.Bytes // of the teams on a unit together; 0: TeamMemory
	// Cached says that team memory is memory like all other, as on a CPU: what of it lies in the
	// cache is fast.
	Cached bool
	Cache  deps.Bytes // between all units and the memory
	Line   deps.Bytes // of the cache
}

// Of returns a target with the numbers of d, and those of like for what d does not tell: rates,
// costs and thresholds, and the bandwidth of memory as like has it for one multiprocessor.
//
// A team takes at most half of the team memory without asking: a unit with one team alone waits at
// its barriers.
func (d Description) Of(like *Target) *Target {
	t := *like
	t.Name, t.Chip, t.Source = d.Name, d.Name, "limits: the driver; all else: "+like.Name
	if d.Units > 0 {
		units := float64(d.Units) / float64(t.Team.Multiprocessors)
		t.Memory.Bandwidth, t.Memory.L2Bandwidth = units*t.Memory.Bandwidth, units*t.Memory.L2Bandwidth
		t.Team.Multiprocessors = d.Units
	}
	if d.Clock > 0 {
		t.Clock = d.Clock
	}
	if d.Threads > 0 {
		t.Team.Threads = min(t.Team.Threads, d.Threads)
	}
	if d.Resident > 0 {
		t.Team.Warps = max(d.Resident/t.Team.Warp, 1)
	}
	if d.Cache > 0 {
		t.Memory.L2, t.Memory.L1 = d.Cache, min(t.Memory.L1, d.Cache)
	}
	if d.Line > 0 {
		t.Memory.Line, t.Memory.Sector = d.Line, min(t.Memory.Sector, d.Line)
	}
	if team := d.TeamMemory; team > 0 {
		t.Memory.TeamShared, t.Memory.Shared = team, max(team, d.UnitMemory)
		if d.Cached && d.Cache > 0 {
			t.Memory.Shared = min(t.Memory.Shared, d.Cache/deps.Bytes(t.Team.Multiprocessors))
		}
		t.Memory.StaticShared = min(t.Memory.TeamShared, t.Memory.Shared/2)
		t.Tuning.Slabs.Bytes = min(t.Tuning.Slabs.Bytes, t.Memory.StaticShared)
		t.Tuning.ShortRows.Bytes = min(t.Tuning.ShortRows.Bytes, t.Memory.StaticShared)
	}
	return &t
}
