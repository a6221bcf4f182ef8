//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"runtime"
	"sync"
	"unsafe"

	"github.com/gompss/gompss/devices"
)

// A graph is a sequence of launches as the driver runs it: a CUgraph, instantiated once and launched as a whole.
//
// Steps with checks that can fail, or with scratch memory, need something of their own in every run; a sequence that has
// one is enqueued step by step on one stream instead, which keeps its order.
type graph struct {
	steps []devices.Step

	mu          sync.Mutex
	graph, exec uintptr
}

// A step is what a sequence launches: the kernels of one step.
type step interface {
	// nodes calls f with each kernel of the step, in order.
	nodes(d *Device, f func(node *kernelNode) error) error
	start(op *operation) error
}

// A kernelNode is one kernel of a graph.
type kernelNode struct {
	function    uintptr
	teams, team [3]int64
	shared      int64
	params      []byte
}

// A sequenceRun is one launch of a sequence.
type sequenceRun struct {
	device *Device
	graph  *graph
	steps  []step
	simple bool // nothing needs memory of its own: it can be a graph
}

// chooseSequence decides what all steps launch, and whether some can fail alone.
func (d *Device) chooseSequence(g *graph) (r *sequenceRun, alone bool, err error) {
	r = &sequenceRun{device: d, graph: g, simple: true, steps: make([]step, len(g.steps))}
	for i := range g.steps {
		s := &g.steps[i]
		l := &devices.Launch{Kernel: s.Kernel, Args: &devices.Args{List: s.Args}}
		if n := d.program(s.Kernel).native; n != nil {
			if r.steps[i], err = d.prepareNative(l, n); err != nil {
				return nil, false, err
			}
			continue
		}
		one := &run{}
		if err := d.prepareRun(l, d.program(s.Kernel), one); err != nil {
			return nil, false, err
		}
		r.steps[i] = one
		r.simple = r.simple && !one.faults && one.scratch == 0
		alone = alone || one.faults
	}
	return r, alone, nil
}

// start enqueues the sequence on the stream of op. Requires: the context is current.
func (r *sequenceRun) start(op *operation) error {
	if !r.simple {
		for _, s := range r.steps {
			if err := s.start(op); err != nil {
				return err
			}
		}
		return nil
	}
	g := r.graph
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.exec == 0 {
		if err := r.build(); err != nil {
			return errors.Join(err, g.free(r.device))
		}
	}
	return r.device.driver.do(cuGraphLaunch, g.exec, op.stream.cu)
}

// build makes the graph. Requires: graph.mu held, the context is current.
func (r *sequenceRun) build() error {
	d, g := r.device, r.graph
	b := newBlock()
	defer b.free()
	if err := d.driver.do(cuGraphCreate, b.at(0), 0); err != nil {
		return err
	}
	g.graph = uintptr(b.words[0])
	ends := make([]uint64, len(r.steps)) // the last node of each step
	for i, s := range r.steps {
		var after []uint64
		for _, p := range g.steps[i].After {
			after = append(after, ends[p])
		}
		err := s.nodes(d, func(n *kernelNode) error {
			var err error
			ends[i], err = d.addNode(g.graph, n, after)
			after = []uint64{ends[i]}
			return err
		})
		if err != nil {
			return err
		}
	}
	if err := d.driver.do(cuGraphInstantiate, b.at(0), g.graph, 0); err != nil {
		return err
	}
	g.exec = uintptr(b.words[0])
	return nil
}

// addNode adds a kernel behind other nodes.
func (d *Device) addNode(graph uintptr, n *kernelNode, after []uint64) (uint64, error) {
	b := newBlock()
	defer b.free()
	n.fill(b)
	var list uintptr
	if len(after) > 0 {
		list = uintptr(unsafe.Pointer(&after[0]))
	}
	err := d.driver.do(cuGraphAddKernelNode, b.at(nodeWord), graph, list, uintptr(len(after)), b.at(0))
	runtime.KeepAlive(after)
	runtime.KeepAlive(n.params)
	return b.words[nodeWord], err
}

// setNode makes a node of an instantiated graph another kernel, from its next launch on.
func (d *Device) setNode(exec uintptr, node uint64, n *kernelNode) error {
	b := newBlock()
	defer b.free()
	n.fill(b)
	err := d.driver.do(cuGraphExecKernelNodeSetParams, exec, uintptr(node), b.at(0))
	runtime.KeepAlive(n.params)
	return err
}

// nodeWord is the first word of a block that fill leaves alone.
const nodeWord = 32

// fill writes n as a CUDA_KERNEL_NODE_PARAMS_v1 at the start of a block.
func (n *kernelNode) fill(b *block) {
	const extra, size = 16, 24
	pair := func(x, y int64) uint64 { return uint64(uint32(x)) | uint64(uint32(y))<<32 }
	b.words[0] = uint64(n.function)
	b.words[1], b.words[2], b.words[3] = pair(n.teams[0], n.teams[1]), pair(n.teams[2], n.team[0]), pair(n.team[1], n.team[2])
	b.words[4], b.words[5], b.words[6] = uint64(n.shared), 0, uint64(b.at(extra))
	b.words[extra], b.words[extra+1] = 1, uint64(uintptr(unsafe.Pointer(unsafe.SliceData(n.params))))
	b.words[extra+2], b.words[extra+3], b.words[extra+4] = 2, uint64(b.at(size)), 0
	b.words[size] = uint64(len(n.params))
}

// free gives the graph back. Requires: the context is current.
func (g *graph) free(d *Device) error {
	var errs []error
	if g.exec != 0 {
		errs = append(errs, d.driver.do(cuGraphExecDestroy, g.exec))
	}
	if g.graph != 0 {
		errs = append(errs, d.driver.do(cuGraphDestroy, g.graph))
	}
	g.exec, g.graph = 0, 0
	return errors.Join(errs...)
}

func (r *run) nodes(d *Device, f func(*kernelNode) error) error {
	for i := range r.version.entries {
		e, g := &r.version.source.Entries[i], r.grids[i]
		n := &kernelNode{function: r.version.entries[i].function, teams: [3]int64{g.Teams, 1, 1}, team: [3]int64{g.Threads, 1, 1},
			params: make([]byte, e.ArgsSize)}
		if err := r.binding.pack(e, n.params, d.mirrorAt, 0); err != nil {
			return err
		}
		if err := f(n); err != nil {
			return err
		}
	}
	return nil
}

func (r *nativeRun) nodes(_ *Device, f func(*kernelNode) error) error {
	if err := r.allowShared(); err != nil {
		return err
	}
	params, err := r.pack()
	if err != nil {
		return err
	}
	return f(&kernelNode{function: r.native.entry.function, teams: r.teams, team: r.team, shared: int64(r.shared), params: params})
}
