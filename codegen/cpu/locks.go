package cpu

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gompss/gompss/codegen/ir"
)

// A loop with atomics is compiled twice: with plain instructions, for one worker and for workers with copies of what is updated, and with locked
// instructions, for several workers that update one slice. A locked instruction takes as long as ten or twenty others, and longer where workers update
// neighbours, so both forms are measured: the locked one runs where it saves at least a third of the time.

// lockedStages appends the stages of loops with atomics again, with locked instructions.
func (c *compiler) lockedStages(code *Code) error {
	for _, s := range code.stages {
		if !s.alone || s.refused {
			continue
		}
		again := &stage{loop: s.loop, body: s.body, again: true, nested: s.nested}
		code.stages = append(code.stages, again)
		if c.options.workers() > 1 && !c.aliasesUpdates(s.loop) {
			g, err := c.stage(again, code.sites)
			if err != nil && !isRefusal(err) {
				return err
			}
			if again.refused = err != nil; !again.refused {
				if err := addStage(code, again, g); err != nil {
					return err
				}
				s.locked = len(code.stages) - 1
			}
		}
		code.Notes = append(code.Notes, fmt.Sprintf("the loop at %s %s", s.loop.At, sharing(s)))
	}
	return nil
}

// sharing says how workers share a loop with atomics.
func sharing(s *stage) string {
	switch {
	case s.updates != nil && s.locked > 0:
		return "runs on several workers, each with a copy of what it updates where that is short, or with locked instructions where these cost little beside the rest; else on one"
	case s.updates != nil:
		return "runs on several workers where what it updates is short beside it, each with a copy of that; else on one: atomic updates are cheap there"
	case s.locked > 0:
		return "runs on several workers, with locked instructions, where these cost little beside the rest; else on one"
	}
	return "runs on one worker: its atomic updates have no locked form"
}

// aliasesUpdates tells the loops whose atomics change local arrays that were made before the loop: each worker has arrays of its own.
func (c *compiler) aliasesUpdates(f *ir.For) bool {
	return slices.ContainsFunc(ir.Free([]ir.Stmt{f}).List(), func(v *ir.Var) bool { return c.Arrays[v] > 0 })
}

// lockTrials are what was learnt about the locked form of a stage.
type lockTrials struct {
	launches atomic.Int64
	skip     atomic.Int64 // launches before it is tried again
	period   atomic.Int64 // of these, after the last time that it lost
}

// The forms of a loop are measured again every so many launches, and one that has lost is tried again after more and more of them.
const (
	remeasure  = 64
	longestOff = 4095
	lockSaves  = 3 // a third of the time
)

// atomicLoop runs a loop with atomics: with copies, with locked instructions, or on one worker.
func (r *Runner) atomicLoop(p *Program, i int, l *launch, trips int64, share func(*Loop) error) error {
	s := p.Code.stages[i]
	if s.locked > 0 && p.Code.options.Locked {
		return r.shareLoop(p, s.locked, l, 0, trips, share)
	}
	alone := trips * r.pace[i].Load()
	switch {
	case s.updates == nil:
	case !s.updates.apart(l.block):
		return r.onOneWorker(p, i, l, 0, trips)
	case worthCopies(s.updates, l.block, alone):
		return r.shareLoop(p, i, l, 0, trips, share)
	}
	if s.locked == 0 || alone < fewestCalls*int64(callTime)*1000 {
		return r.onOneWorker(p, i, l, 0, trips)
	}
	t, from := &r.locks[i], int64(0)
	if t.launches.Add(1)%remeasure == 1 {
		for _, k := range []int{i, s.locked} {
			to := min(trips, from+grain(r.pace[i].Load(), s.round))
			if err := r.onOneWorker(p, k, l, from, to); err != nil {
				return err
			}
			from = to
		}
	}
	rest := trips - from
	alone = rest * r.pace[i].Load()
	locked := rest * r.pace[s.locked].Load() / r.workers
	if locked*lockSaves > alone*(lockSaves-1) || t.skip.Add(-1) >= 0 {
		return r.onOneWorker(p, i, l, from, trips)
	}
	began := time.Now()
	err := r.shareLoop(p, s.locked, l, from, trips, share)
	t.learn(int64(time.Since(began))*1000 > alone)
	return err
}

// learn keeps the locked form off for longer every time that it loses.
func (t *lockTrials) learn(lost bool) {
	period := int64(0)
	if lost {
		period = min(2*t.period.Load()+1, longestOff)
	}
	t.period.Store(period)
	t.skip.Store(period)
}

// onOneWorker runs iterations [from, to) of stage k on this goroutine. The block of a launch whose sequential code calls the loop is in use: the loop
// gets another.
func (r *Runner) onOneWorker(p *Program, k int, l *launch, from, to int64) error {
	if from >= to {
		return nil
	}
	if !p.Code.stages[k].nested {
		return r.calls(p, k, l, from, to)
	}
	return r.shareLoop(p, k, l, from, to, func(o *Loop) error { return o.Run(0, o.Trips) })
}
