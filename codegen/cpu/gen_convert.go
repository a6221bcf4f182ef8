package cpu

import "github.com/gompss/gompss/codegen/ir"

// vecConvert converts numbers in every lane, as Go on amd64 does.
func (g *gen) vecConvert(dst []Reg, e *ir.Convert) []Reg {
	from, to := e.X.Type(), e.T
	if from.Kind == ir.Bool || to.Kind == ir.Bool {
		g.refuse(e.At, "a conversion of %s to %s is not supported yet in vector code", from, to)
	}
	x := g.vec(e.X)
	if ir.Same(from, to) || from.IsInteger() && to.IsInteger() && container(from) == container(to) && to.Size >= 4 && from.Size >= 4 {
		return x
	}
	switch {
	case from.IsFloat() && to.IsFloat():
		return g.widen(dst, x, from, to, map[bool]Op{true: VCVTPS2PD, false: VCVTPD2PS}[to.Size == 8])
	case from.IsInteger() && to.IsFloat():
		return g.widen(dst, x, from, to, g.intToFloat(e, from, to))
	case from.IsFloat():
		return g.floatToInt(dst, e, x, from, to)
	}
	return g.intToInt(dst, x, from, to)
}

// widen applies a conversion whose instruction length is that of the longer side.
func (g *gen) widen(dst, x []Reg, from, to *ir.Type, op Op) []Reg {
	w := max(g.width(from), g.width(to))
	return g.lift(dst, x, x, func(d, x, _ Reg) { g.op(op, w, RegArg(d), RegArg(x)) })
}

func (g *gen) intToFloat(e *ir.Convert, from, to *ir.Type) Op {
	single := to.Size == 4
	if container(from) == 4 {
		switch {
		case from.IsSigned() || from.Size < 4:
			return map[bool]Op{true: VCVTDQ2PS, false: VCVTDQ2PD}[single]
		case g.avx512:
			return map[bool]Op{true: VCVTUDQ2PS, false: VCVTUDQ2PD}[single]
		}
	} else if g.avx512 {
		if from.IsSigned() {
			return map[bool]Op{true: VCVTQQ2PS, false: VCVTQQ2PD}[single]
		}
		return map[bool]Op{true: VCVTUQQ2PS, false: VCVTUQQ2PD}[single]
	}
	g.refuse(e.At, "a conversion of %s to %s is not supported yet with AVX2", from, to)
	return NoOp
}

// floatToInt truncates. A value that does not fit gives, as in Go on amd64, what the conversion to int64 gives, cut to size; so only
// int32 and int64 are converted directly.
func (g *gen) floatToInt(dst []Reg, e *ir.Convert, x []Reg, from, to *ir.Type) []Reg {
	if to.Kind == ir.Int64 && g.avx512 {
		return g.widen(dst, x, from, to, map[bool]Op{true: VCVTTPS2QQ, false: VCVTTPD2QQ}[from.Size == 4])
	}
	if to.Kind == ir.Int32 {
		return g.widen(dst, x, from, to, map[bool]Op{true: VCVTTPS2DQ, false: VCVTTPD2DQ}[from.Size == 4])
	}
	g.refuse(e.At, "a conversion of %s to %s is not supported yet in vector code", from, to)
	return nil
}

func (g *gen) intToInt(dst, x []Reg, from, to *ir.Type) []Reg {
	switch {
	case container(from) == 4 && container(to) == 8:
		op := VPMOVZXDQ
		if from.IsSigned() {
			op = VPMOVSXDQ
		}
		return g.widen(dst, x, from, to, op)
	case container(from) == 8 && container(to) == 4:
		if !g.avx512 {
			g.refuse(g.at, "cutting 64-bit integers to %s is not supported yet with AVX2", to)
		}
		return g.lift(dst, x, x, func(d, x, _ Reg) {
			g.op(VPMOVQD, g.width(from), RegArg(d), RegArg(x))
			g.wrap(d, to)
		})
	}
	return g.lift(dst, x, x, func(d, x, _ Reg) {
		g.move(d, x)
		g.wrap(d, to)
	})
}
