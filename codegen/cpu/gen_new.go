package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

func (c *compiler) newGen(s *image.Stage, unroll int, single bool, sites []image.Site) *gen {
	g := &gen{Code: mach.New(image.BlockLayout, !c.options.AVX512, max(c.steps, 256)), kernel: c.Kernel, avx512: c.options.AVX512, bytes: 32, unroll: unroll, wanted: unroll, homes: map[*ir.Var]*home{}, consts: map[constKey]x86.Reg{}, patterns: map[string]x86.Reg{}, limits: map[limitKey]x86.Reg{}, pooled: map[constKey]int{},
		prefix: x86.NoReg, safe: map[*ir.Index]bool{}, always: map[*ir.Index]bool{}, proved: map[*ir.For]x86.Reg{}, pointer: map[string]x86.Reg{}, lanesFor: map[*ir.For]bool{}, sites: sites[:len(sites):len(sites)], round: 1, yieldTo: -1, frame: c.frame, past: c.options.Past,
		names: c.Names, bounds: c.Bounds, nested: c.stages, arrays: c.Arrays, scratch: c.frame.Scratch}
	g.Listing = c.options.Text
	if g.avx512 && c.options.Width != x86.W256 && !single {
		g.bytes = 64
	}
	g.single, g.locked, g.stopAlways = single, s.Again, c.options.StopAlways
	g.lanes = g.bytes / 8
	g.contexts = g.remember
	return g
}
