package ir

import "github.com/gompss/gompss/deps"

// A Func is a function that kernels call, monomorphised; never recursive. It may hold orphaned
// directives.
type Func struct {
	Name    string // unique within its Kernel, also for instances of a generic function
	Params  []*Var
	Results []*Type
	Body    []Stmt
	At      Pos
}

// A Kernel is the loop IR of one kernel.
type Kernel struct {
	Name    string
	Package string
	At      Pos
	Params  []*Var        // of the Go function, then those for Globals
	Structs []StructParam // those of the Go function that Params has the leaves of, in its order
	Globals []Global      // the package variables that it reads, by name
	Body    []Stmt
	Funcs   []*Func // every function called, callees first
	NumVars int     // IDs of all variables, of Funcs too, are below this
	// the sums that clause contract made one operation with a product; one in a helper once for
	// each call
	Fused []Pos
	// it copies between slices by their capacities, which must reach to the end of their memory
	// where they overlap
	Copies bool

	Target Target
	Task   Task

	Prints   []PrintSite // the statements that print, whose code Printing has and Body lacks
	Printing *Kernel     // nil where nothing prints
}

// A PrintSite is one println, fmt.Println or fmt.Printf.
type PrintSite struct {
	Func   string     // "println", "fmt.Println" or "fmt.Printf"
	Format string     // of fmt.Printf
	Args   []PrintArg // behind it
	Loops  []*Var     // the counted loops around it, outermost first
	Path   []PrintStep
	At     Pos
}

// A PrintArg is an argument: the next word of a record as a value of Type, or, where Type is nil,
// Text.
type PrintArg struct {
	Type *Type
	Text string
}

// A PrintStep is one statement that holds a PrintSite, outermost first: its number among those
// around it, and, for a counted loop, which of Loops it is and whether it counts down; else -1. The
// path ends at a loop that does not count.
type PrintStep struct {
	Ordinal, Loop int
	Down          bool
}

// A Global is a package variable that a kernel reads. Var, one of the last parameters, is its value
// when a task is submitted. Where Shared, the variable's own memory is an argument instead: Var is
// a slice over it, of an array, or a pointer to it.
type Global struct {
	Var     *Var
	Type    *Type // of the variable
	Shared  bool
	Package string // the import path of its package, "" for that of the kernel
}

// Written returns the parameters of the Go function, the leaves of Structs in place of these.
func (k *Kernel) Written() []*Var { return k.Params[:len(k.Params)-len(k.Globals)] }

// Fuses reports whether sums of the kernel take products in: some do by clause contract, any may
// under fastmath.
func (k *Kernel) Fuses() bool { return k.Target.FastMath || len(k.Fused) > 0 }

// Target has the clauses of the target directive of a kernel.
type Target struct {
	Present    bool
	Kinds      []string // as written: "acc", "smp", "cuda", "opencl"; empty means every kind
	Resources  []Tokens
	CopyIn     []Region
	CopyOut    []Region
	CopyInOut  []Region
	NoCopyDeps bool
	Implements string // name of the task of which this kernel is a variant
	Floats
	Checks
	Native *Native
}

// Floats has the options that may change the results of floating-point operations.
type Floats struct {
	FastMath bool
	Contract bool // sums of products are ir.FMA where Fused is set
}

// Checks has the options by which the program takes responsibility for a check.
type Checks struct {
	NoBounds  bool // check(none)
	OverlapOK bool // overlap(ok)
}

// Native has the clauses native, ndrange and shmem: the file with the source of the kernel in the
// language of Kind, and the shape of a launch. Expressions are evaluated at each launch.
type Native struct {
	Kind        string // "cuda"
	File        string // beside the file of the kernel
	Items, Team []Expr // one expression a dimension; a missing Team is 1
	Shared      Expr   // bytes of dynamic shared memory of a team; nil is none
}

// Tokens is one entry of the resources clause: how many of the tokens of Kind a running task holds.
type Tokens struct {
	Kind   string
	Tokens Expr
}

// Task has the clauses of the task directive of a kernel. Their expressions depend on parameters
// and constants, and Eval evaluates them on the host at submission.
type Task struct {
	Present  bool
	Accesses []Access
	Inferred bool // no access was written: the compiler inferred them
	Priority Expr
	If       Expr
	Final    Expr
	Untied   bool
	Label    string
	Loop     *Taskloop
}

// Taskloop has the clause taskloop(lo:hi). Lo and Hi are the indices in Kernel.Params of the
// parameters that bound the iterations of a task. Grain is the least number of iterations of a
// task; it may be nil.
type Taskloop struct {
	Lo, Hi int
	Grain  Expr
}

// Access is a region with a mode, still in terms of the parameters.
type Access struct {
	Region Region
	Mode   deps.Mode
	Op     Op     // of a reduction
	Why    string // reason why an inferred access covers the whole parameter, "" if it is a part
}

// Relaxed reports whether tasks with the same access may run in any order or at the same time.
func (a *Access) Relaxed() bool { return a.Mode >= deps.Concurrent }

// A Region is a part of the memory that parameter Var points at: the whole of it (Dims empty), or a
// box in it. Unshaped regions have one dimension. With Shape, Var is read as a row-major array of
// these extents (Shape[0] may be nil: unknown); dimensions that are not written are whole.
type Region struct {
	Var   *Var
	Shape []Expr
	Dims  []Range
	When  Expr   // where it is false the region is empty; nil for always
	Text  string // as written
	At    Pos
}

// A Range is one dimension of a region: [Lo, Hi), or the index Lo when Hi is nil.
type Range struct {
	Lo, Hi Expr
}
