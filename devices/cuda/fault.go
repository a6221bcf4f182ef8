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
	ErrNil = ir.ErrNil
	// ErrStep is the cause of a fault at a loop that would never end.
	ErrStep = ir.ErrStep
)

// kinds maps kinds of sites to kinds of checks.
var kinds = map[cuda.SiteKind]ir.CheckKind{cuda.IndexSite: ir.IndexCheck, cuda.SliceSite: ir.SliceCheck, cuda.DivisorSite: ir.DivisorCheck,
	cuda.CountSite: ir.CountCheck, cuda.PointerSite: ir.PointerCheck, cuda.StepSite: ir.StepCheck}

// A record is the fault record that a kernel writes, in the layout of cuda.FaultSize.
type record struct {
	site          uint32
	_             uint32
	index, length int64
	_             int64 // padding: records do not share a sector
}

// fault returns a record as a *ir.CheckError, nil if it is empty. The kernel has not made the
// access; its earlier writes remain.
func (r *record) fault(kernel string, sites []cuda.Site) error {
	if r.site == 0 {
		return nil
	}
	if int(r.site) > len(sites) {
		return fmt.Errorf("the fault record names check %d of %d: the kernel overwrote it", r.site, len(sites))
	}
	s := &sites[r.site-1]
	return &ir.CheckError{Kernel: kernel, At: s.Pos, Kind: kinds[s.Kind], What: s.What, Index: r.index, Length: r.length, Unsigned: s.Unsigned}
}
