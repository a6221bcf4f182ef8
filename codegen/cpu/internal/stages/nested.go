package stages

import (
	"maps"
	"slices"

	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/ir"
)

// Sharing says how workers share a loop with atomics.
func Sharing(s *image.Stage) string {
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

// AliasesUpdates tells the loops whose atomics change local arrays that were made before the loop:
// each worker has arrays of its own.
func AliasesUpdates(f *ir.For, arrays map[*ir.Var]int64) bool {
	return slices.ContainsFunc(ir.Free([]ir.Stmt{f}).List(), func(v *ir.Var) bool { return arrays[v] > 0 })
}

// A parallel loop inside sequential code - a time step, say - exists twice: inline, for the
// goroutine that runs what is around it, and as a stage of its own that workers share. The
// sequential code counts the iterations, and where they are as many as a word of the block asks for
// it stores the variables that the loop uses into their words and returns to Go, which lets the
// workers run the stage and calls it again. The word begins at a guess and follows the time that an
// iteration takes; alone, nothing is ever shared.

// nestedIn returns stages of the parallel loops in sequential code that may be shared.
func nestedIn(body []ir.Stmt, arrays map[*ir.Var]int64) (out []*image.Stage) {
	ir.WalkStmts(body, func(s ir.Stmt) bool {
		f, ok := ir.ParallelLoop(s)
		if !ok {
			return true
		}
		if _, fixed := ir.ConstStep(f); fixed && f.Rel != ir.Ne && !slices.ContainsFunc(ir.Free([]ir.Stmt{f}).List(), func(v *ir.Var) bool { return staysHere(v, arrays) }) {
			out = append(out, &image.Stage{Loop: f, Body: []ir.Stmt{f}, Nested: true, Alone: analysis.HasAtomics(f)})
		}
		return false
	})
	return out
}

// Nested returns the stages of loops in sequential code, and the frame that they take; none where
// there are not words enough.
func Nested(stages []*image.Stage, outer Frame, arrays map[*ir.Var]int64) (out []*image.Stage, f Frame) {
	for _, s := range stages {
		if s.Loop == nil {
			out = append(out, nestedIn(s.Body, arrays)...)
		}
	}
	f = outer
	f.Word = maps.Clone(f.Word)
	if f.addNested(out); f.Size > image.MaxWords {
		return nil, outer
	}
	return out, f
}

// staysHere tells the variables that have no word: arrays in the memory of the launch.
func staysHere(v *ir.Var, arrays map[*ir.Var]int64) bool {
	return arrays[v] > 0 || v.Space != ir.Param && !v.Type.IsScalar()
}
