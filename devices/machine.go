package devices

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
)

// maxAccelerators bounds the accelerators of one machine: sets of places have 64 bits, one of them for the CPU workers. maxWorkers bounds
// these; it is smp.MaxWorkers.
const (
	maxAccelerators = 63
	maxWorkers      = 1024
)

// Options are those of a Machine. The zero value works.
type Options struct {
	// ByKind holds the options of plug-ins, such as a sim.Options under "sim"; parameters in the specification win.
	ByKind map[Kind]any
	// WriteThrough copies what an accelerator wrote to the host at once, and not when it is needed or evicted.
	WriteThrough bool
	// Observer, if not nil, is told of transfers; Now is its clock, the time since Open when nil.
	Observer probe.Observer
	Now      func() time.Duration
}

// A Machine is the opened devices and what is known of their memory. Its methods may be called from any goroutine.
type Machine struct {
	options Options
	phases  []probe.Point // of Open
	devices []Device
	spaces  []*space // by SpaceID.Device; spaces[0] is the host
	buffers atomic.Pointer[[]atomic.Pointer[buffer]]
	closed  atomic.Bool
	dir     *Directory
	_       [128]byte // until here all is written rarely, and read for every kernel

	mu      guard  // and with it that of each space: see beside.go
	steps   []step // what devices are to be asked, in order
	spare   []step
	plan    Plan
	flying  int    // flights that have not landed
	arrived uint64 // those that have
	driving bool   // somebody carries steps out
	// starting is the working set that Start is asked for, while it is planned.
	starting *WorkingSet
	quiet    sync.Cond // broadcast when a flight lands, a working set is released or driving ends
	counted  Counters
	links    []LinkCounter // by from*spaces + to
}

// A space is one address space of a Machine.
type space struct {
	id     SpaceID
	name   string
	device Accelerator // nil for the host
	held   *residency  // nil for the host
	_      [128]byte   // others read what comes before

	mu      mutex    // guards what the machine keeps of this space; held by who holds Machine.mu
	waiting setQueue // working sets that wait for room
	retired *DeviceError
	plan    Plan         // for startBeside
	flights []*Flight    // of kernels, that nobody has
	direct  atomic.Int32 // launches past the steps that have not returned
	_       [128]byte
}

// A buffer is what the machine knows of a buffer besides the directory.
type buffer struct {
	Buffer
	// away says that some accelerator has had to do with it since the host last had it alone: while it is false,
	// everything is valid on the host and nowhere else, and nobody needs to ask the directory.
	away atomic.Bool
	// sole is the space, plus 1, that alone had all of it when a task had written it as a whole; 0 since anything else has been done
	// about it. It is written under Machine.mu and read without, by who can do with what was true a moment ago.
	sole atomic.Int32
	// knownAt is the spaces whose devices know of it, by bits: it is asked for without a lock, and nothing is taken out.
	knownAt atomic.Uint64
}

// Open opens the devices that a specification names, such as "smp:2,sim:4" or "smp,sim:3(memory=64MiB,peer=off)".
//
// Errors: an unknown kind, with those known; what the plug-in says. Everything opened before is closed again.
func Open(spec string, o Options) (*Machine, error) {
	configs, err := parseSpec(spec)
	if err != nil {
		return nil, err
	}
	m := newMachine(o)
	for _, c := range configs {
		if err := m.open(c); err != nil {
			return nil, errors.Join(err, m.Close())
		}
	}
	return m, nil
}

func newMachine(o Options) *Machine {
	if o.Now == nil {
		start := time.Now()
		o.Now = func() time.Duration { return time.Since(start) }
	}
	m := &Machine{
		options: o,
		spaces:  []*space{{id: Host, name: Host.String()}},
	}
	m.quiet.L = &m.mu
	m.dir = NewDirectory(m.reaches)
	m.buffers.Store(&[]atomic.Pointer[buffer]{})
	return m
}

func (m *Machine) open(c Config) error {
	open := opener(c.Kind)
	if open == nil {
		return fmt.Errorf("devices: unknown kind %q: known are %s", c.Kind, list(Kinds()))
	}
	for _, d := range m.devices {
		if d.Properties().Kind == c.Kind {
			return fmt.Errorf("devices: kind %q is there twice: write one part with the count", c.Kind)
		}
	}
	c.First = SpaceID{Device: uint16(len(m.spaces))}
	c.Options = m.options.ByKind[c.Kind]
	c.Timed = m.options.Observer != nil
	began := m.options.Now()
	opened, err := open(c)
	m.phases = append(m.phases, probe.Point{Kind: probe.Phase, Label: probe.PhaseInit, Device: string(c.Kind), Begin: began, Time: m.options.Now()})
	if err != nil {
		return fmt.Errorf("devices: open %s: %w", c.Kind, err)
	}
	for _, d := range opened {
		m.add(d)
	}
	if n := len(m.spaces) - 1; n > maxAccelerators {
		return fmt.Errorf("devices: %d accelerators: at most %d are possible", n, maxAccelerators)
	}
	return nil
}

func (m *Machine) add(d Device) {
	m.devices = append(m.devices, d)
	a, ok := d.(Accelerator)
	if !ok {
		return
	}
	p := d.Properties()
	id := SpaceID{Device: uint16(len(m.spaces))}
	m.spaces = append(m.spaces, &space{id: id, name: p.Name, device: a, held: newResidency(p.Memory, p.Granule)})
	m.mu.spaces = m.spaces[1:]
	m.dir.AddSpace()
}

// reaches says whether one copy can go from one address space to another.
func (m *Machine) reaches(from, to SpaceID) bool {
	return from == Host || to == Host || m.spaces[to.Device].device.Reaches(from)
}

// Phases returns how long each kind of device took to open, for who was not there to be told.
func (m *Machine) Phases() []probe.Point { return m.phases }

// Devices returns the devices in the order of the specification. The caller must not change the result.
func (m *Machine) Devices() []Device { return m.devices }

// Accelerators returns the devices with an address space of their own; that of Accelerators()[i] is {0, i+1}.
func (m *Machine) Accelerators() []Accelerator {
	out := make([]Accelerator, 0, len(m.spaces)-1)
	for _, s := range m.spaces[1:] {
		out = append(out, s.device)
	}
	return out
}

// SpaceOf returns the address space that kernels on d see: the host's for CPU workers.
func (m *Machine) SpaceOf(d Device) SpaceID {
	for _, s := range m.spaces[1:] {
		if s.device == d {
			return s.id
		}
	}
	return Host
}

// Retired returns why the accelerator of a space is out of service, nil when it is not.
func (m *Machine) Retired(s SpaceID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.spaces[s.Device].retired; e != nil {
		return e
	}
	return nil
}

// HostAt returns the address of byte 0 of a buffer in host memory: Args.At of what runs on CPU workers. It panics for
// a buffer that was not added.
func (m *Machine) HostAt(b deps.BufferID) unsafe.Pointer { return m.buffer(b).Host }

func (m *Machine) buffer(b deps.BufferID) *buffer {
	if known := m.known(b); known != nil {
		return known
	}
	panic(fmt.Sprintf("gompss: bug: devices: buffer %d was not added", b))
}

// known returns nil for a buffer that was not added.
func (m *Machine) known(b deps.BufferID) *buffer {
	if table := *m.buffers.Load(); int(b) < len(table) {
		return table[b].Load()
	}
	return nil
}

// AddBuffer makes a buffer known: size bytes at host, in elements of elem bytes, all valid there.
//
// The memory must stay where it is until DropBuffer. Cost: no device is asked before the first working set.
func (m *Machine) AddBuffer(b deps.BufferID, host unsafe.Pointer, size, elem deps.Bytes) error {
	if elem <= 0 || size < 0 || size%elem != 0 {
		return fmt.Errorf("devices: buffer %d: size %d bytes: not whole elements of %d bytes", b, int64(size), int64(elem))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known(b) != nil {
		return fmt.Errorf("devices: buffer %d was added already", b)
	}
	m.setBuffer(b, &buffer{Buffer: Buffer{ID: b, Host: host, Size: size, Elem: elem}})
	m.dir.Add(b, int64(size/elem), elem)
	return nil
}

// setBuffer enters a buffer into the table, which others read without the lock, or takes it out: nobody looks for one that is not there, so
// its slot may be written. The table grows to twice its size, and more where ids are not dense. Requires: m.mu held.
func (m *Machine) setBuffer(b deps.BufferID, v *buffer) {
	table := *m.buffers.Load()
	if int(b) >= len(table) {
		more := make([]atomic.Pointer[buffer], max(int(b)+1, 2*len(table), 16))
		for i := range table {
			more[i].Store(table[i].Load())
		}
		table = more
		m.buffers.Store(&table)
	}
	table[b].Store(v)
}
