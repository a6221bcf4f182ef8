package image

import (
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/order"
)

// A Stage is a part of a kernel with an entry of its own: a parallel loop, whose iterations may be
// cut into chunks that run anywhere, or what stands between such loops, which one goroutine runs
// once. Code before a loop also counts the loop's iterations.
//
// Variables that outlive a stage have words in the argument block, behind the parameters.
type Stage struct {
	Body    []ir.Stmt
	Loop    *ir.For // nil: sequential
	Alone   bool    // it has atomics: one goroutine runs all iterations, or several with copies
	Again   bool    // it is another stage again, with locked instructions for its atomics
	Next    *ir.For // sequential: the loop whose iterations it counts
	Sums    []Sum
	Entry   int            // offset in the code; -1: it was refused, and has none
	Resume  int            // where it continues after a yield
	Count   Count          // where no code counts the iterations of next
	Copies  CopyLoop       // where the loop does nothing else
	Updates *SharedUpdates // of a loop with atomics; nil: there can be no copies
	Locked  int            // of a loop with atomics: the stage that is it again, with locked instructions; 0: there is none
	Round   int64          // iterations of the loop that one round of vectors takes
	Order   Ordered        // of the sums whose order shows

	Nested    bool // a loop in sequential code, which calls it
	Threshold int  // nested: the word that says how many iterations are worth sharing
}

// Refused reports whether the stage, nested or with locked instructions, has no code.
func (s *Stage) Refused() bool { return s.Entry < 0 }

// An Ordered says how a loop is cut whose sums have an order that shows. The zero value is that of
// a loop without.
type Ordered struct {
	order.Cut
	// A call leaves the values of groups of iterations where WordGroups says; else those of one in
	// the words.
	Groups bool
}

// Shows reports whether the order of a reduction of the loop shows.
func (o Ordered) Shows() bool { return o.Block > 0 }

// Group is how many of so many iterations are a group.
func (o Ordered) Group(trips int64) int64 { return o.Length(trips) * o.Blocks }

// A Count is the number of iterations that a loop has, in terms that need no code: the difference
// of two words of the block, or constants, over a step.
type Count struct {
	Lo, Hi         int // words; 0: the constants
	LoConst        int64
	HiConst, Step  int64
	Inclusive, Set bool
}

// Called tells the stages that do not run in order.
func (s *Stage) Called() bool { return s.Nested || s.Again }

// At is where the stage stands in the source.
func (s *Stage) At() ir.Pos {
	if len(s.Body) == 0 {
		return ir.Pos{}
	}
	return s.Body[0].Pos()
}

// Trips counts the iterations.
func (c *Count) Trips(b *Block) int64 {
	lo, hi := c.LoConst, c.HiConst
	if c.Lo > 0 {
		lo = int64(b[c.Lo])
	}
	if c.Hi > 0 {
		hi = int64(b[c.Hi])
	}
	return c.Between(lo, hi)
}

// Between counts the iterations from lo to hi.
func (c *Count) Between(lo, hi int64) int64 {
	step := c.Step
	if step < 0 {
		lo, hi, step = hi, lo, -step
	}
	if hi < lo || hi == lo && !c.Inclusive {
		return 0
	}
	more := uint64(hi - lo) // iterations behind the first, times the step
	if !c.Inclusive {
		more--
	}
	return int64(min(more/uint64(step), ir.MostTrips-1)) + 1
}
