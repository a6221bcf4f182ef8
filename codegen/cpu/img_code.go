package cpu

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// Options choose the machine.
type Options struct {
	AVX512 bool      // else AVX2 and FMA
	Width  x86.Width // of vectors; W128 means the widest
	Unroll int       // unrolled copies; 0: as many as the registers allow
	// ShareFrom is how many iterations of a parallel loop inside sequential code are worth sharing; 0: what takes long enough.
	ShareFrom int
	Single    Single // whether parallel loops may run without lanes
	Workers   int    // goroutines that share loops; 0: as many as Go runs at once
	Locked    bool   // workers share loops with atomics by locked instructions, whatever these cost: for tests
	Past      bool   // stores past the caches where possible
	Text      bool   // with Code.Lines
	// FewRegisters hands out one register of each class and spills the rest: for tests.
	FewRegisters bool
}

// A Code is the vectorised variant of one kernel.
type Code struct {
	Kernel  *ir.Kernel
	Lanes   int
	Unroll  int
	Width   x86.Width // of full vectors
	Loop    ir.Pos    // the first loop whose iterations are lanes
	Bytes   []byte
	Lines   []mach.Line        // where text was asked for
	Notes   []string           // what the author may want to know: bounds of functions, what Go computes
	texts   func() []mach.Line // the lines of the code, made when they are asked for
	options Options
	params  []*ir.Var
	nested  []int // the stages that are loops in sequential code
	caps    []int // the parameters whose capacities come behind them all
	stages  []*stage
	sites   []site
	words   int
	scratch int64 // bytes of memory for local arrays
	spill   int   // bytes of the block for spilled values, where that is more than every block has
	past    []pastStore
	streams bool
	rows    bool // it streams through rows of nests
	far     bool // with stores past the caches
	plain   bool // one parallel loop without reductions that Go counts, and no code that comes back before its end for anything but an error
}

// A Single says whether parallel loops may run one iteration after the other in every chunk, with code for single numbers. Lanes that walk rows
// of their own, each of another length, gather every element and wait for the longest row: that can cost more than it gains.
type Single uint8

// The values of Single.
const (
	SingleAuto   Single = iota // where lanes are expected to be slower
	SingleNever                // lanes, whatever they cost
	SingleAlways               // also where lanes are faster: for tests
)

func (o Options) workers() int64 {
	if o.Workers > 0 {
		return int64(o.Workers)
	}
	return int64(runtime.GOMAXPROCS(0))
}

// Name is the option in words: "AVX-512" or "AVX2".
func (o Options) Name() string {
	if o.AVX512 {
		return "AVX-512"
	}
	return "AVX2"
}

// Listing is the code as text, with the Go line that each instruction comes from.
func (c *Code) Listing() string {
	var b strings.Builder
	last := ir.Pos{}
	for _, l := range c.texts() {
		if l.At != last && l.At.Line > 0 {
			fmt.Fprintf(&b, "; %s\n", l.At)
			last = l.At
		}
		fmt.Fprintf(&b, "%6x %s\n", l.Offset, l.Text)
	}
	return b.String()
}

// A pastStore is a slice that is written past the caches: element i by iteration i, or rows, whose first elements are written otherwise until
// whole vectors begin.
type pastStore struct {
	word int // of the address in the block
	size int64
	rows bool
}

// aligned tells whether iteration lo begins at a whole vector in every slice that is written past the caches, as the instruction asks.
func (c *Code) aligned(b *block, lo int64) bool {
	for _, s := range c.past {
		if s.rows {
			if int64(b[s.word])%s.size != 0 {
				return false
			}
			continue
		}
		if (int64(b[s.word])+lo*s.size)%int64(c.Width.Bytes()) != 0 {
			return false
		}
	}
	return true
}

// A copyLoop is a parallel loop that does nothing but copy elements, at the number of the iteration plus first.
type copyLoop struct {
	dst, src int // words of the addresses; the lengths follow
	first    int64
	size     int64
}
