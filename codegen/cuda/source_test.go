package cuda_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/cuda"
	"github.com/gompss/gompss/codegen/ir"
)

// layout is an entry's arguments as text: kind, name, offset, size, and "narrow".
func layout(e cuda.Entry) []string {
	kinds := map[cuda.ArgKind]string{cuda.Value: "value", cuda.Data: "data", cuda.Length: "len", cuda.Capacity: "cap", cuda.Fault: "fault", cuda.Divisor: "divisor"}
	var out []string
	for _, a := range e.Args {
		s := kinds[a.Kind]
		if a.Var != nil {
			s += " " + a.Var.Name
		}
		s += " " + itoa(int(a.Offset)) + ":" + itoa(int(a.Offset+a.Size))
		if a.Narrow {
			s += " narrow"
		}
		out = append(out, s)
	}
	return out
}

func itoa(n int) string { return (&ir.Const{T: ir.IntType, Bits: uint64(n)}).String() }

func TestArgumentsAreListedInOrderWithTheirOffsets(t *testing.T) {
	src, err := cuda.Print(forces(), cuda.Options{Index32: true})
	require.NoError(t, err)
	require.Equal(t, []string{"value lo 0:4 narrow", "value hi 4:8 narrow", "value dt 8:12", "data px 16:24",
		"len px 24:28 narrow", "data py 32:40", "data vx 40:48", "data vy 48:56"}, layout(src.Entries[0]))
	require.Equal(t, 256, src.Entries[0].MaxThreads)

	src, err = cuda.Print(forces(), cuda.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"value lo 0:8", "value hi 8:16", "value dt 16:20", "data px 24:32", "len px 32:40",
		"data py 40:48", "data vx 48:56", "data vy 56:64"}, layout(src.Entries[0]))
	require.EqualValues(t, 64, src.Entries[0].ArgsSize)
}

func TestScratchTeamMemoryAndFaultAreInTheEntry(t *testing.T) {
	src, err := cuda.Print(dot(), cuda.Options{Index32: true})
	require.NoError(t, err)
	require.Equal(t, []string{"data x 0:8", "len x 8:12 narrow", "data y 16:24", "data part 24:32"}, layout(src.Entries[0]))
	require.EqualValues(t, 128, src.Entries[0].TeamMemory)
	require.Equal(t, []string{"data out 0:8", "data part 8:16", "len part 16:20 narrow"}, layout(src.Entries[1]))
	require.Equal(t, 1, src.Entries[1].MaxThreads)

	src, err = cuda.Print(spmv(), cuda.Options{Index32: true})
	require.NoError(t, err)
	args := layout(src.Entries[0])
	require.Equal(t, "fault 72:80", args[len(args)-1])
	require.True(t, src.Entries[0].Fault)
}

func TestSitesNameWhatIsChecked(t *testing.T) {
	src, err := cuda.Print(checks(), cuda.Options{})
	require.NoError(t, err)
	require.Len(t, src.Sites, 23)
	require.Equal(t, cuda.Site{Pos: ir.Pos{File: "check.go", Line: 7, Col: 3}, Kind: cuda.IndexSite, What: "a"}, src.Sites[0])
	require.True(t, src.Sites[17].Unsigned, "the index is a uint64")
	kinds := map[cuda.SiteKind]int{}
	for _, s := range src.Sites {
		kinds[s.Kind]++
	}
	require.Equal(t, map[cuda.SiteKind]int{cuda.IndexSite: 18, cuda.PointerSite: 1, cuda.CountSite: 1, cuda.DivisorSite: 1,
		cuda.StepSite: 1, cuda.SliceSite: 1}, kinds)
}

func TestATripCountThatIsReliedOnIsPromised(t *testing.T) {
	src, err := cuda.Print(matmul(), cuda.Options{Index32: true})
	require.NoError(t, err)
	require.Len(t, src.Entries[0].Promises, 1)
	require.Equal(t, "n * m", ir.ExprString(src.Entries[0].Promises[0]))
	src, err = cuda.Print(matmul(), cuda.Options{})
	require.NoError(t, err)
	require.Empty(t, src.Entries[0].Promises)
}

// Division by a parameter is a multiplication by what the host computes: by one number for one
// divisor, also behind a name. A divisor that changes, and one of 64 bits, are divided by.
func TestDivisionByWhatTheHostKnows(t *testing.T) {
	b := newProgram("divide")
	n, m, y := b.param("n", ir.IntType), b.param("m", ir.IntType), b.param("y", ir.SliceOf(ir.IntType))
	i, same, other := b.local("i", ir.IntType), b.local("same", ir.IntType), b.local("other", ir.IntType)
	b.launch(&ir.Launch{Trip: length(ref(y))}, b.decl(same, ref(m)), b.decl(other, num(3)), b.grid(i, num(0), length(ref(y)),
		b.set(idx(ref(y), ref(i)), sum(bin(ir.Div, ref(i), ref(m)), bin(ir.Rem, ref(i), ref(same)), bin(ir.Rem, ref(i), call(ir.IMax, ref(n), num(1))),
			bin(ir.Div, ref(i), ref(other)), bin(ir.Div, idx(ref(y), ref(i)), ref(m)))),
		b.set(ref(other), bin(ir.Add, ref(other), num(2)))))
	src, err := cuda.Print(b.prog, cuda.Options{Index32: true})
	require.NoError(t, err)
	for _, text := range []string{"div_signed(i, m, by)", "rem_signed(i, same, by)", "rem_by(i, max(n, 1), by_2)", "i / other", "go_div(y[i], (int64)m)"} {
		require.Contains(t, src.Text, text)
	}
	require.Equal(t, []string{"value n 0:4 narrow", "value m 4:8 narrow", "data y 8:16", "len y 16:20 narrow", "divisor 20:28", "divisor 28:36"}, layout(src.Entries[0]))
	require.Equal(t, "max(n, 1)", ir.ExprString(src.Entries[0].Args[5].Of))
	src, err = cuda.Print(b.prog, cuda.Options{})
	require.NoError(t, err)
	require.NotContains(t, src.Text, "_signed(")
}

// The multiplier gives the quotient for all of 31 bits: at the edges of every quotient for divisors
// near powers of two, and for others.
func TestMultiplier(t *testing.T) {
	var list []int64
	for k := range 32 {
		list = append(list, 1<<k-1, 1<<k, 1<<k+1)
	}
	list = append(list, 3, 7, 10, 641, 1e6, 1e9+7, 1<<31-2)
	for _, d := range list {
		if d < 1 || d > 1<<31 {
			continue
		}
		multiplier, shift := cuda.Multiplier(d)
		for _, q := range append(list, 0) {
			for _, x := range []int64{q*d - 1, q * d, q*d + d - 1, 1<<31 - 1, q} {
				if x >= 0 && x < 1<<31 {
					require.Equal(t, x/d, int64((uint64(2*x)*uint64(multiplier)>>32)>>shift), "%d / %d", x, d)
				}
			}
		}
	}
	for _, d := range []int64{0, -1, 1<<31 + 1} {
		multiplier, shift := cuda.Multiplier(d)
		require.Zero(t, multiplier)
		require.Zero(t, shift)
	}
}

// What counts teams of whole warps, what is in a maximum and the factors of the trip count are of
// 32 bits, and what is declared between a counter and its loop does not keep it from its head.
func TestCountersAreNarrow(t *testing.T) {
	b := newProgram("narrow")
	n, y := b.param("n", ir.IntType), b.param("y", ir.SliceOf(ir.IntType))
	first, end, rows, second := b.local("first", ir.IntType), b.local("end", ir.IntType), b.local("rows", ir.IntType), b.local("second", ir.IntType)
	half := func() ir.Expr { return call(ir.IMax, bin(ir.Sub, bin(ir.Mul, num(2), ref(n)), num(3)), num(0)) }
	step := func(v *ir.Var) ir.Stmt {
		return b.set(ref(v), bin(ir.Add, ref(v), bin(ir.Mul, query(ir.NumTeams), num(32))))
	}
	count := func(v *ir.Var, body ...ir.Stmt) ir.Stmt {
		return &ir.While{Cond: bin(ir.Lt, ref(v), ref(end)), Post: list(step(v)), Body: body, At: b.at()}
	}
	l := b.launch(&ir.Launch{Trip: bin(ir.Mul, half(), half()), Warps: true}, b.decl(first, bin(ir.Mul, query(ir.TeamNum), num(32))), b.decl(end, half()),
		b.decl(rows, bin(ir.Add, ref(end), num(124))), count(first, b.decl(second, bin(ir.Add, ref(first), ref(rows))), b.set(idx(ref(y), ref(first)), ref(second))))
	src, err := cuda.Print(b.prog, cuda.Options{Index32: true})
	require.NoError(t, err)
	for _, text := range []string{"narrow(int n,", "int rows = ", "for (int first = blockIdx.x * 32; first < end; first += gridDim.x * 32)"} {
		require.Contains(t, src.Text, text)
	}
	var promises []string
	for _, e := range src.Entries[0].Promises {
		promises = append(promises, ir.ExprString(e))
	}
	require.Equal(t, []string{"2 * n - 3"}, promises)
	l.Warps = false
	src, err = cuda.Print(b.prog, cuda.Options{Index32: true})
	require.NoError(t, err)
	require.Contains(t, src.Text, "for (int64 first = ")
}

// TestLinesNameTheGoSource walks through the text as a compiler does and looks up what each line of it is.
func TestLinesNameTheGoSource(t *testing.T) {
	src, err := cuda.Print(control(), cuda.Options{Index32: true, Lines: true})
	require.NoError(t, err)
	at, line := map[string]int{}, 0
	for _, l := range strings.Split(src.Text, "\n") {
		if n, ok := strings.CutPrefix(l, "#line "); ok {
			require.True(t, strings.HasSuffix(n, ` "control.go"`), n)
			line = 0
			for _, c := range strings.Fields(n)[0] {
				line = 10*line + int(c-'0')
			}
			continue
		}
		at[strings.TrimSpace(l)] = line
		line++
	}
	prog := control()
	ir.WalkStmts(prog.Launches[0].Body, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.Return:
			require.Equal(t, s.At.Line, at["return;"])
		case *ir.For:
			if s.Label.Name == "outer" {
				require.Equal(t, s.At.Line, at["for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < x_len; i += gridDim.x * blockDim.x) {"])
			}
		}
		return true
	})
	answer := compile(t, []string{"sm_90"}, []nvrtcSource{source("control.cu", src)})
	require.True(t, answer.Results[0].OK, answer.Results[0].Log)
}

func TestHashDependsOnTextAndOptions(t *testing.T) {
	strict, err := cuda.Print(forces(), cuda.Options{})
	require.NoError(t, err)
	prog := forces()
	prog.FastMath = false
	other, err := cuda.Print(prog, cuda.Options{})
	require.NoError(t, err)
	require.NotEqual(t, strict.Hash, other.Hash)
	require.NotEqual(t, strict.Options, other.Options)
}

// Only fastmath makes a product with the inverse root of a quotient by a root.
func TestQuotientsByRoots_AreProductsWithFastmath(t *testing.T) {
	for _, fast := range []bool{false, true} {
		b := newProgram("quotient")
		b.prog.FastMath = fast
		x := b.param("x", ir.SliceOf(ir.Float32Type))
		at := func(i int64) ir.Expr { return idx(ref(x), num(i)) }
		b.launch(&ir.Launch{}, b.set(at(0), bin(ir.Div, at(1), call(ir.Sqrt, at(2)))))
		src, err := cuda.Print(b.prog, cuda.Options{})
		require.NoError(t, err)
		require.Equal(t, fast, strings.Contains(src.Text, "x[0] = x[1] * rsqrtf(x[2]);"), src.Text)
		require.Equal(t, !fast, strings.Contains(src.Text, "x[0] = x[1] / sqrtf(x[2]);"), src.Text)
	}
}

// A hardware barrier of a part of the team would wait for ever for threads that a failed check has ended.
func TestPartialBarrierBesideChecksIsAGate(t *testing.T) {
	for _, check := range []bool{false, true} {
		b := newProgram("partial")
		x := b.param("x", ir.SliceOf(ir.Float32Type))
		i := checked(ref(x), query(ir.ThreadNum))
		i.Checked = check
		b.launch(&ir.Launch{}, b.set(i, real(ir.Float32Type, 1)),
			&ir.Barrier{Scope: ir.NamedBarrier, ID: 1, Count: num(64), At: b.at()})
		src, err := cuda.Print(b.prog, cuda.Options{})
		require.NoError(t, err)
		require.Equal(t, check, strings.Contains(src.Text, "if (gompss_meet(gates[1], 64, fault))"), src.Text)
		require.Equal(t, !check, strings.Contains(src.Text, "barrier(1, 64);"), src.Text)
		require.Len(t, src.Sites, map[bool]int{true: 1}[check])
	}
}

// A variable that a loop of two conditions counts with is narrow where the loop's bound is, unless
// something else changes it, or it may grow twice.
func TestCountersAreNarrow_LoopsOfTwoConditions(t *testing.T) {
	for _, c := range []struct {
		name   string
		narrow bool
		body   func(b *builder, k, n *ir.Var) []ir.Stmt
		op     ir.Op
	}{
		{"once", true, func(b *builder, k, _ *ir.Var) []ir.Stmt { return list(b.set(ref(k), bin(ir.Add, ref(k), num(1)))) }, ir.LAnd},
		{"either condition", false, func(b *builder, k, _ *ir.Var) []ir.Stmt { return list(b.set(ref(k), bin(ir.Add, ref(k), num(1)))) }, ir.LOr},
		{"twice", false, func(b *builder, k, _ *ir.Var) []ir.Stmt {
			return list(b.set(ref(k), bin(ir.Add, ref(k), num(1))), b.set(ref(k), bin(ir.Add, ref(k), num(1))))
		}, ir.LAnd},
		{"in a loop", false, func(b *builder, k, n *ir.Var) []ir.Stmt {
			i := b.local("i", ir.IntType)
			return list(&ir.For{Var: i, Lo: num(0), Hi: ref(n), Step: num(1), Rel: ir.Lt, Body: list(b.set(ref(k), bin(ir.Add, ref(k), num(1)))), At: b.at()})
		}, ir.LAnd},
		{"down", false, func(b *builder, k, _ *ir.Var) []ir.Stmt { return list(b.set(ref(k), bin(ir.Sub, ref(k), num(1)))) }, ir.LAnd},
		{"by a factor", false, func(b *builder, k, _ *ir.Var) []ir.Stmt { return list(b.set(ref(k), bin(ir.Mul, ref(k), num(2)))) }, ir.LAnd},
	} {
		b := newProgram("escapes")
		n, x, y := b.param("n", ir.IntType), b.param("x", ir.SliceOf(ir.IntType)), b.param("y", ir.SliceOf(ir.IntType))
		k := b.local("k", ir.IntType)
		goes := bin(c.op, bin(ir.Lt, ref(k), ref(n)), bin(ir.Lt, idx(ref(x), query(ir.ThreadNum)), num(4)))
		b.launch(&ir.Launch{}, b.decl(k, num(0)), &ir.While{Cond: goes, Body: c.body(b, k, n), At: b.at()}, b.set(idx(ref(y), query(ir.ThreadNum)), ref(k)))
		src, err := cuda.Print(b.prog, cuda.Options{Index32: true})
		require.NoError(t, err)
		if c.narrow {
			require.Contains(t, src.Text, "int k = 0;", c.name)
			require.NotContains(t, src.Text, "int64 k", c.name)
		} else {
			require.Contains(t, src.Text, "int64 k = 0;", c.name)
		}
	}
}
