package simt

import (
	"slices"

	"github.com/gompss/gompss/codegen/ir"
)

// meet resumes the threads that have all reached the point where they wait for each other. None is
// ready; waiting of them have not ended. It reports whether any can continue.
func (m *machine) meet(waiting int) bool {
	if first := m.threads[0]; waiting == len(m.threads) && m.scope(first) == teamScope && together(m.threads) {
		m.release(m.threads)
		m.copyLater()
		m.stats.Barriers++
		if m.race != nil {
			m.race.teamBarrier(m.threads)
		}
		return true
	}
	met := false
	for warp := range slices.Chunk(m.threads, m.cfg.Warp) {
		if m.scope(warp[0]) == warpScope && together(warp) {
			m.meetWarp(warp)
			met = true
		}
	}
	return m.meetNamed() || met
}

// scope is the threads that must come to where a thread waits.
type scope uint8

const (
	noScope scope = iota // it does not wait
	teamScope
	warpScope
	namedScope
	gridScope
)

func (m *machine) scope(t *thread) scope {
	if t.status != waiting {
		return noScope
	}
	in := &m.code.ins[t.pc]
	if in.op == opShuffle {
		return warpScope
	}
	switch m.code.barriers[in.imm].Scope {
	case ir.TeamBarrier:
		return teamScope
	case ir.WarpBarrier:
		return warpScope
	case ir.GridBarrier:
		return gridScope
	}
	return namedScope
}

// together reports whether all threads wait at one place.
func together(list []*thread) bool {
	for _, t := range list {
		if t.status != waiting || t.pc != list[0].pc {
			return false
		}
	}
	return true
}

// copyLater makes the copies of the team that had until its barrier.
func (m *machine) copyLater() {
	for _, t := range m.threads {
		for _, c := range t.later {
			put(c.by, m.segments[c.to>>segmentShift][c.to&offsetMask:], c.value)
		}
		t.later = t.later[:0]
	}
}

func (m *machine) release(list []*thread) {
	for _, t := range list {
		t.status = ready
		t.pc++
	}
}

func (m *machine) meetWarp(warp []*thread) {
	in := &m.code.ins[warp[0].pc]
	if in.op == opShuffle {
		m.stats.Shuffles++
		exchange(in, warp)
	} else {
		m.stats.Barriers++
		if m.race != nil {
			m.race.meet(warp)
		}
	}
	m.release(warp)
}

// exchange gives each lane the value of another; outside the warp, its own.
func exchange(in *instr, warp []*thread) {
	given := make([]uint64, len(warp))
	for i, t := range warp {
		given[i] = t.regs[in.b]
	}
	for lane, t := range warp {
		from, by := int64(lane), int64(t.regs[in.c])
		switch ir.ShuffleKind(in.imm) {
		case ir.ShuffleDown:
			from += by
		case ir.ShuffleUp:
			from -= by
		case ir.ShuffleXor:
			from ^= by
		case ir.ShuffleFrom:
			from = by
		}
		if from < 0 || from >= int64(len(warp)) {
			from = int64(lane)
		}
		t.regs[in.a] = given[from]
	}
}

// meetNamed resumes warps whose named barrier has as many threads as it counts. A warp has come
// when all of its threads that have not ended have; one that has ended counts only where the
// barrier is one of the whole team.
func (m *machine) meetNamed() bool {
	type group struct {
		list  []*thread
		come  int64
		count int64
	}
	groups, ended := map[int]*group{}, int64(0)
	for warp := range slices.Chunk(m.threads, m.cfg.Warp) {
		id, list := m.namedOf(warp)
		switch {
		case len(list) == 0 && id == 0:
			ended += int64(len(warp))
		case len(list) > 0:
			if groups[id] == nil {
				groups[id] = &group{count: int64(list[0].regs[m.code.ins[list[0].pc].b])}
			}
			groups[id].list = append(groups[id].list, list...)
			groups[id].come += int64(len(warp))
		}
	}
	met := false
	for id := range maxNamed {
		g := groups[id]
		if g == nil || g.count <= 0 || g.come != g.count && (g.count != int64(len(m.threads)) || g.come+ended != g.count) {
			continue
		}
		m.stats.Barriers++
		if m.race != nil {
			m.race.meet(g.list)
		}
		m.release(g.list)
		met = true
	}
	return met
}

// maxNamed is one more than the greatest number of a named barrier.
const maxNamed = 16

// namedOf returns the number of the named barrier that all threads of a warp that have not ended
// wait at, and these threads: none where they do not, and number 0 where all have ended.
func (m *machine) namedOf(warp []*thread) (id int, list []*thread) {
	for _, t := range warp {
		if t.status == ended {
			continue
		}
		if m.scope(t) != namedScope {
			return -1, nil
		}
		if at := m.code.barriers[m.code.ins[t.pc].imm].ID; len(list) > 0 && at != id {
			return -1, nil
		} else {
			id = at
		}
		list = append(list, t)
	}
	return id, list
}

// diverged describes threads that wait for others that will not come.
func (m *machine) diverged() error {
	first := slices.IndexFunc(m.threads, func(t *thread) bool { return t.status == waiting })
	list := m.threads
	if m.scope(m.threads[first]) == warpScope {
		lo := first / m.cfg.Warp * m.cfg.Warp
		list = m.threads[lo:min(lo+m.cfg.Warp, len(m.threads))]
	}
	return &DivergenceError{Where: m.where(m.threads[first], int(m.threads[first].pc)), Groups: m.groups(list)}
}

func (m *machine) groups(list []*thread) []Group {
	var out []Group
	index := map[int32]int{}
	for _, t := range list {
		key := t.pc
		if t.status == ended {
			key = -1
		}
		i, ok := index[key]
		if !ok {
			i = len(out)
			index[key] = i
			out = append(out, m.group(t))
		}
		out[i].Threads = append(out[i].Threads, t.id)
	}
	return out
}

func (m *machine) group(t *thread) Group {
	if t.status == ended {
		return Group{What: "ended"}
	}
	what := "at a shuffle"
	if in := m.code.ins[t.pc]; in.op == opBarrier {
		what = [...]string{"at a barrier", "at a warp barrier", "at a named barrier", "at a grid barrier"}[m.code.barriers[in.imm].Scope]
	}
	return Group{What: what, At: m.code.at[t.pc]}
}
