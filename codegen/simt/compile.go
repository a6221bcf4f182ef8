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
	taken  map[*ir.Var]bool // must have an address
	labels map[*ir.Label]*exits
	funcs  map[*ir.Func]*function
	queue  []*function // called, not yet compiled
	inside *function   // nil in the launch's own body
	regs   *allocator
	mem    *mover
}

// An allocator gives values their places: registers, and private memory of a thread.
type allocator struct {
	code   *code
	consts map[uint64]int32
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
	out := &code{launch: l, grain: 8}
	regs := &allocator{code: out, consts: map[uint64]int32{}, free: map[int32][]int32{}}
	g := &compiler{code: out, regs: regs, mem: &mover{out, regs}, vars: map[*ir.Var]slot{},
		taken: map[*ir.Var]bool{}, labels: map[*ir.Label]*exits{}, funcs: map[*ir.Func]*function{}}
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
		g.grid[q] = g.regs.alloc(1)
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

func refuse(at ir.Pos, what string) { panic(unsupported{at, what}) }

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
		r := g.regs.alloc(3)
		g.vars[p.Scratch[i].Var] = slot{reg: r}
		g.scratch = append(g.scratch, r)
	}
	for _, v := range l.Team {
		g.team = align(g.team, int64(v.Type.Align))
		g.vars[v] = slot{mem: true, reg: g.regs.constant(pointer(teamSegment, g.team))}
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
	s := g.regs.place(v.Type, g.taken[v] || !inRegisters(v.Type))
	g.vars[v] = s
	return s
}

// place returns a new place for a value of type t: in memory where mem says so.
func (a *allocator) place(t *ir.Type, mem bool) slot {
	if !mem {
		return slot{reg: a.alloc(leaves(t))}
	}
	return slot{mem: true, reg: a.constant(pointer(privateSegment, a.reserve(t)))}
}

// reserve takes private memory for a value of type t.
func (a *allocator) reserve(t *ir.Type) int64 {
	off := align(a.code.private, max(int64(t.Align), 1))
	a.code.private = off + int64(t.Size)
	return off
}

// alloc takes n registers permanently.
func (a *allocator) alloc(n int32) int32 {
	r := int32(len(a.code.template))
	a.code.template = append(a.code.template, make([]uint64, n)...)
	return r
}

// constant returns a register that always holds bits.
func (a *allocator) constant(bits uint64) int32 {
	r, ok := a.consts[bits]
	if !ok {
		r = a.alloc(1)
		a.code.template[r] = bits
		a.consts[bits] = r
	}
	return r
}

// temp takes n registers until the statement ends.
func (a *allocator) temp(n int32) int32 {
	var r int32
	if list := a.free[n]; len(list) > 0 {
		r = list[len(list)-1]
		a.free[n] = list[:len(list)-1]
	} else {
		r = a.alloc(n)
	}
	a.live = append(a.live, run{r, n})
	return r
}

// release gives back the temporaries taken since there were mark of them.
func (a *allocator) release(mark int) {
	for _, r := range a.live[mark:] {
		a.free[r.n] = append(a.free[r.n], r.reg)
	}
	a.live = a.live[:mark]
}

// emit appends an instruction, whose a, b and c are dst, x and y, and returns its number.
func (c *code) emit(at ir.Pos, site ir.Expr, o op, dst, x, y int32, imm int64) int {
	c.ins = append(c.ins, instr{o, dst, x, y, imm})
	c.at = append(c.at, at)
	c.site = append(c.site, site)
	return len(c.ins) - 1
}

// here points the jumps at list to the next instruction.
func (c *code) here(list ...int) {
	for _, i := range list {
		c.ins[i].imm = int64(len(c.ins))
	}
}

// function compiles the body of f.
func (g *compiler) function(f *function) {
	f.entry = len(g.ins)
	g.here(f.calls...)
	g.inside = f
	g.regs.free = map[int32][]int32{} // the caller's temporaries are in use
	g.list(f.Body)
	g.emit(f.At, nil, opReturn, f.back, 0, 0, 0)
	g.inside = nil
}

// callee gives f its places at the first call.
func (g *compiler) callee(f *ir.Func) *function {
	if c := g.funcs[f]; c != nil {
		return c
	}
	c := &function{Func: f, entry: -1, back: g.regs.alloc(1)}
	g.funcs[f] = c
	g.escape(f.Body)
	for _, v := range f.Params {
		g.local(v)
	}
	for _, t := range f.Results {
		c.results = append(c.results, g.regs.place(t, !inRegisters(t)))
	}
	g.queue = append(g.queue, c)
	return c
}
