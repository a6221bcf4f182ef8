package cuda

import (
	"errors"
	"fmt"

	"github.com/gompss/gompss/codegen/cuda"
	"github.com/gompss/gompss/codegen/ir"
)

var (
	// ErrTimeLimit is the cause when something on a GPU took longer than Options.TimeLimit.
	ErrTimeLimit = errors.New("beyond the time limit")
	// ErrNil is the cause of a fault at a nil pointer.
	ErrNil = errors.New("nil pointer dereference")
	// ErrStep is the cause of a fault at a loop that would never end.
	ErrStep = errors.New("loop step of zero or of the wrong sign")
)

// A Fault is a check of a kernel that failed, where the Go function would have panicked. The access was not made; what
// the kernel wrote before stays written. errors.Is knows it as ir.ErrBounds, ir.ErrDivide, ir.ErrShift, ErrNil or ErrStep.
type Fault struct {
	Kernel string
	At     ir.Pos
	Kind   cuda.SiteKind
	What   string // the slice, divisor, count or pointer, as the source says it
	Index  int64  // of an access; a bound, count or step
	Length int64
}

func (e *Fault) Error() string {
	at := fmt.Sprintf("%s: %s", e.At, e.What)
	switch e.Kind {
	case cuda.IndexSite:
		return fmt.Sprintf("%s: index %d out of range: length %d", at, e.Index, e.Length)
	case cuda.SliceSite:
		return fmt.Sprintf("%s: slice bound %d out of range: limit %d", at, e.Index, e.Length)
	case cuda.CountSite, cuda.StepSite:
		return fmt.Sprintf("%s: %v: %d", at, e.Kind, e.Index)
	}
	return fmt.Sprintf("%s: %v", at, e.Kind)
}

// Unwrap returns the sentinel of the kind.
func (e *Fault) Unwrap() error {
	switch e.Kind {
	case cuda.IndexSite, cuda.SliceSite:
		return ir.ErrBounds
	case cuda.DivisorSite:
		return ir.ErrDivide
	case cuda.CountSite:
		return ir.ErrShift
	case cuda.PointerSite:
		return ErrNil
	}
	return ErrStep
}

// A record is the fault record that a kernel leaves, in the layout of cuda.FaultSize.
type record struct {
	site          uint32
	_             uint32
	index, length int64
	_             int64 // so that records do not share a sector
}

// fault names the fault of a record, nil when there is none.
func (r *record) fault(kernel string, sites []cuda.Site) error {
	if r.site == 0 {
		return nil
	}
	if int(r.site) > len(sites) {
		return fmt.Errorf("the fault record names check %d of %d: the kernel overwrote it", r.site, len(sites))
	}
	s := &sites[r.site-1]
	return &Fault{Kernel: kernel, At: s.Pos, Kind: s.Kind, What: s.What, Index: r.index, Length: r.length}
}
