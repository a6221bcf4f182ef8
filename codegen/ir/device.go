package ir

// A Program is the device IR of one kernel: launches that run in order, each on the whole device.
// The writes of a launch are visible to the next one.
type Program struct {
	Name     string
	Kernel   *Kernel // the kernel in loop IR: parameters, positions, options
	Params   []*Var  // the kernel's parameters
	Scratch  []Scratchpad
	Funcs    []*Func // functions in device IR, callees first
	Launches []*Launch
	NumVars  int
	FastMath bool
}

// A Scratchpad is a piece of global memory that exists during one run of a Program: Count elements
// of Var.Type, zeroed before the first launch unless Unset says that each element is written before
// it is read. Var is in Scratch space; a Ref of it is a value of type []T (Var.Type is the slice
// type). Count is evaluated on the host and may ask Query NumTeams of launch number Launch.
type Scratchpad struct {
	Var    *Var
	Count  Expr
	Launch int
	Unset  bool
}

// A Launch is one grid. Every statement of Body is executed by every thread of every team, as in
// CUDA.
//
// Body must be right for every number of teams and of threads within the bounds: the device chooses
// them, and at least one team of one thread (one warp, with Warps) even where nothing is shared
// out. Trip is the number of iterations that the grid shares out, nil where there is none
// (sequential code) or where it is not known before the launch (then MaxTeams is not 1 and the
// device takes the grid that suits it best); the natural grid has Trip threads. TeamTrip, where
// given, is the number of iterations that the teams share out: the natural grid then has TeamTrip
// teams, of Trip threads each. MaxTeams and MaxThreads are upper bounds (nil: the device's own);
// the expressions are evaluated on the host (Eval) over the parameters. A team never has more than
// 1024 threads. Warps says that Body uses shuffles, warp barriers or named barriers, so the number
// of threads must be a multiple of the warp, and at most 32 warps. ExtraWarps, which needs Warps,
// is the number of warps that each team has beside the threads that Trip and MaxThreads speak of:
// they lead the others, and NumThreads counts them too.
type Launch struct {
	Name       string // unique in the program: the kernel's name, "_2" and so on after the first
	Trip       Expr
	TeamTrip   Expr
	When       Expr // where the host can tell that this is false, it need not launch; Body tests it nevertheless
	MaxTeams   Expr
	MaxThreads Expr
	Threads    int // preferred size of a team, within the bounds; 0: the device chooses it
	Exact      int // the only team size for which Body is correct; 0: Body is correct for every size
	Width      int // iterations of Trip that a thread of the natural grid executes; 0 is one
	// teams of MaxThreads that a multiprocessor should run at once, which limits the registers of a
	// thread; 0: the back end chooses
	ResidentTeams int
	Reread        Bytes // device memory for each iteration of Trip that several loops of a team read
	Resident      bool  // launch at most the teams that run at once: each team has a fixed cost
	Warps         bool
	Cooperative   bool // the teams synchronise at grid barriers, so all of them must run at once
	ExtraWarps    int
	Team          []*Var // variables in team memory
	Body          []Stmt
	At            Pos
}

// TeamSize returns the number of threads of the teams that Body is right for alone, with those of
// its extra warps; 0 where it is right for any.
func (l *Launch) TeamSize(warp int) int64 {
	if l.Exact == 0 {
		return 0
	}
	return int64(l.Exact + l.ExtraWarps*warp)
}
