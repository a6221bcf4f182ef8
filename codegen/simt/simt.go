package simt

import (
	"context"
	"fmt"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/verify"
)

// A Program is compiled device IR. It does not change: several goroutines may Run one.
type Program struct {
	ir       *ir.Program
	launches []*code
}

// A Memory is one buffer. Arguments that lie in the same buffer, and may overlap, share one Memory.
type Memory struct {
	Name  string
	Bytes []byte
}

// An Arg is the value of one parameter: Bits of a scalar; Bytes, little-endian in gc's layout, of a
// struct or array; or for slices and pointers the place in Memory where they start, Offset in
// bytes, with Len and Cap in elements. A nil Memory makes the nil slice and the nil pointer.
type Arg struct {
	Bits     ir.Bits
	Bytes    []byte
	Memory   *Memory
	Offset   int64
	Len, Cap int64
}

// Config holds the options of a run. The zero value runs the natural grid in ascending order and
// checks all but races.
type Config struct {
	// Teams and Threads are the shape of every grid, within the bounds of the launch. Where zero
	// they follow from its trip count. A launch that uses warp operations gets whole warps.
	Teams, Threads int
	// Warp is the number of threads in a warp; zero is 32.
	Warp int
	// Seed shuffles the order of teams, and of the threads of a team between barriers. Zero is
	// ascending order.
	Seed uint64
	// Races makes Run look for data races and reads of team memory that was not written. It costs
	// time and about 20 bytes for each byte that is touched.
	Races bool
	// Steps bounds the instructions of one Run; zero is no bound.
	Steps int64
	// Context ends the run when it is done; nil never ends it.
	Context context.Context
}

// Stats counts what a Run did.
type Stats struct {
	Instructions int64 // of the interpreter's register code
	Barriers     int64 // completed by a team, a warp or the threads of a named barrier
	Shuffles     int64 // completed by a warp
	Atomics      int64
	TeamBytes    int64 // the most team memory that a team had
	Launches     []Grid
}

// A Grid is the shape that a launch was run with.
type Grid struct {
	Name           string
	Teams, Threads int
}

// New compiles p, which must pass verify.Program.
func New(p *ir.Program) (*Program, error) {
	if err := verify.Program(p); err != nil {
		return nil, err
	}
	out := &Program{ir: p}
	for _, l := range p.Launches {
		c, err := compile(p, l)
		if err != nil {
			return nil, err
		}
		out.launches = append(out.launches, c)
	}
	return out, nil
}

// maxErrors bounds the races that one Run reports.
const maxErrors = 20

// Run executes the launches of p in order. What it wrote before an error stays written.
//
// Cost: a few nanoseconds an instruction, and several times that with Races. Errors: ErrArgument,
// ErrSteps, the context's error, *ir.EvalError for a bound of a launch, *CheckError,
// *DivergenceError; and with Races, joined, up to 20 of *RaceError, one for each two lines of the
// source and parameter, and *UnsetError.
func (p *Program) Run(args []Arg, cfg Config) (Stats, error) {
	m, err := newMachine(p, args, cfg)
	if err != nil {
		return Stats{}, err
	}
	for i, c := range p.launches {
		if err := m.launch(c, m.stats.Launches[i]); err != nil {
			m.errs = append(m.errs, err)
			break
		}
	}
	m.stats.Instructions, m.stats.Atomics = m.count, m.atomics
	return m.stats, joined(m.errs)
}

// machine is one Run.
type machine struct {
	program *ir.Program
	cfg     Config
	args    []Arg
	stats   Stats
	errs    []error

	space
	running
	random *shuffler

	count, check int64 // instructions so far, and when to look at the limits
	atomics      int64
	err          error // of the thread that failed
}

// running is the launch that runs, and the team of it.
type running struct {
	kernel   string
	warp     int
	met      *Stats // counts barriers and shuffles
	memory   *space
	code     *code
	grid     Grid
	template []uint64
	prefix   []byte // of private memory
	threads  []*thread
	team     int
	current  *thread
	race     *detector
}

func newMachine(p *Program, args []Arg, cfg Config) (*machine, error) {
	if cfg.Warp == 0 {
		cfg.Warp = 32
	}
	if cfg.Context == nil {
		cfg.Context = context.Background()
	}
	if cfg.Warp < 0 || cfg.Teams < 0 || cfg.Threads < 0 || cfg.Threads > maxTeam {
		return nil, fmt.Errorf("simt: %s: %w: teams %d, threads %d, warp %d", p.ir.Name, ErrArgument, cfg.Teams, cfg.Threads, cfg.Warp)
	}
	m := &machine{program: p.ir, cfg: cfg, args: args, space: newSpace(), random: newShuffler(cfg.Seed)}
	m.kernel, m.warp, m.met, m.memory = p.ir.Name, cfg.Warp, &m.stats, &m.space
	env, err := m.bind(args)
	if err != nil {
		return nil, err
	}
	if err := m.shapes(p, env); err != nil {
		return nil, err
	}
	return m, m.scratch(env)
}

// bind gives each buffer a segment and checks that arguments lie in theirs.
func (m *machine) bind(args []Arg) (ir.Values, error) {
	params := m.program.Params
	if len(args) != len(params) {
		return nil, fmt.Errorf("simt: %s: %w: %d arguments for %d parameters", m.program.Name, ErrArgument, len(args), len(params))
	}
	env, ids := ir.Values{}, map[*Memory]int{}
	for i, a := range args {
		v := params[i]
		base, err := m.place(a, v.Type, ids)
		if err != nil {
			return nil, fmt.Errorf("simt: %s: parameter %s: %w: %w", m.program.Name, v.Name, ErrArgument, err)
		}
		m.bases = append(m.bases, base)
		env[v] = ir.Value{Bits: a.Bits, Len: a.Len, Cap: a.Cap, Bytes: a.Bytes}
	}
	return env, nil
}
