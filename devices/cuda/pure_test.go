//go:build linux && (amd64 || arm64)

package cuda

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cuda"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// TestPiecesAreTheRegion compares the calls of a copy with the elements of the region, each once.
func TestPiecesAreTheRegion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var dims []deps.Dim
		for range rapid.IntRange(1, 4).Draw(t, "dims") {
			dims = append(dims, deps.Dim{Count: rapid.Int64Range(1, 5).Draw(t, "count"), Stride: rapid.Int64Range(1, 60).Draw(t, "stride")})
		}
		r, err := deps.Strided(0, rapid.Int64Range(0, 9).Draw(t, "offset"), dims)
		if err != nil {
			t.Skip("not a region")
		}
		elem := deps.Bytes(rapid.SampledFrom([]int{1, 4, 8, 24}).Draw(t, "elem"))
		maxPitch := deps.Bytes(rapid.SampledFrom([]int{100, 1 << 30}).Draw(t, "pitch"))
		seen := map[deps.Bytes]int{}
		require.NoError(t, eachPiece(r, elem, maxPitch, func(p piece) error {
			if p.height > 1 && (p.pitch > maxPitch || p.pitch < p.width) {
				t.Fatalf("piece %+v", p)
			}
			for row := range p.height {
				for i := range p.width {
					seen[p.offset+row*p.pitch+i]++
				}
			}
			return nil
		}))
		require.Len(t, seen, int(r.Len())*int(elem))
		for lo, hi := range r.Runs() {
			for i := deps.Bytes(lo) * elem; i < deps.Bytes(hi)*elem; i++ {
				require.Equal(t, 1, seen[i], "byte %d", i)
			}
		}
	})
}

func TestATileIsOneCopy(t *testing.T) {
	r, err := deps.Box(0, 0, []int64{-1, 1000}, []int64{10, 20}, []int64{42, 52})
	require.NoError(t, err)
	var pieces []piece
	require.NoError(t, eachPiece(r, 8, 1<<30, func(p piece) error { pieces = append(pieces, p); return nil }))
	require.Equal(t, []piece{{offset: 8 * (10*1000 + 20), width: 8 * 32, height: 32, pitch: 8000}}, pieces)
	wrong := errors.New("wrong")
	require.ErrorIs(t, eachPiece(r, 8, 1, func(piece) error { return wrong }), wrong)
}

// h200 is what the chip allows a small kernel.
func h200() *fit {
	f := &fit{sms: 132, warp: 32, maxThreads: 1024}
	for _, n := range []int{32, 64, 96, 128, 192, 256, 384, 512, 768, 1024} {
		f.table = append(f.table, occupancy{threads: n, teams: min(32, 2048/n)})
	}
	return f
}

func TestShapes(t *testing.T) {
	n := func(v int64) ir.Expr { return &ir.Const{T: ir.IntType, Bits: uint64(v)} }
	half := h200() // a kernel with many registers
	half.maxThreads = 512
	half.table = []occupancy{{32, 16}, {64, 8}, {128, 4}, {256, 2}, {512, 1}}
	for _, c := range []struct {
		name   string
		launch ir.Launch
		fit    *fit
		limit  int64
		want   grid
	}{
		{"many iterations", ir.Launch{Trip: n(1 << 27)}, h200(), math.MaxInt64, grid{1 << 21 / 2, 128}},
		{"few iterations are spread", ir.Launch{Trip: n(1000)}, h200(), math.MaxInt64, grid{16, 64}},
		{"none", ir.Launch{Trip: n(0)}, h200(), math.MaxInt64, grid{1, 64}},
		{"less than none", ir.Launch{Trip: n(-5)}, h200(), math.MaxInt64, grid{1, 64}},
		{"bounds", ir.Launch{Trip: n(1 << 20), MaxThreads: n(96), MaxTeams: n(7)}, h200(), math.MaxInt64, grid{7, 96}},
		{"sequential", ir.Launch{MaxThreads: n(1), MaxTeams: n(1)}, h200(), math.MaxInt64, grid{1, 1}},
		{"one team", ir.Launch{MaxTeams: n(1)}, h200(), math.MaxInt64, grid{1, 1024}},
		{"one team of few", ir.Launch{MaxTeams: n(1), Trip: n(70)}, h200(), math.MaxInt64, grid{1, 96}},
		{"warps", ir.Launch{MaxTeams: n(1), MaxThreads: n(50), Warps: true}, h200(), math.MaxInt64, grid{1, 32}},
		{"teams", ir.Launch{TeamTrip: n(5000), Trip: n(40)}, h200(), math.MaxInt64, grid{5000, 64}},
		{"teams of many", ir.Launch{TeamTrip: n(300), Trip: n(4000)}, h200(), math.MaxInt64, grid{300, 128}},
		{"not known", ir.Launch{}, h200(), math.MaxInt64, grid{132 * 16, 128}},
		{"grid of 32-bit indices", ir.Launch{Trip: n(1 << 29)}, h200(), 1 << 20, grid{1 << 13, 128}},
		{"two iterations a thread", ir.Launch{Trip: n(1<<20 + 1), Width: 2}, h200(), math.MaxInt64, grid{1<<12 + 1, 128}},
		{"two iterations a thread, 32-bit indices", ir.Launch{Trip: n(1 << 29), Width: 2}, h200(), 1 << 20, grid{1 << 12, 128}},
		{"resident", ir.Launch{Trip: n(1 << 27), Resident: true}, h200(), math.MaxInt64, grid{132 * 16, 128}},
		{"fewer than resident", ir.Launch{Trip: n(1 << 15), Resident: true}, h200(), math.MaxInt64, grid{256, 128}},
		{"a warp that leads", ir.Launch{TeamTrip: n(300), Trip: n(4000), Warps: true, ExtraWarps: 1}, h200(), math.MaxInt64, grid{300, 160}},
		{"a warp that leads a full team", ir.Launch{MaxTeams: n(1), Warps: true, ExtraWarps: 1}, h200(), math.MaxInt64, grid{1, 1024}},
		{"many registers", ir.Launch{Trip: n(1 << 20)}, half, math.MaxInt64, grid{1 << 13, 128}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, err := shapeOf(&c.launch, ir.Values{}, c.fit, c.limit)
			require.NoError(t, err)
			require.Equal(t, c.want, g)
		})
	}
	_, err := shapeOf(&ir.Launch{Trip: &ir.Ref{Var: &ir.Var{Name: "n", Type: ir.IntType}}}, ir.Values{}, h200(), 1)
	require.ErrorIs(t, err, ir.ErrUnknown)
}

// TestPacking prints a kernel with all sorts of parameters and reads its arguments back from the block.
func TestPacking(t *testing.T) {
	prog, vars := packed()
	pair := []byte{1, 0, 0, 0, 2, 0, 0, 0}
	args := []devices.Arg{
		{Type: ir.SliceOf(ir.Float32Type), Buffer: 3, Offset: 40, Len: 100, Cap: 120},
		{Type: ir.SliceOf(ir.Float32Type), Nil: true},
		{Type: ir.IntType, Bits: uint64(math.MaxUint64 - 4)}, // -5
		{Type: ir.Uint8Type, Bits: 200},
		{Type: vars[4].Type, Blob: pair},
		{Type: ir.Float64Type, Bits: math.Float64bits(2.5)},
	}
	at := func(b deps.BufferID) (uint64, error) { return uint64(b) << 32, nil }
	for _, index32 := range []bool{false, true} {
		src, err := cuda.Print(prog, cuda.Options{Index32: index32})
		require.NoError(t, err)
		b := &binding{params: prog.Params, args: args}
		require.True(t, fits32(src, b))
		size, err := b.sizeScratch(prog, []grid{{7, 128}})
		require.NoError(t, err)
		require.EqualValues(t, 256, size)
		b.place(1 << 40)
		e := &src.Entries[0]
		out := make([]byte, e.ArgsSize)
		require.NoError(t, b.pack(e, out, at, 77))
		seen := 0
		for _, a := range e.Args {
			raw := make([]byte, 8)
			copy(raw, out[a.Offset:a.Offset+a.Size])
			v := binary.LittleEndian.Uint64(raw)
			signed := int64(v)
			if a.Size == 4 {
				signed = int64(int32(v))
			}
			switch {
			case a.Kind == cuda.Fault:
				require.EqualValues(t, 77, v)
			case a.Var == vars[0] && a.Kind == cuda.Data:
				require.EqualValues(t, 3<<32+40, v)
			case a.Var == vars[0] && a.Kind == cuda.Length:
				require.EqualValues(t, 100, signed)
			case a.Var == vars[1] && a.Kind == cuda.Data:
				require.Zero(t, v, "nil")
			case a.Var == vars[1]:
				require.Zero(t, v)
			case a.Var == vars[2]:
				require.EqualValues(t, -5, signed)
			case a.Var == vars[3]:
				require.EqualValues(t, 200, v)
			case a.Var == vars[4]:
				require.Equal(t, pair, raw)
			case a.Var == vars[5]:
				require.Equal(t, 2.5, math.Float64frombits(v))
			case a.Var == vars[6] && a.Kind == cuda.Data:
				require.EqualValues(t, 1<<40, v)
			case a.Var == vars[6]:
				require.EqualValues(t, 7, signed)
			default:
				t.Fatalf("argument %+v", a)
			}
			seen++
		}
		require.GreaterOrEqual(t, seen, 8)
	}
}

// packed is a kernel that uses a slice, a nil slice, an int, a byte, a struct, a float and scratch memory.
func packed() (*ir.Program, []*ir.Var) {
	p := &ir.Program{Name: "packed", Kernel: &ir.Kernel{Name: "packed"}}
	variable := func(name string, t *ir.Type, s ir.Space) *ir.Var {
		p.NumVars++
		return &ir.Var{Name: name, Type: t, Space: s, ID: p.NumVars - 1}
	}
	pair := &ir.Type{Kind: ir.Struct, Name: "Pair", Size: 8, Align: 4, Fields: []ir.Field{
		{Name: "a", Type: ir.Int32Type}, {Name: "b", Type: ir.Int32Type, Offset: 4}}}
	f := ir.SliceOf(ir.Float32Type)
	vars := []*ir.Var{variable("x", f, ir.Param), variable("y", f, ir.Param), variable("n", ir.IntType, ir.Param),
		variable("k", ir.Uint8Type, ir.Param), variable("q", pair, ir.Param), variable("s", ir.Float64Type, ir.Param)}
	p.Params = vars
	pad := variable("pad", f, ir.Scratch)
	p.Scratch = []ir.Scratchpad{{Var: pad, Count: &ir.Query{What: ir.NumTeams}}}
	ref := func(v *ir.Var) ir.Expr { return &ir.Ref{Var: v} }
	to32 := func(x ir.Expr) ir.Expr { return &ir.Convert{T: ir.Float32Type, X: x} }
	sum := to32(ref(vars[5]))
	for _, x := range []ir.Expr{ref(vars[3]), ref(vars[2]), &ir.Member{X: ref(vars[4]), Field: 1}, &ir.Len{X: ref(vars[0])}, &ir.Len{X: ref(pad)}} {
		sum = &ir.Binary{Op: ir.Add, X: sum, Y: to32(x), T: ir.Float32Type}
	}
	zero := &ir.Const{T: ir.IntType}
	place := func(v *ir.Var) ir.Expr {
		return &ir.Index{X: ref(v), I: &ir.Binary{Op: ir.Add, X: ref(vars[2]), Y: zero, T: ir.IntType}, Checked: true}
	}
	var body []ir.Stmt
	for _, v := range []*ir.Var{vars[0], vars[1], pad} {
		body = append(body, &ir.Assign{Place: place(v), Value: sum})
	}
	p.Launches = []*ir.Launch{{Name: "packed", MaxTeams: &ir.Const{T: ir.IntType, Bits: 7}, Body: body}}
	return p, append(vars, pad)
}

func TestWhatDoesNotFit32BitsIsFound(t *testing.T) {
	prog, vars := packed()
	src, err := cuda.Print(prog, cuda.Options{Index32: true})
	require.NoError(t, err)
	env := func(n, length int64) ir.Values {
		e := ir.Values{}
		for _, v := range vars {
			e[v] = ir.Value{Len: length, Cap: length}
		}
		e[vars[2]] = ir.Value{Bits: ir.Bits(n)}
		return e
	}
	require.True(t, fits32(src, env(cuda.Limit, cuda.Limit)))
	require.True(t, fits32(src, env(-cuda.Limit, 0)))
	require.False(t, fits32(src, env(cuda.Limit+1, 0)))
	require.False(t, fits32(src, env(0, cuda.Limit+1)))
}

// TestLargeSlicesAreIndexedIn64Bits: what the host has proved of an index says that it lies in its slice, so that 32 bits of it do where that is no
// longer than Limit: n*m of 70000 each was an element in the front of a matrix.
func TestLargeSlicesAreIndexedIn64Bits(t *testing.T) {
	const text = `package k

//omp:target device(acc)
//omp:task inout(x)
func One(n, m int, x []int8) {
	x[n*m-1] = 1
}

//omp:target device(acc)
//omp:task inout(x)
func Rows(n, m int, x []int8) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		for j := 0; j < m; j++ {
			x[i*m+j] = 1
		}
	}
}

//omp:target device(acc)
//omp:task inout(x)
func Row(n, m int, x []int8) { // however long x is
	//omp:teams distribute parallel for
	for j := 0; j < n; j++ {
		x[j] = 1
	}
}
`
	pkg, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
	require.NoError(t, err)
	for _, kernel := range []string{"One", "Rows", "Row"} {
		k, err := pkg.Kernel(kernel)
		require.NoError(t, err)
		lowered, err := codegen.Lower(k, codegen.LowerOptions{})
		require.NoError(t, err)
		contract := codegen.NewContract(k)
		free, err := codegen.Lower(contract.Unchecked(k), codegen.LowerOptions{})
		require.NoError(t, err)
		g := guardOf(&devices.Kernel{Program: lowered.Program, Unchecked: free.Program, Proves: func(args []devices.Arg) bool {
			var proof codegen.Proof
			proof.Load(k, contract, &binding{params: k.Params, args: args})
			return proof.Proves()
		}})
		src, err := cuda.Print(g.program, cuda.Options{Index32: true})
		require.NoError(t, err)
		for _, n := range []int64{100, 70000} {
			p := free.Program.Params
			env := ir.Values{p[0]: {Bits: ir.Bits(n)}, p[1]: {Bits: ir.Bits(n)}, p[2]: {Len: n * n, Cap: n * n}}
			args := []devices.Arg{{Bits: uint64(n)}, {Bits: uint64(n)}, {Len: n * n, Cap: n * n}}
			require.True(t, g.holds(&binding{args: args}))
			args[2].Len = n - 1
			require.False(t, g.holds(&binding{args: args}))
			require.Equal(t, n == 100 || kernel == "Row", fits32(src, env), "%s: %s", kernel, src.Text)
		}
	}
}

func TestFaultsHaveTheirSentinels(t *testing.T) {
	sites := []cuda.Site{{Pos: ir.Pos{File: "k.go", Line: 7, Col: 3}, Kind: cuda.IndexSite, What: "x"}, {Kind: cuda.DivisorSite, What: "n"},
		{Kind: cuda.CountSite}, {Kind: cuda.PointerSite}, {Kind: cuda.StepSite}, {Kind: cuda.SliceSite}}
	for i, want := range []error{ir.ErrBounds, ir.ErrDivide, ir.ErrShift, ErrNil, ErrStep, ir.ErrBounds} {
		r := &record{site: uint32(i + 1), index: 12, length: 10}
		require.ErrorIs(t, r.fault("k", sites), want)
	}
	require.EqualError(t, (&record{site: 1, index: 12, length: 10}).fault("k", sites), "k.go:7: k: x: index 12 out of range: length 10")
	require.NoError(t, (&record{}).fault("k", sites))
	require.ErrorContains(t, (&record{site: 99}).fault("k", sites), "99")
}

func TestCompileErrorsNameTheGoLine(t *testing.T) {
	e := newCompileError("k", "sm_90", "nbody.go(14): warning #177-D: unused\nnbody.go(15): error: identifier \"q\" is undefined\n\n1 error")
	require.Equal(t, ir.Pos{File: "nbody.go", Line: 15}, e.Pos)
	require.Contains(t, e.Error(), "identifier \"q\" is undefined")
	require.Contains(t, e.Error(), "nbody.go:15")
	require.Contains(t, newCompileError("k", "sm_90", "nvrtc: error: invalid value for --gpu-architecture").Error(), "invalid value")
}

func TestCache(t *testing.T) {
	c := &cache{dir: filepath.Join(t.TempDir(), "deep", "cache"), limit: 1 << 20}
	key := cubinKey{"hash", "sm_90"}
	require.NotEqual(t, key, cubinKey{"hash", "sm_80"})
	_, ok := c.load(key, "13.0")
	require.False(t, ok)
	require.NoError(t, c.store(key, "13.0", []byte("one")))
	code, ok := c.load(key, "13.0")
	require.True(t, ok)
	require.Equal(t, "one", string(code))
	_, ok = c.load(key, "12.4")
	require.False(t, ok, "another compiler makes its own")
	code, ok = c.load(key, "")
	require.True(t, ok, "without a compiler any will do")
	require.Equal(t, "one", string(code))
	require.NoError(t, os.WriteFile(c.file(key, "13.0"), []byte("damaged beyond any recognition, and long enough"), 0o600))
	_, ok = c.load(key, "13.0")
	require.False(t, ok, "a damaged entry counts as absent")
	require.NoError(t, c.store(key, "13.0", []byte("two")))
	code, ok = c.load(key, "13.0")
	require.True(t, ok)
	require.Equal(t, "two", string(code))
}

// An entry that another user could have written, and an entry of another program, count as absent (issue 16, point h).
func TestCache_EntriesAreOneUsersAndOneSources(t *testing.T) {
	c := &cache{dir: filepath.Join(t.TempDir(), "cache"), limit: 1 << 20}
	key, other := cubinKey{"hash", "sm_90"}, cubinKey{"other", "sm_90"}
	name := c.file(key, "13.0")
	fresh := func() {
		require.NoError(t, c.store(key, "13.0", []byte("code")))
		_, ok := c.load(key, "13.0")
		require.True(t, ok)
	}
	absent := func(why string) {
		for _, compiler := range []string{"13.0", ""} {
			_, ok := c.load(key, compiler)
			require.False(t, ok, why)
		}
		require.NoError(t, os.RemoveAll(name))
	}
	fresh()
	i, err := os.Stat(name)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), i.Mode().Perm())
	i, err = os.Stat(c.dir)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o700), i.Mode().Perm())

	for _, mode := range []fs.FileMode{0o620, 0o602, 0o666} {
		fresh()
		require.NoError(t, os.Chmod(name, mode))
		absent("others may write it")
	}
	require.NoError(t, c.store(other, "13.0", []byte("code")))
	require.NoError(t, os.Rename(c.file(other, "13.0"), name))
	absent("it is of another source")
	require.NoError(t, c.store(key, "12.4", []byte("code")))
	require.NoError(t, os.Rename(c.file(key, "12.4"), name))
	absent("it is of another compiler")
	require.NoError(t, c.store(other, "13.0", []byte("code")))
	require.NoError(t, os.Symlink(c.file(other, "13.0"), name))
	absent("it is a link")
	require.NoError(t, syscall.Mkfifo(name, 0o600))
	absent("it is no file, and reading it does not wait")
	if os.Geteuid() == 0 {
		fresh()
		require.NoError(t, os.Chown(name, 12345, -1))
		absent("it is another user's")
	}
}

func TestCacheStaysWithinItsLimit(t *testing.T) {
	c := &cache{dir: t.TempDir(), limit: 10_000}
	old := time.Now().Add(-time.Hour)
	for i := range 30 {
		key := cubinKey{fmt.Sprint(i), "sm_90"}
		require.NoError(t, c.store(key, "13.0", make([]byte, 1000)))
		if err := os.Chtimes(c.file(key, "13.0"), old, old.Add(time.Duration(i)*time.Second)); i != 0 {
			require.NoError(t, err)
		} else if err != nil {
			require.ErrorIs(t, err, os.ErrNotExist)
		}
		list, err := os.ReadDir(c.dir)
		require.NoError(t, err)
		require.LessOrEqual(t, len(list), 10)
	}
	_, ok := c.load(cubinKey{"29", "sm_90"}, "13.0")
	require.True(t, ok, "the newest stays")
	_, ok = c.load(cubinKey{"0", "sm_90"}, "13.0")
	require.False(t, ok)
}

func TestCacheOfManyWriters(t *testing.T) {
	c := &cache{dir: t.TempDir(), limit: 1 << 20}
	key := cubinKey{"hash", "sm_90"}
	content := make([]byte, 100_000)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 20 {
				if err := c.store(key, "13.0", content); err != nil {
					t.Error(err)
				}
				if code, ok := c.load(key, "13.0"); !ok || len(code) != len(content) {
					t.Errorf("an entry of %d bytes", len(code))
				}
			}
		})
	}
	all.Wait()
}

func TestLibrariesAreLookedFor(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "lib", "python3.12", "site-packages", "nvidia", "cu13", "lib", "libnvrtc.so.13")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte("no library"), 0o600))
	t.Setenv("VIRTUAL_ENV", dir)
	s := search{env: "GOMPSS_TEST_LIB", names: []string{"libnosuch.so.1"}, globs: pythonGlobs()}
	list := s.candidates()
	require.Equal(t, "libnosuch.so.1", list[0])
	require.Contains(t, list, file)
	_, err := openLibrary(search{env: s.env, names: s.names}, nil)
	var missing *LibraryError
	require.ErrorAs(t, err, &missing)
	require.Contains(t, err.Error(), "GOMPSS_TEST_LIB")
	require.NotContains(t, err.Error(), "\n", "one line")
	t.Setenv("GOMPSS_TEST_LIB", "libc.so.6")
	require.Equal(t, []string{"libc.so.6"}, s.candidates())
	_, err = openLibrary(s, []string{"malloc", "cuNothing"})
	require.ErrorContains(t, err, "cuNothing")
	_, err = openLibrary(s, []string{"malloc"})
	require.NoError(t, err)
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{{Granule: 3}, {Memory: 1}, {Streams: -1}, {TimeLimit: -1}} {
		require.Error(t, o.fill())
	}
	var o Options
	c := devices.Config{Kind: Kind, Params: []devices.Param{{Key: "memory", Value: "4GiB"}, {Key: "streams", Value: "2"},
		{Key: "timelimit", Value: "3s"}, {Key: "peer", Value: "off"}, {Key: "pin", Value: "on"},
		{Key: "early", Value: "off"}, {Key: "attend", Value: "never"}}}
	require.NoError(t, c.Scan(o.setters()))
	require.Equal(t, Options{Memory: 4 << 30, Streams: 2, TimeLimit: 3 * time.Second, NoPeer: true, NoEarly: true, Attend: AttendNever}, o)
	for _, bad := range []devices.Param{{Key: "early", Value: "yes"}, {Key: "attend", Value: "sometimes"}} {
		require.ErrorContains(t, devices.Config{Kind: Kind, Params: []devices.Param{bad}}.Scan(o.setters()), "want ")
	}
}

func TestGuardsAreTakenOut(t *testing.T) {
	for name, want := range map[string]bool{"Triad": true, "Forces": true, "Empty": false} {
		p := benchKernel(t, name).Program
		body := len(p.Launches[0].Body)
		g := guardOf(&devices.Kernel{Program: p})
		require.Equal(t, want, g != nil, name)
		require.Len(t, p.Launches[0].Body, body, "the program is as before")
		require.False(t, g.holds(&binding{}), "what the host does not know does not hold")
		if g != nil {
			require.NoError(t, ir.VerifyProgram(g.program))
			src, err := cuda.Print(g.program, cuda.Options{})
			require.NoError(t, err)
			require.False(t, src.Entries[0].Fault)
		}
	}
}

// TestNVRTC compiles what the measurements run, with the real compiler, for the chip that they are made for.
func TestNVRTC(t *testing.T) {
	if ground.nvrtc == nil {
		t.Skip("no NVRTC")
	}
	c := &nvrtc{library: ground.nvrtc}
	for _, name := range []string{"Triad", "Forces", "ForcesFast", "Empty"} {
		for _, index32 := range []bool{true, false} {
			program := benchKernel(t, name).Program
			if proved := guardOf(benchKernel(t, name)); proved != nil && index32 {
				program = proved.program
			}
			src, err := cuda.Print(program, cuda.Options{Index32: index32, Lines: true})
			require.NoError(t, err)
			code, log, err := c.compile(name+".cu", src.Text, "sm_90", src.Options)
			require.NoError(t, err, log)
			require.NotEmpty(t, code)
			require.Equal(t, "\x7fELF", string(code[:4]))
		}
	}
	src, err := cuda.Print(wild().Program, cuda.Options{Lines: true})
	require.NoError(t, err)
	require.False(t, src.Entries[0].Fault)
	_, log, err := c.compile("wild.cu", src.Text, "sm_90", src.Options)
	require.NoError(t, err, log)
	code, log, err := c.compile("reference.cu", referenceSource, "sm_90", []string{"--use_fast_math"})
	require.NoError(t, err, log)
	require.NotEmpty(t, code)
	_, log, err = c.compile("bad.cu", "#line 12 \"bad.go\"\nint f() { return q; }\n", "sm_90", nil)
	require.ErrorIs(t, err, errNotCompiled)
	require.Equal(t, ir.Pos{File: "bad.go", Line: 12}, newCompileError("bad", "sm_90", log).Pos)
}
