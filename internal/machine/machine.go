package machine

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/coherence"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/trace/probe"
)

// Options are those of a Machine. The zero value works.
type Options struct {
	// ByKind holds the options of plug-ins, such as a sim.Options under "sim". Parameters in the
	// specification take precedence.
	ByKind map[devices.Kind]any
	// WriteThrough copies what an accelerator wrote to the host at once, and not only when it is
	// needed there or evicted.
	WriteThrough bool
	// Observer, if not nil, observes transfers. Now is its clock; nil means the time since Open.
	Observer probe.Observer
	Now      func() time.Duration
}

// A Machine is the opened devices and the state of their memory. Its methods may be called from any
// goroutine.
type Machine struct {
	options Options
	clock   clock
	phases  []probe.Point // of Open
	devices []devices.Device
	absent  []Absent

	mu       machineLock // includes that of each space: see single_space.go
	planner  planner
	runner   runner
	timeline devices.Timeline // of devices with a time of their own; nil without
	// wait, if not nil, waits in place of progress: see SetWait.
	wait     func(over func() bool)
	progress sync.Cond // on completed copies, released working sets, no more actions
}

// An Absent device is one that an optional part of the specification left out, and why.
type Absent struct {
	Device string // "cuda", where none opens, or "cuda:1"
	Why    error
}

// Absent returns the devices that were left out.
func (m *Machine) Absent() []Absent { return m.absent }

// A space is one address space of a Machine.
type space struct {
	id        devices.SpaceID
	name      string
	device    *plugin              // nil for the host
	residency *coherence.Residency // nil for the host
	// virtual reports whether the device has a time of its own (devices.Modelled).
	virtual bool
	_       [128]byte // others read what comes before

	mu          spin.Mutex // guards what the machine keeps of this space; part of Machine.mu
	queue       setQueue   // working sets that wait for memory
	retired     *devices.DeviceError
	plan        coherence.Plan         // for startSingleSpace
	freeKernels []*coherence.Operation // without users, to be reused
	// messages is how many granules messages may hold, and held how many they do; under Machine.mu.
	messages, held int
	launching      atomic.Int32 // launches past the actions that have not returned
	_              [128]byte
}

// Open opens the devices that a specification names, such as "smp:2,sim:4" or
// "smp,sim:3(memory=64MiB,peer=off)".
//
// Errors: an unknown kind, with those known; the error of a plug-in. Devices opened before are
// closed again.
func Open(spec string, o Options) (*Machine, error) {
	configs, err := devices.ParseSpec(spec)
	if err != nil {
		return nil, err
	}
	m := newMachine(o)
	for _, c := range configs {
		if err := m.open(c); err != nil {
			return nil, errors.Join(err, m.Close())
		}
	}
	if len(m.devices) == 0 {
		err := fmt.Errorf("devices: %s: none is there", spec)
		for _, a := range m.absent {
			err = fmt.Errorf("%w: %s: %w", err, a.Device, a.Why)
		}
		return nil, err
	}
	return m, nil
}

func newMachine(o Options) *Machine {
	if o.Now == nil {
		start := time.Now()
		o.Now = func() time.Duration { return time.Since(start) }
	}
	m := &Machine{options: o, clock: clock{now: o.Now, observer: o.Observer}}
	m.progress.L = &m.mu
	m.runner = runner{planner: &m.planner, clock: &m.clock, mu: &m.mu, progress: &m.progress}
	m.planner.init(o.WriteThrough)
	return m
}

func (m *Machine) open(c devices.Config) error {
	for _, d := range m.devices {
		if d.Properties().Kind == c.Kind {
			return fmt.Errorf("devices: kind %q is there twice: write one part with the count", c.Kind)
		}
	}
	c.First = devices.SpaceID{Device: uint16(len(m.planner.spaces))}
	c.Options = m.options.ByKind[c.Kind]
	c.Timed = m.options.Observer != nil
	c.Absent = func(device string, why error) { m.absent = append(m.absent, Absent{device, why}) }
	began := m.options.Now()
	opened, err := openKind(c)
	m.phases = append(m.phases, probe.Point{Kind: probe.Phase, Label: probe.PhaseInit, Device: string(c.Kind), Begin: began, Time: m.options.Now()})
	if missing := (*devices.MissingError)(nil); c.Optional && errors.As(err, &missing) {
		c.Absent(string(c.Kind), missing.Err)
		return nil
	}
	if err != nil {
		return err
	}
	for _, d := range opened {
		if err := m.addTimeline(d); err != nil {
			return errors.Join(err, closeAll(opened))
		}
	}
	for _, d := range opened {
		m.add(d)
	}
	if n := len(m.planner.spaces) - 1; n > devices.MaxAccelerators {
		return fmt.Errorf("devices: %d accelerators: at most %d are possible", n, devices.MaxAccelerators)
	}
	return nil
}

// addTimeline notes the virtual time of d, if it has one.
func (m *Machine) addTimeline(d devices.Device) error {
	s, ok := d.(devices.Simulated)
	if !ok {
		return nil
	}
	line := s.Timeline()
	if line != nil && m.timeline != nil && m.timeline != line {
		return fmt.Errorf("devices: %s has another virtual time than the devices before it", d.Properties().Name)
	}
	if line != nil {
		m.timeline = line
	}
	return nil
}

func closeAll(list []devices.Device) error {
	var errs []error
	for _, d := range list {
		errs = append(errs, closePlugin(d))
	}
	return errors.Join(errs...)
}

// Timeline returns the virtual time of the devices, nil where they have none.
func (m *Machine) Timeline() devices.Timeline { return m.timeline }

// SetWait has wait called where the Machine waits for its devices: it returns when over, which it
// may call at any time, reports true. It is for the caller that governs the Timeline, and is called
// before the first work.
func (m *Machine) SetWait(wait func(over func() bool)) { m.wait = wait }

// await waits until over, which is called with m.mu held, reports true. Requires: m.mu held; it is
// given up meanwhile.
func (m *Machine) await(over func() bool) {
	for !over() {
		if m.wait == nil {
			m.progress.Wait()
			continue
		}
		m.mu.Unlock()
		m.wait(func() bool {
			m.mu.Lock()
			defer m.mu.Unlock()
			return over()
		})
		m.mu.Lock()
	}
}

func (m *Machine) add(d devices.Device) {
	m.devices = append(m.devices, d)
	a, ok := d.(devices.Accelerator)
	if !ok {
		return
	}
	p := d.Properties()
	id := devices.SpaceID{Device: uint16(len(m.planner.spaces))}
	s := &space{id: id, name: p.Name, device: &plugin{Accelerator: a, name: p.Name}, residency: coherence.NewResidency(p.Memory, p.Granule)}
	if v, ok := d.(devices.Modelled); ok {
		_, s.virtual = v.Virtual()
	}
	m.planner.spaces = append(m.planner.spaces, s)
	m.mu.spaces = m.planner.spaces[1:]
	m.planner.dir.AddSpace()
}

// Phases returns how long each kind of device took to open.
func (m *Machine) Phases() []probe.Point { return m.phases }

// Devices returns the devices in the order of the specification. The caller does not change the
// result.
func (m *Machine) Devices() []devices.Device { return m.devices }

// Makespan returns when the last work of devices with a time of their own (devices.Modelled) ended,
// in that time; 0 without such devices.
func (m *Machine) Makespan() (latest time.Duration) {
	for _, d := range m.devices {
		if v, ok := d.(devices.Modelled); ok {
			if elapsed, virtual := v.Virtual(); virtual {
				latest = max(latest, elapsed)
			}
		}
	}
	return latest
}

// Accelerators returns the devices with an address space of their own: that of Accelerators()[i] is
// {0, i+1}.
func (m *Machine) Accelerators() []devices.Accelerator {
	out := make([]devices.Accelerator, 0, len(m.planner.spaces)-1)
	for _, s := range m.planner.spaces[1:] {
		out = append(out, s.device.Accelerator)
	}
	return out
}

// SpaceOf returns the address space that kernels on d see: that of the host for CPU workers.
func (m *Machine) SpaceOf(d devices.Device) devices.SpaceID {
	for _, s := range m.planner.spaces[1:] {
		if s.device.Accelerator == d {
			return s.id
		}
	}
	return devices.Host
}

// Retired returns why the accelerator of a space is out of service, nil when it is not.
func (m *Machine) Retired(s devices.SpaceID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.planner.spaces[s.Device].retired; e != nil {
		return e
	}
	return nil
}

// HostAt returns the address of byte 0 of a buffer in host memory: Args.At of what runs on CPU
// workers. It panics for a buffer that was not added.
func (m *Machine) HostAt(b deps.BufferID) unsafe.Pointer { return m.planner.buffers.get(b).Host.At() }

// AddBuffer adds a buffer: size bytes at host, in elements of elem bytes, all valid there.
//
// The memory must not move until DropBuffer. Cost: no device is asked before the first working set.
func (m *Machine) AddBuffer(b deps.BufferID, host unsafe.Pointer, size, elem deps.Bytes) error {
	return m.AddMemory(b, devices.NewHostMemory(host), size, elem)
}

// AddMemory is AddBuffer for memory that the caller may let the collector free while no working set
// uses the buffer: copies to it are dropped from then on.
func (m *Machine) AddMemory(b deps.BufferID, host *devices.HostMemory, size, elem deps.Bytes) error {
	if elem <= 0 || size < 0 || size%elem != 0 {
		return fmt.Errorf("devices: buffer %d: size %d bytes: not whole elements of %d bytes", b, int64(size), int64(elem))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.planner.buffers.find(b) != nil {
		return fmt.Errorf("devices: buffer %d was added already", b)
	}
	m.planner.buffers.set(b, &buffer{Buffer: devices.Buffer{ID: b, Host: host, Size: size, Elem: elem}})
	m.planner.dir.Add(b, int64(size/elem), elem)
	return nil
}
