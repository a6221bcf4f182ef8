package integers

// A Number is an int64, or not known: a value that leaves 64 bits.
type Number struct {
	N  int64
	Ok bool
}

func (a Number) Plus(b Number) Number {
	c := a.N + b.N
	return Number{c, a.Ok && b.Ok && (c > a.N) == (b.N > 0)}
}

func (a Number) Minus(b Number) Number {
	return a.Plus(Number{-b.N, b.Ok && (b.N == 0 || b.N != -b.N)})
}

func (a Number) Times(b Number) Number {
	if a.Ok && b.Ok && int64(int32(a.N)) == a.N && int64(int32(b.N)) == b.N { // what sizes are, as a rule
		return Number{a.N * b.N, true}
	}
	if a.N == 1 {
		return Number{b.N, a.Ok && b.Ok} // Mul does not make the least number
	}
	c, ok := Mul(a.N, b.N)
	return Number{c, ok && a.Ok && b.Ok}
}

// FloorDiv returns the greatest integer that is at most a/b, b being positive.
func FloorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func (a Number) AtLeast(n int64) bool { return a.Ok && a.N >= n }
