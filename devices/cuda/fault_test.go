//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
	"github.com/gompss/gompss/devices/devicetest"
)

// A subject is two devices on the fake driver with a buffer of 1000 int64 on each.
type subject struct {
	t    *testing.T
	list []*Device
	d    *Device
	host []int64
	args *devices.Args
}

func newSubject(t *testing.T, o Options) *subject {
	t.Helper()
	needFake(t)
	o.Memory = 32 << 20
	list, err := Open(2, devices.SpaceID{Device: 1}, o)
	require.NoError(t, err)
	s := &subject{t: t, list: list, d: list[0], host: make([]int64, 20000)}
	for i := range s.host {
		s.host[i] = int64(i)
	}
	for _, d := range list {
		require.NoError(t, d.Reserve(s.buffer()))
		require.NoError(t, d.Map(0, 0, s.buffer().Size))
	}
	slice := devices.Arg{Type: ir.SliceOf(ir.Int64Type), Len: 20000, Cap: 20000}
	s.args = &devices.Args{List: []devices.Arg{slice, slice}}
	return s
}

func (s *subject) buffer() devices.Buffer {
	return devices.Buffer{Host: devices.NewHostMemory(unsafe.Pointer(&s.host[0])), Size: deps.Bytes(len(s.host)) * 8, Elem: 8}
}

// close closes the devices and checks that the driver has everything back.
func (s *subject) close() {
	s.t.Helper()
	for _, d := range s.list {
		require.NoError(s.t, d.Close())
	}
	noneLive(s.t)
}

func (s *subject) copy(d *Device, from, to devices.SpaceID, after ...devices.Event) devices.Event {
	return d.Copy(devices.Transfer{Region: deps.Interval(0, 0, 20000), Elem: 8, From: from, To: to}, after)
}

func (s *subject) launch(after ...devices.Event) devices.Event {
	return s.d.Launch(&devices.Launch{Kernel: devicetest.Twice(), Args: s.args, Label: "job 1"}, after)
}

func TestNothingIsLeft(t *testing.T) {
	s := newSubject(t, Options{})
	up := s.copy(s.d, devices.Host, s.d.gpu.space)
	run := s.launch(up)
	across := s.copy(s.list[1], s.d.gpu.space, s.list[1].gpu.space, run)
	require.NoError(t, waitFor(s.copy(s.list[1], s.list[1].gpu.space, devices.Host, across)))
	require.EqualValues(t, 3*19999, s.host[19999])
	require.Equal(t, 1, live(t, "pin"), "the buffer is pinned once for both")
	s.close()
}

// TestEveryCallMayFail makes each call of the driver fail, the first and the second time: the
// operation fails with the call's name, nothing hangs, and everything else continues.
func TestEveryCallMayFail(t *testing.T) {
	needFake(t)
	for _, function := range []string{"cuMemAddressReserve", "cuMemCreate", "cuMemMap", "cuMemSetAccess", "cuMemHostRegister_v2",
		"cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2", "cuLaunchKernel", "cuEventRecord", "cuEventCreate",
		"cuStreamWaitEvent", "cuModuleLoadData", "cuModuleGetFunction", "cuFuncGetAttribute", "cuMemHostAlloc"} {
		for n := 1; n <= 2; n++ {
			t.Run(function, func(t *testing.T) {
				s := newSubject(t, Options{})
				fakeCall(t, "fakeSlow", 5000) // so that what comes behind finds its events in flight
				failNext(t, function, n, 304) // an operating system error, which ends nothing
				var errs []error
				second := devices.Buffer{ID: 1, Host: devices.NewHostMemory(unsafe.Pointer(&s.host[0])), Size: 160000, Elem: 8}
				if err := s.d.Reserve(second); err != nil {
					errs = append(errs, err)
				} else {
					errs = append(errs, s.d.Map(1, 0, second.Size))
				}
				up := s.copy(s.d, devices.Host, s.d.gpu.space)
				run := s.launch(up)
				across := s.copy(s.list[1], s.d.gpu.space, s.list[1].gpu.space, up)
				down := s.copy(s.d, s.d.gpu.space, devices.Host, run)
				events := []devices.Event{up, run, across, down}
				if errors.Join(errs...) == nil { // the copy waits until its memory is registered, and fails with that
					events = append(events, s.d.Copy(devices.Transfer{Region: deps.Interval(1, 0, 20000), Elem: 8, To: s.d.gpu.space}, nil))
				}
				for _, e := range events {
					errs = append(errs, waitFor(e))
				}
				failed := 0
				for _, err := range errs {
					if err != nil {
						failed++
						require.ErrorContains(t, err, function)
						require.ErrorContains(t, err, "cuda:")
					}
				}
				if n == 1 {
					require.NotZero(t, failed, "the call was not made")
				}
				for _, d := range s.list {
					require.NoError(t, d.gpu.alive())
				}
				fakeCall(t, "fakeRepair")
				fakeCall(t, "fakeSlow", 0)
				require.NoError(t, waitFor(s.copy(s.d, devices.Host, s.d.gpu.space)), "the device is as before")
				s.close()
			})
		}
	}
}

// TestOpenMayFail makes each call of opening fail: what was made before is given back.
func TestOpenMayFail(t *testing.T) {
	needFake(t)
	for _, function := range []string{"cuDeviceGet", "cuDeviceGetName", "cuDeviceGetAttribute", "cuDevicePrimaryCtxRetain", "cuMemGetInfo_v2",
		"cuMemGetAllocationGranularity", "cuDeviceGetDefaultMemPool", "cuMemPoolSetAttribute", "cuStreamCreate"} {
		for n := 1; n <= 2; n++ {
			failNext(t, function, n, 304)
			_, err := Open(2, devices.SpaceID{Device: 1}, Options{})
			require.ErrorContains(t, err, function)
			fakeCall(t, "fakeRepair")
			noneLive(t)
		}
	}
	_, err := Open(99, devices.SpaceID{Device: 1}, Options{})
	require.ErrorContains(t, err, "99 GPUs wanted")
}

func TestMemoryThatIsGoneIsNoMemory(t *testing.T) {
	s := newSubject(t, Options{})
	require.NoError(t, s.d.Unmap(0, 0, s.buffer().Size))
	failNext(t, "cuMemCreate", 1, driver.CodeNoMemory)
	require.ErrorIs(t, s.d.Map(0, 0, s.buffer().Size), devices.ErrNoMemory)
	require.NoError(t, s.d.Map(0, 0, s.buffer().Size))
	s.close()
}

// TestAnIllegalAddressEndsTheDevice lets a kernel fail while it runs: all that is in flight fails
// and names the kernel, nothing hangs, and the other device continues.
func TestAnIllegalAddressEndsTheDevice(t *testing.T) {
	s := newSubject(t, Options{})
	require.NoError(t, s.d.Prepare(devicetest.Twice()))
	fakeCall(t, "fakeSlow", 20000)
	up := s.copy(s.d, devices.Host, s.d.gpu.space)
	failNext(t, "kernel", 1, 700)
	run := s.launch(up)
	down := s.copy(s.d, s.d.gpu.space, devices.Host, run)
	for _, e := range []devices.Event{run, down} {
		err := waitFor(e)
		var fatal *devices.DeviceError
		require.ErrorAs(t, err, &fatal)
		require.True(t, fatal.Fatal)
		require.Contains(t, err.Error(), "launch Twice as job 1")
		require.Contains(t, err.Error(), "illegal")
		require.Equal(t, "twice.go", fatal.Pos.File)
	}
	fakeCall(t, "fakeSlow", 0)
	fakeCall(t, "fakeRepair") // the fake has one context for all devices
	require.Error(t, s.d.gpu.alive())
	require.Error(t, s.d.Map(0, 0, 8))
	require.Error(t, waitFor(s.copy(s.d, devices.Host, s.d.gpu.space)))
	require.NoError(t, s.list[1].gpu.alive())
	require.NoError(t, waitFor(s.copy(s.list[1], devices.Host, s.list[1].gpu.space)), "the other device goes on")
	s.close()
}

// TestAKernelBeyondItsTimeEndsTheDevice checks that Close does not wait for what does not end.
func TestAKernelBeyondItsTimeEndsTheDevice(t *testing.T) {
	s := newSubject(t, Options{TimeLimit: 20 * time.Millisecond})
	require.NoError(t, s.d.Prepare(devicetest.Twice()))
	fakeCall(t, "fakeSlow", 1_500_000)
	err := waitFor(s.launch())
	require.ErrorIs(t, err, ErrTimeLimit)
	start := time.Now()
	require.NoError(t, s.d.Close())
	require.Less(t, time.Since(start), time.Second)
	fakeCall(t, "fakeSlow", 0)
	require.NoError(t, s.list[1].Close())
	time.Sleep(1550 * time.Millisecond) // the fake's kernel ends: the next test counts what is left from zero
	require.NoError(t, s.d.abandonedForTest())
	noneLive(t)
}

// abandonedForTest gives back what a device kept because something on it did not end.
func (d *Device) abandonedForTest() error {
	d.gpu.lost.Store(nil)
	d.gpu.enter()
	defer d.gpu.leave()
	return d.freeAll()
}

// TestKernelsOfTheCacheNeedNoCompiler compiles once, and then loads with a compiler that fails.
func TestKernelsOfTheCacheNeedNoCompiler(t *testing.T) {
	o := Options{CacheDir: t.TempDir()}
	s := newSubject(t, o)
	require.NoError(t, s.d.Prepare(devicetest.Twice()))
	s.close()
	s = newSubject(t, o)
	failNext(t, "nvrtcCompileProgram", 1, 7)
	require.NoError(t, s.d.Prepare(devicetest.Twice()))
	s.close()
	s = newSubject(t, Options{CacheDir: "off"})
	failNext(t, "nvrtcCompileProgram", 1, 7)
	require.ErrorContains(t, s.d.Prepare(devicetest.Twice()), "nvrtcCompileProgram")
	s.close()
}

// TestAnIdleDeviceSleeps counts the calls of the driver while nothing is in flight.
func TestAnIdleDeviceSleeps(t *testing.T) {
	s := newSubject(t, Options{})
	require.NoError(t, waitFor(s.copy(s.d, devices.Host, s.d.gpu.space)))
	queries := func() int {
		name := driver.CString("cuEventQuery")
		return fakeCall(t, "fakeCalls", uintptr(unsafe.Pointer(name)))
	}
	before := queries()
	time.Sleep(20 * time.Millisecond)
	require.Equal(t, before, queries())
	s.close()
}

// TestProvedArgumentsNeedNoChecks runs a kernel whose lengths prove its accesses, and then one
// whose lengths do not.
func TestProvedArgumentsNeedNoChecks(t *testing.T) {
	s := newSubject(t, Options{})
	k := benchKernel(t, "Triad")
	float := func(n int64) devices.Arg {
		return devices.Arg{Type: ir.SliceOf(ir.Float64Type), Len: n, Cap: n}
	}
	scalar := devices.Arg{Type: ir.Float64Type}
	require.NoError(t, s.d.Prepare(k))
	run := func(args ...devices.Arg) (*run, error) {
		l := &devices.Launch{Kernel: k, Args: &devices.Args{List: args}}
		r, err := s.d.newRun(l)
		require.NoError(t, err)
		return r, waitFor(s.d.Launch(l, nil))
	}
	r, err := run(float(100), float(100), float(200), scalar)
	require.NoError(t, err)
	require.False(t, r.faults)
	require.Zero(t, live(t, "host"), "there is no fault record")
	r, err = run(float(100), float(99), float(100), scalar)
	require.True(t, r.faults)
	require.ErrorIs(t, err, ir.ErrBounds)
	require.ErrorContains(t, err, "b: index 99 out of range: length 99")
	s.close()
}

// TestOptional_LeavesOutWhatDoesNotOpen opens GPUs of which the first one does not do, and none:
// without the question mark either is an error.
func TestOptional_LeavesOutWhatDoesNotOpen(t *testing.T) {
	needFake(t)
	var absent []string
	c := devices.Config{Kind: Kind, First: devices.SpaceID{Device: 1}, Optional: true, Absent: func(device string, why error) { absent = append(absent, device+": "+why.Error()) }}
	failNext(t, "cuStreamCreate", 1, 304)
	opened, err := openConfig(c)
	require.NoError(t, err)
	require.NotEmpty(t, opened)
	require.Equal(t, "cuda:1", opened[0].Properties().Name)
	require.Equal(t, devices.SpaceID{Device: 1}, opened[0].(*Device).gpu.space, "address spaces have no gap")
	require.Equal(t, 0, opened[0].(*Device).gpu.index)
	require.Len(t, absent, 1)
	require.Contains(t, absent[0], "cuda:0: ")
	require.Contains(t, absent[0], "cuStreamCreate")
	for _, d := range opened {
		require.NoError(t, d.Close())
	}
	noneLive(t)
	absent, c.Count = nil, 99
	opened, err = openConfig(c)
	require.NoError(t, err)
	require.Empty(t, absent, "a count is the most")
	for _, d := range opened {
		require.NoError(t, d.Close())
	}
}
