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

// shuffleWordText and shuffleWordsText exchange 32 and 64 bits by the instruction of NVIDIA's GPUs.
// All threads of the warp that have not ended take part, so that the compiler must neither copy nor
// move it.
const (
	shuffleWordText = `
// NAME returns x of another lane of the warp.
T NAME(T x, uint from)
{
	uint y;
	asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(y) : "r"(as_uint(x)), "r"(from));
	return as_T(y);
}
`
	shuffleWordsText = `
// NAME returns x of another lane of the warp.
T NAME(T x, uint from)
{
	uint2 y;
	asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(y.x) : "r"(as_uint2(x).x), "r"(from));
	asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(y.y) : "r"(as_uint2(x).y), "r"(from));
	return as_T(y);
}
`
)

// warpBarrier prints what the threads of a subgroup wait for each other by.
func (p valuesPrinter) warpBarrier(at ir.Pos) {
	p.subgroup(at)
	if p.opt.Subgroups == PTXSubgroups {
		p.Printf(at, `asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");`)
		return
	}
	p.Printf(at, "sub_group_barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);")
}

// subgroup notes that the text has an operation of subgroups.
func (p valuesPrinter) subgroup(at ir.Pos) {
	if p.opt.Subgroups == NoSubgroups {
		p.fail(at, "operations of warps: not supported by opencl: the device has no subgroups of %d threads", warp)
		return
	}
	p.warps = true
	p.newer = p.newer || p.opt.Subgroups != PTXSubgroups // which needs no more than OpenCL C 1.2
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
	switch p.opt.Subgroups {
	case IntelSubgroups:
		call = "intel_sub_group_shuffle"
	case PTXSubgroups:
		text := shuffleWordText
		if wide.Bits() == 64 {
			text = shuffleWordsText
		}
		call = p.typed("warp_shuffle", strings.ReplaceAll(text, "as_T", "as_"+dialect.Name(wide)), wide)
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
	if !p.warps || p.opt.Subgroups == PTXSubgroups {
		return ""
	}
	return fmt.Sprintf("__attribute__((intel_reqd_sub_group_size(%d)))\n", warp)
}
