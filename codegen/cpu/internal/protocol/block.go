package protocol

import (
	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/x86"
)

// BlockWord is word i of the argument block.
func BlockWord(i int) x86.Arg { return x86.MemArg(x86.At(x86.DI, int32(8*i))) }

// LaneRoom is the room of the block for vectors, from so many bytes on.
func LaneRoom(at int) x86.Mem { return x86.At(x86.DI, int32(8*image.WordLanes+at)) }

// ReadWord loads word i of the argument block.
func (g *Exits) ReadWord(d x86.Reg, i int) { g.Op(x86.MOVQ, x86.W128, x86.RegArg(d), BlockWord(i)) }

// WriteWord stores word i of the argument block.
func (g *Exits) WriteWord(i int, x x86.Reg) {
	g.Op(x86.MOVQStore, x86.W128, BlockWord(i), x86.RegArg(x))
}

// WriteStatus stores what the code says of itself when it comes back.
func (g *Exits) WriteStatus(n int64) {
	g.SetSmall(x86.CX, n)
	g.WriteWord(image.WordStatus, x86.CX)
}

// CompareWord compares an integer with word i of the argument block.
func (g *Exits) CompareWord(x x86.Reg, i int) {
	g.Op(x86.CMPQ, x86.W128, x86.RegArg(x), BlockWord(i))
}
