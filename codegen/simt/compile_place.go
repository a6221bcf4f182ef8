package simt

import "github.com/gompss/gompss/codegen/ir"

// location is where a value is: in registers from reg, or in memory.
type location struct {
	mem bool
	reg int32 // the registers; or the register of an address; or of a slice value
	// memory only
	index int32 // register of the index into the slice at reg; -1 where reg is an address
	size  int64 // of the slice's elements
	off   int64
	site  ir.Expr
}

func inMemory(address int32, site ir.Expr) location {
	return location{mem: true, reg: address, index: -1, site: site}
}

// locate says where the value of e is, evaluating what it takes to find it.
func (g *compiler) locate(e ir.Expr) location {
	switch e := e.(type) {
	case *ir.Ref:
		s := g.vars[e.Var]
		if s.mem {
			return inMemory(s.reg, e)
		}
		return location{reg: s.reg}
	case *ir.Member:
		return g.locateMember(e)
	case *ir.Index:
		if e.X.Type().Kind == ir.Slice {
			s, i := g.expr(e.X), g.expr(e.I)
			return location{mem: true, reg: s, index: i, size: int64(e.X.Type().Elem.Size), site: e}
		}
		return g.locateElem(e)
	case *ir.Deref:
		p := g.expr(e.X)
		g.emit(e.At, e.X, opNil, 0, p, 0, 0)
		return inMemory(p, e)
	case *ir.Convert:
		if ir.Same(e.T, e.X.Type()) {
			return g.locate(e.X)
		}
	}
	r := g.expr(e)
	if inRegisters(e.Type()) {
		return location{reg: r}
	}
	return inMemory(r, e)
}

func (g *compiler) locateMember(e *ir.Member) location {
	l := g.locate(e.X)
	if l.mem {
		l.off += int64(e.X.Type().Fields[e.Field].Offset)
		l.site = e
		return l
	}
	l.reg += fieldLeaf(e.X.Type(), e.Field)
	return l
}

// locateElem finds an element of an array, which is always in memory.
func (g *compiler) locateElem(e *ir.Index) location {
	l, t := g.locate(e.X), e.X.Type()
	size := int64(t.Elem.Size)
	if k, ok := e.I.(*ir.Const); ok && k.Bits < uint64(t.Len) {
		l.off += int64(k.Bits) * size
		l.site = e
		return l
	}
	i := g.expr(e.I)
	base := l
	base.off = 0
	b := g.mem.address(base, e.At)
	dst := g.regs.temp(1)
	g.arrays = append(g.arrays, arrayElem{length: t.Len, size: size, off: l.off})
	g.emit(e.At, e, opElemArray, dst, b, i, int64(len(g.arrays)-1))
	return inMemory(dst, e)
}

// A mover emits the instructions that move values between registers and memory.
type mover struct {
	code *code
	regs *allocator
}

// address returns a register with the address of a location in memory.
func (m *mover) address(l location, at ir.Pos) int32 {
	switch {
	case l.index >= 0:
		dst := m.regs.temp(1)
		m.code.emit(at, elementOf(l.site), opElemSlice, dst, l.reg, l.index, scaled(l.size, l.off))
		return dst
	case l.off != 0:
		dst := m.regs.temp(1)
		m.code.emit(at, l.site, opOffset, dst, l.reg, 0, l.off)
		return dst
	}
	return l.reg
}

// elementOf returns the access to a slice that a place is part of, for messages about its index.
func elementOf(e ir.Expr) ir.Expr {
	for {
		switch x := e.(type) {
		case *ir.Member:
			e = x.X
		case *ir.Index:
			if x.X.Type().Kind == ir.Slice {
				return x
			}
			e = x.X
		default:
			return e
		}
	}
}

// load puts the value of type t at l into the registers from dst.
func (m *mover) load(l location, t *ir.Type, dst int32, at ir.Pos) {
	switch {
	case !l.mem:
		m.move(dst, l.reg, leaves(t), at)
		return
	case !inRegisters(t):
		m.move(dst, m.address(l, at), 1, at)
		return
	}
	m.access(l, t, dst, at, loadOps)
}

// store puts the value of type t in the registers from src to l.
func (m *mover) store(l location, t *ir.Type, src int32, at ir.Pos) {
	switch {
	case !l.mem:
		m.move(l.reg, src, leaves(t), at)
		return
	case !inRegisters(t):
		m.code.smallest(t)
		m.code.emit(at, l.site, opCopy, m.address(l, at), src, 0, int64(t.Size))
		return
	}
	m.access(l, t, src, at, storeOps)
}

func (m *mover) access(l location, t *ir.Type, reg int32, at ir.Pos, ops map[ir.Kind]op) {
	m.code.smallest(t)
	if l.index >= 0 && leaves(t) > 1 {
		a := m.address(l, at)
		l = inMemory(a, l.site)
	}
	eachLeaf(t, l.off, func(x leaf) {
		o := ops[x.kind]
		if l.index >= 0 {
			m.code.emit(at, l.site, o-opLoadU8+opLoadIndexU8, reg, l.reg, l.index, scaled(l.size, x.off))
		} else {
			m.code.emit(at, l.site, o, reg, l.reg, 0, x.off)
		}
		reg++
	})
}

// smallest notes the size of an access for the grain of race detection.
func (c *code) smallest(t *ir.Type) {
	if inRegisters(t) || t.Kind == ir.Struct {
		for _, f := range t.Fields {
			c.smallest(f.Type)
		}
		if t.Kind != ir.Struct {
			c.grain = min(c.grain, max(int64(t.Align), 1))
		}
		return
	}
	c.smallest(t.Elem)
}

func (m *mover) move(dst, src, n int32, at ir.Pos) {
	if dst == src {
		return
	}
	if n == 3 {
		m.code.emit(at, nil, opMove3, dst, src, 0, 0)
		return
	}
	for i := range n {
		m.code.emit(at, nil, opMove, dst+i, src+i, 0, 0)
	}
}
