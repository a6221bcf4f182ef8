package neon

import (
	"github.com/gompss/gompss/codegen/cpu/arm64"
	"github.com/gompss/gompss/codegen/cpu/mach"
)

// Code beyond the reach of conditional branches and of loads from the pool, 1 MiB either way, is
// encoded again as long code: a conditional branch skips one that reaches 128 MiB, and copies of
// the pool stand in the code, each behind a branch around it.
const (
	reach     = 1<<20 - 1<<12
	poolEvery = 1 << 18 // bytes of long code
)

// A poolCopy is a copy of the constants that there were when it was written.
type poolCopy struct{ at, size int } // bytes

// inverse is the branch that goes where another does not; one on flags has the other condition.
var inverse = map[arm64.Op]arm64.Op{arm64.BCOND: arm64.BCOND, arm64.CBZ: arm64.CBNZ, arm64.CBNZ: arm64.CBZ,
	arm64.CBZW: arm64.CBNZW, arm64.CBNZW: arm64.CBZW, arm64.TBZ: arm64.TBNZ, arm64.TBNZ: arm64.TBZ}

// farther adds a branch to a label at any distance.
func (e *encoder) farther(i arm64.Inst, l mach.Label) {
	op, conditional := inverse[i.Op]
	if conditional {
		const behindTheNext = 8
		i.Op, i.Imm = op, behindTheNext
		if op == arm64.BCOND {
			i.Cond = i.Cond.Not()
		}
		e.note(i.Text())
		e.words = append(e.words, e.encode(i))
		i = arm64.Inst{Op: arm64.B}
	}
	e.fix(fixup{inst: i, label: l})
}

// island writes a copy of the pool where the last one, or the beginning, is far away.
func (e *encoder) island() {
	last := 0
	if n := len(e.copies); n > 0 {
		last = e.copies[n-1].at
	}
	if !e.long || 4*len(e.words)-last < poolEvery {
		return
	}
	around := e.hole(arm64.Inst{Op: arm64.B})
	for len(e.words)%16 != 0 { // the constants are aligned as behind the code
		e.words = append(e.words, 0)
	}
	e.copies = append(e.copies, poolCopy{4 * len(e.words), len(e.pool)})
	for range (len(e.pool) + 3) / 4 { // filled in at the end
		e.words = append(e.words, 0)
	}
	around()
}

// constant returns the place of the copy of a constant that is next to an instruction.
func (e *encoder) constant(offset, from, last int) int {
	best := last + offset
	for _, c := range e.copies {
		if to := c.at + offset; offset < c.size && abs(to-from) < abs(best-from) {
			best = to
		}
	}
	return best
}

func abs(n int) int { return max(n, -n) }
