// Package scope holds the state of a kernel under construction: the kernel, its functions, the
// current body, the meaning of Go's names in it, its variables, and its errors.
package scope

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/gompss/gompss/codegen/internal/check"
	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/internal/frontend/source"
	"github.com/gompss/gompss/codegen/internal/frontend/typing"
	"github.com/gompss/gompss/codegen/ir"
)

// A Unit is one kernel under construction.
type Unit struct {
	Program    *source.Program
	Kernel     *ir.Kernel
	Diags      []diag.Diagnostic
	Failed     map[diag.Diagnostic]bool
	Refused    map[ir.Pos]bool  // lines with errors of go/types in declarations that the kernel reaches
	Unknown    ir.Pos           // the first expression whose type is not known
	Funcs      []*Instance      // the functions that are called
	Names      map[string]bool  // of the functions
	Busy       []*types.Func    // the functions under construction, the kernel first
	Inlined    int              // how many bodies were inlined
	Incomplete check.Incomplete // possible declarations of clauses with errors
	Nesting    int              // of bodies being inlined
	Size       int              // the number of statements that were built
	Temps      map[*ir.Var]bool // variables that the builder made, each to hold one value
	Taken      map[*ir.Var]bool // variables of which the address or a slice is taken somewhere
	Fixed      map[*ir.Var]bool // variables that nothing changes after their declaration

	Globals map[*types.Var]*ir.Var // the package variables that are read
	Leaves  map[*ir.Var][]*ir.Var  // of the variables that are split
	Splits  bool                   // there are values that are split
	Prints  map[*types.Func]bool   // whether a function, or one that it calls, prints
}

// A Body is the body of one function under construction. Out gets the statements that must run
// before an expression (calls, inlined bodies), in Go's order of evaluation.
type Body struct {
	*Unit
	Env   *Frame
	Out   []ir.Stmt
	Exits []Exit
	Text  *ClauseText // of the clause being read, nil for code
	Host  bool        // the clause is one of target or task

	Collapse  int    // how many more loops are collapsed into the one around
	Collapsed string // the text of its directive
}

// A Frame gives the objects of one function body their meaning. The body of a function literal is
// built once for every call of it, each time with a frame of its own inside of that of the function
// around.
type Frame struct {
	Outer   *Frame
	Vars    map[types.Object]*ir.Var
	Bodies  map[types.Object]*Function
	Places  map[types.Object]ir.Expr // targets of pointers to split structs
	Types   *typing.Converter
	Results *ResultPlace
	Exits   int // the number of exits around the body, which returns do not cross
}

// A ClauseText is a piece of a comment that is being read as an expression: positions in it count
// from at.
type ClauseText struct {
	At   token.Pos
	Size int
}

// Source returns the name of the kernel as it is written; an instance of a generic kernel has
// another one.
func (u *Unit) Source() string { return u.Busy[0].Name() }

func (u *Unit) HasErrors() bool {
	for _, d := range u.Diags {
		if d.Severity == diag.Error {
			return true
		}
	}
	return false
}

// Report takes a diagnostic; the second one of the same text is dropped.
func (u *Unit) Report(d diag.Diagnostic) {
	sameLine := ir.Pos{File: d.Pos.File, Line: d.Pos.Line}
	if !u.Failed[d] && !u.Refused[sameLine] { // go/types has reported an error of this line already
		u.Failed[d] = true
		u.Diags = append(u.Diags, d)
	}
}

// NewBody returns a function body without statements.
func (u *Unit) NewBody(y *typing.Converter) *Body {
	b := &Body{Unit: u}
	b.Env = &Frame{Vars: map[types.Object]*ir.Var{}, Bodies: map[types.Object]*Function{}, Places: map[types.Object]ir.Expr{}, Types: y}
	return b
}

// Parameters declares the parameters of a function.
func (b *Body) Parameters(sig *types.Signature, decl *ast.FuncDecl) []*ir.Var {
	out := make([]*ir.Var, sig.Params().Len())
	places := FieldTypes(decl.Type.Params)
	for i := range out {
		o := sig.Params().At(i)
		b.Blame(places[i])
		t := b.TypeAt(o.Type(), places[i].Pos())
		out[i] = b.Variable(o, t, ir.Param)
	}
	return out
}

// FieldTypes returns the type of each variable of a list, as written.
func FieldTypes(list *ast.FieldList) []ast.Expr {
	var out []ast.Expr
	if list == nil {
		return nil
	}
	for _, f := range list.List {
		for range max(1, len(f.Names)) {
			out = append(out, f.Type)
		}
	}
	return out
}

// NewVar makes a variable.
func (b *Body) NewVar(name string, t *ir.Type, space ir.Space, at ir.Pos) *ir.Var {
	if name == "" {
		name = "_"
	}
	v := &ir.Var{Name: name, Type: t, Space: space, ID: b.Kernel.NumVars, At: at}
	b.Kernel.NumVars++
	b.Splits = b.Splits || ir.IsSplit(t)
	return v
}

// Variable makes the variable of a Go object.
func (b *Body) Variable(o types.Object, t *ir.Type, space ir.Space) *ir.Var {
	v := b.NewVar(o.Name(), t, space, b.Pos(o.Pos()))
	b.Mean(o, v)
	return v
}

// Mean makes v the variable of o.
func (b *Body) Mean(o types.Object, v *ir.Var) {
	b.Env.Vars[o] = v
	f := b.Program.Usages.Of(o)
	b.Taken[v] = f.AddressTaken || f.Pointed && (b.Program.Usages.LeavesLent || !ir.IsSplit(v.Type))
	b.Unit.Fixed[v] = f == source.Usage{}
}

// Find returns the variable of o, nil where it has none.
func (b *Body) Find(o types.Object) *ir.Var {
	for f := b.Env; f != nil; f = f.Outer {
		if v := f.Vars[o]; v != nil {
			return v
		}
	}
	return nil
}

func (b *Body) Emit(s ir.Stmt) { b.Out = append(b.Out, s) }

// Collect returns the statements that f emits.
func (b *Body) Collect(f func()) []ir.Stmt {
	kept := b.Out
	b.Out = nil
	f()
	got := b.Out
	b.Out = kept
	return got
}

// Temp evaluates e now and returns the variable that holds its value.
func (b *Body) Temp(name string, e ir.Expr, at ir.Pos) ir.Expr {
	v := b.NewVar(name, e.Type(), ir.Local, at)
	v.Source = ir.Source(e)
	b.Temps[v] = true
	b.Emit(&ir.Decl{Var: v, Init: e, At: at})
	return &ir.Ref{Var: v, At: at}
}

// ZeroVar returns a new variable that starts as zero.
func (b *Body) ZeroVar(name string, t *ir.Type, at ir.Pos) *ir.Ref {
	v := b.NewVar(name, t, ir.Local, at)
	b.Temps[v] = true
	b.Emit(&ir.Decl{Var: v, At: at})
	return &ir.Ref{Var: v, At: at}
}

// Adopt makes the variable that was made to hold value, if that is one, the variable of o.
func (b *Body) Adopt(o types.Object, value ir.Expr) bool {
	r, ok := value.(*ir.Ref)
	if !ok || !b.Temps[r.Var] {
		return false
	}
	delete(b.Temps, r.Var)
	r.Var.Name, r.Var.Source = o.Name(), ""
	b.Mean(o, r.Var)
	return true
}

// Pos returns the position of p in the user's source; inside a clause p counts from the start of
// its text.
func (b *Body) Pos(p token.Pos) ir.Pos {
	if b.Text != nil && p.IsValid() {
		p = b.Text.At + min(p-1, token.Pos(b.Text.Size))
	}
	return b.Program.Position(p)
}

// Fail reports that something is not possible.
func (b *Body) Fail(pos token.Pos, what, why, instead string) {
	b.Report(diag.Diagnostic{Pos: b.Pos(pos), Severity: diag.Error, What: what, Why: why, Instead: instead})
}

// Unknown notes an expression without a type. As a rule the cause is reported where it stands;
// where it is not, the kernel must fail nevertheless.
func (b *Body) Unknown(pos token.Pos) {
	b.UnknownAt(b.Pos(pos))
}

func (b *Body) UnknownAt(at ir.Pos) {
	if (b.Unit.Unknown == ir.Pos{}) {
		b.Unit.Unknown = at
	}
}

// Lookup returns the variable that name means at a place in the source, nil where it means none.
func (b *Body) Lookup(name string, at token.Pos) *ir.Var {
	scope := b.Program.PackageAt(at).Scope().Innermost(at)
	if scope == nil {
		return nil
	}
	_, o := scope.LookupParent(name, at)
	if o == nil {
		return nil
	}
	if !b.Host && IsPackageVariable(o) {
		if t, err := b.Env.Types.Convert(o.Type()); err == nil {
			return b.GlobalOf(o.(*types.Var), t)
		}
	}
	return b.Find(o)
}

// Spend counts a statement that is built. It reports the first one too many; none behind it is
// built.
func (b *Body) Spend(at token.Pos) bool {
	if b.Size++; b.Size == source.MaxStatements+1 {
		b.Fail(at, "kernel "+b.Source(), fmt.Sprintf("with what it calls it has more than %d statements", source.MaxStatements),
			"write loops, or several kernels")
	}
	return b.Size <= source.MaxStatements
}
