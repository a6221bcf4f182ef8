//go:build linux && (amd64 || arm64)

package cuda

import (
	"os"
	"os/exec"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// wild is a kernel that writes far outside of its slice, unchecked.
func wild() *devices.Kernel {
	at := ir.Pos{File: "wild.go", Line: 5, Col: 1}
	x := &ir.Var{Name: "x", Type: ir.SliceOf(ir.Int64Type), Space: ir.Param}
	one := &ir.Const{T: ir.IntType, Bits: 1}
	store := &ir.Assign{Place: &ir.Index{X: &ir.Ref{Var: x}, I: &ir.Const{T: ir.IntType, Bits: 1 << 36}},
		Value: &ir.Const{T: ir.Int64Type, Bits: 1}, At: at}
	return &devices.Kernel{Name: "wild", Pos: at, Program: &ir.Program{
		Name:    "wild",
		Kernel:  &ir.Kernel{Name: "wild", At: at},
		Params:  []*ir.Var{x},
		NumVars: 1,
		Launches: []*ir.Launch{{Name: "wild", MaxTeams: one, MaxThreads: one, At: at,
			Body: []ir.Stmt{store}}},
	}}
}

// TestAWildKernelOnAGPU makes a GPU report an illegal address: the launch and what is behind it
// fail and name the kernel, and Close returns. CUDA gives a process no way back to that GPU
// afterwards, so the test runs in a process of its own.
func TestAWildKernelOnAGPU(t *testing.T) {
	needGround(t)
	if !ground.real {
		t.Skip("no GPU that finds an illegal address")
	}
	const variable = "GOMPSS_TEST_WILD"
	if os.Getenv(variable) == "" {
		cmd := exec.Command(os.Args[0], "-test.run", "TestAWildKernelOnAGPU$", "-test.v")
		cmd.Env = append(os.Environ(), variable+"=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		return
	}
	host := make([]int64, 1000)
	open := func() *Device {
		list, err := Open(1, devices.SpaceID{Device: 1}, Options{Memory: 64 << 20})
		require.NoError(t, err)
		require.NoError(t, list[0].Reserve(devices.Buffer{Host: devices.NewHostMemory(unsafe.Pointer(&host[0])), Size: 8000, Elem: 8}))
		require.NoError(t, list[0].Map(0, 0, 8000))
		return list[0]
	}
	transfer := func(d *Device, from, to devices.SpaceID, after ...devices.Event) devices.Event {
		return d.Copy(devices.Transfer{Region: deps.Interval(0, 0, 1000), Elem: 8, From: from, To: to}, after)
	}
	d := open()
	up := transfer(d, devices.Host, d.gpu.space)
	args := &devices.Args{List: []devices.Arg{{Type: ir.SliceOf(ir.Int64Type), Len: 1000, Cap: 1000}}}
	run := d.Launch(&devices.Launch{Kernel: wild(), Args: args}, []devices.Event{up})
	down := transfer(d, d.gpu.space, devices.Host, run)
	for _, e := range []devices.Event{run, down} {
		var fatal *devices.DeviceError
		require.ErrorAs(t, waitFor(e), &fatal)
		require.True(t, fatal.Fatal)
		require.Contains(t, fatal.Error(), "launch wild (wild.go:5)")
		t.Log(fatal)
	}
	require.NoError(t, d.Close())
}
