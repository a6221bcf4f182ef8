//go:build linux && (amd64 || arm64)

package opencl

import (
	"os"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// TestProvedArgumentsNeedNoChecks runs a kernel whose lengths prove its accesses, and then one
// whose lengths do not.
func TestProvedArgumentsNeedNoChecks(t *testing.T) {
	o := Options{Platform: "Portable Computing Language", CacheDir: "off"}
	if platform := os.Getenv("GOMPSS_OPENCL_PLATFORM"); platform != "" {
		o.Platform = platform
	}
	list, err := Open(1, devices.SpaceID{Device: 1}, o)
	if err != nil {
		t.Skipf("no OpenCL: %v", err)
	}
	d := list[0]
	defer func() { require.NoError(t, d.Close()) }()
	pkg, err := codegen.Load(codegen.File{Name: "k.go", Text: `package k

//omp:target device(acc)
//omp:task in(x) inout(y)
func Add(x, y []float32) {
	//omp:teams distribute parallel for
	for i := range y {
		y[i] += x[i]
	}
}
`})
	require.NoError(t, err)
	loop, err := pkg.Kernel("Add")
	require.NoError(t, err)
	lowered, err := codegen.Lower(loop, codegen.LowerOptions{Target: "opencl", NoShuffles: true})
	require.NoError(t, err)
	k := &devices.Kernel{Name: "Add", Program: lowered.Program}
	require.NoError(t, d.Prepare(k))
	p, err := d.program(k)
	require.NoError(t, err)

	x, y := make([]float32, 100), make([]float32, 100)
	for i := range x {
		x[i], y[i] = float32(i), 1000
	}
	for i, s := range [][]float32{x, y} {
		size := 4 * deps.Bytes(len(s))
		require.NoError(t, d.Reserve(devices.Buffer{ID: deps.BufferID(i), Host: devices.NewHostMemory(unsafe.Pointer(&s[0])), Size: size, Elem: 4}))
		require.NoError(t, d.Map(deps.BufferID(i), 0, size))
		require.NoError(t, await(d.Copy(devices.Transfer{Region: deps.Interval(deps.BufferID(i), 0, 100), Elem: 4, From: devices.Host, To: d.space}, nil)))
	}
	arg := func(b deps.BufferID, n int64) devices.Arg {
		return devices.Arg{Type: ir.SliceOf(ir.Float32Type), Buffer: b, Len: n, Cap: n}
	}
	run := func(args ...devices.Arg) (*version, devices.Event) {
		return p.versionFor(args), d.Launch(&devices.Launch{Kernel: k, Args: &devices.Args{List: args}}, nil)
	}
	v, e := run(arg(0, 100), arg(1, 90))
	require.False(t, v.mayFail())
	require.False(t, e.(*event).alone, "what comes behind can wait on the device")
	require.NoError(t, await(e))
	v, e = run(arg(0, 89), arg(1, 90))
	require.True(t, v.mayFail())
	require.True(t, e.(*event).alone)
	err = await(e)
	require.ErrorIs(t, err, ir.ErrBounds)
	require.ErrorContains(t, err, "x: index 89 out of range: length 89")
	require.NoError(t, await(d.Copy(devices.Transfer{Region: deps.Interval(1, 0, 100), Elem: 4, From: d.space, To: devices.Host}, nil)))
	require.Equal(t, []float32{1000, 1002, 1000 + 89, 1000}, []float32{y[0], y[1], y[89], y[90]}, "the first run has added all, the second at most the others")
}
