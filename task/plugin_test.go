package task_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/sim"
	"github.com/gompss/gompss/task"
	"github.com/gompss/gompss/trace/probe"
)

// This file tests code of the program that the engine calls and that panics: device plug-ins and observers. policy_test.go has policies. Close
// waited for ever where such a panic left a lock of the engine locked. Issue 16.

// A fragile is a simulated accelerator of which the n-th call of a method panics.
type fragile struct {
	devices.Accelerator
	how  string
	mu   sync.Mutex
	left int
}

// panics panics where method is the one and this is the call.
func (f *fragile) panics(method string) {
	if f.how != method {
		return
	}
	f.mu.Lock()
	f.left--
	now := f.left == 0
	f.mu.Unlock()
	if now {
		panic(errBoom)
	}
}

func (f *fragile) Properties() devices.Properties {
	p := f.Accelerator.Properties()
	p.Name, p.Kind = "fragile:0", "fragile"
	return p
}

func (f *fragile) Prepare(k *devices.Kernel) error {
	f.panics("Prepare")
	return f.Accelerator.Prepare(k)
}

func (f *fragile) Reaches(s devices.SpaceID) bool {
	f.panics("Reaches")
	return f.Accelerator.Reaches(s)
}

func (f *fragile) Reserve(b devices.Buffer) error {
	f.panics("Reserve")
	return f.Accelerator.Reserve(b)
}

func (f *fragile) Map(b deps.BufferID, lo, hi deps.Bytes) error {
	f.panics("Map")
	return f.Accelerator.Map(b, lo, hi)
}

func (f *fragile) Unmap(b deps.BufferID, lo, hi deps.Bytes) error {
	f.panics("Unmap")
	return f.Accelerator.Unmap(b, lo, hi)
}

func (f *fragile) Release(b deps.BufferID) error {
	f.panics("Release")
	return f.Accelerator.Release(b)
}

func (f *fragile) Copy(t devices.Transfer, after []devices.Event) devices.Event {
	f.panics("Copy")
	if f.how == "Copy without event" {
		return nil
	}
	return fragileEvent{f.Accelerator.Copy(t, after), f}
}

func (f *fragile) Launch(l *devices.Launch, after []devices.Event) devices.Event {
	f.panics("Launch")
	if f.how == "Launch without event" {
		return nil
	}
	return fragileEvent{f.Accelerator.Launch(l, after), f}
}

func (f *fragile) StartHelper(func() bool, func() bool) { f.panics("StartHelper") }
func (f *fragile) HelperAwake() bool                    { f.panics("HelperAwake"); return false }
func (f *fragile) FromCache(*devices.Kernel) bool       { f.panics("FromCache"); return false }

func (f *fragile) Close() error {
	if err := f.Accelerator.Close(); err != nil {
		return err
	}
	f.panics("Close")
	return nil
}

type fragileEvent struct {
	devices.Event
	device *fragile
}

func (e fragileEvent) Then(f func(error)) {
	e.device.panics("Then")
	e.Event.Then(f)
	e.device.panics("Then, late")
}

func (e fragileEvent) Times() (began, ended time.Time) {
	e.device.panics("Times")
	return e.Event.(devices.Timed).Times()
}

var nextFragile struct {
	how  string
	left int
}

var registerFragile = sync.OnceFunc(func() {
	devices.Register("fragile", func(c devices.Config) ([]devices.Device, error) {
		if nextFragile.how == "open" {
			panic(errBoom)
		}
		c.Kind, c.Options = sim.Kind, sim.Options{Memory: 8 << 12, Granule: 1 << 12}
		list, err := devices.OpenKind(c)
		if err != nil {
			return nil, err
		}
		return []devices.Device{&fragile{Accelerator: list[0].(devices.Accelerator), how: nextFragile.how, left: nextFragile.left}}, nil
	})
})

// mustClose closes rt, which must not take for ever.
func mustClose(t *testing.T, rt *task.Runtime, what string) error {
	t.Helper()
	closed := make(chan error, 1)
	go func() { closed <- rt.Close() }()
	select {
	case err := <-closed:
		return err
	case <-time.After(time.Minute):
		t.Fatalf("%s: Close hangs", what)
		return nil
	}
}

// Any method of a device plug-in may panic at any time: the device goes out of service, tasks end on other devices or fail with what
// happened, and Close returns an error that names the device and the method.
func TestPluginsThatPanic(t *testing.T) {
	registerFragile()
	fill := kernelOf(t, Fill)
	for _, how := range []string{"Prepare", "Reserve", "Map", "Unmap", "Release", "Copy", "Copy without event", "Launch", "Launch without event", "StartHelper", "HelperAwake", "FromCache", "Then", "Then, late", "Times", "Close"} {
		broke := 0
		for _, spec := range []string{"fragile:1", "smp:2,fragile:1"} {
			for _, left := range []int{1, 2, 5, 12, 30} {
				nextFragile.how, nextFragile.left = how, left
				name := fmt.Sprintf("%s on %s, call %d", how, spec, left)
				o := task.Options{Devices: spec}
				if left%2 == 1 { // Times and FromCache are for observers
					o.Observer = probe.Func(func(probe.Point) {})
				}
				rt, err := task.New(o)
				require.NoError(t, err, name)
				var parts [8][]uint32 // of two granules each: more than there is memory for
				for i := range parts {
					parts[i] = make([]uint32, 2048)
					require.NoError(t, task.Register(rt, parts[i]))
				}
				var all error
				for i := range 40 {
					_, err := fill.Submit(rt, 0, 2048, uint32(i), parts[i%8])
					all = errors.Join(all, err)
				}
				all = errors.Join(all, rt.Wait(context.Background()))
				closed := mustClose(t, rt, name)
				var leak *task.LeakError
				require.NotErrorAs(t, closed, &leak, name)
				if closed == nil { // it was not called so often
					require.NoError(t, all, name)
					for i, x := range parts {
						require.True(t, filled(uint32(32+i), x), name)
					}
					continue
				}
				broke++
				var cause *devices.DeviceError
				require.ErrorAs(t, closed, &cause, name)
				require.ErrorContains(t, closed, "fragile:0", name)
				if how != "Copy without event" && how != "Launch without event" {
					require.ErrorIs(t, closed, errBoom, name)
				}
			}
		}
		require.Positive(t, broke, how)
	}
	nextFragile.how = "open"
	_, err := task.New(task.Options{Devices: "fragile:1"})
	require.ErrorContains(t, err, "fragile: open: ")
	require.ErrorIs(t, err, errBoom)
}

// A panicky observer panics at the first point of a kind.
type panicky struct {
	how   string
	after int
	mu    sync.Mutex
}

func (p *panicky) panics(method string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.how == method {
		if p.after--; p.after <= 0 {
			panic(errBoom)
		}
	}
}

func (p *panicky) Observe(at probe.Point) { p.panics(at.Kind.String()) }

// A panickyRecorder is a recorder of whole tasks that panics.
type panickyRecorder struct{ panicky }

func (p *panickyRecorder) Open(*probe.Machine) { p.panics("Open") }
func (p *panickyRecorder) Submitted(deps.TaskID, []deps.Access, []deps.TaskID) {
	p.panics("Submitted")
}
func (p *panickyRecorder) Considered(deps.TaskID, int, []probe.Candidate) { p.panics("Considered") }
func (p *panickyRecorder) Ended(*probe.Task)                              { p.panics("Ended") }

type panickyCollector struct{ panickyRecorder }

func (p *panickyCollector) Collect(*probe.Briefs) { p.panics("Collect") }

// An observer may panic in any method and at any point: it is not called any more, all tasks run as without it, and Close returns an error
// that names it.
func TestObserversThatPanic(t *testing.T) {
	fill := kernelOf(t, Fill)
	var hows []string
	for k := probe.Submit; k <= probe.Phase; k++ {
		hows = append(hows, k.String())
	}
	broke := map[string]bool{}
	for _, how := range append(hows, "Open", "Submitted", "Considered", "Ended", "Collect") {
		for _, spec := range []string{"smp:2", "smp:2,sim:2(exec=cpu,memory=32KiB,granule=4KiB)"} {
			for _, after := range []int{1, 9} {
				own := panicky{how: how, after: after}
				for kind, o := range map[string]probe.Observer{"panicky": &own, "panickyRecorder": &panickyRecorder{panicky{how: how, after: after}},
					"panickyCollector": &panickyCollector{panickyRecorder{panicky{how: how, after: after}}}} {
					name := fmt.Sprintf("%s of %s on %s, call %d", how, kind, spec, after)
					rt, err := task.New(task.Options{Devices: spec, Observer: o})
					require.NoError(t, err, name)
					parts, count := [8][]uint32{}, 0
					for i := range parts {
						parts[i] = make([]uint32, 2048)
					}
					for i := range 24 {
						_, err := fill.Submit(rt, 0, 2048, uint32(i), parts[i%8])
						require.NoError(t, err, name)
						_, err = rt.GoScope(func(s *task.Scope) error {
							_, err := s.Go(func() error { count++; return nil })
							return errors.Join(err, s.Wait(context.Background()))
						}, task.InOut(parts[0][:1]))
						require.NoError(t, err, name)
					}
					_, err = rt.Go(func() error { return errors.New("fails, to be observed") })
					require.NoError(t, err, name)
					require.ErrorContains(t, rt.Wait(context.Background()), "fails, to be observed", name)
					closed := mustClose(t, rt, name)
					require.Equal(t, 24, count, name)
					for i, x := range parts {
						require.True(t, filled(uint32(16+i), x), name)
					}
					if closed == nil {
						continue
					}
					broke[how] = true
					var cause *probe.ObserverError
					require.ErrorAs(t, closed, &cause, name)
					require.Equal(t, "*task_test."+kind, cause.Observer, name)
					require.ErrorIs(t, closed, errBoom, name)
				}
			}
		}
	}
	for _, how := range []string{"submit", "edge", "ready", "choice", "start", "end", "release", "transfer", "arrive", "launch", "failure", "phase", "Open", "Submitted", "Considered", "Ended", "Collect"} {
		require.True(t, broke[how], "%s: %v", how, broke)
	}
}
