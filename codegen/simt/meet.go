package simt

import (
	"slices"

	"github.com/gompss/gompss/codegen/ir"
)

// meet resumes the threads that have all reached the point where they wait for each other. None is
// ready; waiting of them have not ended. It reports whether any can continue.
func (r *running) meet(waiting int) bool {
	if first := r.threads[0]; waiting == len(r.threads) && r.scope(first) == teamScope && together(r.threads) {
		release(r.threads)
		r.memory.copyLater(r.threads)
		r.met.Barriers++
		if r.race != nil {
			r.race.teamBarrier(r.threads)
		}
		return true
	}
	met := false
	for warp := range slices.Chunk(r.threads, r.warp) {
		if r.scope(warp[0]) == warpScope && together(warp) {
			r.meetWarp(warp)
			met = true
		}
	}
	return r.meetNamed() || met
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

func (r *running) scope(t *thread) scope {
	if t.status != waiting {
		return noScope
	}
	in := &r.code.ins[t.pc]
	if in.op == opShuffle {
		return warpScope
	}
	switch r.code.barriers[in.imm].Scope {
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

// release lets threads continue behind what they wait at.
func release(list []*thread) {
	for _, t := range list {
		t.status = ready
		t.pc++
	}
}

func (r *running) meetWarp(warp []*thread) {
	in := &r.code.ins[warp[0].pc]
	if in.op == opShuffle {
		r.met.Shuffles++
		exchange(in, warp)
	} else {
		r.met.Barriers++
		if r.race != nil {
			r.race.meet(warp)
		}
	}
	release(warp)
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
func (r *running) meetNamed() bool {
	type group struct {
		list  []*thread
		come  int64
		count int64
	}
	groups, ended := map[int]*group{}, int64(0)
	for warp := range slices.Chunk(r.threads, r.warp) {
		id, list := r.namedOf(warp)
		switch {
		case len(list) == 0 && id == 0:
			ended += int64(len(warp))
		case len(list) > 0:
			if groups[id] == nil {
				groups[id] = &group{count: int64(list[0].regs[r.code.ins[list[0].pc].b])}
			}
			groups[id].list = append(groups[id].list, list...)
			groups[id].come += int64(len(warp))
		}
	}
	met := false
	for id := range maxNamed {
		g := groups[id]
		if g == nil || g.count <= 0 || g.come != g.count && (g.count != int64(len(r.threads)) || g.come+ended != g.count) {
			continue
		}
		r.met.Barriers++
		if r.race != nil {
			r.race.meet(g.list)
		}
		release(g.list)
		met = true
	}
	return met
}

// maxNamed is one more than the greatest number of a named barrier.
const maxNamed = 16

// namedOf returns the number of the named barrier that all threads of a warp that have not ended
// wait at, and these threads: none where they do not, and number 0 where all have ended.
func (r *running) namedOf(warp []*thread) (id int, list []*thread) {
	for _, t := range warp {
		if t.status == ended {
			continue
		}
		if r.scope(t) != namedScope {
			return -1, nil
		}
		if at := r.code.barriers[r.code.ins[t.pc].imm].ID; len(list) > 0 && at != id {
			return -1, nil
		} else {
			id = at
		}
		list = append(list, t)
	}
	return id, list
}

// diverged describes threads that wait for others that will not come.
func (r *running) diverged() error {
	first := slices.IndexFunc(r.threads, func(t *thread) bool { return t.status == waiting })
	list := r.threads
	if r.scope(r.threads[first]) == warpScope {
		lo := first / r.warp * r.warp
		list = r.threads[lo:min(lo+r.warp, len(r.threads))]
	}
	return &DivergenceError{Where: r.where(r.threads[first], int(r.threads[first].pc)), Groups: r.groups(list)}
}

func (r *running) groups(list []*thread) []Group {
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
			out = append(out, r.group(t))
		}
		out[i].Threads = append(out[i].Threads, t.id)
	}
	return out
}

func (r *running) group(t *thread) Group {
	if t.status == ended {
		return Group{What: "ended"}
	}
	what := "at a shuffle"
	if in := r.code.ins[t.pc]; in.op == opBarrier {
		what = [...]string{"at a barrier", "at a warp barrier", "at a named barrier", "at a grid barrier"}[r.code.barriers[in.imm].Scope]
	}
	return Group{What: what, At: r.code.at[t.pc]}
}
