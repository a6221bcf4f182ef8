package ir

import "math"

// A Stmt is a statement.
type Stmt interface {
	Pos() Pos
	stmt()
}

// A Label is the target of Break and Continue. Identity is the pointer. Name is the user's label or
// "".
type Label struct {
	Name string
}

// Decl declares Var; a nil Init means the zero value, but for variables in Team space, which start
// undefined.
type Decl struct {
	Var   *Var
	Init  Expr
	Unset bool // of an array: each element is written before it is read, so none need be zero
	At    Pos
}

// Assign is Place = Value. Values may be scalars, arrays, structs, slices and pointers.
//
// With Async, Place is an element of team memory and Value a scalar element of a slice (device IR).
// The value is there for all threads of the team behind the next TeamBarrier of the thread that
// copies. Until then no thread reads Place, and none writes Place or the element of the slice.
type Assign struct {
	Place Expr
	Value Expr
	Async bool
	At    Pos
}

// Call runs a function of the user's. Results[i] is nil where the result is dropped. Arguments are
// values.
type Call struct {
	Results []*Var
	Fn      *Func
	Args    []Expr
	At      Pos
}

// If runs Then or Else.
type If struct {
	Cond       Expr
	Then, Else []Stmt
	At         Pos
}

// Block is a list of statements with a scope; Break to its Label leaves it. Label may be nil.
type Block struct {
	Label *Label
	Body  []Stmt
	At    Pos
}

// While is Go's general for loop, with any initialisation before it: while Cond (nil: forever) run
// Body, then Post; Continue goes to Post. Pre runs before every evaluation of Cond (calls that the
// condition needs).
type While struct {
	Label *Label
	Pre   []Stmt
	Cond  Expr
	Post  []Stmt
	Body  []Stmt
	At    Pos
}

// MostTrips is the number of iterations that is counted for a loop with as many or more: such a
// loop ends by an error alone, and there is room to add a grid of them.
const MostTrips = math.MaxInt64 - 1<<24

// For is a counted loop: for Var := Lo; Var Rel Hi; Var += Step. Lo, Hi and Step are evaluated
// once, before the loop: the front end makes a For only if Body changes neither Var nor an operand
// of Hi and Step. Rel is Lt, Le, Gt, Ge or Ne; Step is never zero (a Step that is not constant is
// checked: zero or the wrong sign fails). Var is of any integer type and a new variable in every
// iteration. A loop that a directive governs is always a For.
type For struct {
	Label     *Label
	Var       *Var
	Lo, Hi    Expr
	Step      Expr
	Rel       Op
	Directive *Directive // loop IR only; nil for a plain loop
	Unroll    int        // device IR: how many iterations are worth writing out; 0 leaves it to the back end
	Body      []Stmt
	At        Pos
}

// Break leaves the While, For or Block with this Label.
type Break struct {
	Label *Label
	At    Pos
}

// Continue starts the next iteration of the While or For with this Label.
type Continue struct {
	Label *Label
	At    Pos
}

// Return ends the function, or the kernel.
type Return struct {
	Results []Expr
	At      Pos
}

// An AtomicKind is one of the five forms of the atomic directive.
type AtomicKind uint8

// The forms.
const (
	AtomicRead   AtomicKind = iota // Old = Place
	AtomicWrite                    // Place = Value
	AtomicUpdate                   // Place = Place Op Value
	// AtomicUpdate or AtomicWrite (Op NoOp), and Old = the value before (or, with After, the value
	// after)
	AtomicCapture
	AtomicCompare // if Place == Compare { Place = Value }; where Old is given it gets the value before
)

// Atomic is one indivisible operation on Place, a scalar. Op is one of Add Sub Mul Div And Or Xor
// AndNot Shl Shr Min Max LAnd LOr; Swapped means Place = Value Op Place. Old is a place or nil.
// Ordered (device IR) is a release and acquire at device scope: a thread that reads its value also
// sees all earlier writes of the storing thread, and all writes of its team before an earlier
// barrier. Atomics of the user order no other memory access.
type Atomic struct {
	Kind    AtomicKind
	Op      Op
	Swapped bool
	Place   Expr
	Value   Expr
	Compare Expr
	Old     Expr
	After   bool
	Ordered bool
	At      Pos
}

// A BarrierScope is the threads that meet at a Barrier.
type BarrierScope uint8

// The scopes.
const (
	TeamBarrier  BarrierScope = iota // all threads of the team; orders team and global memory among them
	WarpBarrier                      // all lanes of the warp
	NamedBarrier                     // Count threads of the team, in whole warps, at barrier number ID (device IR)
	GridBarrier                      // all threads of the grid; orders all memory among them (device IR)
)

// Barrier waits until all threads of the scope have come. In the loop IR it is kernel.Barrier()
// (TeamBarrier).
//
// At a NamedBarrier a warp has come, with all its threads, when those of them that have not ended
// have. A Count of all the threads of the team waits for those that have not ended; a smaller one
// is a multiple of the warp, and its warps do not end. ID is 1 to 15.
//
// A GridBarrier stands in a Cooperative launch. Count is two neighbouring words of scratch memory
// for the number of teams that have arrived: the first element of a slice of uint32, the same one
// at each barrier of the launch. No thread of such a launch ends before the last barrier.
type Barrier struct {
	Scope BarrierScope
	ID    int
	Count Expr
	At    Pos
}

// Construct is a directive on a body: teams, parallel, single, masked, or a combination of the
// first two (loop IR only). A combined directive on a loop hangs on the For.
type Construct struct {
	Directive *Directive
	Body      []Stmt
	At        Pos
}

func (s *Decl) Pos() Pos      { return s.At }
func (s *Assign) Pos() Pos    { return s.At }
func (s *Call) Pos() Pos      { return s.At }
func (s *If) Pos() Pos        { return s.At }
func (s *Block) Pos() Pos     { return s.At }
func (s *While) Pos() Pos     { return s.At }
func (s *For) Pos() Pos       { return s.At }
func (s *Break) Pos() Pos     { return s.At }
func (s *Continue) Pos() Pos  { return s.At }
func (s *Return) Pos() Pos    { return s.At }
func (s *Atomic) Pos() Pos    { return s.At }
func (s *Barrier) Pos() Pos   { return s.At }
func (s *Construct) Pos() Pos { return s.At }

func (*Decl) stmt()      {}
func (*Assign) stmt()    {}
func (*Call) stmt()      {}
func (*If) stmt()        {}
func (*Block) stmt()     {}
func (*While) stmt()     {}
func (*For) stmt()       {}
func (*Break) stmt()     {}
func (*Continue) stmt()  {}
func (*Return) stmt()    {}
func (*Atomic) stmt()    {}
func (*Barrier) stmt()   {}
func (*Construct) stmt() {}
