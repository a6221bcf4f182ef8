package memory

import (
	"fmt"

	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/internal/protocol"
	"github.com/gompss/gompss/codegen/cpu/internal/stages"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// Values evaluate expressions, which package values does: addresses need them, and they need
// memory.
type Values interface {
	// General evaluates a number that is the same in all lanes, or that of lane 0 of an affine one.
	General(e ir.Expr) vcode.Reg
	// Vector evaluates a number in every lane, in one register a copy.
	Vector(e ir.Expr) []vcode.Reg
	// Masks evaluates a condition in every lane.
	Masks(e ir.Expr) []vcode.Reg
}

// Variables know where variables live.
type Variables struct {
	protocol.Exits
	Values
	Homes      map[*ir.Var]*Home
	Shapes     *analysis.Shapes  // nil outside the loop over lanes
	Arrays     map[*ir.Var]int64 // lengths of local arrays
	Frame      stages.Frame
	Scratch    int64     // bytes of scratch memory used so far
	Made       int       // variables
	Entered    []*ir.Var // loaded at the entry of the stage
	Single     bool      // the parallel loop runs one iteration after the other
	SerialBase int       // where one lane runs alone: 1 + the loops around; else 0
}

func (g *Variables) WordVar(name string, word int, at ir.Pos) *ir.Var {
	v := &ir.Var{Name: name, Type: ir.IntType, ID: -2 - word, At: at}
	r := g.NewGeneral()
	g.ReadWord(r, word)
	g.Homes[v] = &Home{General: r, Length: vcode.NoReg}
	return v
}

// A Home is where a variable lives.
type Home struct {
	General vcode.Reg   // a uniform integer, bool, pointer or slice address; the value in lane 0 of an affine one
	Length  vcode.Reg   // of a slice
	Vectors []vcode.Reg // a float, or a varying integer: one register a unrolled copy (all the same when uniform)
	Masks   []vcode.Reg // a varying bool
	Alike   bool        // vec is one register, the same value in every lane
	// Per is, of an array that every lane has for itself, how many elements with one number lie
	// side by side; 0: there is one array.
	Per   int64
	Even  []evenness
	Alone bool // where one lane runs alone: gp is the address of that lane's elements
}

func (g *Variables) Shape(e ir.Expr) analysis.Shape {
	if g.Shapes == nil {
		return analysis.Shape{}
	}
	return g.Shapes.Shape(e)
}

// SliceOf is the home of a slice-valued expression.
func (g *Variables) SliceOf(e ir.Expr) *Home {
	r, ok := e.(*ir.Ref)
	if !ok {
		g.Refuse(e.Pos(), "it is not known what slice %s is a part of: index the parameter itself", ir.Source(e))
	}
	return g.Home(r.Var, r.At)
}

// An evenness says, of one copy of a variable that is an index more than once, where its first lane
// is, and whether the others follow.
type evenness struct{ first, apart vcode.Reg }

// LaneOwned tells the elements of arrays that every lane has for itself.
func (g *Variables) LaneOwned(place ir.Expr) bool {
	ix, ok := place.(*ir.Index)
	return ok && g.Shape(ix.X).Kind == analysis.Varying
}

func (g *Variables) Home(v *ir.Var, at ir.Pos) *Home {
	h, ok := g.Homes[v]
	if !ok {
		g.Refuse(at, "%s (%s) is not supported yet", v.Name, v.Type)
	}
	return h
}

// Declare makes the home of a new variable, of the shape that it has all through the loop.
func (g *Variables) Declare(v *ir.Var) *Home {
	if n, ok := g.Arrays[v]; ok {
		return g.declareArray(v, n)
	}
	h := &Home{General: vcode.NoReg, Length: vcode.NoReg}
	s := analysis.Shape{}
	if g.Shapes != nil {
		s = g.Shapes.Of[v]
	}
	t := v.Type
	switch {
	case t.Kind == ir.Bool && s.Kind != analysis.Uniform:
		h.Masks = make([]vcode.Reg, g.Unroll)
		for u := range h.Masks {
			h.Masks[u] = g.NewMaskRegister()
		}
	case t.IsFloat() && s.Kind == analysis.Uniform:
		h.Vectors, h.Alike = []vcode.Reg{g.NewVector()}, true
	case t.IsScalar() && (t.IsFloat() || s.Kind == analysis.Varying):
		h.Vectors = g.NewVectors(g.Unroll)
	case t.IsScalar():
		h.General = g.NewGeneral()
	default:
		g.Refuse(v.At, "%s", localRefusal(v))
	}
	g.Homes[v] = h
	return h
}

// localRefusal says why a local variable has no place in code for lanes.
func localRefusal(v *ir.Var) string {
	switch v.Type.Kind {
	case ir.Slice:
		return fmt.Sprintf("it is not known what the slice %s is a part of: give it its value where it is declared, by slicing a parameter or an array", v.Name)
	case ir.Pointer:
		return fmt.Sprintf("it is not known what %s points at: give it its value, the address of an element or a variable, where it is declared, and no other later", v.Name)
	}
	return fmt.Sprintf("the address of %s, of type %s, is taken in a way that code for lanes does not follow: use its elements", v.Name, v.Type)
}

// NeedsLane reports whether body must not run where no lane is on. What all lanes do together
// happens whether a lane is on or not: it fails, touches memory, repeats, jumps, or changes a
// variable that has one value for all of them.
func (g *Variables) NeedsLane(body []ir.Stmt) bool {
	needs := false
	ir.Inspect(body, func(s ir.Stmt) {
		switch s := s.(type) {
		case *ir.For, *ir.While, *ir.Break, *ir.Continue, *ir.Return:
			needs = true
		case *ir.Assign:
			if r, ok := s.Place.(*ir.Ref); ok {
				h := g.Homes[r.Var] // nil for a variable of body
				needs = needs || h != nil && h.Masks == nil && (h.Vectors == nil || h.Alike)
			}
		}
	}, func(e ir.Expr) { needs = needs || prepare.FailsHere(e) })
	return needs
}

// ChangesMask reports whether statements assign to a variable whose own registers the masks are.
func (g *Variables) ChangesMask(list []ir.Stmt, masks []vcode.Reg) bool {
	for _, v := range ir.Assigned(list).List() {
		if h := g.Homes[v]; h != nil && len(h.Masks) > 0 && h.Masks[0] == masks[0] {
			return true
		}
	}
	return false
}

// Known reports whether all variables of the terms have homes: those of loops further in do not
// yet.
func (g *Variables) Known(terms []analysis.Term) bool {
	for _, t := range terms {
		for _, v := range ir.ExprVars(t.Expr).List() {
			if h := g.Homes[v]; h == nil || h.General == vcode.NoReg {
				return false
			}
		}
	}
	return true
}

func (g *Variables) LoadWord(v *ir.Var, word int) *Home {
	h := &Home{General: vcode.NoReg, Length: vcode.NoReg}
	switch t := v.Type; {
	case t.Kind == ir.Slice:
		h.General, h.Length = g.NewGeneral(), g.NewGeneral()
		g.ReadWord(h.General, word)
		g.ReadWord(h.Length, word+1)
	case t.IsFloat():
		h.Vectors, h.Alike = []vcode.Reg{g.NewVector()}, true
		if t.Size == 8 {
			g.Op(vcode.VBroadcastF64, max(vcode.W256, vector.WidthOf(g.Bytes)), vcode.RegArg(h.Vectors[0]), protocol.BlockWord(word))
		} else {
			g.Op(vcode.VBroadcastF32, vector.WidthOf(g.Bytes), vcode.RegArg(h.Vectors[0]), protocol.BlockWord(word))
		}
	case t.IsScalar():
		h.General = g.NewGeneral()
		g.ReadWord(h.General, word)
	default:
		g.Refuse(v.At, "%s of type %s is not supported yet in vector code", v.Name, t)
	}
	return h
}

func (g *Variables) StoreWord(h *Home, t *ir.Type, word int) {
	switch {
	case t.Kind == ir.Slice:
		g.WriteWord(word, h.General)
		g.WriteWord(word+1, h.Length)
	case h.Vectors != nil && t.Size == 8:
		g.Op(vcode.VGetI64, vcode.W128, protocol.BlockWord(word), vcode.RegArg(h.Vectors[0]))
	case h.Vectors != nil:
		g.Op(vcode.VGetI32, vcode.W128, protocol.BlockWord(word), vcode.RegArg(h.Vectors[0]))
	default:
		g.WriteWord(word, h.General)
	}
}

// Variable makes a new variable like v.
func (g *Variables) Variable(v *ir.Var) *ir.Var {
	c := *v
	g.Made++
	c.ID = g.Kernel.NumVars + g.Made
	return &c
}
