package deps

// A ReductionID names the operator of a reduction; it means nothing to this package but equality.
type ReductionID uint16

// An Access is a region with a mode. Op tells reductions apart: two Reduction accesses go together
// if their Op is the same.
type Access struct {
	Region Region
	Mode   Mode
	Op     ReductionID
}

// SetInterval makes a the access to elements [lo, hi) of b in a mode, where lo < hi. It is
// Access{Region: Interval(b, lo, hi), Mode: mode} without the copies: those of what was just
// written in pieces hold a processor up.
func (a *Access) SetInterval(b BufferID, lo, hi int64, mode Mode) {
	r := &a.Region
	r.Buffer, r.N, r.Offset = b, 1, lo
	r.Dims[0].Count, r.Dims[0].Stride = hi-lo, 1
	r.Dims[1], r.Dims[2], r.Dims[3] = Dim{}, Dim{}, Dim{}
	a.Mode, a.Op = mode, 0
}

// Merge joins the accesses of one task, in place and without allocation: empty regions go, the same
// region twice becomes one access (in and out of the same elements are inout), and an access inside
// another one that already says as much goes. Other overlaps stay as they are, so that what is only
// written is not also read; a task never waits for itself.
//
// Cost: O(accesses²) comparisons.
func Merge(accesses []Access) []Access {
	out := accesses[:0]
	for _, a := range accesses {
		if !a.Region.Empty() {
			out = mergeInto(out, a)
		}
	}
	return out
}

// mergeInto adds a to out, where no access says as much as another.
func mergeInto(out []Access, a Access) []Access {
	for i := range out {
		o := &out[i]
		if o.Region == a.Region {
			o.Mode, o.Op = together(*o, a)
			return absorb(out, i)
		}
		if o.says(a) {
			return out
		}
	}
	return absorb(append(out, a), len(out))
}

// absorb drops the accesses that out[i] makes superfluous.
func absorb(out []Access, i int) []Access {
	big, kept := out[i], out[:0]
	for k, o := range out {
		if k == i || !big.says(o) {
			kept = append(kept, o)
		}
	}
	return kept
}

// says reports whether a task that declares a says nothing new with o.
func (a Access) says(o Access) bool {
	if a.Region.Buffer != o.Region.Buffer {
		return false
	}
	mode, op := together(a, o)
	return mode == a.Mode && op == a.Op && a.Region.Contains(o.Region)
}

// together is the mode of a task that accesses the same elements in two modes. Concurrent and
// Commutative are relaxed forms of InOut, which read as well.
func together(a, b Access) (Mode, ReductionID) {
	if a.Mode == b.Mode && (a.Mode != Reduction || a.Op == b.Op) {
		return a.Mode, a.Op
	}
	for _, x := range [2][2]Access{{a, b}, {b, a}} {
		if x[1].Mode == In && (x[0].Mode == Concurrent || x[0].Mode == Commutative) {
			return x[0].Mode, 0
		}
	}
	return InOut, 0
}

// A modeKey is what the order of two accesses depends on: the mode, and the operator of a
// reduction.
type modeKey uint32

func keyOf(a *Access) modeKey {
	if a.Mode == Reduction {
		return modeKey(a.Mode) | modeKey(a.Op)<<8
	}
	return modeKey(a.Mode)
}

// reading and the modes with shared true let accesses with the same key run together, or in any
// order.
const reading = modeKey(In)

func (k modeKey) shared() bool { return Mode(k) >= Concurrent }
