//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
	"github.com/gompss/gompss/devices/cuda/internal/launch"
	"github.com/gompss/gompss/devices/cuda/internal/tuner"
)

// A graph is the CUgraph of a sequence of launches, instantiated once and launched as a whole.
//
// The graph owns resources of its steps: a fault record for each step whose checks can fail, and
// scratch memory, of which a part is zeroed before each run. A sequence with such resources can run
// as a graph only once at a time; a launch during a run is enqueued step by step on one stream,
// which preserves the order.
type graph struct {
	steps []devices.Step

	mu          sync.Mutex
	graph, exec uintptr
	slots       []*slot // by step; nil for steps whose checks cannot fail
	scratch     uintptr // of all steps
	room        launch.Room
	busy        bool // a run that uses slots or scratch is in progress

	// choosing guards the launches of all steps, which are determined once: the arguments do not
	// change, and mirrors do not move.
	choosing sync.Mutex
	run      *sequenceRun
	alone    bool
}

// A step is the set of kernels of one step of a sequence.
type step interface {
	// nodes calls f with each kernel of the step, in order.
	nodes(d *Device, fault uint64, f func(node *kernelNode) error) error
	start(op *operation) error
}

// A kernelNode is one kernel of a graph.
type kernelNode struct {
	function    uintptr
	teams, team [3]int64
	shared      int64
	params      []byte
	early       bool // it waits for its predecessor itself, instead of the driver
	cooperative bool // its teams synchronise with each other
}

// A sequenceRun is one launch of a sequence.
type sequenceRun struct {
	device *Device
	graph  *graph
	steps  []step
	own    bool // steps need resources of the graph
}

// decide returns the launches of all steps on d. alone is true if some can fail alone.
func (g *graph) decide(d *Device) (r *sequenceRun, alone bool, err error) {
	g.choosing.Lock()
	defer g.choosing.Unlock()
	if g.run == nil {
		r, alone, err := g.choose(d)
		if err != nil {
			return nil, false, err
		}
		g.run, g.alone = r, alone
	}
	return g.run, g.alone, nil
}

// choose determines the launches of all steps.
func (g *graph) choose(d *Device) (r *sequenceRun, alone bool, err error) {
	r = &sequenceRun{device: d, graph: g, steps: make([]step, len(g.steps))}
	for i := range g.steps {
		s := &g.steps[i]
		l := &devices.Launch{Kernel: s.Kernel, Args: &devices.Args{List: s.Args}}
		if n := d.modules.program(s.Kernel).native; n != nil {
			if r.steps[i], err = n.prepare(d, l); err != nil {
				return nil, false, err
			}
			continue
		}
		one := &run{waits: d.modules.edges()}
		if _, err := one.prepareBest(d, l, d.modules.program(s.Kernel), (*tuner.Kernel).Settled); err != nil {
			return nil, false, err
		}
		r.steps[i] = one
		r.own = r.own || one.faults || one.scratch.Total() > 0
		alone = alone || one.faults
	}
	return r, alone, nil
}

// start enqueues the sequence on the stream of op.
// Requires: the context is current.
func (r *sequenceRun) start(op *operation) error {
	g := r.graph
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.busy {
		for _, s := range r.steps {
			if err := s.start(op); err != nil {
				return err
			}
		}
		return nil
	}
	if g.exec == 0 {
		if err := r.buildEither(op.stream); err != nil {
			return err
		}
	}
	for i, s := range g.slots {
		if s != nil {
			*s.record = record{}
			op.event.checks = append(op.event.checks, check{slot: s, version: r.steps[i].(*run).version, kept: true})
		}
	}
	if g.room.Zeroed > 0 {
		if err := r.device.gpu.driver.Do(driver.CuMemsetD8Async, g.scratch, 0, uintptr(g.room.Zeroed), op.stream.cu); err != nil {
			return err
		}
	}
	if err := r.device.gpu.driver.Do(driver.CuGraphLaunch, g.exec, op.stream.cu); err != nil {
		return err
	}
	if r.own {
		g.busy, op.event.graph = true, g
	}
	return nil
}

// finished records the end of the run that used the resources of g.
func (g *graph) finished() {
	g.mu.Lock()
	g.busy = false
	g.mu.Unlock()
}

// provide gives the steps their fault records and their scratch memory.
// Requires: graph.mu held, and the context is current.
func (r *sequenceRun) provide(s *stream) error {
	d, g := r.device, r.graph
	g.slots = make([]*slot, len(r.steps))
	for _, one := range r.steps {
		if one, ok := one.(*run); ok { // its parts have aligned sizes
			g.room.Zeroed, g.room.Unset = g.room.Zeroed+one.scratch.Zeroed, g.room.Unset+one.scratch.Unset
		}
	}
	if g.room.Total() > 0 {
		b := driver.NewBlock()
		defer b.Free()
		if err := d.gpu.driver.Do(driver.CuMemAllocAsync, b.At(0), uintptr(g.room.Total()), s.cu); err != nil {
			return fmt.Errorf("scratch memory of %v: %w", g.room.Total(), err)
		}
		g.scratch = uintptr(b.Words[0])
		if err := d.gpu.driver.Do(driver.CuStreamSynchronize, s.cu); err != nil { // from here on every stream may use it
			return err
		}
	}
	zeroed, unset := uint64(g.scratch), uint64(g.scratch)+uint64(g.room.Zeroed)
	for i, one := range r.steps {
		one, ok := one.(*run)
		if !ok {
			continue
		}
		if one.faults {
			var err error
			if g.slots[i], err = d.slots.get(); err != nil {
				return err
			}
		}
		one.binding.Place(zeroed, unset)
		zeroed, unset = zeroed+uint64(one.scratch.Zeroed), unset+uint64(one.scratch.Unset)
	}
	return nil
}

// buildEither builds the graph. If the driver refuses programmatic edges, it uses ordinary edges
// only.
// Requires: as for build.
func (r *sequenceRun) buildEither(s *stream) error {
	d, early := r.device, r.device.modules.edges()
	err := r.build(s)
	if err == nil {
		return nil
	}
	if err = errors.Join(err, r.graph.free(d)); !early {
		return err
	}
	d.modules.noEdges.Store(true)
	if err = r.build(s); err != nil {
		return errors.Join(err, r.graph.free(d))
	}
	return nil
}

// build builds and instantiates the graph.
// Requires: graph.mu held, and the context is current.
func (r *sequenceRun) build(s *stream) error {
	d, g := r.device, r.graph
	if err := r.provide(s); err != nil {
		return err
	}
	b := driver.NewBlock()
	defer b.Free()
	if err := d.gpu.driver.Do(driver.CuGraphCreate, b.At(0), 0); err != nil {
		return err
	}
	g.graph = uintptr(b.Words[0])
	ends := make([]uint64, len(r.steps)) // the last node of each step
	followers := make([]int, len(r.steps))
	for i := range g.steps {
		for _, p := range g.steps[i].After {
			followers[p]++
		}
	}
	for i, s := range r.steps {
		var after []uint64
		for _, p := range g.steps[i].After {
			after = append(after, ends[p])
		}
		alone := len(after) == 1 && followers[g.steps[i].After[0]] == 1 // the edge is part of a chain, not of a fork or join
		var fault uint64
		if g.slots[i] != nil {
			fault = g.slots[i].address
		}
		err := s.nodes(d, fault, func(n *kernelNode) error {
			var err error
			n.early = n.early && alone
			ends[i], err = d.gpu.addNode(g.graph, n, after)
			after, alone = []uint64{ends[i]}, true
			return err
		})
		if err != nil {
			return err
		}
	}
	if err := d.gpu.driver.Do(driver.CuGraphInstantiate, b.At(0), g.graph, 0); err != nil {
		return err
	}
	g.exec = uintptr(b.Words[0])
	return nil
}

// addNode adds a kernel node that depends on other nodes.
func (g *gpu) addNode(graph uintptr, n *kernelNode, after []uint64) (uint64, error) {
	b := driver.NewBlock()
	defer b.Free()
	if n.early && len(after) == 1 {
		id, err := g.addNode(graph, n, nil)
		if err != nil {
			return 0, err
		}
		const fromProgrammatic, programmatic = 1, 1 << 16 // a CUgraphEdgeData: port of the first node, kind of the edge
		b.Words[0], b.Words[1], b.Words[2] = after[0], id, fromProgrammatic|programmatic
		return id, g.driver.Do(driver.CuGraphAddDependencies, graph, b.At(0), b.At(1), b.At(2), 1)
	}
	n.fill(b)
	var list uintptr
	if len(after) > 0 {
		list = uintptr(unsafe.Pointer(&after[0]))
	}
	err := g.driver.Do(driver.CuGraphAddKernelNode, b.At(nodeWord), graph, list, uintptr(len(after)), b.At(0))
	runtime.KeepAlive(after)
	runtime.KeepAlive(n.params)
	id := b.Words[nodeWord]
	if err == nil && n.cooperative {
		clear(b.Words[:])
		b.Words[0] = 1
		err = g.driver.Do(driver.CuGraphKernelNodeSetAttribute, uintptr(id), cooperative, b.At(0))
	}
	return id, err
}

// setNode replaces the kernel of a node of an instantiated graph, for later launches.
func (g *gpu) setNode(exec uintptr, node uint64, n *kernelNode) error {
	b := driver.NewBlock()
	defer b.Free()
	n.fill(b)
	err := g.driver.Do(driver.CuGraphExecKernelNodeSetParams, exec, uintptr(node), b.At(0))
	runtime.KeepAlive(n.params)
	return err
}

// nodeWord is the first word of a block that fill does not write.
const nodeWord = 32

// fill writes n as a CUDA_KERNEL_NODE_PARAMS_v1 at the start of a block.
func (n *kernelNode) fill(b *driver.Block) {
	const extra, size = 16, 24
	pair := func(x, y int64) uint64 { return uint64(uint32(x)) | uint64(uint32(y))<<32 }
	b.Words[0] = uint64(n.function)
	b.Words[1], b.Words[2], b.Words[3] = pair(n.teams[0], n.teams[1]), pair(n.teams[2], n.team[0]), pair(n.team[1], n.team[2])
	b.Words[4], b.Words[5], b.Words[6] = uint64(n.shared), 0, uint64(b.At(extra))
	b.Words[extra], b.Words[extra+1] = 1, uint64(uintptr(unsafe.Pointer(unsafe.SliceData(n.params))))
	b.Words[extra+2], b.Words[extra+3], b.Words[extra+4] = 2, uint64(b.At(size)), 0
	b.Words[size] = uint64(len(n.params))
}

// free destroys the graph.
// Requires: the context is current.
func (g *graph) free(d *Device) error {
	var errs []error
	if g.exec != 0 {
		errs = append(errs, d.gpu.driver.Do(driver.CuGraphExecDestroy, g.exec))
	}
	if g.graph != 0 {
		errs = append(errs, d.gpu.driver.Do(driver.CuGraphDestroy, g.graph))
	}
	for _, s := range g.slots {
		if s != nil {
			d.slots.put(s)
		}
	}
	if g.scratch != 0 {
		errs = append(errs, d.gpu.driver.Do(driver.CuMemFreeAsync, g.scratch, d.streams.kernels[0].cu))
	}
	g.exec, g.graph, g.slots, g.scratch, g.room = 0, 0, nil, 0, launch.Room{}
	return errors.Join(errs...)
}

func (r *run) nodes(d *Device, fault uint64, f func(*kernelNode) error) error {
	for i := range r.version.entries {
		e, g := &r.version.source.Entries[i], r.grids[i]
		n := &kernelNode{function: r.version.entries[i].function, teams: [3]int64{g.Teams, 1, 1}, team: [3]int64{g.Threads, 1, 1},
			params: make([]byte, e.ArgsSize), cooperative: e.Launch.Cooperative,
			early: r.waits && d.modules.edges() && !e.Launch.Cooperative && d.gpu.leavesRoom(e, g)}
		if err := r.binding.Pack(e, n.params, d.mirrors.addressOf, fault); err != nil {
			return err
		}
		e.Wait(n.params, n.early)
		if err := f(n); err != nil {
			return err
		}
	}
	return nil
}

func (r *nativeRun) nodes(_ *Device, _ uint64, f func(*kernelNode) error) error {
	if err := r.allowShared(); err != nil {
		return err
	}
	params, err := r.pack()
	if err != nil {
		return err
	}
	return f(&kernelNode{function: r.native.entry.function, teams: r.teams, team: r.team, shared: int64(r.shared), params: params})
}
