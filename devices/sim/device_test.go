package sim_test

import (
	"errors"
	"fmt"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/devicetest"
	"github.com/gompss/gompss/devices/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	kib = deps.Bytes(1 << 10)
	mib = deps.Bytes(1 << 20)
)

func TestConformance(t *testing.T) {
	for name, o := range map[string]sim.Options{
		"cpu":            {Memory: mib, Granule: 4 * kib},
		"simt":           {Memory: mib, Granule: 4 * kib, Exec: sim.SIMT},
		"races":          {Memory: mib, Granule: 4 * kib, Exec: sim.SIMT, Races: true},
		"small granules": {Memory: 64 * kib, Granule: 256},
		"no peers":       {Memory: mib, Granule: 4 * kib, NoPeer: true},
		"virtual":        {Memory: mib, Granule: 64 * kib, Clock: sim.Virtual, Bandwidth: 1e9, Latency: time.Microsecond, Speed: 1e9},
	} {
		t.Run(name, func(t *testing.T) {
			devicetest.Run(t, func(t testing.TB) []devices.Accelerator {
				opened, err := sim.Open(3, devices.SpaceID{Device: 1}, o)
				require.NoError(t, err)
				out := make([]devices.Accelerator, len(opened))
				for i, d := range opened {
					out[i] = d
				}
				return out
			})
		})
	}
}

// bench is one device with one buffer of n int64 that is backed.
func bench(t *testing.T, n int64, o sim.Options) (*sim.Device, []int64) {
	t.Helper()
	opened, err := sim.Open(1, devices.SpaceID{Device: 1}, o)
	require.NoError(t, err)
	d := opened[0]
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	x := make([]int64, n)
	require.NoError(t, d.Reserve(devices.Buffer{Host: devices.NewHostMemory(unsafe.Pointer(unsafe.SliceData(x))), Size: deps.Bytes(n) * 8, Elem: 8}))
	require.NoError(t, d.Map(0, 0, deps.Bytes(n)*8))
	return d, x
}

func up(d *sim.Device, lo, hi int64, after ...devices.Event) devices.Event {
	return d.Copy(devices.Transfer{Region: deps.Interval(0, lo, hi), Elem: 8, To: devices.SpaceID{Device: 1}}, after)
}

func down(d *sim.Device, lo, hi int64, after ...devices.Event) devices.Event {
	return d.Copy(devices.Transfer{Region: deps.Interval(0, lo, hi), Elem: 8, From: devices.SpaceID{Device: 1}}, after)
}

func run(d *sim.Device, body func(x []int64), n int64, after ...devices.Event) devices.Event {
	k := &devices.Kernel{Name: "k", Go: func(a *devices.Args) { body(unsafe.Slice((*int64)(a.At(0)), n)) }}
	return d.Launch(&devices.Launch{Kernel: k, Args: &devices.Args{}}, after)
}

func wait(e devices.Event) error {
	done := make(chan error, 1)
	e.Then(func(err error) { done <- err })
	return <-done
}

func TestVirtualTimeOverlapsCopiesAndKernels(t *testing.T) {
	d, x := bench(t, 3000, sim.Options{Clock: sim.Virtual, Bandwidth: 8e9, Latency: time.Microsecond,
		Cost: func(*devices.Launch) time.Duration { return 10 * time.Microsecond }})
	n := int64(len(x))
	// Each copy takes 1 us of latency and 1 us of bandwidth; each kernel 10 us.
	a := up(d, 0, 1000)
	k1 := run(d, func([]int64) {}, n, a)
	b := up(d, 1000, 2000) // while k1 runs
	k2 := run(d, func([]int64) {}, n, k1, b)
	c := down(d, 2000, 3000, k1) // while k2 runs
	require.NoError(t, wait(k2))
	require.NoError(t, wait(c))
	require.Equal(t, 22*time.Microsecond, d.Elapsed(), "the first copy, and two kernels: the rest is hidden")
	require.NoError(t, wait(down(d, 0, 1000, k2, c)))
	require.Equal(t, 24*time.Microsecond, d.Elapsed())
}

func TestSpeedModelsKernelsByTheirArguments(t *testing.T) {
	d, _ := bench(t, 1000, sim.Options{Clock: sim.Virtual, Speed: 16e9, Latency: 3 * time.Microsecond})
	k := devicetest.Twice()
	arg := devices.Arg{Type: k.Program.Params[0].Type, Len: 1000, Cap: 1000}
	require.NoError(t, wait(d.Launch(&devices.Launch{Kernel: k, Args: &devices.Args{List: []devices.Arg{arg, arg}}}, nil)))
	require.Equal(t, 4*time.Microsecond, d.Elapsed())
}

func TestRealTimePasses(t *testing.T) {
	d, x := bench(t, 1000, sim.Options{Latency: 20 * time.Millisecond})
	start := time.Now()
	require.NoError(t, wait(up(d, 0, int64(len(x)))))
	require.GreaterOrEqual(t, time.Since(start), 20*time.Millisecond)
}

func TestFreshMemoryIsPoisoned(t *testing.T) {
	for _, granule := range []deps.Bytes{256, 64 * kib} {
		d, _ := bench(t, 1000, sim.Options{Memory: mib, Granule: granule})
		for range 2 {
			require.NoError(t, wait(run(d, func(x []int64) {
				for i, v := range x {
					if uint32(v) != sim.Poison || uint32(v>>32) != sim.Poison {
						panic(fmt.Sprintf("element %d is %x", i, v))
					}
					x[i] = 1
				}
			}, 1000)))
			require.NoError(t, d.Unmap(0, 0, 8000))
			require.NoError(t, d.Map(0, 0, 8000))
		}
	}
}

func TestTouchingWhatIsNotThereFailsTheTask(t *testing.T) {
	d, _ := bench(t, 16*1024, sim.Options{Memory: mib, Granule: 64 * kib})
	require.NoError(t, d.Unmap(0, 64*kib, 128*kib))
	err := wait(run(d, func(x []int64) { x[8192+5] = 1 }, 16*1024))
	var panicked *devices.PanicError
	require.ErrorAs(t, err, &panicked)
	require.ErrorContains(t, err, "element 8197 of buffer 0 is not on the device")
	require.ErrorContains(t, wait(up(d, 8000, 8200)), "elements [8000,8200) are not backed on sim:0")
	require.NoError(t, wait(run(d, func(x []int64) { x[0] = 1 }, 16*1024)), "the device goes on")
}

func TestPanicsAreErrors(t *testing.T) {
	d, _ := bench(t, 100, sim.Options{})
	cause := errors.New("boom")
	err := wait(run(d, func([]int64) { panic(cause) }, 100))
	require.ErrorIs(t, err, cause)
	require.EqualError(t, err, "devices: sim:0: launch k: panic: boom")
}

func TestModesRefuseWhatTheyCannotRun(t *testing.T) {
	d, _ := bench(t, 100, sim.Options{Exec: sim.SIMT})
	require.ErrorIs(t, d.Prepare(devicetest.Refused()), devicetest.ErrRefused)
	require.EqualError(t, d.Prepare(&devices.Kernel{Name: "K", Go: func(*devices.Args) {}}),
		"devices: sim:0: kernel K: it has no device program, which exec=simt runs")
	require.ErrorContains(t, wait(run(d, func([]int64) {}, 100)), "it has no device program")
	c, _ := bench(t, 100, sim.Options{})
	require.ErrorContains(t, c.Prepare(&devices.Kernel{Name: "K"}), "it has no Go function")
}

func TestFaultsHitTheOneTheyName(t *testing.T) {
	d, x := bench(t, 100, sim.Options{Faults: sim.Faults{Transfer: 2, Launch: 1, Alloc: 2}})
	n := int64(len(x))
	require.NoError(t, wait(up(d, 0, n)))
	require.ErrorIs(t, wait(up(d, 0, n)), sim.ErrInjected)
	require.NoError(t, wait(up(d, 0, n)))
	require.ErrorIs(t, wait(run(d, func([]int64) { t.Error("it ran") }, n)), sim.ErrInjected)
	require.NoError(t, wait(run(d, func([]int64) {}, n)))
	require.NoError(t, d.Unmap(0, 0, 800))
	require.ErrorIs(t, d.Map(0, 0, 800), sim.ErrInjected)
	require.NoError(t, d.Map(0, 0, 800))
}

func TestALostDeviceFailsEverything(t *testing.T) {
	d, x := bench(t, 100, sim.Options{})
	d.Lose(errors.New("pulled out"))
	var e *devices.DeviceError
	for _, err := range []error{wait(up(d, 0, int64(len(x)))), wait(run(d, func([]int64) {}, 100)), d.Map(0, 0, 8)} {
		require.ErrorAs(t, err, &e)
		require.True(t, e.Fatal)
		require.ErrorContains(t, err, "sim:0: device lost: pulled out")
	}
}
