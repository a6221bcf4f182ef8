package ir

import "cmp"

// An Expr is a typed expression. Some expressions are places (IsPlace): they can be assigned to and
// pointed at.
type Expr interface {
	Type() *Type
	Pos() Pos
	expr()
}

// A Space says where a variable lives.
type Space uint8

// The spaces of variables. The loop IR uses Param and Local only; which team or thread owns a Local
// follows from the construct that it is declared in (DIALECT.md section 1).
const (
	Param   Space = iota // a parameter of the kernel or of a function
	Local                // loop IR: a Go local; device IR: private to one thread
	Team                 // device IR: team memory (CUDA: __shared__), one per team, not initialised
	Scratch              // device IR: global memory that the host allocates for one run of the program (Program.Scratch)
)

// A Var is a variable. Identity is the pointer; two variables may have the same Name, and a back
// end that prints names makes them unique with ID.
type Var struct {
	Name  string
	Type  *Type
	Space Space
	ID    int // dense within one Kernel or Program
	At    Pos

	Source string // name in messages, if it is not Name
	Visits bool   // the index of a loop over what a call touches, as copy(y, x), which is Source
}

// Text returns the name of v in messages.
func (v *Var) Text() string { return cmp.Or(v.Source, v.Name) }

// An Op is an operator of Unary, Binary, a reduction or an atomic update.
type Op uint8

// The operators. LAnd and LOr evaluate Y only when X does not decide. Min and Max are those of Go's
// builtins (a NaN operand gives NaN, -0 is below +0) and occur in Reduction and Atomic; in
// expressions they are Math.
const (
	NoOp   Op = iota
	Neg       // unary -x
	Not       // unary !x
	Com       // unary ^x
	Add       // x + y
	Sub       // x - y
	Mul       // x * y
	Div       // x / y: integers truncate toward zero
	Rem       // x % y
	And       // x & y
	Or        // x | y
	Xor       // x ^ y
	AndNot    // x &^ y
	Shl       // x << y: y of any integer type, may pass the width; negative y fails
	Shr       // x >> y: arithmetic for signed x
	Eq        // x == y and so on: the result is bool
	Ne
	Lt
	Le
	Gt
	Ge
	LAnd
	LOr
	Min
	Max
	MinLoc // reductions only: the pair (value, index), smallest index among equals
	MaxLoc
)

// Const is a scalar constant: Bits holds the value's bit pattern (signed integers sign-extended to
// 64 bits, bool 0 or 1, float32 as math.Float32bits).
type Const struct {
	T    *Type
	Bits uint64
	At   Pos
}

// Ref reads or names a variable. It is a place.
type Ref struct {
	Var *Var
	At  Pos
}

// Unary is Op X.
type Unary struct {
	Op Op
	X  Expr
	At Pos
}

// Binary is X Op Y. X and Y have the same type, but for shifts. T is that type, or bool for
// comparisons. Checked: an integer division whose divisor, or a shift whose signed count, is not
// proved fine; failing ends the task. NoFuse: X*Y whose result Go forbids to contract into an
// addition is marked by an explicit Convert in Go; without fastmath nothing is contracted, so back
// ends must not fuse at all unless the kernel says FastMath.
type Binary struct {
	Op      Op
	X, Y    Expr
	T       *Type
	Checked bool
	At      Pos
}

// Convert is Go's conversion T(X) between numeric types, or between types of the same
// representation.
type Convert struct {
	T  *Type
	X  Expr
	At Pos
}

// Math is the call of a pure library function (package math, math/bits, codegen/kernel, builtin min
// and max). Fn is one of the names in mathfn.go; T is the result type, which also tells the float32
// form from the float64 form.
type Math struct {
	Fn   MathFn
	Args []Expr
	T    *Type
	At   Pos
}

// A QueryKind names something that a thread can ask of its place in the grid.
type QueryKind uint8

// The queries; each has Go type int. In the loop IR only the first four (those of codegen/kernel)
// occur. In the device IR TeamNum..NumThreads are the raw coordinates of the grid: blockIdx.x,
// gridDim.x, threadIdx.x, blockDim.x.
const (
	ThreadNum QueryKind = iota
	NumThreads
	TeamNum
	NumTeams
	Lane     // index in the warp
	WarpSize // threads per warp
)

// Query asks for a coordinate.
type Query struct {
	What QueryKind
	At   Pos
}

// Select is Cond ? X : Y; only the chosen side is evaluated. Made by lowering.
type Select struct {
	Cond, X, Y Expr
	At         Pos
}

// Index is X[I]: an element of a slice value, or of an array place or value. It is a place when X
// is a slice or an array place. I is of any integer type. Checked: the bound is not proved, so the
// back end tests it and a failing access is not made: the task fails naming Slice, index, length
// and At.
type Index struct {
	X, I    Expr
	Checked bool
	At      Pos
}

// Member is X.Fields[Field] of a struct place or value.
type Member struct {
	X     Expr
	Field int
	At    Pos
}

// Deref is *X. It is a place. Checked: X may be nil.
type Deref struct {
	X       Expr
	Checked bool
	At      Pos
}

// AddrOf is &X of a place X.
type AddrOf struct {
	X  Expr
	At Pos
}

// Reslice is X[Lo:Hi:Max] of a slice value or an array place; nil bounds are Go's defaults. Checked
// as Index is.
type Reslice struct {
	X           Expr
	Lo, Hi, Max Expr
	Checked     bool
	At          Pos
}

// Len is len(X) and Cap cap(X) of a slice value; lengths of arrays are constants already.
type Len struct {
	X  Expr
	At Pos
}

// Cap is cap(X) of a slice value.
type Cap struct {
	X  Expr
	At Pos
}

// Apart says that the memory of X and Y, slices of len elements or pointers to one, has no byte in
// common. Made by lowering.
type Apart struct {
	X, Y Expr
	At   Pos
}

// Composite is an array or struct literal with every element given.
type Composite struct {
	T     *Type
	Elems []Expr
	At    Pos
}

// A ShuffleKind says which lane's value a Shuffle returns.
type ShuffleKind uint8

// The shuffles, over the full warp.
const (
	ShuffleDown ShuffleKind = iota // lane + By
	ShuffleUp                      // lane - By
	ShuffleXor                     // lane ^ By
	ShuffleFrom                    // lane By
)

// Shuffle exchanges the scalar X between the lanes of a warp. All threads of the warp must reach it
// (device IR only). A lane outside the warp gives the thread's own X.
type Shuffle struct {
	Kind ShuffleKind
	X    Expr
	By   Expr
	At   Pos
}

// IsPlace reports whether e can stand on the left of an assignment.
func IsPlace(e Expr) bool {
	switch e := e.(type) {
	case *Ref, *Deref:
		return true
	case *Index:
		return e.X.Type().Kind == Slice || IsPlace(e.X)
	case *Member:
		return IsPlace(e.X)
	}
	return false
}

func (e *Const) Type() *Type { return e.T }
func (e *Ref) Type() *Type   { return e.Var.Type }
func (e *Unary) Type() *Type { return e.X.Type() }

func (e *Binary) Type() *Type  { return e.T }
func (e *Convert) Type() *Type { return e.T }
func (e *Math) Type() *Type    { return e.T }
func (e *Query) Type() *Type   { return IntType }
func (e *Select) Type() *Type  { return e.X.Type() }
func (e *Index) Type() *Type   { return e.X.Type().Elem }
func (e *Member) Type() *Type  { return e.X.Type().Fields[e.Field].Type }
func (e *Deref) Type() *Type   { return e.X.Type().Elem }
func (e *AddrOf) Type() *Type  { return PointerTo(e.X.Type()) }
func (e *Reslice) Type() *Type { return SliceOf(e.X.Type().Elem) }
func (e *Len) Type() *Type     { return IntType }
func (e *Cap) Type() *Type     { return IntType }

func (e *Apart) Type() *Type     { return BoolType }
func (e *Composite) Type() *Type { return e.T }
func (e *Shuffle) Type() *Type   { return e.X.Type() }

func (e *Const) Pos() Pos     { return e.At }
func (e *Ref) Pos() Pos       { return e.At }
func (e *Unary) Pos() Pos     { return e.At }
func (e *Binary) Pos() Pos    { return e.At }
func (e *Convert) Pos() Pos   { return e.At }
func (e *Math) Pos() Pos      { return e.At }
func (e *Query) Pos() Pos     { return e.At }
func (e *Select) Pos() Pos    { return e.At }
func (e *Index) Pos() Pos     { return e.At }
func (e *Member) Pos() Pos    { return e.At }
func (e *Deref) Pos() Pos     { return e.At }
func (e *AddrOf) Pos() Pos    { return e.At }
func (e *Reslice) Pos() Pos   { return e.At }
func (e *Len) Pos() Pos       { return e.At }
func (e *Cap) Pos() Pos       { return e.At }
func (e *Apart) Pos() Pos     { return e.At }
func (e *Composite) Pos() Pos { return e.At }
func (e *Shuffle) Pos() Pos   { return e.At }

func (*Const) expr()     {}
func (*Ref) expr()       {}
func (*Unary) expr()     {}
func (*Binary) expr()    {}
func (*Convert) expr()   {}
func (*Math) expr()      {}
func (*Query) expr()     {}
func (*Select) expr()    {}
func (*Index) expr()     {}
func (*Member) expr()    {}
func (*Deref) expr()     {}
func (*AddrOf) expr()    {}
func (*Reslice) expr()   {}
func (*Len) expr()       {}
func (*Cap) expr()       {}
func (*Apart) expr()     {}
func (*Composite) expr() {}
func (*Shuffle) expr()   {}
