package simt

import (
	"fmt"

	"github.com/gompss/gompss/codegen/ir"
)

// code is one compiled launch.
type code struct {
	launch *ir.Launch
	ins    []instr
	at     []ir.Pos  // of each instruction
	site   []ir.Expr // what each instruction that can fail is about
	sync   bool      // its threads wait for each other

	template []uint64 // registers of a thread that starts: constants, parameters, the grid
	params   []paramSlot
	scratch  []int32        // register of each scratchpad's slice value
	prefix   int64          // bytes of private memory that parameters fill
	private  int64          // bytes of private memory
	team     int64          // bytes of team memory
	grain    int64          // size of the smallest access, in bytes
	padding  map[int64]bool // bytes of team memory that no value has
	grid     gridRegs

	arrays      []arrayElem
	conversions []conversion
	functions   []func(x, y, z ir.Bits) ir.Bits
	slices      []slicing
	atomics     []atomicOp
	barriers    []*ir.Barrier
}

// gridRegs are the registers that hold a thread's place in the grid.
type gridRegs [ir.WarpSize + 1]int32

// A paramSlot is where a parameter lives: in registers from reg, or in private memory at off.
type paramSlot struct {
	mem bool
	reg int32
	off int64
}

type arrayElem struct{ length, size, off int64 }

type conversion struct{ to, from *ir.Type }

// slicing is X[lo:hi:max]: registers, -1 where absent; of an array of length where that is not
// negative.
type slicing struct {
	lo, hi, max  int32
	size, length int64
}

type atomicOp struct {
	*ir.Atomic
	compare int32
}

// slot is where a variable lives: registers from reg, or memory whose address register reg holds.
type slot struct {
	mem bool
	reg int32
}

// compiler makes the code of one launch.
type compiler struct {
	*code
	vars   map[*ir.Var]slot
	consts map[uint64]int32
	taken  map[*ir.Var]bool // must have an address
	labels map[*ir.Label]*exits
	funcs  map[*ir.Func]*function
	queue  []*function // called, not yet compiled
	inside *function   // nil in the launch's own body
	free   map[int32][]int32
	live   []run // temporaries in use, innermost last
}

// run is a run of registers.
type run struct{ reg, n int32 }

// exits are the jumps to a label that wait for its address.
type exits struct{ breaks, continues []int }

// function is a function of the user's with its place in registers and private memory.
type function struct {
	*ir.Func
	entry   int
	calls   []int // instructions that wait for entry
	back    int32 // holds the return address
	results []slot
}

func compile(p *ir.Program, l *ir.Launch) (c *code, err error) {
	g := &compiler{code: &code{launch: l, grain: 8}, vars: map[*ir.Var]slot{}, consts: map[uint64]int32{},
		taken: map[*ir.Var]bool{}, labels: map[*ir.Label]*exits{}, funcs: map[*ir.Func]*function{}, free: map[int32][]int32{}}
	defer func() {
		r := recover()
		if u, ok := r.(unsupported); ok {
			c, err = nil, fmt.Errorf("simt: %s: %s: not supported: %s", l.Name, u.at, u.what)
		} else if r != nil {
			panic(r)
		}
	}()
	g.escape(l.Body)
	for q := range g.grid {
		g.grid[q] = g.alloc(1)
	}
	g.places(p, l)
	g.list(l.Body)
	g.emit(l.At, nil, opExit, 0, 0, 0, 0)
	for len(g.queue) > 0 {
		f := g.queue[0]
		g.queue = g.queue[1:]
		g.function(f)
	}
	return g.code, nil
}

// unsupported ends a compilation.
type unsupported struct {
	at   ir.Pos
	what string
}

func (g *compiler) refuse(at ir.Pos, what string) { panic(unsupported{at, what}) }

// places gives the variables of the whole launch their places.
func (g *compiler) places(p *ir.Program, l *ir.Launch) {
	for _, v := range p.Params {
		s := g.local(v)
		at := paramSlot{mem: s.mem, reg: s.reg}
		if s.mem {
			at.off = int64(g.template[s.reg] & offsetMask)
		}
		g.params = append(g.params, at)
	}
	g.prefix = g.private
	for i := range p.Scratch {
		r := g.alloc(3)
		g.vars[p.Scratch[i].Var] = slot{reg: r}
		g.scratch = append(g.scratch, r)
	}
	for _, v := range l.Team {
		g.team = align(g.team, int64(v.Type.Align))
		g.vars[v] = slot{mem: true, reg: g.constant(pointer(teamSegment, g.team))}
		g.pad(v.Type, g.team)
		g.team += int64(v.Type.Size)
	}
}

func align(n, to int64) int64 { return (n + to - 1) / to * to }

// escape notes the variables of list that need an address.
func (g *compiler) escape(list []ir.Stmt) {
	for _, v := range ir.AddressTaken(list).List() {
		g.taken[v] = true
	}
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		if a, ok := s.(*ir.Atomic); ok {
			if v := ir.RootVar(a.Place); v != nil {
				g.taken[v] = true
			}
		}
		return true
	})
}

// local gives v a place of the thread's own.
func (g *compiler) local(v *ir.Var) slot {
	s := g.place(v.Type, g.taken[v] || !inRegisters(v.Type))
	g.vars[v] = s
	return s
}

func (g *compiler) place(t *ir.Type, mem bool) slot {
	if !mem {
		return slot{reg: g.alloc(leaves(t))}
	}
	return slot{mem: true, reg: g.constant(pointer(privateSegment, g.reserve(t)))}
}

// reserve takes private memory for a value of type t.
func (g *compiler) reserve(t *ir.Type) int64 {
	off := align(g.private, max(int64(t.Align), 1))
	g.private = off + int64(t.Size)
	return off
}

// alloc takes n registers permanently.
func (g *compiler) alloc(n int32) int32 {
	r := int32(len(g.template))
	g.template = append(g.template, make([]uint64, n)...)
	return r
}

// constant returns a register that always holds bits.
func (g *compiler) constant(bits uint64) int32 {
	r, ok := g.consts[bits]
	if !ok {
		r = g.alloc(1)
		g.template[r] = bits
		g.consts[bits] = r
	}
	return r
}

// temp takes n registers until the statement ends.
func (g *compiler) temp(n int32) int32 {
	var r int32
	if list := g.free[n]; len(list) > 0 {
		r = list[len(list)-1]
		g.free[n] = list[:len(list)-1]
	} else {
		r = g.alloc(n)
	}
	g.live = append(g.live, run{r, n})
	return r
}

// release gives back the temporaries taken since there were mark of them.
func (g *compiler) release(mark int) {
	for _, r := range g.live[mark:] {
		g.free[r.n] = append(g.free[r.n], r.reg)
	}
	g.live = g.live[:mark]
}

func (g *compiler) emit(at ir.Pos, site ir.Expr, o op, a, b, c int32, imm int64) int {
	g.ins = append(g.ins, instr{o, a, b, c, imm})
	g.at = append(g.at, at)
	g.site = append(g.site, site)
	return len(g.ins) - 1
}

// here points the jumps at list to the next instruction.
func (g *compiler) here(list ...int) {
	for _, i := range list {
		g.ins[i].imm = int64(len(g.ins))
	}
}

// function compiles the body of f.
func (g *compiler) function(f *function) {
	f.entry = len(g.ins)
	g.here(f.calls...)
	g.inside = f
	g.free = map[int32][]int32{} // the caller's temporaries are in use
	g.list(f.Body)
	g.emit(f.At, nil, opReturn, f.back, 0, 0, 0)
	g.inside = nil
}

// callee gives f its places at the first call.
func (g *compiler) callee(f *ir.Func) *function {
	if c := g.funcs[f]; c != nil {
		return c
	}
	c := &function{Func: f, entry: -1, back: g.alloc(1)}
	g.funcs[f] = c
	g.escape(f.Body)
	for _, v := range f.Params {
		g.local(v)
	}
	for _, t := range f.Results {
		c.results = append(c.results, g.place(t, !inRegisters(t)))
	}
	g.queue = append(g.queue, c)
	return c
}
