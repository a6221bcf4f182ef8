package image

import (
	"encoding/binary"

	"github.com/gompss/gompss/codegen/ir"
)

// A siteKind says what a status other than done means.
type siteKind uint8

// A Site is a place from which code returns to Go before its end.
type Site struct {
	Kind   siteKind
	At     ir.Pos
	What   string       // of SiteBounds and SiteArith: the slice, divisor or count
	Bytes  int          // of one index of a gather, 0 for an affine access
	Wide   bool         // of SiteBounds: the index is a uint64
	Limits bool         // of SiteBounds: every lane has a limit of its own
	Stage  int          // of SiteShare
	Part   bool         // of SiteBounds: it is a bound of a part of a slice, which is below one more than its limit
	Check  ir.CheckKind // of SiteArith; ir.PointerCheck: of SiteBounds, the slice stands for a pointer
	Args   [2]*ir.Type  // of SiteLanes: types of its arguments
	Alike  [2]bool      // and whether all lanes have the same
	Result *ir.Type     // of its result
	Eval   func(x, y ir.Bits) (ir.Bits, error)
}

const (
	SiteBounds siteKind = iota // an index is out of range: the launch fails
	SiteArith                  // a division by zero or a shift by a negative count: the launch fails
	SiteLanes                  // Go computes something in some lanes
	SitePause                  // the goroutine is to stop: nothing else to do but to continue
	SiteShare                  // workers run a nested stage
)

// Compute is Go's side of SiteLanes.
func (s *Site) Compute(b *Block) error {
	var result [8]uint64
	for lane := range 16 {
		if b[WordBits]>>lane&1 == 0 {
			continue
		}
		var y ir.Bits
		if s.Args[1] != nil {
			y = s.laneOf(b, 1, lane)
		}
		v, err := s.Eval(s.laneOf(b, 0, lane), y)
		if err != nil {
			return err
		}
		if s.Result.Size == 8 {
			result[lane] = uint64(v)
		} else {
			result[lane/2] |= uint64(uint32(v)) << (lane % 2 * 32)
		}
	}
	copy(b[WordLanes:], result[:])
	return nil
}

// laneOf is one lane of operand i: the first where all have the same, as there may be more than a
// vector holds.
func (s *Site) laneOf(b *Block, i, lane int) ir.Bits {
	t, words := s.Args[i], b[WordLanes+8*i:WordLanes+8*i+8]
	if s.Alike[i] {
		lane = 0
	}
	if t.Size == 8 {
		return ir.Bits(words[lane])
	}
	v := words[lane/2] >> (lane % 2 * 32)
	if t.IsFloat() {
		return ir.Bits(uint32(v))
	}
	return ir.Bits(GeneralIdentity(v, t))
}

// IndexIn is the index that failed in a gather: that of the first failing lane.
func (s *Site) IndexIn(b *Block, lane int) int64 {
	word := b[WordLanes+lane*s.Bytes/8]
	if s.Bytes == 8 {
		return int64(word)
	}
	var le [8]byte
	binary.LittleEndian.PutUint64(le[:], word)
	return int64(int32(binary.LittleEndian.Uint32(le[lane%2*4:])))
}

// AsksGo reports whether Go does something for the code at the site, which then continues.
func (s Site) AsksGo() bool { return s.Kind == SiteLanes || s.Kind == SiteShare }
