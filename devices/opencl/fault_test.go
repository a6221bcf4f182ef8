//go:build linux && (amd64 || arm64)

package opencl

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/devicetest"
)

// A faultyDriver makes the n-th call of a function fail, and counts the objects that live.
type faultyDriver struct {
	mu    sync.Mutex
	which fn
	n     int // calls of it until the one that fails; 0: none fails
	code  int32
	live  map[string]int
	kept  map[uintptr]bool // objects whose release has failed, and which are counted as released

	devices int // that the story runs on
}

// created and released are the functions that make objects and give them back, by what they are.
// Those that enqueue make an event where the last argument is not null.
var (
	created = map[fn]string{clCreateContext: "context", clCreateCommandQueue: "queue", clCreateBuffer: "memory", clCreateProgramWithSource: "program",
		clCreateProgramWithBinary: "program", clCreateKernel: "kernel"}
	released = map[fn]string{clReleaseContext: "context", clReleaseCommandQueue: "queue", clReleaseMemObject: "memory", clReleaseProgram: "program",
		clReleaseKernel: "kernel", clReleaseEvent: "event"}
	enqueues = []fn{clEnqueueReadBuffer, clEnqueueWriteBuffer, clEnqueueReadBufferRect, clEnqueueWriteBufferRect, clEnqueueFillBuffer,
		clEnqueueNDRangeKernel, clEnqueueMarkerWithWaitList}
)

func (f *faultyDriver) fails(which fn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n == 0 || which != f.which {
		return false
	}
	f.n--
	return f.n == 0
}

// keep notes an object that is not released.
func (f *faultyDriver) keep(object uintptr) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kept[object] = true
}

// again reports whether the release of an object has failed before, and forgets that.
func (f *faultyDriver) again(object uintptr) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	kept := f.kept[object]
	delete(f.kept, object)
	return kept
}

func (f *faultyDriver) count(what string, by int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live[what] += by
}

func (f *faultyDriver) around(which fn, args []uintptr, call func() uintptr) uintptr {
	if what := released[which]; what != "" && !f.again(args[0]) {
		f.count(what, -1) // the call is not repeated, also where it fails, but for memory that is pinned
	}
	making := created[which]
	if f.fails(which) {
		if released[which] != "" {
			f.keep(args[0])
		}
		if making == "" {
			return uintptr(uint32(f.code))
		}
		**(**int32)(unsafe.Pointer(&args[len(args)-1])) = f.code
		return 0
	}
	out := call()
	switch {
	case making != "" && out != 0:
		f.count(making, 1)
	case which == clRetainEvent && out == 0, slices.Contains(enqueues, which) && out == 0 && args[len(args)-1] != 0:
		f.count("event", 1)
	}
	return out
}

// arm has the n-th call from here fail.
func (f *faultyDriver) arm(which fn, n int, code int32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.which, f.n, f.code = which, n, code
}

// fired reports whether the call was made, and lets no other fail.
func (f *faultyDriver) fired() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	fired := f.n == 0
	f.n = 0
	return fired
}

// noneLive checks that everything was given back.
func (f *faultyDriver) noneLive(t *testing.T) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for what, n := range f.live {
		require.Zero(t, n, "%s that lives", what)
	}
}

// newFaults has the calls of the driver go through a faultyDriver until the end of the test.
func newFaults(t *testing.T) *faultyDriver {
	t.Helper()
	drv, err := theDriver()
	if err != nil {
		t.Skipf("no OpenCL: %v", err)
	}
	f := &faultyDriver{live: map[string]int{}, kept: map[uintptr]bool{}}
	around := interception(f.around)
	drv.around.Store(&around)
	t.Cleanup(func() { drv.around.Store(nil) })
	return f
}

// faultOptions are those of two devices of the platform of the tests.
func faultOptions(t *testing.T, cache string) Options {
	t.Helper()
	o := Options{Platform: os.Getenv("GOMPSS_OPENCL_PLATFORM"), CacheDir: cache, Timed: true}
	if o.Platform == "" {
		o.Platform = "Portable Computing Language"
	}
	return o
}

// A story is what a device is for: memory, copies of rows and as a whole, kernels with checks and
// without, on two devices. Its memory holds what came of it.
type story struct {
	list        []*Device
	x, y        []int64
	errs        []error
	kernel, bad *devices.Kernel
}

const storySize = 3 << 16 // 1.5 MiB, which is pinned

func newStory() *story {
	s := &story{x: make([]int64, storySize), y: make([]int64, storySize), kernel: devicetest.Twice(), bad: devicetest.Broken()}
	for i := range s.x {
		s.x[i], s.y[i] = int64(i), int64(i)
	}
	return s
}

// whole and rows are regions of a buffer: all of it, and every second row of 1024 elements.
func whole(b deps.BufferID) deps.Region { return deps.Interval(b, 0, storySize) }

func rows(b deps.BufferID) deps.Region {
	return deps.Region{Buffer: b, N: 2, Dims: [deps.MaxDims]deps.Dim{{Count: storySize / 2048, Stride: 2048}, {Count: 1024, Stride: 1}}}
}

func (s *story) note(err error) {
	if err != nil {
		s.errs = append(s.errs, err)
	}
}

func (s *story) copy(d *Device, r deps.Region, up bool, after ...devices.Event) devices.Event {
	t := devices.Transfer{Region: r, Elem: 8, From: devices.Host, To: d.space}
	if !up {
		t.From, t.To = t.To, t.From
	}
	return d.Copy(t, after)
}

func (s *story) launch(d *Device, k *devices.Kernel, after ...devices.Event) devices.Event {
	arg := func(b deps.BufferID) devices.Arg {
		return devices.Arg{Type: ir.SliceOf(ir.Int64Type), Buffer: b, Len: storySize, Cap: storySize}
	}
	return d.Launch(&devices.Launch{Kernel: k, Args: &devices.Args{List: []devices.Arg{arg(0), arg(1)}}}, after)
}

// on runs the story on one device: y = 2x + y, copied in rows and as a whole. It reports whether
// that is in y of the host: nothing that y depends on has failed.
func (s *story) on(d *Device) bool {
	for b, host := range [][]int64{s.x, s.y} {
		buffer := devices.Buffer{ID: deps.BufferID(b), Host: devices.NewHostMemory(unsafe.Pointer(&host[0])), Size: 8 * storySize, Elem: 8}
		if err := d.Reserve(buffer); err != nil {
			s.note(err)
			return false
		}
		if err := d.Map(buffer.ID, 0, buffer.Size); err != nil {
			s.note(err)
			return false
		}
	}
	prepared := d.Prepare(s.kernel)
	s.note(prepared)
	s.note(d.Prepare(s.bad))
	x := s.copy(d, whole(0), true)
	y1 := s.copy(d, whole(1), true)
	y2 := s.copy(d, rows(1), true, y1)
	run := s.launch(d, s.kernel, x, y2)
	bad := s.launch(d, s.bad, run)
	down := s.copy(d, rows(1), false, run)
	rest := s.copy(d, whole(1), false, down)
	fine := true
	for _, e := range []devices.Event{x, y1, y2, run, down, rest} {
		err := await(e)
		s.note(err)
		fine = fine && err == nil
	}
	if err := await(bad); !errors.Is(err, ir.ErrBounds) {
		s.note(err)
		if err == nil {
			s.note(errors.New("a failed check was missed"))
		}
	}
	for b := range deps.BufferID(2) {
		s.note(d.Unmap(b, 0, 8*storySize))
		s.note(d.Release(b))
	}
	return fine
}

// holds checks the host's memory after rounds of the story.
func (s *story) holds(rounds int64) error {
	for i := range s.y {
		if want := int64(i) * (1 + 2*rounds); s.y[i] != want || s.x[i] != int64(i) {
			return fmt.Errorf("element %d: %d and %d, want %d and %d", i, s.x[i], s.y[i], i, want)
		}
	}
	return nil
}

// within fails the test where f takes very long.
func within(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("it hangs")
	}
}

// TestFaults_EveryCallFailsOnce makes each call of the driver fail, one at a time, with and without
// kernels in the cache: every error names the call, what does not fail is right, the other device
// goes on, everything is given back, and nothing hangs.
func TestFaults_EveryCallFailsOnce(t *testing.T) {
	f := newFaults(t)
	cache := t.TempDir()
	f.clean(t, cache)
	const code = -36
	most := 8
	if testing.Short() {
		most = 2
	}
	for which := range functions {
		build := slices.Contains([]string{"clCreateProgramWithSource", "clGetProgramInfo", "clGetProgramBuildInfo"}, functions[which])
		for n := 1; n <= most; n++ {
			made := false
			t.Run(fmt.Sprintf("%s %d", functions[which], n), func(t *testing.T) {
				within(t, func() { made = f.once(t, fn(which), n, code, map[bool]string{true: "off", false: cache}[build]) })
			})
			if !made || t.Failed() {
				break
			}
		}
	}
}

// clean runs the story without failures, on as many devices as there are, up to two.
func (f *faultyDriver) clean(t *testing.T, cache string) {
	o := faultOptions(t, cache)
	all, err := Devices()
	require.NoError(t, err)
	for _, i := range all {
		if o.Wants(i) && f.devices < 2 {
			f.devices++
		}
	}
	if f.devices == 0 {
		t.Skipf("no device of platform %s", o.Platform)
	}
	list, err := Open(f.devices, devices.SpaceID{Device: 1}, o)
	require.NoError(t, err)
	for _, d := range list {
		s := newStory()
		require.True(t, s.on(d))
		require.Empty(t, s.errs)
		require.NoError(t, s.holds(1))
		require.NoError(t, d.Close())
	}
	f.noneLive(t)
}

// once has one call fail while two devices run the story, and reports whether it was made.
func (f *faultyDriver) once(t *testing.T, which fn, n int, code int32, cache string) bool {
	s := newStory()
	clear(f.live)
	f.arm(which, n, code)
	list, err := Open(f.devices, devices.SpaceID{Device: 1}, faultOptions(t, cache))
	s.list = list
	s.note(err)
	var rounds int64
	for _, d := range s.list {
		fine := s.on(d)
		if fine {
			rounds++
		}
		if !fine && f.fired() { // what failed has not reached the host, or in part: it begins again
			s.x, s.y = newStory().x, newStory().y
			rounds = 0
		}
		if fine {
			require.NoError(t, s.holds(rounds), "no error was reported: %v", s.errs)
		}
	}
	for _, d := range s.list {
		lost := d.alive()
		if err := d.Close(); lost == nil {
			s.note(err)
		}
	}
	fired := f.fired()
	f.noneLive(t)
	optional := which == clGetProgramInfo || which == clCreateBuffer || which == clCreateProgramWithBinary || which == clWaitForEvents || which == clBuildProgram
	if fired && !optional { // without the call there is another way
		require.NotEmpty(t, s.errs, "the failure was not reported")
	}
	for _, err := range s.errs {
		require.True(t, strings.Contains(err.Error(), functions[which]), "%v", err)
	}
	return fired
}

// TestFaults_DeviceOutOfMemory has the driver refuse memory: the caller can make room and try again.
func TestFaults_DeviceOutOfMemory(t *testing.T) {
	f := newFaults(t)
	d := openAny(t, Options{})
	x := make([]byte, 4096)
	require.NoError(t, d.Reserve(devices.Buffer{ID: 1, Host: devices.NewHostMemory(unsafe.Pointer(&x[0])), Size: 4096, Elem: 1}))
	f.arm(clCreateBuffer, 1, codeNoObjectMemory)
	require.ErrorIs(t, d.Map(1, 0, 4096), devices.ErrNoMemory)
	require.NoError(t, d.Map(1, 0, 4096))
	require.NoError(t, d.Release(1))
}

// TestFaults_LostDevice has a command end with an error that the driver does not recover from: all
// that is in flight fails with its name, and the device takes nothing more.
func TestFaults_LostDevice(t *testing.T) {
	f := newFaults(t)
	d := openAny(t, Options{})
	x := make([]byte, 1<<16)
	b := hold(t, d, 1, x)
	f.arm(clGetEventInfo, 1, -36)
	transfer := devices.Transfer{Region: deps.Interval(1, 0, int64(b.Size)), Elem: 1, To: d.space}
	first := d.Copy(transfer, nil)
	second := d.Copy(transfer, []devices.Event{first})
	for _, e := range []devices.Event{first, second} {
		var lost *devices.DeviceError
		require.ErrorAs(t, await(e), &lost)
		require.True(t, lost.Fatal)
		require.ErrorContains(t, lost, "clGetEventInfo: CL_INVALID_COMMAND_QUEUE (-36)")
	}
	require.Error(t, d.Map(1, 0, 1))
	require.Error(t, d.Prepare(devicetest.Twice()))
	require.Error(t, await(d.Copy(transfer, nil)))
}
