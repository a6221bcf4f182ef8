package simt_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/simt"
)

// failing runs a kernel with one parameter a of three ints and n; body makes its statements.
func failing(t *testing.T, n int64, body func(b *builder, a, n *ir.Var) []ir.Stmt) error {
	b := newBuilder("Bad")
	a, v := b.param("a", ir.SliceOf(ir.IntType)), b.param("n", ir.IntType)
	b.line(4).body(body(b, a, v)...)
	m, arg := ints("a", 1, 2, 3)
	arg.Len, arg.Cap = 2, 3
	_, err := b.compile(t).Run([]simt.Arg{arg, number(n)}, simt.Config{Teams: 1, Threads: 1})
	require.EqualValues(t, 3, intAt(m, 2), "nothing past the length was written")
	return err
}

func TestBounds(t *testing.T) {
	at := "simt: Bad: k.go:4:1: team 0 thread 0: "
	for _, c := range []struct {
		name string
		n    int64
		body func(b *builder, a, n *ir.Var) []ir.Stmt
		want string
	}{
		{"store", 2, func(b *builder, a, n *ir.Var) []ir.Stmt { return []ir.Stmt{b.set(b.elem(a, b.ref(n)), b.num(9))} },
			at + "a: index 2 out of range: length 2"},
		{"load below zero", -1, func(b *builder, a, n *ir.Var) []ir.Stmt {
			return []ir.Stmt{b.set(b.elem(a, b.num(0)), b.elem(a, b.ref(n)))}
		}, at + "a: index -1 out of range"},
		{"local array", 5, func(b *builder, a, n *ir.Var) []ir.Stmt {
			x := b.local("x", ir.ArrayOf(ir.Int16Type, 5))
			return []ir.Stmt{b.decl(x, nil), b.set(b.elem(x, b.ref(n)), b.konst(ir.Int16Type, 1))}
		}, at + "x: index 5 out of range: length 5"},
		{"slice", 4, func(b *builder, a, n *ir.Var) []ir.Stmt {
			s := b.local("s", ir.SliceOf(ir.IntType))
			return []ir.Stmt{b.decl(s, &ir.Reslice{X: b.ref(a), Hi: b.ref(n), At: b.at})}
		}, at + "a[:n]: slice bound 4 out of range: limit 3"},
		{"element of a part", 1, func(b *builder, a, n *ir.Var) []ir.Stmt {
			s := b.local("s", ir.SliceOf(ir.IntType))
			return []ir.Stmt{b.decl(s, &ir.Reslice{X: b.ref(a), Lo: b.num(1), At: b.at}), b.set(b.elem(s, b.ref(n)), b.num(7))}
		}, at + "s: index 1 out of range: length 1"},
		{"division", 0, func(b *builder, a, n *ir.Var) []ir.Stmt {
			return []ir.Stmt{b.set(b.elem(a, b.num(0)), b.bin(ir.Rem, b.num(1), b.ref(n)))}
		}, at + "n: integer division by zero"},
		{"shift", -2, func(b *builder, a, n *ir.Var) []ir.Stmt {
			return []ir.Stmt{b.set(b.elem(a, b.num(0)), b.bin(ir.Shl, b.num(1), b.ref(n)))}
		}, at + "n: negative shift count"},
		{"nil", 0, func(b *builder, a, n *ir.Var) []ir.Stmt {
			p := b.local("p", ir.PointerTo(ir.IntType))
			return []ir.Stmt{b.decl(p, nil), b.set(&ir.Deref{X: b.ref(p), At: b.at}, b.num(1))}
		}, at + "p: nil pointer dereference"},
		{"step", 0, func(b *builder, a, n *ir.Var) []ir.Stmt {
			i := b.local("i", ir.IntType)
			f := b.forTo(i, b.num(3)).(*ir.For)
			f.Step = b.ref(n)
			return []ir.Stmt{f}
		}, at + "loop step of zero or of the wrong sign: 0"},
		{"step away", 4, func(b *builder, a, n *ir.Var) []ir.Stmt {
			f := b.forTo(b.local("i", ir.IntType), b.num(-3)).(*ir.For)
			f.Step, f.Rel = b.ref(n), ir.Ge
			return []ir.Stmt{f}
		}, at + "loop step of zero or of the wrong sign: 4"},
	} {
		t.Run(c.name, func(t *testing.T) { require.EqualError(t, failing(t, c.n, c.body), c.want) })
	}
}

func TestTypedErrors(t *testing.T) {
	err := failing(t, 2, func(b *builder, a, n *ir.Var) []ir.Stmt { return []ir.Stmt{b.set(b.elem(a, b.ref(n)), b.num(9))} })
	var bounds *simt.CheckError
	require.ErrorAs(t, err, &bounds)
	at := ir.Pos{File: "k.go", Line: 4, Col: 1}
	require.Equal(t, simt.CheckError{Where: simt.Where{Kernel: "Bad", Launch: "Bad", At: at},
		Check: &ir.CheckError{Kernel: "Bad", At: at, What: "a", Index: 2, Length: 2}}, *bounds)
	require.EqualError(t, bounds.Check, "k.go:4: Bad: a: index 2 out of range: length 2")
	err = failing(t, 0, func(b *builder, a, n *ir.Var) []ir.Stmt {
		return []ir.Stmt{b.set(b.elem(a, b.num(0)), b.bin(ir.Div, b.num(1), b.ref(n)))}
	})
	require.ErrorIs(t, err, ir.ErrDivide)
}

// counter adds 1 to c[0] in every thread, with an atomic or not.
func counter(atomic, mix bool) *builder {
	b := newBuilder("Count")
	c := b.param("c", ir.SliceOf(ir.IntType))
	place := func() ir.Expr { return b.elem(c, b.num(0)) }
	b.line(3)
	add := []ir.Stmt{&ir.Atomic{Kind: ir.AtomicUpdate, Op: ir.Add, Place: place(), Value: b.num(1), At: b.at}}
	if !atomic {
		add = []ir.Stmt{b.set(place(), b.bin(ir.Add, place(), b.num(1)))}
	}
	b.body(add...)
	if mix {
		b.line(5).body(b.when(b.bin(ir.Eq, b.global(), b.num(2)), b.set(b.elem(c, b.num(1)), place())))
	}
	return b
}

func TestAtomicsCount(t *testing.T) {
	m, c := ints("c", 5, 0)
	stats, err := counter(true, false).compile(t).Run([]simt.Arg{c}, simt.Config{Teams: 3, Threads: 7, Races: true, Seed: 1})
	require.NoError(t, err)
	require.EqualValues(t, 26, intAt(m, 0))
	require.EqualValues(t, 21, stats.Atomics)
}

func TestMissingAtomicIsARace(t *testing.T) {
	for _, cfg := range []simt.Config{{Teams: 1, Threads: 2}, {Teams: 2, Threads: 1}, {Teams: 4, Threads: 4, Seed: 8}} {
		cfg.Races = true
		_, c := ints("c", 0, 0)
		_, err := counter(false, false).compile(t).Run([]simt.Arg{c}, cfg)
		var race *simt.RaceError
		require.ErrorAs(t, err, &race)
		require.Equal(t, "c", race.Memory)
		require.Equal(t, [2]int{3, 3}, [2]int{race.First.At.Line, race.Second.At.Line})
		require.Equal(t, "c[0]", race.First.Place)
	}
	_, c := ints("c", 0, 0)
	_, err := counter(false, false).compile(t).Run([]simt.Arg{c}, simt.Config{Teams: 1, Threads: 1, Races: true})
	require.NoError(t, err, "one thread races with nobody")
}

func TestPlainReadOfAnAtomicIsARace(t *testing.T) {
	_, c := ints("c", 0, 0)
	_, err := counter(true, true).compile(t).Run([]simt.Arg{c}, simt.Config{Teams: 2, Threads: 2, Races: true})
	var race *simt.RaceError
	require.ErrorAs(t, err, &race)
	require.Equal(t, 3, race.First.At.Line)
	require.True(t, race.First.Atomic)
	require.Equal(t, 5, race.Second.At.Line)
	require.False(t, race.Second.Atomic || race.Second.Write)
}

// lastTeam lets each team leave a value and take a ticket; the last one adds them up.
func lastTeam(ordered bool) *builder {
	b := newBuilder("Last")
	out := b.param("out", ir.SliceOf(ir.IntType))
	part := b.variable("part", ir.SliceOf(ir.IntType), ir.Scratch)
	ticket := b.variable("ticket", ir.SliceOf(ir.Uint32Type), ir.Scratch)
	b.p.Scratch = []ir.Scratchpad{{Var: part, Count: b.query(ir.NumTeams)}, {Var: ticket, Count: b.num(1)}}
	last := b.team("last", ir.BoolType)
	old, i := b.local("old", ir.Uint32Type), b.local("i", ir.IntType)
	one := b.konst(ir.Uint32Type, 1)
	first := b.bin(ir.Eq, b.query(ir.ThreadNum), b.num(0))
	teams := b.conv(ir.Uint32Type, b.query(ir.NumTeams))
	b.line(3)
	store := b.set(b.elem(part, b.query(ir.TeamNum)), b.bin(ir.Add, b.query(ir.TeamNum), b.num(1)))
	b.line(4).body(b.when(first, store, b.decl(old, nil),
		&ir.Atomic{Kind: ir.AtomicCapture, Op: ir.Add, Place: b.elem(ticket, b.num(0)), Value: one, Old: b.ref(old), Ordered: ordered, At: b.at},
		b.set(b.ref(last), b.bin(ir.Eq, b.ref(old), b.bin(ir.Sub, teams, one)))), b.barrier())
	b.line(7)
	sum := b.set(b.elem(out, b.num(0)), b.bin(ir.Add, b.elem(out, b.num(0)), b.elem(part, b.ref(i))))
	b.body(b.when(b.ref(last), b.when(b.bin(ir.Eq, b.query(ir.ThreadNum), b.bin(ir.Sub, b.query(ir.NumThreads), b.num(1))),
		b.forTo(i, b.query(ir.NumTeams), sum))))
	return b
}

func TestOrderedAtomicsOrderTeams(t *testing.T) {
	for seed := range uint64(4) {
		m, o := ints("out", 100)
		_, err := lastTeam(true).compile(t).Run([]simt.Arg{o}, simt.Config{Teams: 5, Threads: 4, Races: true, Seed: seed})
		require.NoError(t, err)
		require.EqualValues(t, 115, intAt(m, 0))
	}
	_, o := ints("out", 100)
	_, err := lastTeam(false).compile(t).Run([]simt.Arg{o}, simt.Config{Teams: 5, Threads: 4, Races: true})
	var race *simt.RaceError
	require.ErrorAs(t, err, &race)
	require.Equal(t, "scratch memory part", race.Memory)
	require.Equal(t, [2]int{3, 7}, [2]int{race.First.At.Line, race.Second.At.Line})
}

func TestUnsetTeamMemory(t *testing.T) {
	b := newBuilder("Unset")
	out := b.param("out", ir.SliceOf(ir.IntType))
	box := b.team("box", ir.ArrayOf(ir.IntType, 4))
	b.line(2).body(b.when(b.bin(ir.Lt, b.query(ir.ThreadNum), b.num(3)), b.set(b.elem(box, b.query(ir.ThreadNum)), b.num(1))), b.barrier())
	b.line(3).body(b.set(b.elem(out, b.query(ir.ThreadNum)), b.elem(box, b.query(ir.ThreadNum))))
	p := b.compile(t)
	_, o := ints("out", 0, 0, 0, 0)
	_, err := p.Run([]simt.Arg{o}, simt.Config{Teams: 1, Threads: 3, Races: true})
	require.NoError(t, err)
	_, err = p.Run([]simt.Arg{o}, simt.Config{Teams: 1, Threads: 4, Races: true})
	require.EqualError(t, err, "simt: Unset: k.go:3:1: team 0 thread 3: box[ThreadNum()]: read of team memory that nobody has written")
}

func TestBadArguments(t *testing.T) {
	b := newBuilder("Args")
	b.param("a", ir.SliceOf(ir.Float32Type))
	p := b.compile(t)
	m, a := floats("a", 1, 2, 3)
	for _, c := range []struct {
		args []simt.Arg
		want string
	}{
		{nil, "0 arguments for 1 parameters"},
		{[]simt.Arg{{Memory: m, Offset: 4, Len: 3, Cap: 3}}, `3 elements of 4 bytes from byte 4 do not fit buffer "a" of 12 bytes`},
		{[]simt.Arg{{Len: 1, Cap: 1}}, "1 elements in no memory"},
		{[]simt.Arg{{Memory: m, Len: 2, Cap: 1}}, "length 2, capacity 1"},
	} {
		_, err := p.Run(c.args, simt.Config{})
		require.ErrorIs(t, err, simt.ErrArgument)
		require.ErrorContains(t, err, c.want)
	}
	_, err := p.Run([]simt.Arg{a}, simt.Config{Threads: 5000})
	require.ErrorIs(t, err, simt.ErrArgument)
}

// A report of races names the parameter and the element, and each pair of lines once.
func TestRaceReport_NamesElements(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: "package k\n\n//omp:target\n//omp:task in(y) inout(x, s)\nfunc K(d int, x, y, s []int32) {\n" +
		"\t//omp:teams distribute parallel for\n\tfor i := 0; i < len(x)-d; i++ {\n\t\tx[i] = x[i+d]\n\t\ts[y[i]]++\n\t}\n}\n"})
	require.NoError(t, err)
	lowered, err := codegen.Lower(p.Kernels()[0], codegen.LowerOptions{})
	require.NoError(t, err)
	program, err := simt.New(lowered.Program)
	require.NoError(t, err)
	memory := &simt.Memory{Name: "buffer 7", Bytes: make([]byte, 400)}
	other := &simt.Memory{Name: "buffer 8", Bytes: make([]byte, 400)}
	args := []simt.Arg{{Bits: 3}, {Memory: memory, Offset: 40, Len: 60, Cap: 60}, {Memory: other, Len: 80, Cap: 80}, {Memory: other, Offset: 320, Len: 20, Cap: 20}}
	_, err = program.Run(args, simt.Config{Teams: 2, Threads: 16, Races: true})
	require.ErrorContains(t, err, "data race in x[")
	require.ErrorContains(t, err, "data race in s[0]: ")
	require.NotContains(t, err.Error(), "buffer")
	require.Equal(t, 2, strings.Count(err.Error(), "data race"), err.Error())
	require.Equal(t, 1, strings.Count(err.Error(), "simt: K: "), err.Error())
}
