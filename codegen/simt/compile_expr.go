package simt

import "github.com/gompss/gompss/codegen/ir"

// expr returns registers that hold the value of e, or for types that are not inRegisters its
// address. The registers may be those of a variable or a constant: they are only read.
func (g *compiler) expr(e ir.Expr) int32 {
	switch e := e.(type) {
	case *ir.Const:
		if e.T.Kind == ir.Slice {
			return g.regs.alloc(3)
		}
		return g.regs.constant(e.Bits)
	case *ir.Query:
		return g.grid[e.What]
	case *ir.Ref, *ir.Member:
		if l := g.locate(e); !l.mem {
			return l.reg
		} else {
			return g.loaded(l, e)
		}
	case *ir.Len:
		return g.expr(e.X) + 1
	case *ir.Cap:
		return g.expr(e.X) + 2
	case *ir.Convert:
		if keepsBits(e.T, e.X.Type()) {
			return g.expr(e.X)
		}
	case *ir.Math:
		switch e.Fn {
		case ir.Float32Bits, ir.Float32FromBits, ir.Float64Bits, ir.Float64FromBits:
			return g.expr(e.Args[0])
		}
	}
	dst := g.regs.temp(leaves(e.Type()))
	g.into(dst, e)
	return dst
}

func (g *compiler) loaded(l location, e ir.Expr) int32 {
	if !inRegisters(e.Type()) {
		return g.mem.address(l, e.Pos())
	}
	dst := g.regs.temp(leaves(e.Type()))
	g.mem.load(l, e.Type(), dst, e.Pos())
	return dst
}

// into computes e into the registers from dst, which e does not read unless oneStep(e).
func (g *compiler) into(dst int32, e ir.Expr) {
	switch e := e.(type) {
	case *ir.Unary:
		g.unary(dst, e)
	case *ir.Binary:
		g.binary(dst, e)
	case *ir.Convert:
		g.convert(dst, e)
	case *ir.Math:
		g.math(dst, e)
	case *ir.Index, *ir.Deref:
		g.mem.load(g.locate(e), e.Type(), dst, e.Pos())
	case *ir.AddrOf:
		g.mem.move(dst, g.mem.address(g.locate(e.X), e.At), 1, e.At)
	case *ir.Select:
		g.choose(dst, e)
	case *ir.Reslice:
		g.reslice(dst, e)
	case *ir.Apart:
		g.apart(dst, e)
	case *ir.Composite:
		g.composite(dst, e)
	case *ir.Shuffle:
		g.sync = true
		x, by := g.expr(e.X), g.expr(e.By)
		g.emit(e.At, e, opShuffle, dst, x, by, int64(e.Kind))
	default:
		g.mem.move(dst, g.expr(e), leaves(e.Type()), e.Pos())
	}
}

// oneStep reports whether into writes its result with its last instruction, so that the result may
// go to a variable that e reads.
func oneStep(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.Binary:
		return e.Op != ir.LAnd && e.Op != ir.LOr && (e.X.Type().IsScalar() || e.X.Type().Kind == ir.Pointer)
	case *ir.Select, *ir.Composite, *ir.Apart:
		return false
	case *ir.Const, *ir.Reslice:
		return true
	}
	return leaves(e.Type()) == 1
}

// choose computes Cond ? X : Y.
func (g *compiler) choose(dst int32, e *ir.Select) {
	other := g.jumpUnless(e.Cond)
	g.into(dst, e.X)
	end := g.emit(e.At, nil, opJump, 0, 0, 0, 0)
	g.here(other...)
	g.into(dst, e.Y)
	g.here(end)
}

// apart compares the ends of two slices with the starts of the other; buffers have address ranges
// of their own.
func (g *compiler) apart(dst int32, e *ir.Apart) {
	x, y := g.expr(e.X), g.expr(e.Y)
	end := g.regs.temp(1)
	before := func(a, b int32, t *ir.Type, to int32) {
		size := g.regs.constant(uint64(t.Elem.Size))
		if t.Kind == ir.Slice {
			g.emit(e.At, nil, opMul, end, a+1, size, 0)
			size = end
		}
		g.emit(e.At, nil, opAdd, end, size, a, 0)
		g.emit(e.At, nil, opLeU, to, end, b, 0)
	}
	first := g.regs.temp(1)
	before(x, y, e.X.Type(), first)
	before(y, x, e.Y.Type(), dst)
	g.emit(e.At, nil, opOr, dst, dst, first, 0)
}

func (g *compiler) reslice(dst int32, e *ir.Reslice) {
	s := slicing{lo: -1, hi: -1, max: -1, length: -1, size: int64(e.X.Type().Elem.Size)}
	var x int32
	if t := e.X.Type(); t.Kind == ir.Array {
		s.length = t.Len
		x = g.mem.address(g.locate(e.X), e.At)
	} else {
		x = g.expr(e.X)
	}
	for _, b := range []struct {
		e  ir.Expr
		to *int32
	}{{e.Lo, &s.lo}, {e.Hi, &s.hi}, {e.Max, &s.max}} {
		if b.e != nil {
			*b.to = g.expr(b.e)
		}
	}
	g.slices = append(g.slices, s)
	g.emit(e.At, e, opSlice, dst, x, 0, int64(len(g.slices)-1))
}

// composite builds a struct in registers, or any other literal in memory of its own.
func (g *compiler) composite(dst int32, e *ir.Composite) {
	if !inRegisters(e.T) {
		p := g.regs.constant(pointer(privateSegment, g.regs.reserve(e.T)))
		g.fill(inMemory(p, e), e)
		g.mem.move(dst, p, 1, e.At)
		return
	}
	for i, x := range e.Elems {
		g.into(dst+fieldLeaf(e.T, i), x)
	}
}

// fill stores the elements of a literal at l, which none of them reads.
func (g *compiler) fill(l location, e *ir.Composite) {
	if isZero(e) {
		g.smallest(e.T)
		g.emit(e.At, e, opZero, g.mem.address(l, e.At), 0, 0, int64(e.T.Size))
		return
	}
	for i, x := range e.Elems {
		at := l
		if e.T.Kind == ir.Array {
			at.off += int64(i) * int64(e.T.Elem.Size)
		} else {
			at.off += int64(e.T.Fields[i].Offset)
		}
		mark := len(g.regs.live)
		if c, ok := x.(*ir.Composite); ok {
			g.fill(at, c)
		} else {
			g.mem.store(at, x.Type(), g.expr(x), x.Pos())
		}
		g.regs.release(mark)
	}
}

func isZero(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.Const:
		return e.Bits == 0
	case *ir.Composite:
		for _, x := range e.Elems {
			if !isZero(x) {
				return false
			}
		}
		return true
	}
	return false
}
