//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"fmt"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
)

// calls returns how often a function of the fake was called; "kernel" is one that ran, "copied" a
// copy that has finished.
func calls(t testing.TB, name string) int {
	text := driver.CString(name)
	return fakeCall(t, "fakeCalls", uintptr(unsafe.Pointer(text)))
}

// triad returns a launch that cannot fail alone.
func triad(_ testing.TB, label string, k *devices.Kernel) *devices.Launch {
	x := devices.Arg{Type: ir.SliceOf(ir.Float64Type), Len: 100, Cap: 100}
	return &devices.Launch{Kernel: k, Label: label, Args: &devices.Args{List: []devices.Arg{x, x, x, {Type: ir.Float64Type}}}}
}

// together submits n launches that the engine finds at once, each behind those that after names,
// and returns their events.
func (s *subject) together(n int, after func(i int) []int) (events []devices.Event) {
	k := benchKernel(s.t, "Triad")
	require.NoError(s.t, s.d.Prepare(k))
	fakeCall(s.t, "fakeHold", 1)
	s.copy(s.d, devices.Host, s.d.gpu.space) // keeps the engine awake, once its memory is registered and it is on its stream
	for s.d.streams.toDevice.length() == 0 || s.d.engine.asleep.Load() {
		time.Sleep(time.Microsecond)
	}
	s.d.submitter.mu.Lock() // it finds them when this is free
	for i := range n {
		var behind []devices.Event
		for _, j := range after(i) {
			behind = append(behind, events[j])
		}
		events = append(events, s.d.Launch(triad(s.t, fmt.Sprint("job ", i), k), behind))
	}
	s.d.submitter.mu.Unlock()
	fakeCall(s.t, "fakeHold", 0)
	return events
}

func inChain(i int) []int {
	if i == 0 {
		return nil
	}
	return []int{i - 1}
}

// TestNothingRunsBehindWhatFailed sends chains of launches, together and one by one, of which one
// is refused: those before it run, and those behind it do not, and fail with its error.
func TestNothingRunsBehindWhatFailed(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7, 21, 40} {
		for _, bad := range []int{0, n / 2, n - 1} {
			t.Run(fmt.Sprintf("%d of %d", bad, n), func(t *testing.T) {
				s := newSubject(t, Options{})
				failNext(t, "cuGraphLaunch", -1, 304) // so that all go one by one
				failNext(t, "cuLaunchKernel", bad+1, 304)
				before := calls(t, "kernel")
				for i, e := range s.together(n, inChain) {
					err := waitFor(e)
					if i < bad {
						require.NoError(t, err)
						continue
					}
					require.ErrorContains(t, err, "cuLaunchKernel", "launch %d", i)
					require.ErrorContains(t, err, fmt.Sprint("as job ", bad), "launch %d takes the error of what failed", i)
				}
				require.Equal(t, before+bad, calls(t, "kernel"), "none ran behind it")
				require.NoError(t, s.d.gpu.alive())
				s.close()
			})
		}
	}
}

// TestAGraphThatDoesNotGoFailsNobody makes each call fail that sends launches together: they go one
// by one.
func TestAGraphThatDoesNotGoFailsNobody(t *testing.T) {
	for _, function := range []string{"cuGraphCreate", "cuGraphAddKernelNode", "cuGraphInstantiateWithFlags", "cuGraphExecKernelNodeSetParams", "cuGraphLaunch"} {
		for _, nth := range []int{1, 2, 4} {
			t.Run(fmt.Sprint(function, " ", nth), func(t *testing.T) {
				s := newSubject(t, Options{})
				failNext(t, function, nth, 304)
				for range 4 {
					before := calls(t, "kernel")
					for _, e := range s.together(16, inChain) {
						require.NoError(t, waitFor(e))
					}
					require.Equal(t, before+16, calls(t, "kernel"), "each ran once")
				}
				s.close()
			})
		}
	}
}

// TestAJoinBehindAFailureDoesNotRun has launches behind two chains, one of which fails: what is
// behind that one fails, in whatever order they are put on streams, and the other chain is as if
// nothing had been.
func TestAJoinBehindAFailureDoesNotRun(t *testing.T) {
	const n = 24
	after := func(i int) []int { // two chains, even and odd, and each third launch is behind both
		var out []int
		for _, j := range []int{i - 2, i - 1} {
			if j >= 0 && (j == i-2 || i%3 == 2) {
				out = append(out, j)
			}
		}
		return out
	}
	for bad := 1; bad <= n; bad++ {
		s := newSubject(t, Options{})
		failNext(t, "cuGraphLaunch", -1, 304)
		failNext(t, "cuLaunchKernel", bad, 304)
		before := calls(t, "kernel")
		events := s.together(n, after)
		failed := make([]bool, n)
		ran, culprits := 0, 0
		for i, e := range events {
			err := waitFor(e)
			for _, j := range after(i) {
				failed[i] = failed[i] || failed[j]
			}
			switch {
			case failed[i]:
				require.Error(t, err, "launch %d is behind one that failed", i)
			case err != nil:
				failed[i] = true
				culprits++
				require.ErrorContains(t, err, fmt.Sprint("as job ", i))
			default:
				ran++
			}
		}
		require.Equal(t, 1, culprits)
		require.Equal(t, before+ran, calls(t, "kernel"))
		s.close()
	}
}

// TestACopyThatFailsHalfWayIsOverWhenItsPiecesAre: its memory may go when it has happened.
func TestACopyThatFailsHalfWayIsOverWhenItsPiecesAre(t *testing.T) {
	s := newSubject(t, Options{})
	require.NoError(t, waitFor(s.copy(s.d, devices.Host, s.d.gpu.space)))
	s.d.gpu.chip.maxPitch = 1 // every row is a piece
	rows, err := deps.Box(0, 0, []int64{4, 1000}, []int64{0, 0}, []int64{4, 500})
	require.NoError(t, err)
	fakeCall(t, "fakeSlow", 20000)
	failNext(t, "cuMemcpyHtoDAsync_v2", 3, 304)
	before := calls(t, "copied")
	e := s.d.Copy(devices.Transfer{Region: rows, Elem: 8, From: devices.Host, To: s.d.gpu.space}, nil)
	require.ErrorContains(t, waitFor(e), "cuMemcpyHtoDAsync")
	require.Equal(t, before+2, calls(t, "copied"))
	fakeCall(t, "fakeSlow", 0)
	s.close()
}

// TestWhatNobodyHearsOfFailsWhenItIsOver makes the driver refuse a mark, and then all marks.
func TestWhatNobodyHearsOfFailsWhenItIsOver(t *testing.T) {
	s := newSubject(t, Options{})
	k := benchKernel(t, "Triad")
	require.NoError(t, s.d.Prepare(k))
	fakeCall(t, "fakeSlow", 20000)
	before := calls(t, "kernel")
	failNext(t, "cuEventRecord", 1, 304)
	first := s.d.Launch(triad(t, "first", k), nil)
	second := s.d.Launch(triad(t, "second", k), []devices.Event{first})
	require.ErrorContains(t, waitFor(first), "cuEventRecord")
	require.Equal(t, before+1, calls(t, "kernel"))
	require.ErrorContains(t, waitFor(second), "as first")
	require.NoError(t, s.d.gpu.alive())
	fakeCall(t, "fakeSlow", 0)
	failNext(t, "cuEventRecord", -1, 304)
	var fatal *devices.DeviceError
	require.ErrorAs(t, waitFor(s.d.Launch(triad(t, "third", k), nil)), &fatal)
	require.Error(t, s.d.gpu.alive(), "the driver no longer reports completions: the device is lost")
	fakeCall(t, "fakeRepair")
	s.close()
}

// TestWhatIsBehindAnotherDeviceEndsWithIt lets an operation be over on its GPU while what it waited
// for on another GPU has not been heard of, and has failed.
func TestWhatIsBehindAnotherDeviceEndsWithIt(t *testing.T) {
	s := newSubject(t, Options{})
	other := &event{device: s.list[1]}
	e := &event{device: s.d, after: []devices.Event{other}}
	s.d.engine.flying.Add(1)
	require.False(t, e.finish())
	require.False(t, e.Done())
	broken := errors.New("broken")
	other.happen(broken)
	require.ErrorIs(t, waitFor(e), broken)
	s.close()
}

// TestTheErrorSaysHowManyItMayBe: the driver does not say which of the kernels in flight has ended
// a device.
func TestTheErrorSaysHowManyItMayBe(t *testing.T) {
	s := newSubject(t, Options{})
	failNext(t, "kernel", 3, 700)
	for _, e := range s.together(5, inChain) {
		if err := waitFor(e); err != nil {
			require.ErrorContains(t, err, "illegal")
		}
	}
	fakeCall(t, "fakeRepair")
	require.ErrorContains(t, s.d.gpu.alive(), "of which one has failed")
	s.close()
}

// A kernel goes to the stream of one that it is behind when nothing else is behind that one there,
// or when all that is there is brief.
func TestBriefKernelsStayOnTheirStream(t *testing.T) {
	d := newDevice(&platform{driver: &driver.Driver{}}, 0, 0, devices.SpaceID{})
	d.streams.kernels = []*stream{{kernels: true}, {kernels: true}}
	s := d.streams.kernels[1]
	e, last := &event{device: d, completion: completion{stream: s}}, &event{device: d, completion: completion{stream: s}}
	after := []devices.Event{e}
	s.tail = e
	require.Same(t, s, d.submitter.chooseStream(after))
	s.tail = last
	chosen := map[*stream]bool{}
	for range 2 { // the next in turn
		chosen[d.submitter.chooseStream(after)] = true
	}
	require.Len(t, chosen, 2)
	s.opTime = int64(briefTime)
	for range 3 {
		require.Same(t, s, d.submitter.chooseStream(after))
	}
	s.opTime++
	require.NotSame(t, d.submitter.chooseStream(after), d.submitter.chooseStream(after))
}
