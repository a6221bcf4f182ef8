package exec

import (
	"math"

	"github.com/gompss/gompss/codegen/cpu/image"
)

// Sharing a loop inside sequential code costs some microseconds. A loop is shared if it takes more
// than worthSharing, and from firstShared iterations on while its time is unknown.
const (
	worthSharing = 50_000_000 // picoseconds
	firstShared  = 512
)

// setThresholds sets the number of iterations from which nested loops are shared. They are never
// shared where the call runs alone.
func (r *Runner) setThresholds(p *Program, b *image.Block, alone bool) {
	for _, i := range p.Code.Nested {
		b[p.Code.Stages[i].Threshold] = r.threshold(p, i, alone)
	}
}

func (r *Runner) threshold(p *Program, i int, alone bool) uint64 {
	if s := p.Code.Stages[i]; s.Order.Shows() { // inline, the loop is one group
		return uint64(s.Order.Group(1)) + 1
	}
	if alone {
		return math.MaxInt64
	}
	if n := p.Code.Options.ShareFrom; n > 0 {
		return uint64(n)
	}
	each := r.pace[i].Load()
	if each == 0 {
		return firstShared
	}
	return uint64(max(1, worthSharing/each))
}

// shareNested lets workers run the nested stage that the sequential code of l has come to.
func (p *Program) shareNested(i int, l *launch) error {
	r := l.runner
	if err := r.loopStage(p, i, l, int64(l.block[image.WordTrips]), l.share); err != nil {
		return err
	}
	l.block[p.Code.Stages[i].Threshold] = r.threshold(p, i, false)
	return nil
}
