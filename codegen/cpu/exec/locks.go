package exec

import (
	"sync/atomic"
	"time"
)

// The forms of a loop are measured again every so many launches, and one that has lost is tried
// again after more and more of them.
const (
	remeasure  = 64
	longestOff = 4095
	lockSaves  = 3 // a third of the time
)

// lockTrials are what was learnt about the locked form of a stage.
type lockTrials struct {
	launches atomic.Int64
	skip     atomic.Int64 // launches before it is tried again
	period   atomic.Int64 // of these, after the last time that it lost
}

// atomicLoop runs a loop with atomics: with copies, with locked instructions, or on one worker.
func (r *Runner) atomicLoop(p *Program, i int, l *launch, trips int64, share func(*Loop) error) error {
	s := p.Code.Stages[i]
	if s.Locked > 0 && p.Code.Options.Locked {
		return r.shareLoop(p, s.Locked, l, 0, trips, share)
	}
	alone := trips * r.pace[i].Load()
	switch {
	case s.Updates == nil:
	case !s.Updates.Apart(l.block):
		return r.onOneWorker(p, i, l, 0, trips)
	case worthCopies(s.Updates, l.block, alone):
		return r.shareLoop(p, i, l, 0, trips, share)
	}
	if s.Locked == 0 || s.Order.Shows() || alone < fewestCalls*int64(callTime)*1000 {
		return r.onOneWorker(p, i, l, 0, trips)
	}
	t, from := &r.locks[i], int64(0)
	if t.launches.Add(1)%remeasure == 1 {
		for _, k := range []int{i, s.Locked} {
			to := min(trips, from+grain(r.pace[i].Load(), s.Round))
			if err := r.onOneWorker(p, k, l, from, to); err != nil {
				return err
			}
			from = to
		}
	}
	rest := trips - from
	alone = rest * r.pace[i].Load()
	locked := rest * r.pace[s.Locked].Load() / r.workers
	if locked*lockSaves > alone*(lockSaves-1) || t.skip.Add(-1) >= 0 {
		return r.onOneWorker(p, i, l, from, trips)
	}
	began := time.Now()
	err := r.shareLoop(p, s.Locked, l, from, trips, share)
	t.learn(int64(time.Since(began))*1000 > alone)
	return err
}

// onOneWorker runs iterations [from, to) of stage k on this goroutine. The block of a launch whose
// sequential code calls the loop is in use: the loop gets another. So does one whose parts
// are kept until all are there.
func (r *Runner) onOneWorker(p *Program, k int, l *launch, from, to int64) error {
	if from >= to {
		return nil
	}
	if s := p.Code.Stages[k]; !s.Nested && (!s.Order.Shows() || to-from <= s.Order.Group(to)) {
		return r.calls(p, k, l, from, to)
	}
	return r.shareLoop(p, k, l, from, to, func(o *Loop) error { return o.Run(0, o.Trips) })
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
