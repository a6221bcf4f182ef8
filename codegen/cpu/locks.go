package cpu

import (
	"fmt"

	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/stages"
)

// A loop with atomics is compiled twice: with plain instructions, for one worker and for workers
// with copies of what is updated, and with locked instructions, for several workers that update one
// slice. A locked instruction takes as long as ten or twenty others, and longer where workers
// update neighbours, so both forms are measured: the locked one runs where it saves at least a
// third of the time.

// lockedStages appends the stages of loops with atomics again, with locked instructions.
func (c *compiler) lockedStages() error {
	code := c.code
	for _, s := range code.Stages {
		if !s.Alone || s.Refused() {
			continue
		}
		again := &image.Stage{Loop: s.Loop, Body: s.Body, Again: true, Nested: s.Nested}
		code.Stages = append(code.Stages, again)
		if c.options.WorkerCount() > 1 && !stages.AliasesUpdates(s.Loop, c.Arrays) {
			g, err := c.stage(again)
			if err != nil && !isRefusal(err) {
				return err
			}
			if err != nil {
				again.Entry = -1
			} else {
				if err := c.addStage(again, g); err != nil {
					return err
				}
				s.Locked = len(code.Stages) - 1
			}
		}
		code.Notes = append(code.Notes, fmt.Sprintf("the loop at %s %s", s.Loop.At, stages.Sharing(s)))
	}
	return nil
}

// nestedStages compiles them first: one that is refused stays inline alone.
func (c *compiler) nestedStages() error {
	for i, s := range c.stages {
		if !s.Nested {
			continue
		}
		g, err := c.stage(s)
		if isRefusal(err) {
			s.Entry = -1
			continue
		}
		if err != nil {
			return err
		}
		if err := c.addStage(s, g); err != nil {
			return err
		}
		c.code.Nested = append(c.code.Nested, i)
	}
	return nil
}
