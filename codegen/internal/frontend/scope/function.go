package scope

import (
	"go/ast"
	"go/types"

	"github.com/gompss/gompss/codegen/ir"
)

// A Function is a function that can be called: a function literal with the frame that it was made
// in, or a top-level function with its type arguments.
type Function struct {
	Lit  *ast.FuncLit
	Env  *Frame
	Fn   *types.Func
	Args []types.Type
	Recv ir.Expr // of a method, nil where it is an argument or there is none
	Name string
	Busy []*types.Func // functions under construction at a literal: its calls count as calls of these
}

// An Instance is a function of the kernel: a Go function with type arguments.
type Instance struct {
	Fn   *types.Func
	Args []types.Type
	Made *ir.Func
}

// A ResultPlace is the effect of a return statement. In a function of its own it returns. In a body
// that is inlined it assigns to vars and leaves the body.
type ResultPlace struct {
	Types  []*ir.Type
	Named  []*ir.Var // the named results of a function
	Vars   []*ir.Var // of an inlined body
	Inline bool
	Label  *ir.Label // of the inlined body
}

// WithReceiver puts the receiver, if there is one, before the arguments.
func (in *Function) WithReceiver(values []ir.Expr) []ir.Expr {
	if in.Recv == nil {
		return values
	}
	return append([]ir.Expr{in.Recv}, values...)
}

// OfParameters returns the functions among the arguments by the number of their parameter: that of
// a method expression counts the receiver.
func (in *Function) OfParameters(bodies map[int]*Function) map[int]*Function {
	if in.Fn == nil || in.Fn.Signature().Recv() == nil || in.Recv != nil {
		return bodies
	}
	out := map[int]*Function{}
	for i, body := range bodies {
		out[i-1] = body
	}
	return out
}

// An Exit is a statement that jumps can leave or continue: a loop or a switch; or a construct,
// which none may leave.
type Exit struct {
	Name     string    // the user's label
	Label    *ir.Label // nil of a construct
	Loop     bool
	Governed string // the text of the directive that governs it, "" where none does
	Used     bool   // a break names it
}
