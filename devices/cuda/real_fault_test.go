//go:build linux && (amd64 || arm64)

package cuda

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
	"github.com/gompss/gompss/task"
)

// troubleCUDA does what its first argument says.
const troubleCUDA = `
extern "C" __global__ void
Trouble(long long what, long long* x, long long n)
{
	if (what == 1)
		x[1ll << 40] = 1;
	if (what == 2)
		for (const long long start = clock64(); clock64() - start < 4000000000ll;)
			;
	if (what == 3)
		asm volatile("trap;");
	if (threadIdx.x == 0)
		x[0]++;
}
`

// The errors that Trouble gets.
const (
	noTrouble = iota
	farAway
	tooLong
	trap
)

func troubleKernel(shared deps.Bytes) *task.Kernel {
	return task.MustKernel(task.KernelSpec{Name: "Trouble", Files: []task.SourceFile{{Name: "trouble.go", Text: `package trouble

//omp:target device(cuda)
//omp:task inout(x[0:n])
func Trouble(what int, x []int64, n int) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		x[i]++
	}
}
`}}, Go: func(*task.Args) { panic("it runs on the GPU") }, Natives: []devices.Native{{Kind: Kind, Source: troubleCUDA,
		Shape: func(*devices.Args) devices.NDRange {
			return devices.NDRange{Items: [3]int64{32}, Team: [3]int64{32}, Shared: shared}
		}}}})
}

// TestFaultsOnARealGPU has real GPUs fail, each fault in a process of its own: the task fails with
// device, kernel, label and line, what is behind it is skipped, only what CUDA does not recover
// from takes the GPU out of service, the other GPUs continue, and Close returns. After an illegal
// address and after a trap drivers were seen (580, four H200s) that refuse all calls of the
// process, for all GPUs: then the others are out of service too, each with the driver's reason.
func TestFaultsOnARealGPU(t *testing.T) {
	needGround(t)
	if !ground.real {
		t.Skip("no GPU that fails of itself; the fake one is made to fail by TestFaultsOfTasks")
	}
	const variable = "GOMPSS_TEST_FAULT"
	for _, c := range []struct {
		name   string
		what   int
		n      int
		shared deps.Bytes
		limit  time.Duration
		hog    bool
		fatal  bool
		is     error
		says   string
	}{
		{name: "illegal address", what: farAway, n: 8, fatal: true, says: "illegal"},
		{name: "trap", what: trap, n: 8, fatal: true, says: "CUDA_ERROR"},
		{name: "beyond the time limit", what: tooLong, n: 8, limit: 300 * time.Millisecond, fatal: true, is: ErrTimeLimit, says: "300ms"},
		{name: "refused launch", n: 8, shared: 8 << 20, says: "shared memory of 8.0 MiB"},
		{name: "out of memory", n: 128 << 20, hog: true, is: devices.ErrNoMemory, says: "map"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if os.Getenv(variable) == "" {
				cmd := exec.Command(os.Args[0], "-test.run", "^TestFaultsOnARealGPU$/^"+c.name+"$", "-test.v", "-test.timeout", "60s")
				cmd.Env = append(os.Environ(), variable+"=1")
				out, err := cmd.CombinedOutput()
				require.NoError(t, err, string(out))
				return
			}
			var o task.Options
			o.Devices = "cuda"
			o.Machine.ByKind = map[devices.Kind]any{Kind: Options{TimeLimit: c.limit}}
			rt, err := task.New(o)
			require.NoError(t, err)
			machine := rt.Machine()
			first := machine.Devices()[0].(*Device)
			kernel := troubleKernel(0) // prepared on all of them: CUDA compiles and loads nothing after a fault
			good, bad := kernel.With(task.OnDevice("cuda:0")), troubleKernel(c.shared).With(task.OnDevice("cuda:0"), task.Label("the bad one"))
			x, y := make([]int64, c.n), make([]int64, 8)
			warm, err := good.Submit(rt, noTrouble, y, len(y))
			require.NoError(t, err)
			require.NoError(t, rt.Wait(context.Background()))
			require.NoError(t, warm.Err())
			release := func() {}
			if c.hog {
				release = hog(t, first)
			}
			one, err := bad.Submit(rt, c.what, x, len(x))
			require.NoError(t, err)
			behind, err := good.Submit(rt, noTrouble, x, len(x))
			require.NoError(t, err)
			require.Error(t, rt.Wait(context.Background()))
			var e *task.Error
			require.ErrorAs(t, one.Err(), &e)
			require.Equal(t, []string{"the bad one", "Trouble", "cuda:0"}, []string{e.Label, e.Kernel, e.Device})
			require.Equal(t, "trouble.go", e.Pos.File)
			require.Equal(t, 5, e.Pos.Line)
			require.ErrorContains(t, one.Err(), c.says)
			if c.is != nil {
				require.ErrorIs(t, one.Err(), c.is)
			}
			require.ErrorIs(t, behind.Err(), task.ErrSkipped)
			require.Equal(t, c.fatal, machine.Retired(machine.SpaceOf(first)) != nil)
			release()
			for i, d := range machine.Devices() {
				if i == 0 && c.fatal {
					continue
				}
				z := make([]int64, 8)
				other, err := kernel.With(task.OnDevice(d.Properties().Name)).Submit(rt, noTrouble, z, len(z))
				require.NoError(t, err)
				err = other.Wait(context.Background())
				if c.fatal && c.limit == 0 && err != nil { // the driver gives the whole process no more answers: the device hears of that
					var end *devices.DeviceError
					require.ErrorAs(t, err, &end)
					require.True(t, end.Fatal)
					require.Equal(t, d.Properties().Name, end.Device)
					t.Logf("CUDA has ended %s with it: %v", end.Device, end.Err)
					continue
				}
				require.NoError(t, err, "%s goes on", d.Properties().Name)
			}
			t.Log(one.Err())
			closed := make(chan struct{})
			go func() { _ = rt.Close(); close(closed) }() // it tells of what is lost
			select {
			case <-closed:
			case <-time.After(10 * time.Second):
				t.Fatal("Close hangs")
			}
		})
	}
}

// hog takes nearly all memory of a GPU, past the device, until release.
func hog(t *testing.T, d *Device) (release func()) {
	b := driver.NewBlock()
	defer b.Free()
	d.gpu.enter()
	defer d.gpu.leave()
	require.NoError(t, d.gpu.driver.Do(driver.CuMemGetInfo, b.At(0), b.At(1)))
	left := deps.Bytes(b.Words[0])
	var taken []uintptr
	for chunk := deps.Bytes(16 << 30); chunk >= 64<<20; {
		if chunk+512<<20 > left {
			chunk /= 2
			continue
		}
		*b = driver.Block{}
		fillAllocation(b, &d.gpu)
		require.NoError(t, d.gpu.driver.Do(driver.CuMemCreate, b.At(20), uintptr(chunk), b.At(0), 0))
		taken = append(taken, uintptr(b.Words[20]))
		left -= chunk
	}
	return func() {
		d.gpu.enter()
		defer d.gpu.leave()
		for _, h := range taken {
			require.NoError(t, d.gpu.driver.Do(driver.CuMemRelease, h))
		}
	}
}
