package machine

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// A plugin is a device as the machine calls it: a method of the device that panics is a fatal error
// of the device, which takes it out of service, and no panic of the machine, whose locks would stay
// locked. A method must not end the calling goroutine (runtime.Goexit).
type plugin struct {
	devices.Accelerator
	name  string
	broke atomic.Pointer[devices.DeviceError] // the first panic
}

// errNoEvent means that a device has not kept to devices.Accelerator.
var errNoEvent = fmt.Errorf("returned no event")

// panicked makes an error of what a method panicked with.
func (p *plugin) panicked(what string, pos ir.Pos, value any) error {
	return p.fail(what, pos, devices.Panicked(value, debug.Stack()))
}

func (p *plugin) fail(what string, pos ir.Pos, err error) error {
	e := &devices.DeviceError{Device: p.name, What: what, Pos: pos, Err: err, Fatal: true}
	p.broke.CompareAndSwap(nil, e)
	return e
}

// recovered ends a panic in a method. It must be deferred itself.
func (p *plugin) recovered(what string, err *error) {
	if v := recover(); v != nil {
		*err = p.panicked(what, ir.Pos{}, v)
	}
}

func (p *plugin) Reaches(s devices.SpaceID) (yes bool) {
	var err error
	defer p.recovered("reaches", &err)
	return p.Accelerator.Reaches(s)
}

func (p *plugin) Reserve(b devices.Buffer) (err error) {
	defer p.recovered("reserve", &err)
	return p.Accelerator.Reserve(b)
}

func (p *plugin) Map(b deps.BufferID, lo, hi deps.Bytes) (err error) {
	defer p.recovered("map", &err)
	return p.Accelerator.Map(b, lo, hi)
}

func (p *plugin) Unmap(b deps.BufferID, lo, hi deps.Bytes) (err error) {
	defer p.recovered("unmap", &err)
	return p.Accelerator.Unmap(b, lo, hi)
}

func (p *plugin) Release(b deps.BufferID) (err error) {
	defer p.recovered("release", &err)
	return p.Accelerator.Release(b)
}

func (p *plugin) Copy(t devices.Transfer, after []devices.Event) (e devices.Event) {
	defer func() {
		if v := recover(); v != nil {
			e = completed{p.panicked("copy", ir.Pos{}, v)}
		}
	}()
	if e = p.Accelerator.Copy(t, after); e == nil {
		e = completed{p.fail("copy", ir.Pos{}, errNoEvent)}
	}
	return e
}

func (p *plugin) Launch(l *devices.Launch, after []devices.Event) (e devices.Event) {
	defer func() {
		if v := recover(); v != nil {
			e = completed{p.panicked("launch "+l.Kernel.Name, l.Kernel.Pos, v)}
		}
	}()
	if e = p.Accelerator.Launch(l, after); e == nil {
		e = completed{p.fail("launch "+l.Kernel.Name, l.Kernel.Pos, errNoEvent)}
	}
	return e
}

// A continuation is what runs after events, one at a time. Each event runs it once, also where the
// device panics after it was given the continuation.
type continuation struct {
	steps atomic.Uint64 // begins and ends of run, and dead
	run   func(error)
	whole func(error) // call, bound once
	set   *WorkingSet // whose onEnd it is; nil for that of a copy
	broke atomic.Bool // run has panicked
}

// dead is the bit of steps that says that an event which panicked has run it: no other does.
const dead = 1 << 63

// begin reports whether an event may run it; end follows.
func (c *continuation) begin() bool { return c.steps.Add(1)&dead == 0 }
func (c *continuation) end()        { c.steps.Add(1) }

func (c *continuation) call(err error) { c.callAs(c.run, err) }

// callAs is call with another function in place of run.
func (c *continuation) callAs(run func(error), err error) {
	if !c.begin() {
		return
	}
	returned := false
	defer func() {
		if !returned {
			c.broke.Store(true)
		}
	}()
	run(err)
	returned = true
	c.end()
}

// then has f called, which runs c, when e, an event of p, has happened, or runs c with an error
// where Then panics before it has called f.
func (p *plugin) then(e devices.Event, c *continuation, f func(error)) {
	before := c.steps.Load()
	defer func() {
		v := recover()
		switch {
		case v == nil:
		case c.steps.CompareAndSwap(before, before|dead):
			if c.set != nil {
				c.set.onEnd = nil
			}
			err := p.panicked("event", ir.Pos{}, v)
			go func() {
				p.awaitDone(e)
				c.run(err)
			}()
		case c.broke.Load(): // the panic is that of f, and so a bug of ours
			panic(v)
		default:
			p.panicked("event", ir.Pos{}, v)
		}
	}()
	e.Then(f)
}

// After Then has panicked the event is asked again and again for so long whether it has happened:
// its work may still use memory and arguments.
const (
	askEvery = time.Millisecond
	askUntil = 10 * time.Second
)

// awaitDone waits until e has happened, or is not expected to tell.
func (p *plugin) awaitDone(e devices.Event) {
	var err error
	defer p.recovered("event", &err)
	for began := time.Now(); !e.Done() && time.Since(began) < askUntil; {
		time.Sleep(askEvery)
	}
}

// timesOf returns when the work of a Timed event ran, zero where the device does not know.
func (p *plugin) timesOf(t devices.Timed) (began, ended time.Time) {
	var err error
	defer p.recovered("times of an event", &err)
	return t.Times()
}

// lasted returns how long the work of a Lasting event took.
func (p *plugin) lasted(l devices.Lasting) (d time.Duration) {
	var err error
	defer p.recovered("duration of an event", &err)
	return l.Lasted()
}

// pluginOf returns d as the machine calls it. The host has none that lasts.
func pluginOf(m *Machine, d devices.Device) *plugin {
	for _, s := range m.planner.spaces[1:] {
		if s.device.Accelerator == d {
			return s.device
		}
	}
	return &plugin{name: "host"}
}

// Prepare is Prepare of a device of m. A panic in it is a reason why the kernel has no variant
// there, and an error of Close.
func Prepare(m *Machine, d devices.Device, k *devices.Kernel) (err error) {
	p := pluginOf(m, d)
	defer p.recovered("prepare "+k.Name, &err)
	return d.Prepare(k)
}

// PrepareFor is Prepare for a launch with these arguments, if there are some, where the device
// makes code for sizes.
func PrepareFor(m *Machine, d devices.Device, k *devices.Kernel, args []devices.Arg) (err error) {
	s, ok := d.(devices.Sizing)
	if !ok || len(k.Sizes) == 0 || len(args) == 0 {
		return Prepare(m, d, k)
	}
	defer pluginOf(m, d).recovered("prepare "+k.Name, &err)
	return s.PrepareFor(k, args)
}

// FromCache reports whether a device of m that is devices.Caching found the variant of a kernel on
// disk.
func FromCache(m *Machine, d devices.Device, k *devices.Kernel) (hit bool) {
	c, ok := d.(devices.Caching)
	if !ok {
		return false
	}
	var err error
	defer pluginOf(m, d).recovered("cache", &err)
	return c.FromCache(k)
}

// LaunchHelper returns d, a device of m, where it is devices.LaunchHelper, else nil.
func LaunchHelper(m *Machine, d devices.Device) devices.LaunchHelper {
	if a, ok := d.(devices.LaunchHelper); ok {
		return launchHelper{pluginOf(m, d), a}
	}
	return nil
}

// launchHelper is plugin for the methods of devices.LaunchHelper.
type launchHelper struct {
	plugin *plugin
	device devices.LaunchHelper
}

func (a launchHelper) StartHelper(launch, contended func() bool) {
	var err error
	defer a.plugin.recovered("start helper", &err)
	a.device.StartHelper(launch, contended)
}

func (a launchHelper) HelperAwake() (soon bool) {
	var err error
	defer a.plugin.recovered("helper awake", &err)
	return a.device.HelperAwake()
}

// openKind is devices.OpenKind, of which a panic is an error.
func openKind(c devices.Config) (opened []devices.Device, err error) {
	p := plugin{name: string(c.Kind)}
	defer p.recovered("open", &err)
	return devices.OpenKind(c)
}

// closePlugin closes a device. A panic is its error.
func closePlugin(d devices.Device) (err error) {
	p := plugin{name: "a device"}
	defer p.recovered("close", &err)
	p.name = d.Properties().Name
	return d.Close()
}

// completed is an event that has happened at once: of a copy that was not made, and of work that a
// device could not take.
type completed struct{ err error }

func (completed) Done() bool           { return true }
func (c completed) Err() error         { return c.err }
func (c completed) Then(f func(error)) { f(c.err) }
