package odd

import "fmt"

// The values of serial programs.

// read is a place as a value, with its type.
func (s *serial) read() (string, string) {
	if len(s.records) > 0 && s.chance(15) {
		x, f := s.records[s.IntN(len(s.records))], s.rec[s.IntN(len(s.rec))]
		return fmt.Sprintf("%s[%s].%s", x.name, s.short(x), f[0]), f[1]
	}
	if s.chance(50) {
		v := s.vars[s.IntN(len(s.vars))]
		return v.name, v.t
	}
	x := s.slices[s.IntN(len(s.slices))]
	return fmt.Sprintf("%s[%s]", x.name, s.short(x)), x.t
}

// short is an index without reads of memory.
func (s *serial) short(x place) string {
	if x.least < 8 {
		return fmt.Sprint(s.IntN(x.least))
	}
	if len(s.counters) == 0 {
		return s.pick("0", "n", "w+1", "3")
	}
	c := s.counters[s.IntN(len(s.counters))]
	d := s.counters[s.IntN(len(s.counters))]
	list := []string{c.name, c.name, c.name + "+1", "2*" + c.name, "n+w", d.name + "+" + c.name, "(" + c.name + "+3)&7", c.name + ">>1"}
	if !c.wide && !d.wide {
		list = append(list, c.name+"*w+"+d.name, d.name+"*n+"+c.name)
	}
	if c.least > 0 {
		list = append(list, c.name+"-1", c.name+"-1")
		if !c.wide && !d.wide {
			list = append(list, "("+c.name+"-1)*w+"+d.name)
		}
	}
	return s.pick(list...)
}

func (s *serial) convert(e, from, to string) string {
	switch {
	case from == to:
		return e
	case from == "bool" || to == "bool":
		return to + "(0)"
	case isComplex(from) && isComplex(to):
		return to + "(" + e + ")"
	case isComplex(from):
		return to + "(" + s.pick("real", "imag") + "(" + e + "))"
	case isComplex(to):
		return to + "(complex(float64(" + e + "), 1))"
	}
	return to + "(" + e + ")"
}

// whole is a value of some integer type.
func (s *serial) whole(depth int) string { return s.expr(s.pick(wholeNames...), depth-1) }

func (s *serial) constant(t string) string {
	switch {
	case isComplex(t):
		return s.pick(t+"(1)", t+"(2-1i)", t+"(0.5i)")
	case isFloat(t):
		return t + "(" + s.pick("0", "1", "-2.5", "1e3", "0.1", "1.0/3") + ")"
	}
	list := []string{"0", "1", "2", "3", "7", "10", "100", "'a'", "1<<3 - 1"}
	if isSigned(t) {
		list = append(list, "-1", "-3", fmt.Sprintf("-1 << %d", width(t)-1), fmt.Sprintf("1<<%d - 1", width(t)-1))
	} else {
		list = append(list, fmt.Sprintf("1<<%d - 1", width(t)), fmt.Sprintf("1 << %d", width(t)-1))
	}
	return t + "(" + s.pick(list...) + ")"
}

// operand is a constant or a value of type t.
func (s *serial) operand(t string, depth int) string {
	if s.chance(25) {
		return s.constant(t)
	}
	return s.expr(t, depth)
}

// expr is a value of type t, never a constant.
func (s *serial) expr(t string, depth int) string {
	if depth <= 0 || s.chance(20) {
		e, from := s.read()
		for from == "bool" {
			e, from = s.read()
		}
		return s.convert(e, from, t)
	}
	x := s.expr(t, depth-1)
	y := func() string { return s.operand(t, depth-1) }
	switch {
	case isComplex(t):
		switch s.IntN(5) {
		case 0:
			return fmt.Sprintf("%s(%s * %s)", t, x, y())
		case 1:
			return fmt.Sprintf("(%s / %s)", x, s.pick(t+"(2i)", t+"(3-4i)"))
		case 2:
			return fmt.Sprintf("-(%s)", x)
		}
		return fmt.Sprintf("(%s %s %s)", x, s.pick("+", "-"), y())
	case isFloat(t):
		switch s.IntN(10) {
		case 0, 1:
			return fmt.Sprintf("%s(%s * %s)", t, x, y())
		case 2:
			return fmt.Sprintf("(%s / %s)", x, y())
		case 3:
			return fmt.Sprintf("%s(math.%s(float64(%s)))", t, s.pick("Sqrt", "Floor", "Abs", "Trunc", "Ceil", "Round", "RoundToEven"), x)
		case 4:
			return fmt.Sprintf("%s(%s, %s)", s.pick("min", "max"), x, y())
		case 5:
			return fmt.Sprintf("-(%s)", x)
		case 6:
			return s.convert(s.whole(depth), "int", t)
		}
		return fmt.Sprintf("(%s %s %s)", x, s.pick("+", "-"), y())
	}
	switch s.IntN(16) {
	case 0:
		return fmt.Sprintf("(%s * %s)", x, y())
	case 1:
		return fmt.Sprintf("(%s %s %s)", x, s.pick("/", "%"), s.pick("3", "7", "10", "16", "(1+"+y()+"&7)"))
	case 2:
		if isSigned(t) {
			return fmt.Sprintf("(%s %s %s)", x, s.pick("/", "%"), s.pick("-3", "-1", "-16", "("+y()+" | 1)"))
		}
		if !s.exact {
			return fmt.Sprintf("(%s %s %s)", x, s.pick("/", "%"), s.expr(t, depth-1))
		}
	case 3:
		return fmt.Sprintf("(%s %s %s)", x, s.pick("<<", ">>"), s.pick("1", "3", fmt.Sprint(width(t)-1), fmt.Sprint(width(t)), "("+s.whole(1)+"&15)", "uint8("+s.whole(1)+")"))
	case 4:
		return fmt.Sprintf("(%s<<(%s&7))", s.constant(t), s.whole(1))
	case 5:
		return fmt.Sprintf("%s(%s, %s)", s.pick("min", "max"), x, y())
	case 6:
		return s.pick("-", "^") + "(" + x + ")"
	case 7:
		f := s.pick(floatNames...)
		return fmt.Sprintf("%s(%s)", t, s.expr(f, depth-1))
	case 8:
		o := s.pick(wholeNames...)
		return fmt.Sprintf("%s(%s)", t, s.expr(o, depth-1))
	case 9:
		return fmt.Sprintf("%s(bits.%s)", t, s.pick("OnesCount8(uint8("+x+"))", "LeadingZeros16(uint16("+x+"))", "TrailingZeros32(uint32("+x+"))", "Len64(uint64("+x+"))", "RotateLeft32(uint32("+x+"), int("+s.whole(1)+"))", "Reverse8(uint8("+x+"))"))
	case 10:
		return fmt.Sprintf("(%s %s %s)", x, s.pick("&", "|", "^", "&^"), y())
	}
	return fmt.Sprintf("(%s %s %s)", x, s.pick("+", "-"), y())
}

func (s *serial) cond(depth int) string {
	if depth > 0 && s.chance(30) {
		return fmt.Sprintf("(%s %s %s)", s.cond(depth-1), s.pick("&&", "||"), s.cond(depth-1))
	}
	if s.chance(15) {
		x := s.slices[s.IntN(len(s.slices))]
		if !isComplex(x.t) && x.least >= 8 && len(s.counters) > 0 {
			i := s.counters[len(s.counters)-1].name + s.pick("-1", "-3", "+n*w", "*2-5")
			return s.pick(fmt.Sprintf("(%s >= 0 && %s < len(%s) && %s[%s] > 1)", i, i, x.name, x.name, i),
				fmt.Sprintf("(%s < 0 || %s >= len(%s) || %s[%s] > 1)", i, i, x.name, x.name, i))
		}
	}
	t := s.scalar()
	x := s.expr(t, depth)
	if isComplex(t) {
		return fmt.Sprintf("(%s %s %s)", x, s.pick("==", "!="), s.expr(t, 1))
	}
	if s.chance(40) && isWhole(t) {
		return fmt.Sprintf("(%s&%d %s %d)", x, 1+s.IntN(7), s.pick("==", "!=", ">"), s.IntN(2))
	}
	return fmt.Sprintf("(%s %s %s)", x, s.pick("<", "<=", ">", ">=", "==", "!="), s.operand(t, 1))
}
