//go:build linux && (amd64 || arm64)

package cuda

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
	"github.com/gompss/gompss/devices/cuda/internal/launch"
	"github.com/gompss/gompss/devices/cuda/internal/tuner"
)

// A graph is the CUgraph of a sequence of launches, instantiated once and launched as a whole. A
// launch with other arguments replaces the kernels of those nodes that differ; where a step then
// has other nodes or needs other resources, the graph is built anew.
//
// The graph owns resources of its steps: a fault record for each step whose checks can fail, and
// scratch memory, of which a part is zeroed before each run. A sequence with such resources can run
// as a graph only once at a time; a launch during a run is enqueued step by step on one stream,
// which preserves the order.
type graph struct {
	steps []devices.Step // their edges hold for every launch

	mu          sync.Mutex
	graph, exec uintptr
	slots       []*slot // by step; nil for steps whose checks cannot fail
	scratch     uintptr // of all steps
	room        launch.Room
	busy        bool         // a run that uses slots or scratch is in progress
	built       *sequenceRun // the kernels of the nodes are those of this run
	nodes       [][]graphNode

	// choosing guards the latest run: a launch with the same arguments is the same run, as mirrors
	// do not move.
	choosing sync.Mutex
	run      *sequenceRun
}

// A graphNode is a node of a graph, with its kernel.
type graphNode struct {
	id     uint64
	kernel *kernelNode
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

// A sequenceRun is a launch of a sequence, or several with the same arguments.
type sequenceRun struct {
	device   *Device
	graph    *graph
	launched []devices.Step // the steps with their arguments
	steps    []step
	own      bool // steps need resources of the graph
	alone    bool // steps can fail alone
}

// decide returns the run for steps, which are those of g with arguments of their own.
func (g *graph) decide(d *Device, steps []devices.Step) (*sequenceRun, error) {
	g.choosing.Lock()
	defer g.choosing.Unlock()
	if g.run != nil && &g.run.launched[0] == &steps[0] {
		return g.run, nil
	}
	if len(steps) != len(g.steps) {
		return nil, fmt.Errorf("%d steps, want %d", len(steps), len(g.steps))
	}
	r := &sequenceRun{device: d, graph: g, launched: steps, steps: make([]step, len(steps))}
	for i := range steps {
		if err := r.choose(i, g.run); err != nil {
			return nil, err
		}
	}
	g.run = r
	return r, nil
}

// choose determines the launch of step i: that of the run before, where the arguments are the same.
func (r *sequenceRun) choose(i int, before *sequenceRun) (err error) {
	d, s := r.device, &r.launched[i]
	switch {
	case before != nil && slices.EqualFunc(before.launched[i].Args, s.Args, func(a, b devices.Arg) bool { return a.Equal(&b) }):
		r.steps[i] = before.steps[i]
	case d.modules.program(s.Kernel).native != nil:
		r.steps[i], err = d.modules.program(s.Kernel).native.prepare(d, &devices.Launch{Kernel: s.Kernel, Args: &devices.Args{List: s.Args}})
	default:
		one := &run{waits: d.modules.edges()}
		_, err = one.prepareBest(d, &devices.Launch{Kernel: s.Kernel, Args: &devices.Args{List: s.Args}}, d.modules.program(s.Kernel), (*tuner.Kernel).Settled)
		r.steps[i] = one
	}
	if one, ok := r.steps[i].(*run); ok && err == nil {
		r.own = r.own || one.faults || one.scratch.Total() > 0
		r.alone = r.alone || one.faults
	}
	return err
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
	if g.built != r && (g.exec == 0 || !r.replaceNodes()) {
		if err := errors.Join(g.free(r.device), r.buildEither(op.stream)); err != nil {
			return err
		}
	}
	g.built = r
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
	for i, one := range r.steps {
		if one, ok := one.(*run); ok && one.faults {
			var err error
			if g.slots[i], err = d.slots.get(); err != nil {
				return err
			}
		}
	}
	r.place()
	return nil
}

// place gives each step its part of the scratch memory of the graph. Requires: graph.mu held.
func (r *sequenceRun) place() {
	g := r.graph
	zeroed, unset := uint64(g.scratch), uint64(g.scratch)+uint64(g.room.Zeroed)
	for _, one := range r.steps {
		if one, ok := one.(*run); ok {
			one.binding.Place(zeroed, unset)
			zeroed, unset = zeroed+uint64(one.scratch.Zeroed), unset+uint64(one.scratch.Unset)
		}
	}
}

// needsAsBuilt reports whether the steps of r need the resources that the graph has.
func (r *sequenceRun) needsAsBuilt() bool {
	for i := range r.steps {
		a, ok := r.steps[i].(*run)
		b, was := r.graph.built.steps[i].(*run)
		if ok != was || ok && (a.faults != b.faults || a.scratch != b.scratch) {
			return false
		}
	}
	return true
}

// kernels returns the kernel nodes of all steps.
// Requires: graph.mu held, and the steps have their resources.
func (r *sequenceRun) kernels() ([][]*kernelNode, error) {
	g := r.graph
	followers := make([]int, len(r.steps))
	for i := range g.steps {
		for _, p := range g.steps[i].After {
			followers[p]++
		}
	}
	list := make([][]*kernelNode, len(r.steps))
	for i, s := range r.steps {
		after := g.steps[i].After
		alone := len(after) == 1 && followers[after[0]] == 1 // the edge is part of a chain, not of a fork or join
		var fault uint64
		if g.slots[i] != nil {
			fault = g.slots[i].address
		}
		err := s.nodes(r.device, fault, func(n *kernelNode) error {
			n.early = n.early && alone
			alone = true
			list[i] = append(list[i], n)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// replaceNodes makes the kernels of the instantiated graph those of r. It reports false if the
// graph must be built anew.
// Requires: graph.mu held, and the context is current.
func (r *sequenceRun) replaceNodes() bool {
	g := r.graph
	if !r.needsAsBuilt() {
		return false
	}
	r.place()
	list, err := r.kernels()
	if err != nil {
		return false // building reports it
	}
	for i, of := range list {
		if len(of) != len(g.nodes[i]) {
			return false
		}
		for k, n := range of {
			switch node := &g.nodes[i][k]; {
			case n.equal(node.kernel):
			case n.cooperative || n.early != node.kernel.early || node.kernel.cooperative:
				return false
			case r.device.gpu.setNode(g.exec, node.id, n) != nil:
				return false // the driver refuses some changes
			default:
				node.kernel = n
			}
		}
	}
	return true
}

// equal reports whether n and o are the same launch.
func (n *kernelNode) equal(o *kernelNode) bool {
	return n.function == o.function && n.teams == o.teams && n.team == o.team && n.shared == o.shared && n.early == o.early &&
		n.cooperative == o.cooperative && bytes.Equal(n.params, o.params)
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
	list, err := r.kernels()
	if err != nil {
		return err
	}
	ends := make([]uint64, len(r.steps)) // the last node of each step
	g.nodes = make([][]graphNode, len(r.steps))
	for i, of := range list {
		var after []uint64
		for _, p := range g.steps[i].After {
			after = append(after, ends[p])
		}
		for _, n := range of {
			if ends[i], err = d.gpu.addNode(g.graph, n, after); err != nil {
				return err
			}
			g.nodes[i] = append(g.nodes[i], graphNode{ends[i], n})
			after = []uint64{ends[i]}
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
	g.built, g.nodes = nil, nil
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
