//go:build linux && (amd64 || arm64)

package opencl

import (
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/opencl"
	"github.com/gompss/gompss/codegen/target"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// featureKernels use what devices have by extensions.
const featureKernels = `package k

//omp:target device(acc)
//omp:task in(x) out(out)
func Norm(x []float64, out []float64) {
	s := 0.0
	//omp:teams distribute parallel for reduction(+: s)
	for i := range x {
		s += x[i] * x[i]
	}
	out[0] = s
}

//omp:target device(acc)
//omp:task in(x) inout(out)
func Bins(x []float64, out []float64) {
	//omp:teams distribute parallel for
	for i := range x {
		//omp:atomic
		out[i%3] += x[i]
	}
}
`

// portableKernel is a kernel of a text as package task makes it.
func portableKernel(t *testing.T, text, name string) *devices.Kernel {
	t.Helper()
	pkg, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
	require.NoError(t, err)
	loop, err := pkg.Kernel(name)
	require.NoError(t, err)
	forms := func(k *ir.Kernel) func(devices.TeamForm, *target.Target) (*ir.Program, error) {
		return func(form devices.TeamForm, on *target.Target) (*ir.Program, error) {
			opt := map[devices.TeamForm]codegen.LowerOptions{devices.AnyTeams: {NoShuffles: true}, devices.WholeTeams: {NoShuffles: true, TeamUnit: 32},
				devices.SubgroupTeams: {TeamUnit: 32}}[form]
			opt.Device = on
			lowered, err := codegen.Lower(k, opt)
			if err != nil {
				return nil, err
			}
			return lowered.Program, nil
		}
	}
	k := &devices.Kernel{Name: name, Portable: forms(loop)}
	if free := codegen.NewContract(loop).Unchecked(loop); free != nil {
		k.PortableUnchecked = forms(free)
	}
	return k
}

// openAny opens a device of the platform of the tests, PoCL where no other is named.
func openAny(t testing.TB, o Options) *Device {
	t.Helper()
	if o.Platform = os.Getenv("GOMPSS_OPENCL_PLATFORM"); o.Platform == "" {
		o.Platform = "Portable Computing Language"
	}
	o.CacheDir = "off"
	list, err := Open(1, devices.SpaceID{Device: 1}, o)
	if err != nil {
		t.Skipf("no OpenCL: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, list[0].Close()) })
	return list[0]
}

// apply runs k on slices, which go to the device and back.
func apply(t *testing.T, d *Device, k *devices.Kernel, slices ...[]float64) error {
	t.Helper()
	args := &devices.Args{}
	var held []devices.Buffer
	for i, s := range slices {
		b := hold(t, d, deps.BufferID(i), unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), 8*len(s)))
		held = append(held, b)
		move(t, d, b, true)
		args.List = append(args.List, devices.Arg{Type: ir.SliceOf(ir.Float64Type), Buffer: b.ID, Len: int64(len(s)), Cap: int64(len(s))})
	}
	err := await(d.Launch(&devices.Launch{Kernel: k, Args: args}, nil))
	for _, b := range held {
		move(t, d, b, false)
		require.NoError(t, d.Release(b.ID))
	}
	return err
}

// textOf is the text of the form of k that most launches take.
func textOf(t *testing.T, d *Device, k *devices.Kernel) string {
	t.Helper()
	require.NoError(t, d.Prepare(k))
	p, err := d.program(k)
	require.NoError(t, err)
	return p.first().source.Text
}

// Where a device has subgroups, sums go through them, and nowhere else.
func TestFeatures_Subgroups(t *testing.T) {
	d := openAny(t, Options{Teams: "subgroups"})
	k := portableKernel(t, featureKernels, "Norm")
	text := textOf(t, d, k)
	shuffles := strings.Contains(text, "sub_group_shuffle(") || strings.Contains(text, "shfl.sync")
	require.Equal(t, d.info.Subgroups != opencl.NoSubgroups, shuffles, text)
	x, out := make([]float64, 12345), []float64{0}
	want := 0.0
	for i := range x {
		x[i] = float64(i % 7)
		want += x[i] * x[i]
	}
	require.NoError(t, apply(t, d, k, x, out))
	require.Equal(t, want, out[0])
	if d.info.Subgroups == opencl.NoSubgroups {
		t.Skipf("%s has no subgroups of 32 threads: the sum went through team memory", d.info.Name)
	}
}

// A device of OpenCL C 3.0 that says so has the fence of 2.0 for sums over teams.
func TestFeatures_Fence(t *testing.T) {
	d := openAny(t, Options{})
	if !d.info.fences(func(what uintptr) uint64 {
		n, err := d.driver.number(clGetDeviceInfo, d.info.id, what)
		require.NoError(t, err)
		return n
	}) {
		t.Skipf("%s, %s, does not say that it orders memory for all teams", d.info.Name, d.info.Language)
	}
	d.info.Fence = opencl.C11Fence
	k := portableKernel(t, featureKernels, "Norm")
	require.Contains(t, textOf(t, d, k), "atomic_work_item_fence(")
	x, out := make([]float64, 54321), []float64{0}
	for i := range x {
		x[i] = 2
	}
	require.NoError(t, apply(t, d, k, x, out))
	require.Equal(t, 4*54321.0, out[0])
}

// Where a device adds to floats atomically, the text has that in place of a loop of
// compare-and-swap.
func TestFeatures_FloatAtomics(t *testing.T) {
	d := openAny(t, Options{})
	k := portableKernel(t, featureKernels, "Bins")
	text := textOf(t, d, k)
	has := d.info.Atomics&opencl.GlobalFloat64 != 0
	atomic := strings.Contains(text, "atomic_fetch_add_explicit((volatile global atomic_double *)") || strings.Contains(text, "atom.global.add.f64")
	require.Equal(t, has, atomic, text)
	require.Equal(t, !has, strings.Contains(text, "atom_cmpxchg"), text)
	x, out := make([]float64, 3000), make([]float64, 3)
	for i := range x {
		x[i] = float64(i)
	}
	require.NoError(t, apply(t, d, k, x, out))
	require.Equal(t, []float64{1498500, 1499500, 1500500}, out)
	if !has {
		t.Skipf("%s has no atomic sum of float64: it was made by compare-and-swap", d.info.Name)
	}
}

// A kernel with 64-bit floats or atomics is refused with the extension's name where the device
// lacks it.
func TestFeatures_NoWideTypes(t *testing.T) {
	d := openAny(t, Options{})
	all := d.info.Extensions
	for _, c := range []struct{ extension, kernel, text string }{
		{"cl_khr_fp64", "Norm", featureKernels},
		{"cl_khr_int64_base_atomics", "K", `package k

//omp:target device(acc)
//omp:task in(x) inout(out)
func K(x []int64, out []int64) {
	//omp:teams distribute parallel for
	for i := range x {
		//omp:atomic
		out[0] += x[i]
	}
}
`},
	} {
		d.info.Extensions = nil
		for _, e := range all {
			if e != c.extension {
				d.info.Extensions = append(d.info.Extensions, e)
			}
		}
		err := d.Prepare(portableKernel(t, c.text, c.kernel))
		require.ErrorContains(t, err, "kernel "+c.kernel+": it needs "+c.extension+", which "+d.info.Name+" does not have")
	}
	d.info.Extensions = all
	require.NoError(t, d.Prepare(portableKernel(t, featureKernels, "Norm")))
}
