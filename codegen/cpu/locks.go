package cpu

import (
	"fmt"
	"slices"

	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/ir"
)

// A loop with atomics is compiled twice: with plain instructions, for one worker and for workers
// with copies of what is updated, and with locked instructions, for several workers that update one
// slice. A locked instruction takes as long as ten or twenty others, and longer where workers
// update neighbours, so both forms are measured: the locked one runs where it saves at least a
// third of the time.

// lockedStages appends the stages of loops with atomics again, with locked instructions.
func (c *compiler) lockedStages(code *Code) error {
	for _, s := range code.Stages {
		if !s.Alone || s.Refused {
			continue
		}
		again := &image.Stage{Loop: s.Loop, Body: s.Body, Again: true, Nested: s.Nested}
		code.Stages = append(code.Stages, again)
		if c.options.WorkerCount() > 1 && !aliasesUpdates(s.Loop, c.Arrays) {
			g, err := c.stage(again, code.Sites)
			if err != nil && !isRefusal(err) {
				return err
			}
			if again.Refused = err != nil; !again.Refused {
				if err := addStage(code, again, g); err != nil {
					return err
				}
				s.Locked = len(code.Stages) - 1
			}
		}
		code.Notes = append(code.Notes, fmt.Sprintf("the loop at %s %s", s.Loop.At, sharing(s)))
	}
	return nil
}

// sharing says how workers share a loop with atomics.
func sharing(s *image.Stage) string {
	switch {
	case s.Updates != nil && s.Locked > 0:
		return "runs on several workers, each with a copy of what it updates where that is short, or with locked instructions where these cost little beside the rest; else on one"
	case s.Updates != nil:
		return "runs on several workers where what it updates is short beside it, each with a copy of that; else on one: atomic updates are cheap there"
	case s.Locked > 0:
		return "runs on several workers, with locked instructions, where these cost little beside the rest; else on one"
	}
	return "runs on one worker: its atomic updates have no locked form"
}

// aliasesUpdates tells the loops whose atomics change local arrays that were made before the loop:
// each worker has arrays of its own.
func aliasesUpdates(f *ir.For, arrays map[*ir.Var]int64) bool {
	return slices.ContainsFunc(ir.Free([]ir.Stmt{f}).List(), func(v *ir.Var) bool { return arrays[v] > 0 })
}
