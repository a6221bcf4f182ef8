package selection

import (
	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/internal/memory"
	"github.com/gompss/gompss/codegen/cpu/internal/protocol"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// statements selects all other statements, and lists of statements.
type statements struct{ looping }

// list selects statements one after the other.
//
// Two invariants hold at every statement. At least one lane is active: if the last lane may have
// left, a jump leads to the end of the list. And every path to the statement has set the registers
// of g.exec: only list narrows it, for the statements after one that lanes may leave, and restores
// it at its end, so that the code after a loop, block or branch has the masks from before. Lanes
// that have left stay in the masks of their frames, from which the enclosing list narrows again.
func (g *statements) list(body []ir.Stmt) {
	exec, split := g.Exec, g.Split
	end, jumps := g.NewLabel(), false
	for len(body) > 0 {
		if n := g.piece(body); n > 0 {
			body = body[n:]
			continue
		}
		s := body[0]
		body = body[1:]
		g.stmt(s)
		g.pauseWithin(s)
		if g.Shapes != nil && len(body) > 0 && ir.LeavesLoop(s) && g.afterEscape() && g.NeedsLane(body) {
			g.AnyLane(g.Exec)
			g.Jump(mach.CondE, end)
			jumps = true
		}
	}
	if jumps {
		g.Place(end)
	}
	g.Exec, g.Split = exec, split
}

// pauseWithin selects a pause point after s if the statements since the last one could take long,
// because a body may be arbitrarily long. Loops have their own pause points.
func (g *statements) pauseWithin(s ir.Stmt) {
	switch s.(type) {
	case *ir.For, *ir.While:
		g.straight = 0
		return
	}
	weight, most := int64(1), int64(protocol.MostBetween)
	ir.StmtExprs(s, func(e ir.Expr) {
		ir.WalkExpr(e, func(x ir.Expr) bool {
			weight += g.weightOf(x)
			return true
		})
	})
	if _, ok := s.(*ir.Atomic); ok {
		weight += g.atomicWeight()
	}
	if g.Shapes != nil {
		weight *= int64(g.Unroll)
	}
	if g.StopAlways {
		most = mostStraight
	}
	if g.straight += weight; g.straight > most {
		g.PausePoint()
		g.straight = 0
	}
}

// mostStraight replaces protocol.MostBetween if the code pauses wherever it can.
const mostStraight = 64

// afterEscape deactivates the lanes that have left a loop or an iteration in the preceding
// statement; it reports whether there may be any.
func (g *statements) afterEscape() (any bool) {
	for _, f := range g.Loops {
		if f.Varying {
			any = true
			g.Narrow(f.Live)
			if f.Skip != nil {
				g.Narrow(f.Skip)
			}
		}
	}
	return any
}

func (g *statements) stmt(s ir.Stmt) {
	old := g.At
	g.At = s.Pos()
	defer func() { g.At = old }()
	if g.Shapes != nil {
		g.tryVectors(s)
		return
	}
	g.vectorStmt(s)
}

func (g *statements) vectorStmt(s ir.Stmt) {
	switch s := s.(type) {
	case *ir.Decl:
		g.decl(s)
	case *ir.Assign:
		g.assign(s)
	case *ir.If:
		g.branchStmt(s)
	case *ir.Block:
		g.block(s)
	case *ir.For:
		g.forStmt(s)
	case *ir.While:
		g.while(s)
	case *ir.Break:
		g.leave(s.Label, false)
	case *ir.Continue:
		g.leave(s.Label, true)
	case *ir.Return:
		g.returnKernel(s)
	case *ir.Construct:
		g.Refuse(s.At, "the directive %q is not supported yet in vector code", s.Directive.Text)
	case *ir.Call:
		g.Refuse(s.At, "a call of %s is not supported yet in vector code", s.Fn.Name)
	case *ir.Atomic:
		g.atomic(s)
	default:
		g.Refuse(s.Pos(), "this statement is not supported yet in vector code")
	}
}

// returnKernel ends the kernel from sequential code.
func (g *statements) returnKernel(s *ir.Return) {
	if g.inLoop || g.Shapes != nil {
		g.Refuse(s.At, "return out of a parallel loop")
	}
	g.WriteStatus(image.StatusReturned)
	g.Return()
}

func (g *statements) branchStmt(s *ir.If) {
	if g.Shape(s.Cond).Kind != analysis.Uniform {
		g.maskedIf(s)
		return
	}
	if g.Single && g.Shapes == nil && g.SerialBase == 0 && g.branchSingle(s) {
		return
	}
	other, end := g.NewLabel(), g.NewLabel()
	g.Branch(s.Cond, false, other)
	g.list(s.Then)
	if len(s.Else) > 0 {
		g.Jump(mach.Always, end)
	}
	g.Place(other)
	g.list(s.Else)
	g.Place(end)
}

// maskedIf runs both sides, each in the lanes that take it, and skips a side that no lane takes.
func (g *statements) maskedIf(s *ir.If) {
	cond := g.Masks(s.Cond)
	old, split := g.Exec, g.Split
	side := func(masks []vcode.Reg, body []ir.Stmt) {
		if len(body) == 0 {
			return
		}
		g.Narrow(masks)
		skip := g.NewLabel()
		if !onlyLeaves(body) {
			g.AnyLane(g.Exec)
			g.Jump(mach.CondE, skip)
		}
		g.list(body)
		g.Place(skip)
		g.Exec, g.Split = old, split
	}
	if len(s.Else) > 0 || g.ChangesMask(s.Then, cond) { // the then side may change an operand of the condition
		kept := make([]vcode.Reg, g.Unroll)
		g.Each(func(u int) {
			kept[u] = g.NewMaskRegister()
			g.MaskMove(kept[u], cond[u])
		})
		cond = kept
	}
	side(cond, s.Then)
	if len(s.Else) > 0 {
		side(g.NotMasks(cond), s.Else)
	}
}

// onlyLeaves reports whether body is a single break or continue: it changes masks, for which a lane
// need not be on.
func onlyLeaves(body []ir.Stmt) bool {
	switch body[0].(type) {
	case *ir.Break, *ir.Continue:
		return len(body) == 1
	}
	return false
}

func (g *statements) block(s *ir.Block) {
	if s.Label == nil {
		g.list(s.Body)
		return
	}
	f := &memory.LoopFrame{Label: s.Label, Kind: memory.LabelledBlock, BreakTo: g.NewLabel()}
	f.Varying = g.Shapes != nil && (&analysis.ShapeWalk{Shapes: g.Shapes}).LeavesSplit(s.Body)
	if f.Varying {
		f.Live = g.CopyMasks()
	}
	g.Loops = append(g.Loops, f)
	g.list(s.Body)
	g.Loops = g.Loops[:len(g.Loops)-1]
	g.Place(f.BreakTo)
}

// leave selects a break or continue: a jump if all lanes leave together, otherwise it deactivates
// the active lanes.
func (g *statements) leave(l *ir.Label, next bool) {
	for i := len(g.Loops) - 1; i >= 0; i-- {
		f := g.Loops[i]
		if f.Label != l {
			continue
		}
		if i+1 < g.SerialBase {
			break
		}
		if !f.Varying {
			if next {
				g.Jump(mach.Always, f.NextTo)
			} else {
				g.Jump(mach.Always, f.BreakTo)
			}
			return
		}
		masks := [][]vcode.Reg{f.Live}
		if next {
			masks[0] = f.Skip
		}
		for _, inner := range g.Loops[i+1:] { // the loops in between are left too
			if inner.Varying {
				masks = append(masks, inner.Live)
				if inner.Skip != nil {
					masks = append(masks, inner.Skip)
				}
			}
		}
		exec := g.CopyMasks()
		for _, m := range masks {
			g.Each(func(u int) { g.MaskMove(m[u], g.MaskAndNot(exec[u], m[u])) })
		}
		return
	}
	g.Refuse(g.At, "a jump out of the vector loop is not supported")
}
