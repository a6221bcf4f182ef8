package image

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// Options choose the machine.
type Options struct {
	ISA    mach.ISA    // the zero value is that of this processor
	AVX512 bool        // and so of AMD64: else AVX2 and FMA, or NEON
	Width  vcode.Width // of vectors; W128 means the widest
	Unroll int         // unrolled copies; 0: as many as the registers allow
	// ShareFrom is how many iterations of a parallel loop inside sequential code are worth sharing;
	// 0: what takes long enough.
	ShareFrom int
	Single    Single // whether parallel loops may run without lanes
	Workers   int    // goroutines that share loops; 0: as many as Go runs at once
	Past      bool   // stores past the caches where possible
	Text      bool   // with Code.Lines
	Trials
}

// Trials are what tests ask for.
type Trials struct {
	// Locked lets workers share loops with atomics by locked instructions, whatever these cost.
	Locked bool
	// FewRegisters hands out one register of each class and spills the rest.
	FewRegisters bool
	// StopAlways stops at every point where the code can stop, and has one after every two rounds
	// of a loop.
	StopAlways bool
	// Grain is how many iterations one call runs, for counting instructions; 0: by time.
	Grain int64
}

// A Code is the vectorised variant of one kernel.
type Code struct {
	Kernel  *ir.Kernel
	Lanes   int
	Unroll  int
	Width   vcode.Width // of full vectors
	Loop    ir.Pos      // the first loop whose iterations are lanes
	Bytes   []byte
	Lines   []mach.Line        // where text was asked for
	Notes   []string           // what the author may want to know: bounds of functions, what Go computes
	Texts   func() []mach.Line // the lines of the code, made on request
	Options Options
	Params  []*ir.Var
	Nested  []int // the stages that are loops in sequential code
	Caps    []int // the parameters whose capacities come behind them all
	Stages  []*Stage
	Sites   []Site
	Words   int
	Scratch int64 // bytes of memory for local arrays
	Spill   int   // bytes of the block for spilled values, where that is more than every block has
	Traffic
	// Plain says that there is one parallel loop without reductions that Go counts, and no code
	// that comes back before its end for anything but an error.
	Plain bool
}

// Traffic is how code uses the memory beyond the caches.
type Traffic struct {
	Past    []PastStore
	Streams bool
	Rows    bool // it streams through rows of nests
	Far     bool // with stores past the caches
}

// A Single says whether parallel loops may run one iteration after the other in every chunk, with
// code for single numbers. Lanes that walk rows of their own, each of another length, gather every
// element and wait for the longest row: that can cost more than it gains.
type Single uint8

// The values of Single.
const (
	SingleAuto   Single = iota // where lanes are expected to be slower
	SingleNever                // lanes, whatever they cost
	SingleAlways               // also where lanes are expected to be faster
)

// WorkerCount returns the number of workers, at least 1.
func (o Options) WorkerCount() int64 {
	if o.Workers > 0 {
		return int64(o.Workers)
	}
	return int64(runtime.GOMAXPROCS(0))
}

// For is the instruction set that code is made for: AMD64 where AVX512 is set or the processor has
// no other that there is code for.
func (o Options) For() mach.ISA {
	switch {
	case o.ISA != mach.Native:
		return o.ISA
	case !o.AVX512 && runtime.GOARCH == "arm64":
		return mach.ARM64
	}
	return mach.AMD64
}

// Name is the option in words: "AVX-512", "AVX2" or "NEON".
func (o Options) Name() string {
	switch {
	case o.For() == mach.ARM64:
		return "NEON"
	case o.AVX512:
		return "AVX-512"
	}
	return "AVX2"
}

// VectorWidth is the length of full vectors.
func (o Options) VectorWidth() vcode.Width {
	switch {
	case o.For().Short():
		return vcode.W128
	case o.AVX512 && o.Width != vcode.W256:
		return vcode.W512
	}
	return vcode.W256
}

// Listing is the code as text, with the Go line that each instruction comes from.
func (c *Code) Listing() string {
	var b strings.Builder
	last := ir.Pos{}
	for _, l := range c.Texts() {
		if l.At != last && l.At.Line > 0 {
			fmt.Fprintf(&b, "; %s\n", l.At)
			last = l.At
		}
		fmt.Fprintf(&b, "%6x %s\n", l.Offset, l.Text)
	}
	return b.String()
}

// Scalar reports whether the kernel is one parallel loop, and statements without loops, of which
// the code runs one iteration after the other.
func (c *Code) Scalar() bool {
	var loop *ir.For
	for _, s := range c.Stages {
		if s.Loop == nil {
			inside := false
			ir.WalkStmts(s.Body, func(x ir.Stmt) bool {
				_, isFor := x.(*ir.For)
				_, isWhile := x.(*ir.While)
				inside = inside || isFor || isWhile
				return !inside
			})
			if inside {
				return false
			}
			continue
		}
		if loop == nil {
			loop = s.Loop
		} else if s.Loop != loop { // else again, with locked instructions
			return false
		}
	}
	return c.Lanes == 1 && loop != nil
}

// A PastStore is a slice that is written past the caches: element i by iteration i, or rows, whose
// first elements are written otherwise until whole vectors begin.
type PastStore struct {
	Word int // of the address in the block
	Size int64
	Rows bool
}

// Aligned reports whether iteration lo begins at a whole vector in every slice that is written past
// the caches, as the instruction asks.
func (c *Code) Aligned(b *Block, lo int64) bool {
	for _, s := range c.Past {
		if s.Rows {
			if int64(b[s.Word])%s.Size != 0 {
				return false
			}
			continue
		}
		if (int64(b[s.Word])+lo*s.Size)%int64(c.Width.Bytes()) != 0 {
			return false
		}
	}
	return true
}

// A CopyLoop is a parallel loop that does nothing but copy elements, at the number of the iteration
// plus first.
type CopyLoop struct {
	Dst, Src int // words of the addresses; the lengths follow
	First    int64
	Size     int64
}
