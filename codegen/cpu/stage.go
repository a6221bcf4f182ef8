package cpu

import (
	"fmt"
	"slices"

	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/amd64"
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/internal/memory"
	"github.com/gompss/gompss/codegen/cpu/internal/neon"
	"github.com/gompss/gompss/codegen/cpu/internal/selection"
	"github.com/gompss/gompss/codegen/cpu/internal/stages"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/order"
)

// single reports whether a parallel loop runs one iteration after the other, and why.
func (c *compiler) single(loop *ir.For) (why string, ok bool) {
	switch c.options.Single {
	case SingleNever:
		return "", false
	case SingleAlways:
		return fmt.Sprintf("the loop at %s runs one iteration after the other: it was asked for", loop.At), true
	}
	return analysis.WithoutLanes(loop, c.Arrays, c.options.VectorWidth().Bytes(), c.options.AVX512)
}

// addStage appends the code of a stage.
func (c *compiler) addStage(s *image.Stage, g *selection.Selector) error {
	code := c.code
	for len(code.Bytes)%64 != 0 {
		code.Bytes = append(code.Bytes, 0xCC)
	}
	bytes, lines, places, err := c.link(s, g)
	if err != nil {
		return err
	}
	s.Entry = len(code.Bytes)
	code.Scratch = max(code.Scratch, g.Scratch)
	if g.SpillBytes > image.SpillBytes {
		code.Spill = max(code.Spill, g.SpillBytes)
	}
	code.Past = append(code.Past, g.PastStores...)
	code.Far = code.Far || len(code.Past) > 0 || s.Copies.Size > 0
	for _, n := range g.Notes {
		if !slices.Contains(code.Notes, n) {
			code.Notes = append(code.Notes, n)
		}
	}
	if s.Alone {
		s.Updates = stages.UpdatesOf(s.Loop, g.Frame.Word)
	}
	if s.Loop != nil && slices.ContainsFunc(s.Sums, image.Sum.Ordered) {
		s.Order = image.Ordered{Cut: order.CutOf(analysis.ReductionsOf(s.Loop)[0]), Groups: g.Groups}
	}
	if s.Loop != nil && !s.Called() {
		code.Streams = code.Streams || analysis.Streams(s.Loop)
		code.Rows = code.Rows || analysis.StreamsRows(s.Loop)
	}
	if g.YieldTo >= 0 {
		s.Resume = s.Entry + places[g.ResumeAt]
	}
	for i := range lines {
		lines[i].Offset += s.Entry
	}
	code.Bytes, code.Lines, code.Sites = append(code.Bytes, bytes...), append(code.Lines, lines...), g.Sites
	if !s.Again && (s.Loop != nil || code.Lanes == 0) {
		if g.SawLanes != 0 {
			code.Lanes, code.Unroll, code.Loop = g.SawLanes, g.Wanted, g.SawLoop
		}
	}
	return nil
}

// link encodes a stage. An operation that has no form on arm64 yet refuses the kernel.
func (c *compiler) link(s *image.Stage, g *selection.Selector) ([]byte, []mach.Line, []int, error) {
	if g.ISA != mach.ARM64 {
		return amd64.Link(&g.Code, g.AVX512)
	}
	bytes, lines, places, err := neon.Link(&g.Code)
	if err != nil {
		err = &prepare.Refusal{Kernel: c.Kernel.Name, At: s.At(), Why: err.Error()}
	}
	return bytes, lines, places, err
}

// stage selects and allocates one stage with as many unrolled copies as the registers allow.
func (c *compiler) stage(s *image.Stage) (*selection.Selector, error) {
	if s.Loop != nil && !s.Nested {
		if why, ok := c.single(s.Loop); ok {
			if g, _, err := c.unrolled(s, 1, true); err == nil {
				g.Note("%s", why)
				s.Sums, s.Round = g.Sums, g.Round
				return g, nil
			}
		}
	}
	unrolls := []int{4, 2, 1}
	if c.options.Unroll > 0 {
		unrolls = []int{c.options.Unroll}
	}
	var best *selection.Selector
	least := 1 << 30
	for i, u := range unrolls {
		g, spilled, err := c.unrolled(s, u, false)
		if err != nil {
			if best != nil {
				break
			}
			if i < len(unrolls)-1 && !isRefusal(err) {
				continue // too many values for the frame: fewer copies may fit
			}
			if !isRefusal(err) {
				err = &prepare.Refusal{Kernel: c.Kernel.Name, At: s.At(), Why: "it has too many values at once: " + err.Error()}
			}
			return nil, err
		}
		if g.WalksRows && g.SawLanes*u > mostRows && i < len(unrolls)-1 {
			continue
		}
		if spilled < least {
			best, least = g, spilled
		}
		if g.Scratch > memory.ManyScratch && i < len(unrolls)-1 {
			best, least = nil, 1<<30 // arrays of fewer copies stay in the cache
			continue
		}
		if spilled == 0 || g.SawLanes == 0 {
			break
		}
	}
	s.Sums, s.Round = best.Sums, best.Round
	return best, nil
}

// mostRows is how many rows of memory lanes walk at once where fewer copies can do: where rows are
// a power of two long, their elements lie in few sets of a cache, which keep eight lines or so
// each.
const mostRows = 16

func isRefusal(err error) bool {
	_, ok := err.(*prepare.Refusal)
	return ok
}

// unrolled selects and allocates a stage in so many copies, and counts the values that lie in
// memory.
func (c *compiler) unrolled(s *image.Stage, unroll int, single bool) (g *selection.Selector, spilled int, err error) {
	defer func() {
		if r := recover(); r != nil {
			refusal, ok := r.(*prepare.Refusal)
			switch {
			case ok:
				g, err = nil, refusal
			case r == mach.ErrRegisters:
				g, err = nil, mach.ErrRegisters
			default:
				panic(r)
			}
		}
	}()
	g = selection.New(selection.Setup{Result: c.Result, Options: c.options, Frame: c.frame, Stages: c.stages, Sites: c.code.Sites, Steps: c.steps}, s, unroll, single)
	g.Select(s)
	steps := g.JoinEntry()
	c.steps = steps + steps/8
	if single {
		g.Tidy(vector.WidthOf(g.Bytes), g.YieldTo, g.ResumeAt)
	} else if g.ISA == mach.ARM64 {
		g.Coalesce()
	}
	f := amd64.Registers(g.AVX512, g.Divides(), vector.WidthOf(g.Bytes))
	if g.ISA == mach.ARM64 {
		f = neon.Registers(g.Divides())
	}
	if c.options.FewRegisters {
		f.KeepOne()
	}
	spilled, masks, err := g.Allocate(f)
	return g, spilled + max(0, masks-unroll), err // one mask of each copy costs less than fewer copies would
}
