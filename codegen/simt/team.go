package simt

import (
	"fmt"
	"math/rand/v2"

	"github.com/gompss/gompss/codegen/ir"
)

// checkEvery is the number of instructions between two looks at the limits of a run.
const checkEvery = 1 << 16

// mayContinue reports whether a run may continue after n instructions.
func (m *machine) mayContinue(n int64) bool {
	m.count = n
	m.check = n + checkEvery
	if err := m.cfg.Context.Err(); err != nil {
		m.err = fmt.Errorf("simt: %s: %w", m.code.launch.Name, err)
		return false
	}
	if s := m.cfg.Steps; s > 0 {
		if n >= s {
			m.err = fmt.Errorf("simt: %s: %w: %d", m.code.launch.Name, ErrSteps, s)
			return false
		}
		m.check = min(m.check, s)
	}
	return true
}

// shuffler gives orders: ascending without a seed.
type shuffler struct{ r *rand.Rand }

func newShuffler(seed uint64) *shuffler {
	if seed == 0 {
		return &shuffler{}
	}
	return &shuffler{rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))}
}

func (s *shuffler) order(into []int) {
	for i := range into {
		into[i] = i
	}
	if s.r != nil {
		s.r.Shuffle(len(into), func(i, j int) { into[i], into[j] = into[j], into[i] })
	}
}

// poison fills team memory, which starts undefined.
const poison = 0xcb

// launch runs one grid.
func (m *machine) launch(c *code, grid Grid) error {
	m.code, m.grid = c, grid
	m.start()
	frames := 1
	if c.sync {
		frames = grid.Threads
	}
	m.threads = make([]*thread, frames)
	for i := range m.threads {
		m.threads[i] = &thread{regs: make([]uint64, len(c.template)), private: make([]byte, c.private)}
	}
	if m.cfg.Races {
		m.race = newDetector(m)
		defer func() {
			m.errs = append(m.errs, m.race.errs...)
			m.race = nil
		}()
	}
	m.segments[teamSegment] = make([]byte, c.team)
	teams, threads := make([]int, grid.Teams), make([]int, grid.Threads)
	m.random.order(teams)
	if c.launch.Cooperative {
		return runWhole(m, teams, threads)
	}
	for _, team := range teams {
		if err := m.runTeam(team, threads); err != nil {
			return err
		}
	}
	return nil
}

// start fills in the registers and private memory that all threads of the grid start with.
func (m *machine) start() {
	c := m.code
	m.template = append([]uint64(nil), c.template...)
	m.prefix = make([]byte, c.prefix)
	for i, p := range c.params {
		t := m.program.Params[i].Type
		regs := m.argument(i, t)
		switch {
		case p.mem && len(m.args[i].Bytes) > 0:
			copy(m.prefix[p.off:], m.args[i].Bytes)
		case p.mem:
			n := 0
			eachLeaf(t, p.off, func(l leaf) {
				put(storeOps[l.kind], m.prefix[l.off:], regs[n])
				n++
			})
		default:
			copy(m.template[p.reg:], regs)
		}
	}
	for i, r := range c.scratch {
		n := uint64(m.padLens[i])
		m.template[r], m.template[r+1], m.template[r+2] = m.pads[i], n, n
	}
	m.template[c.grid[ir.NumTeams]] = uint64(m.grid.Teams)
	m.template[c.grid[ir.NumThreads]] = uint64(m.grid.Threads)
	m.template[c.grid[ir.WarpSize]] = uint64(m.cfg.Warp)
}

// argument returns the registers of an argument.
func (m *machine) argument(i int, t *ir.Type) []uint64 {
	a := m.args[i]
	switch {
	case t.IsScalar():
		return []uint64{a.Bits}
	case t.Kind == ir.Pointer:
		return []uint64{m.bases[i]}
	case t.Kind == ir.Slice:
		return []uint64{m.bases[i], uint64(a.Len), uint64(a.Cap)}
	}
	var regs []uint64
	if inRegisters(t) {
		eachLeaf(t, 0, func(l leaf) { regs = append(regs, get(loadOps[l.kind], a.Bytes[l.off:])) })
	}
	return regs
}

// begin makes t thread id of the team, at its start.
func (m *machine) begin(t *thread, id int) {
	copy(t.regs, m.template)
	copy(t.private, m.prefix)
	grid := &m.code.grid
	t.regs[grid[ir.ThreadNum]] = uint64(id)
	t.regs[grid[ir.TeamNum]] = uint64(m.team)
	t.regs[grid[ir.Lane]] = uint64(id % m.cfg.Warp)
	t.pc, t.id, t.status = 0, id, ready
	t.clock, t.known = 1, nil
}

// runTeam runs one team; order is room for the order of its threads.
func (m *machine) runTeam(team int, order []int) error {
	m.team = team
	mem := m.segments[teamSegment]
	for i := range mem {
		mem[i] = poison
	}
	if m.race != nil {
		m.race.startTeam()
	}
	m.random.order(order)
	if m.code.sync {
		return m.runTogether(order)
	}
	t := m.threads[0]
	for _, id := range order {
		m.begin(t, id)
		if execute(m, t) == failed {
			return m.err
		}
	}
	return nil
}

// runTogether runs threads that wait for each other: each as far as it comes, then those that have
// met continue.
func (m *machine) runTogether(order []int) error {
	for id, t := range m.threads {
		m.begin(t, id)
	}
	_, err := m.runThreads(order)
	return err
}

// runThreads runs threads that have begun until all have ended or, which it reports, wait for other
// teams.
func (m *machine) runThreads(order []int) (met bool, err error) {
	for {
		left := 0
		for _, id := range order {
			t := m.threads[id]
			if t.status == ready {
				t.status = execute(m, t)
			}
			if t.status == failed {
				return false, m.err
			}
			if t.status == waiting {
				left++
			}
		}
		switch {
		case left == 0:
			return false, nil
		case left == len(m.threads) && m.scope(m.threads[0]) == gridScope && together(m.threads):
			return true, nil
		case !m.meet(left):
			return false, m.diverged()
		}
		m.random.order(order)
	}
}
