package odd

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// This file has loops whose bounds lie near the ends of the types of their counters.

// A span is a loop over all that lies between two bounds. Its text stands in a comment of the
// program, from which the arguments are chosen: the bounds are near the ends of the type, and the
// loop has few iterations.
type span struct {
	t        *typ
	down     bool
	step     uint64
	op       string // of the condition
	from, to string // lo or hi, and a number that is added
	varies   bool   // the step is parameter step
}

// least and most are the ends of an integer type, as constants of Go.
func (t *typ) least() string {
	if !t.signed {
		return "0"
	}
	return fmt.Sprintf("-1 << %d", t.bits-1)
}

func (t *typ) most() string {
	if t.signed {
		return fmt.Sprintf("1<<%d - 1", t.bits-1)
	}
	return fmt.Sprintf("1<<%d - 1", t.bits)
}

// makeSpan chooses a loop that a directive may govern.
func (g *gen) makeSpan() *span {
	s := &span{t: whole[g.IntN(len(whole))], op: g.pick("<", "<", "<="), from: g.pick("lo", "lo", "lo", "lo+1", "lo-2"), to: g.pick("hi", "hi", "hi", "hi+3", "lo+5", "hi-1"), step: 1}
	if s.down = s.t.signed && g.chance(30); s.down {
		s.op = g.pick(">", ">", ">=")
		if s.to == "lo+5" {
			s.to = "lo-5"
		}
	}
	switch n := g.IntN(10); {
	case n < 3:
		s.step = []uint64{2, 3, 7, 10, 33, 100}[g.IntN(6)]
	case n < 5: // a few steps go from one end to the other
		s.step = 1<<(s.t.bits-2-g.IntN(2)) + uint64(g.IntN(3)) - 1
	case n == 5: // the greatest of a signed type; of an unsigned one half of its range and more
		s.step = 1<<(s.t.bits-1) - 1
		if !s.t.signed {
			s.step += []uint64{0, 1, 2, s.step, s.step - 2}[g.IntN(5)]
		}
	case n == 6:
		s.op = "!="
	}
	if s.to[0] == 'l' && s.op == "!=" {
		s.to = "hi"
	}
	return s
}

func (s *span) String() string {
	return fmt.Sprintf("// span %s %t %d %s %s %s", s.t.name, s.down, s.step, s.op, s.from, s.to)
}

// spanOf is that of a program, nil where it has none.
func spanOf(text string) *span {
	_, text, ok := strings.Cut(text, "\t// span ")
	if !ok {
		return nil
	}
	text, _, _ = strings.Cut(text, "\n")
	f := strings.Fields(text)
	s := &span{down: f[1] == "true", op: f[3], from: f[4], to: f[5]}
	s.step, _ = strconv.ParseUint(f[2], 10, 64)
	for _, t := range whole {
		if t.name == f[0] {
			s.t = t
		}
	}
	return s
}

// wrap is x as a number of the type, with the sign in all 64 bits.
func (t *typ) wrap(x uint64) uint64 {
	if t.signed {
		return uint64(int64(x<<(64-t.bits)) >> (64 - t.bits))
	}
	return x << (64 - t.bits) >> (64 - t.bits)
}

// bound is the value of from or to.
func (s *span) bound(text string, lo, hi uint64) uint64 {
	x := lo
	if strings.HasPrefix(text, "hi") {
		x = hi
	}
	if len(text) > 2 {
		n, _ := strconv.ParseInt(text[2:], 10, 64)
		x += uint64(n)
	}
	return s.t.wrap(x)
}

// trips is how many iterations the loop has, false where they are more than most.
func (s *span) trips(lo, hi uint64, most int) (n int, ok bool) {
	x, end := s.bound(s.from, lo, hi), s.bound(s.to, lo, hi)
	before := func(x, y uint64) bool {
		if s.t.signed {
			return int64(x) < int64(y)
		}
		return x < y
	}
	for {
		more := x != end
		switch s.op {
		case "<":
			more = before(x, end)
		case "<=":
			more = !before(end, x)
		case ">":
			more = before(end, x)
		case ">=":
			more = !before(x, end)
		}
		if !more {
			break
		}
		if n++; n > most {
			return 0, false
		}
		if s.down {
			x = s.t.wrap(x - s.step)
		} else {
			x = s.t.wrap(x + s.step)
		}
	}
	// Each iteration has a number of its own only where the counter comes round no more than once.
	return n, s.t.bits == 64 && s.step < 1<<60 || float64(max(n-1, 0))*float64(s.step) < float64(uint64(1)<<(s.t.bits-1))*2
}

// bounds chooses the arguments lo and hi for at most so many iterations.
func (s *span) bounds(rng *rand.Rand, most int) (lo, hi uint64) {
	near := func() uint64 {
		x := uint64(rng.Int64N(40))
		switch rng.IntN(6) {
		case 0, 1:
			x = 1<<(s.t.bits-1) - x - 1 // the greatest of a signed type, the middle of others
		case 2, 3:
			x = 1<<(s.t.bits-1) + x // the least
		case 4:
			x = -x
		}
		return s.t.wrap(x)
	}
	none := 0
	for range 2000 {
		lo, hi = near(), near()
		if n, ok := s.trips(lo, hi, most); ok && (n > 0 || rng.IntN(4) == 0 && none > 20) {
			return lo, hi
		}
		none++
	}
	for {
		lo, hi = near(), near()
		if n, ok := s.trips(lo, hi, most); ok || most == 0 && n == 0 {
			return lo, hi
		}
		if none++; none > 100000 { // no arguments have so few
			panic("no bounds for " + s.String())
		}
	}
}

// number is the text of how many iterations came before the one of counter i.
func (s *span) number() string {
	u := "uint" + strings.TrimLeft(s.t.name, "uint")
	if s.t.name == "int" {
		u = "uint"
	}
	first, i := u+"("+s.from+")", u+"(i)"
	if s.down {
		first, i = i, first
	}
	if s.step == 1 {
		return fmt.Sprintf("int(%s - %s)", i, first)
	}
	return fmt.Sprintf("int((%s - %s) / %d)", i, first, s.step)
}

// head is the loop's.
func (s *span) head(from, to string) string {
	by := fmt.Sprintf("i += %d", s.step)
	switch {
	case s.varies && s.down:
		by = "i -= step"
	case s.varies:
		by = "i += step"
	case s.step == 1 && s.down:
		by = "i--"
	case s.step == 1:
		by = "i++"
	case s.down:
		by = fmt.Sprintf("i -= %d", s.step)
	}
	return fmt.Sprintf("for i := %s; i %s %s; %s {", from, s.op, to, by)
}

// ends is a loop of the program's span.
func (g *gen) ends() {
	s := g.span
	g.at, g.budget = []string{"0"}, 3
	clauses, after := g.clauses()
	if g.chance(20) {
		clauses += g.located(s.number())
	}
	kind := g.pick("teams distribute parallel for", "teams distribute parallel for", "teams distribute parallel for simd", "parallel for", "parallel for simd")
	if g.chance(25) {
		clauses += " schedule(" + g.pick("static", "static, 3", "dynamic", "dynamic, 4", "guided", "cyclic", "onetoone", "counter", "auto") + ")"
	}
	from, to := s.from, s.to
	if g.chance(30) {
		g.line("first, end := %s, %s", from, to)
		from, to = "first", "end"
	}
	g.line("//omp:%s%s", kind, clauses)
	g.line("%s", s.head(from, to))
	g.nests = !strings.Contains(kind, "simd")
	g.parallelBody([]string{s.number()}, []*variable{{name: "i", t: s.t}})
	g.nests = true
	g.line("}")
	after()
}

// endless is the header of a loop in order near the ends of its counter's type, which the body
// leaves after a few rounds if it does not end by itself.
func (g *gen) endless(h *header, t *typ) string {
	few, step := g.IntN(6), g.pick("1", "1", "1", "2", "3", "7", "33", fmt.Sprintf("1 << %d", t.bits-2), fmt.Sprintf("1<<%d - 1", t.bits-1))
	j := g.counter(h, t, g.chance(20))
	switch g.IntN(6) {
	case 0, 1: // to the greatest and around
		return fmt.Sprintf("for %[1]s := %[2]s(%[3]s - %[4]d); %[1]s %[5]s %[3]s; %[1]s += %[6]s {", j, t.name, t.most(), few, g.pick("<", "<=", "!="), step)
	case 2, 3: // to the least and around
		return fmt.Sprintf("for %[1]s := %[2]s(%[3]s + %[4]d); %[1]s %[5]s %[3]s; %[1]s -= %[6]s {", j, t.name, t.least(), few, g.pick(">", ">=", "!="), step)
	case 4: // from one end to the other
		return fmt.Sprintf("for %[1]s := %[2]s(%[3]s + %[4]d); %[1]s %[5]s %[6]s - %[4]d; %[1]s += %[7]s {", j, t.name, t.least(), few, g.pick("<", "<=", "!="), t.most(), step)
	}
	return fmt.Sprintf("for %s := range %s(%s - %d) {", j, t.name, t.most(), few)
}
