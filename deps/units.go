package deps

import "fmt"

// A BufferID names a buffer; ids are dense, in registration order.
type BufferID uint32

// A TaskID is the submission sequence number of a task.
type TaskID uint64

// Bytes is a size in bytes.
type Bytes int64

func (b Bytes) String() string {
	const unit = 1024
	if b < unit && b > -unit {
		return fmt.Sprintf("%d B", int64(b))
	}
	v, i := float64(b)/unit, 0
	for ; (v >= unit || v <= -unit) && i < 4; i++ {
		v /= unit
	}
	return fmt.Sprintf("%.1f %ciB", v, "KMGTP"[i])
}

// A Mode says how a task uses a region. Tasks in mode In run together; so do those in mode
// Concurrent, which order their own accesses, and those in mode Reduction with one operator, on
// private copies; those in mode Commutative run in any order, one at a time. All else is ordered as
// submitted.
//
// Source: Ozen, Compiler and Runtime Based Parallelization & Optimization for GPUs, section 2.2.1;
// differs: regions may overlap, and reductions with different operators are ordered.
type Mode uint8

// The modes.
const (
	In Mode = iota
	Out
	InOut
	Concurrent
	Commutative
	Reduction
)

var modeNames = [...]string{"in", "out", "inout", "concurrent", "commutative", "reduction"}

func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return fmt.Sprintf("Mode(%d)", uint8(m))
}

// Reads reports whether a task with this mode sees the region's value.
func (m Mode) Reads() bool { return m != Out }

// Writes reports whether a task with this mode changes the region.
func (m Mode) Writes() bool { return m != In }
