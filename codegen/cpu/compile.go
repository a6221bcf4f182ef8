package cpu

import (
	"fmt"
	"strings"

	"github.com/gompss/gompss/codegen/ir"
)

// Options choose the machine.
type Options struct {
	AVX512 bool  // else AVX2 and FMA
	Width  Width // of vectors; W128 means the widest
	Unroll int   // unrolled copies; 0: as many as the registers allow
}

// A Code is the vectorised variant of one kernel.
type Code struct {
	Kernel     *ir.Kernel
	Lanes      int
	Unroll     int
	Width      Width  // of full vectors
	Loop       ir.Pos // the loop whose iterations are lanes
	Bytes      []byte
	Lines      []Line
	sites      []site
	words      int
	outer      *ir.For // the loop that Run cuts
	outerLanes bool    // its iterations are the lanes
}

// Compile makes machine code that runs iterations [lo, hi) of the kernel's outermost loop. The error is a *Refusal where the kernel has a
// construct without a vector form.
func Compile(k *ir.Kernel, o Options) (code *Code, err error) {
	unrolls := []int{4, 2, 1}
	if o.Unroll > 0 {
		unrolls = []int{o.Unroll}
	}
	var best *Code
	least := 1 << 30
	for _, u := range unrolls {
		c, spilled, err := compileUnrolled(k, o, u)
		if err != nil {
			if best != nil {
				break
			}
			if u != unrolls[len(unrolls)-1] && !isRefusal(err) {
				continue // too many values for the frame: fewer copies may fit
			}
			return nil, err
		}
		if spilled < least {
			best, least = c, spilled
		}
		if spilled == 0 {
			break
		}
	}
	return best, nil
}

func isRefusal(err error) bool {
	_, ok := err.(*Refusal)
	return ok
}

func compileUnrolled(k *ir.Kernel, o Options, unroll int) (code *Code, spilled int, err error) {
	defer func() {
		if r := recover(); r != nil {
			refusal, ok := r.(*Refusal)
			if !ok {
				panic(r)
			}
			code, err = nil, refusal
		}
	}()
	g := &gen{kernel: k, avx512: o.AVX512, bytes: 32, unroll: unroll, homes: map[*ir.Var]*home{}, consts: map[constKey]Reg{},
		prefix: NoReg, safe: map[*ir.Index]bool{}, pointer: map[string]Reg{}}
	if o.AVX512 && o.Width != W256 {
		g.bytes = 64
	}
	code = &Code{Kernel: k, Unroll: unroll}
	loop := g.parallelLoop()
	lanes := g.chooseLanes(loop)
	g.lanesFor = lanes
	code.Loop, code.outer, code.outerLanes = lanes.At, loop, lanes == loop
	g.lanes = g.bytes / laneBytes(lanes)
	code.Lanes, code.Width = g.lanes, widthOf(g.bytes)
	code.words = g.parameters()
	g.prelude()
	g.forStmt(g.cut(loop))
	g.done()
	g.steps = append(g.entry, g.steps...)
	spilled, err = g.allocate(registers(o.AVX512, widthOf(g.bytes)))
	if err != nil {
		return nil, 0, err
	}
	code.Bytes, code.Lines, err = g.link()
	code.sites = g.sites
	return code, spilled, err
}

// done ends the code and appends what is out of line.
func (g *gen) done() {
	g.op(MOVQImm, W128, RegArg(CX), ImmArg(0))
	g.op(MOVQStore, W128, blockWord(wordStatus), RegArg(CX))
	g.ret()
	for len(g.fails) > 0 {
		f := g.fails[0]
		g.fails = g.fails[1:]
		g.place(f.label)
		f.emit()
	}
}

// parallelLoop is the kernel's one loop at top level; what stands before it may only compute local values.
func (g *gen) parallelLoop() *ir.For {
	var loop *ir.For
	for _, s := range g.kernel.Body {
		switch s := s.(type) {
		case *ir.For:
			if loop != nil {
				g.refuse(s.At, "several loops at top level are not supported yet")
			}
			loop = s
		case *ir.Decl:
			if loop != nil {
				g.refuse(s.At, "statements after the loop are not supported yet")
			}
		case *ir.Return:
		default:
			g.refuse(s.Pos(), "only declarations and one loop at top level are supported yet")
		}
	}
	if loop == nil {
		g.refuse(g.kernel.At, "there is no loop to vectorise")
	}
	if d := loop.Directive; d == nil || d.Parts&(ir.Parallel|ir.Workshare|ir.Loop|ir.Distribute|ir.Simd) == 0 {
		g.refuse(loop.At, "the loop has no directive that lets its iterations run together")
	} else if len(d.Reductions) > 0 && d.Parts&(ir.Parallel|ir.Teams|ir.Distribute) != 0 {
		g.refuse(loop.At, "a reduction over the parallel loop is not supported yet: chunks of it run apart")
	} else if len(d.Lastprivate)+len(d.Private)+len(d.Firstprivate)+len(d.DistArrays) > 0 {
		g.refuse(loop.At, "private clauses on the parallel loop are not supported yet in vector code")
	}
	return loop
}

// cut returns the loop restricted to the iterations that the block names.
func (g *gen) cut(s *ir.For) *ir.For {
	step, ok := constStep(s)
	if !ok || s.Rel == ir.Ne {
		g.refuse(s.At, "the parallel loop needs a constant step and <, <=, > or >=")
	}
	if !wide(s.Var.Type) {
		g.refuse(s.At, "a parallel loop over %s is not supported yet: write int", s.Var.Type)
	}
	lo := g.wordVar("trip_lo", wordLo, s.At)
	hi := g.wordVar("trip_hi", wordHi, s.At)
	at := func(trip *ir.Var) ir.Expr {
		t := s.Var.Type
		n := &ir.Binary{Op: ir.Mul, X: &ir.Ref{Var: trip, At: s.At}, Y: &ir.Const{T: t, Bits: uint64(step), At: s.At}, T: t, At: s.At}
		return &ir.Binary{Op: ir.Add, X: s.Lo, Y: n, T: t, At: s.At}
	}
	c := *s
	c.Lo, c.Hi, c.Rel = at(lo), at(hi), ir.Lt
	if step < 0 {
		c.Rel = ir.Gt
	}
	if g.lanesFor == s {
		g.lanesFor = &c
	}
	return &c
}

func (g *gen) wordVar(name string, word int, at ir.Pos) *ir.Var {
	v := &ir.Var{Name: name, Type: ir.IntType, ID: -2 - word, At: at}
	r := g.general()
	g.op(MOVQ, W128, RegArg(r), blockWord(word))
	g.homes[v] = &home{gp: r, length: NoReg}
	return v
}

// parameters loads the kernel's parameters from the block and returns the number of words it has.
func (g *gen) parameters() int {
	word := wordParams
	for _, p := range g.kernel.Params {
		h := &home{gp: NoReg, length: NoReg}
		switch t := p.Type; {
		case t.Kind == ir.Slice:
			h.gp, h.length = g.general(), g.general()
			g.op(MOVQ, W128, RegArg(h.gp), blockWord(word))
			g.op(MOVQ, W128, RegArg(h.length), blockWord(word+1))
			word++
		case t.IsFloat():
			h.vec, h.alike = []Reg{g.vector()}, true
			if t.Size == 8 {
				g.op(VBROADCASTSD, max(W256, widthOf(g.bytes)), RegArg(h.vec[0]), blockWord(word))
			} else {
				g.op(VBROADCASTSS, widthOf(g.bytes), RegArg(h.vec[0]), blockWord(word))
			}
		case t.IsScalar():
			h.gp = g.general()
			g.op(MOVQ, W128, RegArg(h.gp), blockWord(word))
		default:
			g.refuse(p.At, "the parameter %s of type %s is not supported yet in vector code", p.Name, t)
		}
		g.homes[p] = h
		word++
	}
	return word
}

// prelude selects the declarations before the loop.
func (g *gen) prelude() {
	for _, s := range g.kernel.Body {
		if d, ok := s.(*ir.Decl); ok {
			g.stmt(d)
		}
	}
}

func (g *gen) lanesOf(s *ir.For) bool { return s == g.lanesFor }

// chooseLanes decides which loop's iterations become lanes: the parallel loop itself, or a loop in it that a directive or a collapse
// clause frees, by what its accesses would cost. Between equals the outer loop wins: no sums across lanes.
func (g *gen) chooseLanes(parallel *ir.For) *ir.For {
	best, cost := parallel, laneCost(parallel)
	var look func(body []ir.Stmt, free int)
	look = func(body []ir.Stmt, free int) {
		for _, s := range body {
			f, ok := s.(*ir.For)
			if !ok {
				ir.Lists(s, func(inner []ir.Stmt) { look(inner, 0) })
				continue
			}
			inner := free - 1
			if d := f.Directive; d != nil {
				inner = max(inner, d.Collapse-1)
			}
			if free > 0 || f.Directive != nil && f.Directive.Parts&(ir.Simd|ir.Loop|ir.Workshare) != 0 {
				if c := laneCost(f); c < cost {
					best, cost = f, c
				}
			}
			look(f.Body, inner)
		}
	}
	free := 0
	if parallel.Directive != nil {
		free = parallel.Directive.Collapse - 1
	}
	look(parallel.Body, free)
	return best
}

// laneCost weighs the accesses of a loop as lanes: neighbours and one element for all are cheap, everything else is a gather; loops inside
// count more.
func laneCost(f *ir.For) float64 {
	step, ok := constStep(f)
	if !ok || f.Rel == ir.Ne || !wide(f.Var.Type) {
		return 1e18
	}
	s := analyseShapes(f, step)
	total, weight := 0.0, 0.0
	var walk func(body []ir.Stmt, w float64)
	walk = func(body []ir.Stmt, w float64) {
		for _, st := range body {
			ir.StmtExprs(st, func(e ir.Expr) {
				ir.WalkExpr(e, func(x ir.Expr) bool {
					if ix, ok := x.(*ir.Index); ok && ix.X.Type().Kind == ir.Slice {
						total += w * accessCost(s, ix)
						weight += w
					}
					return true
				})
			})
			in := w
			switch l := st.(type) {
			case *ir.For:
				in = 8 * w
				if (&shapeWalk{shapes: s}).variesFor(l) {
					total += 4 * in
				}
			case *ir.While:
				in = 8 * w
			}
			ir.Lists(st, func(inner []ir.Stmt) { walk(inner, in) })
		}
	}
	walk(f.Body, 1)
	if weight == 0 {
		return 1
	}
	return total / weight
}

func accessCost(s *shapes, ix *ir.Index) float64 {
	switch sh := s.shape(ix.I); {
	case sh.kind == uniform:
		return 1
	case sh.kind == affine && (sh.stride == 1):
		return 1
	}
	return 8
}

// laneBytes is the size of the widest value that differs between lanes: it decides how many lanes a vector has.
func laneBytes(f *ir.For) int {
	step, _ := constStep(f)
	s := analyseShapes(f, step)
	size := 4
	var value func(e ir.Expr)
	index := func(e ir.Expr) {
		if c, ok := e.(*ir.Convert); ok && c.X.Type().IsInteger() && c.X.Type().IsSigned() && c.X.Type().Size <= 4 {
			e = c.X
		}
		if s.shape(e).kind == varying {
			value(e)
		}
	}
	value = func(e ir.Expr) {
		if e == nil {
			return
		}
		t := e.Type()
		if t.IsScalar() && t.Size == 8 && (t.IsFloat() || s.shape(e).kind != uniform) {
			size = 8
		}
		switch e := e.(type) {
		case *ir.Index:
			index(e.I)
			if e.X.Type().Kind != ir.Slice {
				value(e.X)
			}
			return
		case *ir.Len, *ir.Cap:
			return
		case *ir.Binary:
			if e.T.Kind == ir.Bool && s.shape(e).kind == uniform {
				return
			}
		}
		ir.Operands(e, value)
	}
	place := func(e ir.Expr) {
		if ix, ok := e.(*ir.Index); ok && e.Type().IsScalar() && e.Type().Size == 8 {
			size = 8
			index(ix.I)
			return
		}
		value(e)
	}
	ir.WalkStmts(f.Body, func(st ir.Stmt) bool {
		switch st := st.(type) {
		case *ir.Assign:
			if r, ok := st.Place.(*ir.Ref); ok && s.of[r.Var].kind == uniform && r.Var.Type.IsInteger() {
				return true
			}
			place(st.Place)
			value(st.Value)
			return true
		case *ir.Decl:
			if st.Init != nil && st.Var.Type.IsInteger() && s.of[st.Var].kind != varying {
				return true
			}
			value(st.Init)
			return true
		case *ir.For:
			if s.of[st.Var].kind == varying && st.Var.Type.Size == 8 {
				size = 8
			}
			return true
		}
		ir.StmtExprs(st, value)
		return true
	})
	return size
}

// Listing is the code as text, with the Go line that each instruction comes from.
func (c *Code) Listing() string {
	var b strings.Builder
	last := ir.Pos{}
	for _, l := range c.Lines {
		if l.At != last && l.At.Line > 0 {
			fmt.Fprintf(&b, "; %s\n", l.At)
			last = l.At
		}
		fmt.Fprintf(&b, "%6x %s\n", l.Offset, l.Text)
	}
	return b.String()
}
