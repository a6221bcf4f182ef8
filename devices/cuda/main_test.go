//go:build linux && (amd64 || arm64)

package cuda

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
	"go.uber.org/goleak"
)

// ground is what the tests run on: the GPUs of the machine, or a libcuda of the tests' own
// (testdata/fake.cc), or nothing, and then why.
var ground struct {
	real, fake bool
	null       bool // a libcuda that does nothing, for benchmarks
	why        string
	lib        uintptr         // of the fake
	nvrtc      *driver.Library // the real one, nil when there is none
}

// nullVariable makes the tests run on testdata/null.cc, for benchmarks of what the host does: built
// here, or the library that it names.
const nullVariable = "GOMPSS_TEST_NULL"

func TestMain(m *testing.M) {
	if _, given := os.LookupEnv(tuneVariable); !given { // tests count calls and launches; those of tuning ask for it
		if err := os.Setenv(tuneVariable, string(TuneOff)); err != nil {
			panic(err)
		}
	}
	cleanUp := prepareGround()
	code := m.Run()
	cleanUp()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Println("goleak:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// prepareGround looks for a driver with a GPU, before any test opens the one of the process.
func prepareGround() (cleanUp func()) {
	if lib := os.Getenv(nullVariable); lib != "" {
		var dir string
		var err error
		if strings.Contains(lib, "/") {
			dir, err = useNull(lib)
		} else {
			dir, err = buildFake("null.cc")
		}
		if err != nil {
			ground.why = fmt.Sprintf("no driver that does nothing: %v", err)
		}
		ground.null = err == nil
		return func() {
			if dir != "" {
				os.RemoveAll(dir)
			}
		}
	}
	if lib, err := driver.OpenLibrary(driver.NVRTCSearch, driver.NVRTCFunctions); err == nil {
		ground.nvrtc = lib
	}
	lib, err := driver.OpenLibrary(driver.DriverSearch, driver.Functions)
	if err == nil {
		var drv *driver.Driver
		if drv, err = driver.Start(lib); err == nil && drv.Count > 0 {
			ground.real = true
			return func() {}
		}
	}
	if err == nil {
		err = fmt.Errorf("the driver sees no GPU")
	}
	dir, fakeErr := buildFake("fake.cc")
	if fakeErr != nil {
		ground.why = fmt.Sprintf("no GPU (%v) and no fake one (%v)", err, fakeErr)
		return func() {}
	}
	ground.fake = true
	return func() { os.RemoveAll(dir) }
}

// buildFake compiles a libcuda of the tests and makes it the one that is found.
func buildFake(source string) (dir string, err error) {
	compiler, err := exec.LookPath("g++")
	if err != nil {
		return "", err
	}
	if dir, err = os.MkdirTemp("", "fakecuda"); err != nil {
		return "", err
	}
	include, err := filepath.Abs("testdata")
	if err != nil {
		return dir, err
	}
	so := filepath.Join(dir, "libfake.so")
	cmd := exec.Command(compiler, "-std=c++17", "-O1", "-shared", "-fPIC", "-o", so, filepath.Join(include, source), "-lpthread", "-ldl")
	if out, err := cmd.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("%w: %s", err, out)
	}
	for name, value := range map[string]string{"FAKE_INCLUDE": include, "XDG_CACHE_HOME": dir} {
		if err := os.Setenv(name, value); err != nil {
			return dir, err
		}
	}
	return dir, useLibrary(so)
}

// useNull makes a library the one that is found, with a cache of its own: what it compiles is no
// code.
func useNull(so string) (dir string, err error) {
	if dir, err = os.MkdirTemp("", "nullcuda"); err != nil {
		return "", err
	}
	if err := os.Setenv("XDG_CACHE_HOME", dir); err != nil {
		return dir, err
	}
	return dir, useLibrary(so)
}

// useLibrary makes a library the libcuda and the libnvrtc that are found.
func useLibrary(so string) (err error) {
	for _, name := range []string{driver.DriverSearch.Env, driver.NVRTCSearch.Env} {
		if name == driver.NVRTCSearch.Env && os.Getenv("GOMPSS_TEST_KEEP_NVRTC") != "" {
			continue // a test without a compiler
		}
		if err := os.Setenv(name, so); err != nil {
			return err
		}
	}
	ground.lib, err = purego.Dlopen(so, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	return err
}

// needGround skips a test where there is neither.
func needGround(t testing.TB) {
	if ground.why != "" {
		t.Skip(ground.why)
	}
}

// needFake skips a test that makes the driver fail.
func needFake(t testing.TB) {
	needGround(t)
	if !ground.fake {
		t.Skip("the driver of this machine cannot be made to fail")
	}
}

// fakeCall calls a function of the fake.
func fakeCall(t testing.TB, name string, args ...uintptr) int {
	t.Helper()
	f, err := purego.Dlsym(ground.lib, name)
	if err != nil {
		t.Fatal(err)
	}
	r, _, _ := purego.SyscallN(f, args...)
	return int(r)
}

// failNext makes the n-th call of a function from now on fail.
func failNext(t testing.TB, function string, n, code int) {
	name := driver.CString(function)
	fakeCall(t, "fakeFail", uintptr(unsafe.Pointer(name)), uintptr(n), uintptr(code))
	runtime.KeepAlive(name)
	t.Cleanup(func() { fakeCall(t, "fakeRepair") })
}

func live(t testing.TB, what string) int {
	name := driver.CString(what)
	defer runtime.KeepAlive(name)
	return fakeCall(t, "fakeLive", uintptr(unsafe.Pointer(name)))
}

// noneLive checks that everything was given back to the driver.
func noneLive(t testing.TB) {
	t.Helper()
	for _, what := range []string{"context", "stream", "event", "range", "memory", "mapping", "scratch", "host", "pin", "stray pin", "module", "graph"} {
		if n := live(t, what); n != 0 {
			t.Errorf("%d of %q are left", n, what)
		}
	}
}

// SlowPins has a fake driver take so long for registering memory, until the end of the test; false
// where the driver is none.
func SlowPins(t testing.TB, microseconds uintptr) bool {
	if !ground.fake {
		return false
	}
	fakeCall(t, "fakeSlowPins", microseconds)
	t.Cleanup(func() { fakeCall(t, "fakeSlowPins", 0) })
	return true
}

// TeamTimes has a fake driver say that kernels take so many microseconds, by the threads of a team,
// until the end of the test; it skips the test where the driver is none.
func TeamTimes(t testing.TB, microseconds map[int]int) {
	needFake(t)
	for team, us := range microseconds {
		fakeCall(t, "fakeTeamTime", uintptr(team), uintptr(us))
	}
	t.Cleanup(func() { fakeCall(t, "fakeTeamTime", 0, 0) })
}

// Launches returns how many kernels a fake driver has launched in teams of that many threads.
func Launches(t testing.TB, team int) int { return fakeCall(t, "fakeLaunches", uintptr(team)) }

// FailNext makes the n-th call of a function of a fake driver from now on fail, until the end of the
// test.
func FailNext(t testing.TB, function string, n, code int) { failNext(t, function, n, code) }

// Ground says what external tests of this package run on: how many GPUs, and whether they are real;
// 0 and why not.
func Ground() (gpus int, real bool, why string) {
	if ground.why != "" {
		return 0, false, ground.why
	}
	drv, err := driver.Open()
	if err != nil {
		return 0, false, err.Error()
	}
	return drv.Count, ground.real, ""
}

// newRun decides about a launch that is not enqueued.
func (d *Device) newRun(l *devices.Launch) (*run, error) {
	if err := d.Prepare(l.Kernel); err != nil {
		return nil, err
	}
	r := &run{}
	return r, r.prepare(d, l, d.modules.program(l.Kernel))
}
