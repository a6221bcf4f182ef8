package opencl

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

// warp is the number of threads of a subgroup.
const warp = 32

const lane = "get_local_id(0) % 32"

// shuffleText reads from a lane that exists, also where from is none.
const shuffleText = `
// NAME returns x of another lane of the subgroup, the thread's own where from is no lane.
T NAME(T x, long from)
{
	return SHUFFLE(x, (uint)(from >= 0 && from < 32 ? from : (long)(get_local_id(0) % 32)));
}
`

// subgroup notes that the text has an operation of subgroups.
func (p valuesPrinter) subgroup(at ir.Pos) {
	if p.opt.Subgroups == NoSubgroups {
		p.fail(at, "operations of warps: not supported by opencl: the device has no subgroups of %d threads", warp)
		return
	}
	p.warps, p.newer = true, true
}

// warpQuery prints a question about warps.
func (p valuesPrinter) warpQuery(e *ir.Query) cprint.Val {
	p.subgroup(e.At)
	if e.What == ir.Lane {
		return cprint.Value(lane, cprint.PrecMul, cprint.U64)
	}
	return cprint.Value(strconv.Itoa(warp), cprint.PrecPostfix, cprint.I32)
}

// shuffle prints the exchange of a value, in 32 bits at least.
func (p valuesPrinter) shuffle(e *ir.Shuffle) cprint.Val {
	p.subgroup(e.At)
	x, ct := p.number(e.X), cprint.TypeOf(e.X.Type())
	if ct == cprint.Other {
		p.fail(e.At, "shuffle of %s: not supported by opencl", e.X.Type())
		return x
	}
	wide := ct.Promote()
	if x.Type != wide {
		x = dialect.Cast(x, wide)
	}
	by, call := p.number(e.By), "sub_group_shuffle"
	if p.opt.Subgroups == IntelSubgroups {
		call = "intel_sub_group_shuffle"
	}
	lanes := by.Text
	switch e.Kind {
	case ir.ShuffleXor:
		lanes = lane + " ^ " + by.At(cprint.PrecUnary)
	case ir.ShuffleUp:
		lanes = "(long)(" + lane + ") - " + by.At(cprint.PrecMul)
	case ir.ShuffleDown:
		lanes = lane + " + " + by.At(cprint.PrecMul)
	}
	if r := p.rangeOf(e.By); r.within(span(0, warp-1)) && (e.Kind == ir.ShuffleXor || e.Kind == ir.ShuffleFrom) {
		lanes = "(uint)(" + lanes + ")"
	} else {
		call = p.typed("go_shuffle", strings.Replace(shuffleText, "SHUFFLE", call, 1), wide)
	}
	out := cprint.Value(fmt.Sprintf("%s(%s, %s)", call, x.Text, lanes), cprint.PrecPostfix, wide)
	if wide != ct {
		return dialect.Cast(out, ct)
	}
	return out
}

// size prints the attribute of a kernel that has operations of subgroups.
func (p kernelsPrinter) size() string {
	if !p.warps {
		return ""
	}
	return fmt.Sprintf("__attribute__((intel_reqd_sub_group_size(%d)))\n", warp)
}
