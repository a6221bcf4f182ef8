package protocol

import (
	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/vcode"
)

// BlockWord is word i of the argument block.
func BlockWord(i int) vcode.Arg { return vcode.MemArg(vcode.At(vcode.Block, int32(8*i))) }

// LaneRoom is the room of the block for vectors, from so many bytes on.
func LaneRoom(at int) vcode.Mem { return vcode.At(vcode.Block, int32(8*image.WordLanes+at)) }

// ReadWord loads word i of the argument block.
func (g *Exits) ReadWord(d vcode.Reg, i int) {
	g.Op(vcode.Load64, vcode.W128, vcode.RegArg(d), BlockWord(i))
}

// WriteWord stores word i of the argument block.
func (g *Exits) WriteWord(i int, x vcode.Reg) {
	g.Op(vcode.Store64, vcode.W128, BlockWord(i), vcode.RegArg(x))
}

// WriteStatus stores what the code says of itself when it comes back.
func (g *Exits) WriteStatus(n int64) {
	g.SetSmall(vcode.Count, n)
	g.WriteWord(image.WordStatus, vcode.Count)
}

// CompareWord compares an integer with word i of the argument block.
func (g *Exits) CompareWord(x vcode.Reg, i int) {
	g.Op(vcode.Compare, vcode.W128, vcode.RegArg(x), BlockWord(i))
}
