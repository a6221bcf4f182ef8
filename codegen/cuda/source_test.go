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
	kinds := map[cuda.ArgKind]string{cuda.Value: "value", cuda.Data: "data", cuda.Length: "len", cuda.Capacity: "cap", cuda.Fault: "fault"}
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
