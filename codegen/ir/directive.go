package ir

import "fmt"

// Parts is the set of constructs that one directive line combines.
type Parts uint16

// The constructs. "teams distribute parallel for simd" is Teams|Distribute|Parallel|Workshare|Simd.
const (
	Teams Parts = 1 << iota
	Distribute
	Parallel
	Workshare // the word "for"
	Simd
	Loop // the descriptive form "loop"
	Single
	Masked
)

// A Directive is a parsed and checked statement directive. Fields that were not written are zero.
type Directive struct {
	Parts Parts
	Text  string // as written, without "//omp:", all lines joined by a space
	At    Pos

	Collapse    int  // number of nested Fors that make one iteration space; 0 and 1 mean one
	NumTeams    Expr // upper bounds
	ThreadLimit Expr
	NumThreads  Expr
	If          Expr

	Schedule     Schedule // of "for"
	DistSchedule Schedule // of "distribute": static
	Mode         TeamMode
	Bind         Bind
	Nested       Nested
	Simdlen      int
	Safelen      int
	Nowait       bool

	Sharing
	Scan *Scan // of a loop whose body a scan directive cuts; nil for every other
}

// Sharing holds the clauses that say how threads and teams share variables.
type Sharing struct {
	Private      []*Var
	Firstprivate []*Var
	Lastprivate  []*Var
	Shared       []*Var
	Reductions   []Reduction
	DistArrays   []DistArray
}

// A Scan says that the body of the loop ends with a Block, the second of two phases, and that the
// place of every reduction is scanned. Inclusive: the input phase, which updates the places, comes
// first, and the Block reads them with the updates of its iteration. Exclusive: the scan phase,
// which reads the places without these, comes first.
//
// Source: OpenMP Application Programming Interface 5.2, section 5.6; differs: locals of the first
// phase may be used in the second, and the loop may be one that teams share out.
type Scan struct {
	Exclusive bool
	At        Pos
}

// A ScheduleKind is a kind of the schedule clause.
type ScheduleKind uint8

// The kinds (DIALECT.md section 3).
const (
	ScheduleNone ScheduleKind = iota
	ScheduleStatic
	ScheduleDynamic
	ScheduleGuided
	ScheduleAuto
	ScheduleOneToOne
	ScheduleCyclic
	ScheduleCounter
)

// A Schedule is a schedule clause; Chunk may be nil.
type Schedule struct {
	Kind  ScheduleKind
	Chunk Expr
}

// A TeamMode says how team-sequential code runs on a device.
type TeamMode uint8

// The modes.
const (
	ModeAuto TeamMode = iota
	ModeSPMD
	ModeBroadcast
	ModeControlLoop
	ModeWarpSpecialized
)

// A Bind is the argument of the bind clause of "loop".
type Bind uint8

// The bindings.
const (
	BindNone Bind = iota
	BindTeams
	BindParallel
	BindThread
)

// A NestedKind is a strategy for nested parallelism.
type NestedKind uint8

// The strategies.
const (
	NestedNone NestedKind = iota
	NestedAuto
	NestedInline
	NestedEager
	NestedCTA
	NestedWarp
	NestedHost
	NestedCPU
	NestedCross
	NestedLanes  // form of NestedAuto on a device: lanes of a warp share the loop
	NestedGroups // the same if each iteration of the surrounding loop is executed by a group of lanes
)

// A Nested is the nested clause.
type Nested struct {
	Kind  NestedKind
	Boost bool
	Lanes uint8 // of a group, with NestedGroups; 0 leaves it to the strategy
}

// A Reduction combines the private copies of Place with Op when the construct ends. Place is a Ref,
// a Deref of a pointer, a whole fixed array or a constant part of one. For MinLoc and MaxLoc, Index
// is the place of the index. Block and Blocks say which iterations are combined together where the
// order shows (codegen/ir/order, Cut).
type Reduction struct {
	Op            Op
	Place         Expr
	Index         Expr
	Block, Blocks int64
	At            Pos
}

// A DistKind says how a distributed array is moved.
type DistKind uint8

// The kinds of dist_ clauses.
//
// Source: Ozen, Compiler and Runtime Based Parallelization & Optimization for GPUs, 2017,
// section 4.2.
const (
	DistPrivate DistKind = iota
	DistFirstprivate
	DistLastprivate
	DistFirstLastprivate
)

// A DistArray is one array of a dist_ clause: iteration i owns Var[i*Chunk : (i+1)*Chunk].
type DistArray struct {
	Kind  DistKind
	Var   *Var
	Chunk Expr
	At    Pos
}

// Clause returns the clause as it is written: dist_private([8]x).
func (a DistArray) Clause() string {
	return a.Kind.String() + "([" + Source(a.Chunk) + "]" + a.Var.Name + ")"
}

// Part returns the text of the part that iteration i owns, such as x[i*8 : (i+1)*8].
func (a DistArray) Part(i *Var) string {
	chunk := Source(a.Chunk)
	switch a.Chunk.(type) {
	case *Const, *Ref:
	default:
		chunk = "(" + chunk + ")"
	}
	return fmt.Sprintf("%s[%s*%s : (%s+1)*%s]", a.Var.Name, i.Name, chunk, i.Name, chunk)
}
