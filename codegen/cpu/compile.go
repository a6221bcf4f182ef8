package cpu

import (
	"fmt"
	"slices"

	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/stages"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/ir"
)

// Compile makes machine code of the kernel. The error is a *prepare.Refusal where the kernel has a
// construct without a vector form.
func Compile(k *ir.Kernel, o Options) (*Code, error) {
	o.ISA = o.For()
	c := &compiler{source: k, options: o}
	for _, pass := range []func() error{
		c.prepare,      // loop IR without calls and pointers
		c.cut,          // stages, and the words of what outlives one
		c.layOut,       // the code, without instructions
		c.nestedStages, // loops in sequential code, which that calls
		c.plainStages,  // all others
		c.lockedStages, // loops with atomics again, for several workers
		c.judge,        // how it may be called
	} {
		if err := pass(); err != nil {
			return nil, err
		}
	}
	return c.code, nil
}

// A compiler holds what the passes make.
type compiler struct {
	*prepare.Result
	source  *ir.Kernel
	options Options
	frame   stages.Frame
	stages  []*image.Stage // but for those with locked instructions
	steps   int            // that the code selected before had
	code    *Code
}

func (c *compiler) prepare() (err error) {
	c.Result, err = prepare.Kernel(c.source)
	return err
}

func (c *compiler) cut() error {
	c.stages = stages.Split(c.Kernel.Body)
	c.frame = stages.FrameOf(c.Result, c.stages)
	if inner, f := stages.Nested(c.stages, c.frame, c.Arrays); len(inner) > 0 {
		c.stages, c.frame = append(c.stages, inner...), f
	}
	if c.frame.Size > image.MaxWords {
		return &prepare.Refusal{Kernel: c.source.Name, At: c.source.At, Why: fmt.Sprintf("its parameters and variables need %d words, %d are there", c.frame.Size, image.MaxWords)}
	}
	return nil
}

func (c *compiler) layOut() error {
	k, o := c.source, c.options
	c.code = &Code{Texts: func() []mach.Line { return textsOf(k, o) }, Kernel: k, Options: o, Params: c.Kernel.Params, Stages: c.stages, Words: c.frame.Size, Width: o.VectorWidth()}
	for i, v := range c.code.Params {
		if c.Caps[v] != nil {
			c.code.Caps = append(c.code.Caps, i)
		}
	}
	return nil
}

func (c *compiler) plainStages() error {
	for _, s := range c.stages {
		if s.Nested || stages.Countable(s, c.frame) {
			continue
		}
		if s.Loop != nil && c.options.Past {
			s.Copies, _ = stages.CopyOf(s.Loop, c.frame)
		}
		g, err := c.stage(s)
		if err != nil {
			return err
		}
		if err := c.addStage(s, g); err != nil {
			return err
		}
	}
	if c.code.Lanes == 0 {
		return &prepare.Refusal{Kernel: c.source.Name, At: c.source.At, Why: "there is no loop whose iterations may run together: write //omp:teams distribute parallel for above one whose iterations are independent"}
	}
	return nil
}

func (c *compiler) judge() error {
	s := c.stages
	c.code.Plain = len(s) == 2 && s[0].Count.Set && s[1].Loop != nil && len(s[1].Sums) == 0 && !slices.ContainsFunc(c.code.Sites, image.Site.AsksGo)
	return nil
}

// textsOf compiles the kernel again: texts take a tenth of the time, and are seldom asked for.
func textsOf(k *ir.Kernel, o Options) []mach.Line {
	o.Text = true
	again, err := Compile(k, o)
	if err != nil {
		panic("gompss: bug: cpu: compiled once, and then: " + err.Error())
	}
	return again.Lines
}
