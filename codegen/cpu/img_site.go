package cpu

import (
	"encoding/binary"

	"github.com/gompss/gompss/codegen/ir"
)

// A siteKind says what a status other than done means.
type siteKind uint8

// A site is a place from which code returns to Go before its end.
type site struct {
	kind   siteKind
	at     ir.Pos
	what   string       // of siteBounds and siteArith: the slice, divisor or count
	bytes  int          // of one index of a gather, 0 for an affine access
	wide   bool         // of siteBounds: the index is a uint64
	limits bool         // of siteBounds: every lane has a limit of its own
	stage  int          // of siteShare
	part   bool         // of siteBounds: it is a bound of a part of a slice, which is below one more than its limit
	check  ir.CheckKind // of siteArith
	args   [2]*ir.Type  // of siteLanes: types of its arguments
	alike  [2]bool      // and whether all lanes have the same
	t      *ir.Type     // of its result
	eval   func(x, y ir.Bits) (ir.Bits, error)
}

const (
	siteBounds siteKind = iota // an index is out of range: the launch fails
	siteArith                  // a division by zero or a shift by a negative count: the launch fails
	siteLanes                  // Go computes something in some lanes
	sitePause                  // nothing to do but to go on
	siteShare                  // workers run a nested stage
)

// compute is Go's side of siteLanes.
func (s *site) compute(b *block) error {
	var result [8]uint64
	for lane := range 16 {
		if b[wordBits]>>lane&1 == 0 {
			continue
		}
		var y ir.Bits
		if s.args[1] != nil {
			y = s.laneOf(b, 1, lane)
		}
		v, err := s.eval(s.laneOf(b, 0, lane), y)
		if err != nil {
			return err
		}
		if s.t.Size == 8 {
			result[lane] = uint64(v)
		} else {
			result[lane/2] |= uint64(uint32(v)) << (lane % 2 * 32)
		}
	}
	copy(b[wordLanes:], result[:])
	return nil
}

// laneOf is one lane of operand i: the first where all have the same, as there may be more than a vector holds.
func (s *site) laneOf(b *block, i, lane int) ir.Bits {
	t, words := s.args[i], b[wordLanes+8*i:wordLanes+8*i+8]
	if s.alike[i] {
		lane = 0
	}
	if t.Size == 8 {
		return ir.Bits(words[lane])
	}
	v := words[lane/2] >> (lane % 2 * 32)
	if t.IsFloat() {
		return ir.Bits(uint32(v))
	}
	return ir.Bits(generalIdentity(v, t))
}

// indexIn is the index that failed in a gather: that of the first failing lane.
func (s *site) indexIn(b *block, lane int) int64 {
	word := b[wordLanes+lane*s.bytes/8]
	if s.bytes == 8 {
		return int64(word)
	}
	var le [8]byte
	binary.LittleEndian.PutUint64(le[:], word)
	return int64(int32(binary.LittleEndian.Uint32(le[lane%2*4:])))
}

// resumes tells whether the code goes on from the site.
func (s site) resumes() bool {
	return s.kind == siteLanes || s.kind == sitePause || s.kind == siteShare
}
