package cpu

import (
	"fmt"

	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/internal/stages"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

func blockWord(i int) x86.Arg { return x86.MemArg(x86.At(x86.DI, int32(8*i))) }

// A home is where a variable lives.
type home struct {
	gp     x86.Reg   // a uniform integer, bool, pointer or slice address; the value in lane 0 of an affine one
	length x86.Reg   // of a slice
	vec    []x86.Reg // a float, or a varying integer: one register a unrolled copy (all the same when uniform)
	masks  []x86.Reg // a varying bool
	alike  bool      // vec is one register, the same value in every lane
	per    int64     // of an array that every lane has for itself: elements with one number lie side by side, as many; 0: there is one array
	even   []evenness
	alone  bool // where one lane runs alone: gp is the address of that lane's elements
}

// gen selects instructions for one kernel.
type gen struct {
	mach.Code
	kernel            *ir.Kernel
	avx512            bool
	bytes             int // of a full vector
	lanes             int
	unroll            int
	first             int              // the copy that is selected, where they are selected one by one
	shapes            *analysis.Shapes // nil outside the lanes loop
	homes             map[*ir.Var]*home
	exec              []x86.Reg          // lanes that are on, one mask a copy; nil: all
	prefix            x86.Reg            // in the tail: how many lanes from the first are in range
	split             bool               // exec is narrower than the prefix
	safe              map[*ir.Index]bool // checked before the loop
	always            map[*ir.Index]bool // proved in range
	lanesFor          map[*ir.For]bool   // the loops whose iterations become lanes
	parallelLanes     *ir.For            // the parallel loop of the stage, where its iterations are the lanes
	wanted            int                // unrolled copies in the main loop
	sawLanes          int                // of the first lanes loop
	walksRows         bool               // a loop inside it gathers
	sawLoop           ir.Pos
	round             int64 // iterations of the parallel loop that a round takes
	sums              []image.Sum
	stopAlways        bool // at every point where the code can stop
	locked            bool // other workers update what this stage updates by atomics
	single            bool // the parallel loop runs one iteration after the other
	inLoop            bool // a stage of a parallel loop
	notes             []string
	parallelLo        ir.Expr   // where parallelLanes began before it was cut
	tripLo, tripHi    *ir.Var   // iterations of the chunk
	made              int       // variables
	entered           []*ir.Var // loaded at the entry of the stage
	frame             stages.Frame
	past              bool // stores past the caches
	pastStores        []image.PastStore
	pastRow           *ir.Index  // the store that leaves the caches alone in the loop over lanes that is selected
	yieldTo, resumeAt mach.Label // of the yield routines; -1: none are needed
	loops             []*loopFrame
	pointer           map[string]x86.Reg // hoisted addresses, see hoist.go
	consts            map[constKey]x86.Reg
	patterns          map[string]x86.Reg // vectors of numbers that differ
	pooled            map[constKey]int   // constants used from memory
	limits            map[limitKey]x86.Reg
	sites             []image.Site
	indexUses         map[*ir.Var]int     // in the loop over lanes
	spreads           map[string]x86.Reg  // numbers that it does not change, in all lanes
	proved            map[*ir.For]x86.Reg // lanes loops whose accesses were checked for all rows at once: 1
	shared            map[string]x86.Reg  // terms computed in the straight code before a loop
	names             map[ir.Pos]string
	bounds            map[ir.Pos]bool
	nested            []*image.Stage    // by number: the stages that sequential code may call
	arrays            map[*ir.Var]int64 // lengths of local arrays
	scratch           int64             // bytes of scratch memory used so far
	serialBase        int               // where one lane runs alone: 1 + the loops around; else 0
	fails             []fail
	contexts          func(values bool) (enter func() (leave func()))
}

type constKey struct {
	bits  uint64
	size  int
	iota  int64 // stride of an iota vector; it may be 0
	lanes int   // of an iota vector, 0 for a broadcast
}

// A fail is code out of line that reports a failed check.
type fail struct {
	label mach.Label
	emit  func()
}

// refuse stops the selection; Compile returns the refusal.
func (g *gen) refuse(at ir.Pos, why string, args ...any) {
	panic(&prepare.Refusal{Kernel: g.kernel.Name, At: at, Why: fmt.Sprintf(why, args...)})
}

func (g *gen) shape(e ir.Expr) analysis.Shape {
	if g.shapes == nil {
		return analysis.Shape{}
	}
	return g.shapes.Shape(e)
}

// container is the bytes that a lane of type t takes in a register: small integers are held as 32
// bits.
func container(t *ir.Type) int { return max(4, int(t.Size)) }

// width is the length of a vector of g.lanes values of type t.
// width is that of a vector with a t in each lane; where that is more than a vector holds, all
// lanes have the same.
func (g *gen) width(t *ir.Type) x86.Width { return widthOf(min(g.lanes*container(t), g.bytes)) }

func widthOf(bytes int) x86.Width {
	switch {
	case bytes <= 16:
		return x86.W128
	case bytes <= 32:
		return x86.W256
	}
	return x86.W512
}

// vectors returns n fresh vector registers.
func (g *gen) vectors(n int) []x86.Reg {
	out := make([]x86.Reg, n)
	for i := range out {
		out[i] = g.NewVector()
	}
	return out
}

// same returns r for every unrolled copy.
func (g *gen) same(r x86.Reg) []x86.Reg {
	out := make([]x86.Reg, g.unroll)
	for i := range out {
		out[i] = r
	}
	return out
}

// each calls f for every unrolled copy.
func (g *gen) each(f func(u int)) {
	for u := range g.unroll {
		f(u)
	}
}

func (g *gen) move(dst, src x86.Reg) {
	if dst == src {
		return
	}
	switch g.ClassOf(dst) {
	case mach.General:
		g.Op(x86.MOVQStore, x86.W128, x86.RegArg(dst), x86.RegArg(src))
	case mach.Vector:
		g.Op(x86.VMOVUPSStore, widthOf(g.bytes), x86.RegArg(dst), x86.RegArg(src))
	case mach.Mask:
		g.Op(x86.KMOVW, x86.W128, x86.RegArg(dst), x86.RegArg(src))
	}
}

// constGeneral returns a fresh general register with value v.
func (g *gen) constGeneral(v int64) x86.Reg {
	r := g.NewGeneral()
	g.setGeneral(r, v)
	return r
}

func (g *gen) setGeneral(r x86.Reg, v int64) {
	if v == int64(int32(v)) {
		g.Op(x86.MOVQImm, x86.W128, x86.RegArg(r), x86.ImmArg(v))
		return
	}
	g.Op(x86.MOVQ, x86.W128, x86.RegArg(r), mach.PoolAt(g.PoolWord(uint64(v), 8)))
}

// ConstVector returns a register that holds the constant in every lane; it is loaded once, at the
// entry.
func (g *gen) ConstVector(bits uint64, size int) x86.Reg {
	key := constKey{bits: bits & (1<<(8*size-1)<<1 - 1), size: size}
	if r, ok := g.consts[key]; ok {
		return r
	}
	r := g.NewVector()
	g.consts[key] = r
	op := x86.VBROADCASTSS
	if size == 8 {
		op = x86.VBROADCASTSD
	}
	g.LoadAtEntry(op, widthOf(g.bytes), r, g.PoolWord(key.bits, size))
	return r
}

// iotaVector returns 0, stride, 2*stride, ... in lanes of size bytes.
func (g *gen) iotaVector(stride int64, size int) x86.Reg {
	key := constKey{size: size, iota: stride, lanes: g.lanes}
	if r, ok := g.consts[key]; ok {
		return r
	}
	r := g.NewVector()
	g.consts[key] = r
	at := g.AlignPool(64)
	for l := range int64(g.lanes) {
		g.PoolWord(uint64(l*stride), size)
	}
	g.LoadAtEntry(x86.VMOVUPS, widthOf(g.lanes*size), r, at)
	return r
}
