package cpu

import "github.com/gompss/gompss/codegen/ir"

// A stage is a part of a kernel with an entry of its own: a parallel loop, whose iterations may be cut into chunks that run anywhere, or
// what stands between such loops, which one goroutine runs once. Code before a loop also counts the loop's iterations.
//
// Variables that outlive a stage have words in the argument block, behind the parameters.
type stage struct {
	body    []ir.Stmt
	loop    *ir.For // nil: sequential
	alone   bool    // it has atomics: one goroutine runs all iterations, or several with copies
	again   bool    // it is another stage again, with locked instructions for its atomics
	next    *ir.For // sequential: the loop whose iterations it counts
	sums    []leagueSum
	entry   int            // offset in the code
	resume  int            // where it goes on after a yield
	count   count          // where no code counts the iterations of next
	copies  copyLoop       // where the loop does nothing else
	updates *sharedUpdates // of a loop with atomics; nil: there can be no copies
	locked  int            // of a loop with atomics: the stage that is it again, with locked instructions; 0: there is none
	round   int64          // iterations of the loop that one round of vectors takes

	nested    bool // a loop in sequential code, which calls it: see nest.go
	refused   bool // nested, and has no code
	threshold int  // nested: the word that says how many iterations are worth sharing
}

// A count is how many iterations a loop has, in terms that need no code: the difference of two words of the block, or constants, over a step.
type count struct {
	lo, hi         int // words; 0: the constants
	loConst        int64
	hiConst, step  int64
	inclusive, set bool
}

// called tells the stages that do not run in order.
func (s *stage) called() bool { return s.nested || s.again }

// at is where the stage stands in the source.
func (s *stage) at() ir.Pos {
	if len(s.body) == 0 {
		return ir.Pos{}
	}
	return s.body[0].Pos()
}

// trips counts the iterations.
func (c *count) trips(b *block) int64 {
	lo, hi := c.loConst, c.hiConst
	if c.lo > 0 {
		lo = int64(b[c.lo])
	}
	if c.hi > 0 {
		hi = int64(b[c.hi])
	}
	return c.between(lo, hi)
}

// between counts the iterations from lo to hi.
func (c *count) between(lo, hi int64) int64 {
	step := c.step
	if step < 0 {
		lo, hi, step = hi, lo, -step
	}
	if c.inclusive {
		hi++
	}
	if hi <= lo {
		return 0
	}
	if step == 1 {
		return hi - lo
	}
	return (hi-lo-1)/step + 1
}
