//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gompss/gompss/codegen/cuda"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/verify"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
	"github.com/gompss/gompss/devices/cuda/internal/launch"
	"github.com/gompss/gompss/devices/internal/sizing"
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

func TestOptions(t *testing.T) {
	for _, o := range []Options{{Granule: 3}, {Memory: 1}, {Streams: -1}, {TimeLimit: -1}} {
		require.Error(t, o.fill())
	}
	var o Options
	c := devices.Config{Kind: Kind, Params: []devices.Param{{Key: "memory", Value: "4GiB"}, {Key: "streams", Value: "2"},
		{Key: "timelimit", Value: "3s"}, {Key: "peer", Value: "off"}, {Key: "pin", Value: "on"},
		{Key: "early", Value: "off"}, {Key: "helper", Value: "never"}}}
	require.NoError(t, c.Scan(o.setters()))
	require.Equal(t, Options{Memory: 4 << 30, Streams: 2, TimeLimit: 3 * time.Second, NoPeer: true, NoEarly: true, LaunchThread: LaunchThreadNever}, o)
	for _, bad := range []devices.Param{{Key: "early", Value: "yes"}, {Key: "helper", Value: "sometimes"}} {
		require.ErrorContains(t, devices.Config{Kind: Kind, Params: []devices.Param{bad}}.Scan(o.setters()), "want ")
	}
}

func TestGuardsAreTakenOut(t *testing.T) {
	for name, want := range map[string]bool{"Triad": true, "Forces": true, "Empty": false} {
		p := benchKernel(t, name).Program
		body := len(p.Launches[0].Body)
		g := launch.GuardOf(&devices.Kernel{Program: p})
		require.Equal(t, want, g != nil, name)
		require.Len(t, p.Launches[0].Body, body, "the program is as before")
		require.False(t, g.Holds(&launch.Binding{}), "what the host does not know does not hold")
		if g != nil {
			require.NoError(t, verify.Program(g.Program))
			src, err := cuda.Print(g.Program, cuda.Options{})
			require.NoError(t, err)
			require.False(t, src.Entries[0].Fault)
		}
	}
}

// TestNVRTC compiles what the measurements run, with the real compiler, for the chip that they are
// made for.
func TestNVRTC(t *testing.T) {
	if ground.nvrtc == nil {
		t.Skip("no NVRTC")
	}
	c := &driver.NVRTC{Library: ground.nvrtc}
	for _, name := range []string{"Triad", "Forces", "ForcesFast", "Empty"} {
		for _, index32 := range []bool{true, false} {
			program := benchKernel(t, name).Program
			if proved := launch.GuardOf(benchKernel(t, name)); proved != nil && index32 {
				program = proved.Program
			}
			src, err := cuda.Print(program, cuda.Options{Index32: index32, Lines: true})
			require.NoError(t, err)
			code, log, err := c.Compile(name+".cu", src.Text, "sm_90", src.Options)
			require.NoError(t, err, log)
			require.NotEmpty(t, code)
			require.Equal(t, "\x7fELF", string(code[:4]))
		}
	}
	src, err := cuda.Print(wild().Program, cuda.Options{Lines: true})
	require.NoError(t, err)
	require.False(t, src.Entries[0].Fault)
	_, log, err := c.Compile("wild.cu", src.Text, "sm_90", src.Options)
	require.NoError(t, err, log)
	code, log, err := c.Compile("reference.cu", referenceSource, "sm_90", []string{"--use_fast_math"})
	require.NoError(t, err, log)
	require.NotEmpty(t, code)
	_, log, err = c.Compile("bad.cu", "#line 12 \"bad.go\"\nint f() { return q; }\n", "sm_90", nil)
	require.ErrorIs(t, err, driver.ErrNotCompiled)
	require.Equal(t, ir.Pos{File: "bad.go", Line: 12}, newCompileError("bad", "sm_90", log).Pos)
}

// The code for all sizes, a candidate of its form for some sizes, is unloaded once.
func TestUnload_FormsWithTheCodeForAllSizes(t *testing.T) {
	all := &program{forms: sizing.New[*program]([]int{0})}
	form := &program{ofAllSizes: all}
	form.others.Store(&[]candidate{{"teams of twice the size", form, 1}, {"code for all sizes", all, 0}})
	all.forms.Add([]sizing.Value{{Arg: 0, Bits: 64}}, form)
	require.NoError(t, all.unload(nil))
}
