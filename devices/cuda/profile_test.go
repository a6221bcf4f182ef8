//go:build linux && (amd64 || arm64)

package cuda

import (
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
)

// The driver's functions that only TestProfile calls.
const (
	rawAlloc = iota
	rawFree
	rawPeer
	rawWriteValue
	rawGraphCreate
	rawGraphAddKernel
	rawInstantiate
	rawGraphLaunch
	rawExecDestroy
	rawGraphDestroy
	rawCtxSynchronize
)

var rawFunctions = []string{"cuMemAlloc_v2", "cuMemFree_v2", "cuMemcpyPeerAsync", "cuStreamWriteValue32_v2", "cuGraphCreate",
	"cuGraphAddKernelNode_v2", "cuGraphInstantiateWithFlags", "cuGraphLaunch", "cuGraphExecDestroy", "cuGraphDestroy", "cuCtxSynchronize"}

// A profile takes the costs apart that TestBench measures together.
type profile struct {
	*bench
	raw *driver.Library
}

func (p *profile) call(f int, args ...uintptr) error {
	r, _, _ := purego.SyscallN(p.raw.Addresses[f], args...)
	if code := int(int32(r)); code != 0 {
		return fmt.Errorf("%s: %d", rawFunctions[f], code)
	}
	return nil
}

func (p *profile) note(name string, value float64, unit string) {
	*p.rows = append(*p.rows, fmt.Sprintf("%-64s %10.3f %s", name, value, unit))
}

// each notes the mean microseconds of f over n calls.
func (p *profile) each(name string, n int, f func(i int)) {
	start := time.Now()
	for i := range n {
		f(i)
	}
	p.note(name, time.Since(start).Seconds()/float64(n)*1e6, "us")
}

// median notes the median of n values of f.
func (p *profile) median(name, unit string, n int, f func() float64) {
	var all []float64
	for range n {
		all = append(all, f())
	}
	slices.Sort(all)
	p.note(name, all[n/2], unit)
}

// TestProfile prints what the parts of a launch, a copy and a wait cost. It judges nothing.
func TestProfile(t *testing.T) {
	needGround(t)
	if !ground.real {
		t.Skip("no GPU to measure")
	}
	drv, err := driver.Open()
	require.NoError(t, err)
	raw, err := driver.OpenFile(drv.Path, rawFunctions)
	require.NoError(t, err)
	var rows []string
	for _, part := range []struct {
		name string
		run  func(p *profile)
	}{{"sleeps", profileSleeps}, {"launches", profileLaunches}, {"pins", profilePins}, {"copies", profileCopies}, {"peers", profilePeers}, {"graph", profileGraph}, {"edges", profileEdges}, {"batches", profileBatches}, {"contended", profileContended}} {
		t.Run(part.name, func(t *testing.T) { part.run(&profile{bench: openBench(t, drv.Count, &rows), raw: raw}) })
	}
	for _, r := range rows {
		fmt.Println("PROF", r)
	}
}

func profileSleeps(p *profile) {
	for _, us := range []int{20, 100, 200} {
		p.median(fmt.Sprintf("time.Sleep(%d us), nothing else to do", us), "us", 50, func() float64 {
			start := time.Now()
			time.Sleep(time.Duration(us) * time.Microsecond)
			return time.Since(start).Seconds() * 1e6
		})
		p.median(fmt.Sprintf("nanosleep(%d us)", us), "us", 50, func() float64 {
			start := time.Now()
			ts := unix.NsecToTimespec(int64(us) * 1000)
			_ = unix.Nanosleep(&ts, nil)
			return time.Since(start).Seconds() * 1e6
		})
	}
	ch, back := make(chan int), make(chan int)
	go func() {
		for x := range ch {
			back <- x
		}
		close(back)
	}()
	p.each("goroutine ping-pong over channels", 2000, func(i int) { ch <- i; <-back })
	close(ch)
	<-back
}

func profileLaunches(p *profile) {
	const n = 5000
	d := p.d
	x := put(p.bench, make([]int64, 1))
	k := benchKernel(p.t, "Empty")
	launch := &devices.Launch{Kernel: k, Args: &devices.Args{List: []devices.Arg{x}}}
	r, err := d.newRun(launch)
	require.NoError(p.t, err)
	ok := func(err error) { require.NoError(p.t, err) }
	d.gpu.enter()
	s := d.streams.kernels[0]
	op := &operation{event: &event{device: d}, stream: s}
	sync := func() {
		for _, s := range d.streams.kernels {
			ok(d.gpu.driver.Do(driver.CuStreamSynchronize, s.cu))
		}
	}
	cu, err := d.spare.get()
	ok(err)
	for round := range 2 { // the first one warms
		_ = round
		p.each("cuCtxSetCurrent", n, func(int) { d.gpu.driver.Call(driver.CuCtxSetCurrent, d.gpu.context) })
		p.each("cuEventRecord", n, func(int) { ok(d.gpu.driver.Do(driver.CuEventRecord, cu, s.cu)) })
		p.each("cuEventQuery of a done event", n, func(int) { d.gpu.driver.Call(driver.CuEventQuery, cu) })
		p.each("cuStreamWaitEvent of a done event", n, func(int) { ok(d.gpu.driver.Do(driver.CuStreamWaitEvent, s.cu, cu, 0)) })
		p.each("prepareRun", n, func(int) { _, _ = d.newRun(launch) })
		p.each("launch, one stream, enqueue alone", n, func(int) { ok(r.start(op)) })
		start := time.Now()
		sync()
		p.note("  and what was left of it on the GPU, each", time.Since(start).Seconds()/n*1e6, "us")
		p.each("the clock", n, func(int) { _ = monotonic() })
		p.byPointers(n, op, r)
		sync()
		p.each("launch and record, one stream", n, func(int) { ok(r.start(op)); ok(d.gpu.driver.Do(driver.CuEventRecord, cu, s.cu)) })
		sync()
		p.each("wait, launch and record over four streams", n, func(i int) {
			to := d.streams.kernels[i%len(d.streams.kernels)]
			ok(d.gpu.driver.Do(driver.CuStreamWaitEvent, to.cu, cu, 0))
			op.stream = to
			ok(r.start(op))
			ok(d.gpu.driver.Do(driver.CuEventRecord, cu, to.cu))
		})
		sync()
		op.stream = s
		p.contended(n, op, r, cu)
		p.each("launch, record, spin on cuEventQuery", 1000, func(int) {
			ok(r.start(op))
			ok(d.gpu.driver.Do(driver.CuEventRecord, cu, s.cu))
			for d.gpu.driver.Call(driver.CuEventQuery, cu) != 0 {
			}
		})
		p.writeValues(n, op, r)
	}
	d.gpu.leave()
	d.spare.put(cu)
	var last devices.Event
	p.each("Device.Launch, independent, enqueue", n, func(int) { last = d.Launch(launch, nil) })
	ok(waitFor(last))
	last = nil
	p.each("Device.Launch, each behind the one before, enqueue", n, func(int) {
		var after []devices.Event
		if last != nil {
			after = []devices.Event{last}
		}
		last = d.Launch(launch, after)
	})
	start := time.Now()
	ok(waitFor(last))
	p.note("  and what was left of it", time.Since(start).Seconds()*1e6, "us")
	p.each("Device.Launch and wait", 1000, func(int) { ok(waitFor(d.Launch(launch, nil))) })
	p.each("Device.Launch and spin on Done", 1000, func(int) {
		for e := d.Launch(launch, nil); !e.Done(); {
			runtime.Gosched()
		}
	})
}

// byPointers launches with a pointer to each argument in place of a buffer of all.
func (p *profile) byPointers(n int, op *operation, r *run) {
	e := &r.version.source.Entries[0]
	params, list := make([]byte, e.ArgsSize), make([]unsafe.Pointer, len(e.Args)+1)
	require.NoError(p.t, r.binding.Pack(e, params, p.d.mirrors.addressOf, 0))
	for i, a := range e.Args {
		list[i] = unsafe.Pointer(&params[a.Offset])
	}
	f, g := r.version.entries[0].function, r.grids[0]
	p.each("launch by pointers, packed once, enqueue alone", n, func(int) {
		require.NoError(p.t, p.d.gpu.driver.Do(driver.CuLaunchKernel, f, uintptr(g.Teams), 1, 1, uintptr(g.Threads), 1, 1, 0, op.stream.cu,
			uintptr(unsafe.Pointer(&list[0])), 0))
	})
	runtime.KeepAlive(params)
	runtime.KeepAlive(list)
}

// contended launches while another thread asks for an event all the time, as a poller does.
func (p *profile) contended(n int, op *operation, r *run, cu uintptr) {
	var stop atomic.Bool
	var awaited atomic.Int64
	over := make(chan struct{})
	go func() {
		defer close(over)
		p.d.gpu.enter()
		defer p.d.gpu.leave()
		for !stop.Load() {
			p.d.gpu.driver.Call(driver.CuEventQuery, cu)
			awaited.Add(1)
		}
	}()
	start := time.Now()
	p.each("launch and record while another thread queries", n, func(int) {
		require.NoError(p.t, r.start(op))
		require.NoError(p.t, p.d.gpu.driver.Do(driver.CuEventRecord, cu, op.stream.cu))
	})
	took := time.Since(start)
	stop.Store(true)
	<-over
	p.note("  queries meanwhile, each", took.Seconds()/float64(awaited.Load())*1e6, "us")
}

// writeValues tries completion by a word in pinned memory that the stream writes.
func (p *profile) writeValues(n int, op *operation, r *run) {
	d := p.d
	b := driver.NewBlock()
	defer b.Free()
	require.NoError(p.t, d.gpu.driver.Do(driver.CuMemHostAlloc, b.At(0), 4096, 1|2))
	at := uintptr(b.Words[0])
	word := (*uint32)(*(*unsafe.Pointer)(unsafe.Pointer(&b.Words[0])))
	defer func() { require.NoError(p.t, d.gpu.driver.Do(driver.CuMemFreeHost, at)) }()
	if err := p.call(rawWriteValue, op.stream.cu, at, 1, 0); err != nil {
		p.note("cuStreamWriteValue32: "+err.Error(), 0, "")
		return
	}
	p.each("launch and cuStreamWriteValue32", n, func(i int) {
		require.NoError(p.t, r.start(op))
		require.NoError(p.t, p.call(rawWriteValue, op.stream.cu, at, uintptr(i+2), 0))
	})
	for atomic.LoadUint32(word) != uint32(n+1) {
	}
	p.each("launch, write value, spin on the word", 1000, func(i int) {
		require.NoError(p.t, r.start(op))
		require.NoError(p.t, p.call(rawWriteValue, op.stream.cu, at, uintptr(i+n+2), 0))
		for atomic.LoadUint32(word) != uint32(i+n+2) {
		}
	})
}

// timed returns GB/s of a copy of n bytes by events of the device on a stream.
func (p *profile) timed(s *stream, n int, f func() error) float64 {
	d, w := s.device, driver.NewBlock()
	defer w.Free()
	d.gpu.enter()
	defer d.gpu.leave()
	require.NoError(p.t, d.gpu.driver.Do(driver.CuEventCreate, w.At(0), 0))
	require.NoError(p.t, d.gpu.driver.Do(driver.CuEventCreate, w.At(1), 0))
	first, last := uintptr(w.Words[0]), uintptr(w.Words[1])
	var times []float64
	for range 10 {
		require.NoError(p.t, d.gpu.driver.Do(driver.CuEventRecord, first, s.cu))
		require.NoError(p.t, f())
		require.NoError(p.t, d.gpu.driver.Do(driver.CuEventRecord, last, s.cu))
		require.NoError(p.t, d.gpu.driver.Do(driver.CuStreamSynchronize, s.cu))
		require.NoError(p.t, d.gpu.driver.Do(driver.CuEventElapsedTime, w.At(2), first, last))
		times = append(times, float64(math.Float32frombits(uint32(w.Words[2])))/1e3)
	}
	require.NoError(p.t, d.gpu.driver.Do(driver.CuEventDestroy, first))
	require.NoError(p.t, d.gpu.driver.Do(driver.CuEventDestroy, last))
	slices.Sort(times)
	return float64(n) / times[len(times)/2] / 1e9
}

func profileCopies(p *profile) {
	const n = 32 << 20 // float64: 256 MiB
	d := p.d
	x := make([]float64, n)
	a := put(p.bench, x)
	host, device := uintptr(unsafe.Pointer(&x[0])), uintptr(p.addressOf(a))
	p.note("pinned", map[bool]float64{true: 1}[d.platform.pins.has(a.Buffer)], "")
	d.gpu.enter()
	b := driver.NewBlock()
	defer b.Free()
	require.NoError(p.t, d.gpu.driver.Do(driver.CuMemHostAlloc, b.At(0), 8*n, 1))
	require.NoError(p.t, p.call(rawAlloc, b.At(1), 8*n))
	own, plain := uintptr(b.Words[0]), uintptr(b.Words[1])
	d.gpu.leave()
	for _, c := range []struct {
		name string
		host uintptr
		dev  uintptr
	}{{"registered, mapped granules", host, device}, {"cuMemHostAlloc, mapped granules", own, device},
		{"registered, cuMemAlloc", host, plain}, {"cuMemHostAlloc, cuMemAlloc", own, plain}} {
		p.note("h2d 256 MiB by device events: "+c.name, p.timed(d.streams.toDevice, 8*n, func() error {
			return d.gpu.driver.Do(driver.CuMemcpyHtoDAsync, c.dev, c.host, 8*n, d.streams.toDevice.cu)
		}), "GB/s")
		p.note("d2h 256 MiB by device events: "+c.name, p.timed(d.streams.toHost, 8*n, func() error {
			return d.gpu.driver.Do(driver.CuMemcpyDtoHAsync, c.host, c.dev, 8*n, d.streams.toHost.cu)
		}), "GB/s")
	}
	d.gpu.enter()
	require.NoError(p.t, d.gpu.driver.Do(driver.CuMemFreeHost, own))
	require.NoError(p.t, p.call(rawFree, plain))
	d.gpu.leave()
	t := devices.Transfer{Region: deps.Interval(a.Buffer, 0, n), Elem: 8, From: devices.Host, To: d.gpu.space}
	for _, way := range []struct {
		name string
		wait func(e devices.Event)
	}{{"waits for its channel", func(e devices.Event) { require.NoError(p.t, waitFor(e)) }},
		{"spins on Done", func(e devices.Event) {
			for !e.Done() {
				runtime.Gosched()
			}
		}}} {
		p.median("h2d 256 MiB by Device.Copy, host clock, "+way.name, "GB/s", 9, func() float64 {
			start := time.Now()
			way.wait(d.Copy(t, nil))
			return 8 * n / time.Since(start).Seconds() / 1e9
		})
	}
	for _, size := range []int64{512, 128 << 10, 4 << 20} {
		t.Region = deps.Interval(a.Buffer, 0, size)
		p.median(fmt.Sprintf("h2d %d KiB by Device.Copy and wait", size*8/1024), "us", 99, func() float64 {
			start := time.Now()
			require.NoError(p.t, waitFor(d.Copy(t, nil)))
			return time.Since(start).Seconds() * 1e6
		})
	}
}

func profilePeers(p *profile) {
	if len(p.all) < 2 || !p.all[1].Reaches(p.d.gpu.space) {
		return
	}
	profileAccess(p)
	const n = 32 << 20
	a := put(p.bench, make([]float64, n))
	from, to := p.d, p.all[1]
	t := devices.Transfer{Region: deps.Interval(a.Buffer, 0, n), Elem: 8, From: from.gpu.space, To: to.gpu.space}
	start := time.Now()
	require.NoError(p.t, waitFor(to.Copy(t, nil)))
	p.note("first peer copy 256 MiB, access granted on the way", time.Since(start).Seconds()*1e3, "ms")
	src, err := from.mirrors.addressOf(a.Buffer)
	require.NoError(p.t, err)
	dst, err := to.mirrors.addressOf(a.Buffer)
	require.NoError(p.t, err)
	for _, at := range []*stream{to.streams.between} {
		p.note("peer 256 MiB by device events, cuMemcpyDtoDAsync, stream of "+at.device.gpu.name, p.timed(at, 8*n, func() error {
			return at.device.gpu.driver.Do(driver.CuMemcpyDtoDAsync, uintptr(dst), uintptr(src), 8*n, at.cu)
		}), "GB/s")
		p.note("peer 256 MiB by device events, cuMemcpyPeerAsync, stream of "+at.device.gpu.name, p.timed(at, 8*n, func() error {
			return p.call(rawPeer, uintptr(dst), to.gpu.context, uintptr(src), from.gpu.context, 8*n, at.cu)
		}), "GB/s")
	}
	p.median("peer 256 MiB by Device.Copy, host clock", "GB/s", 9, func() float64 {
		start := time.Now()
		require.NoError(p.t, waitFor(to.Copy(t, nil)))
		return 8 * n / time.Since(start).Seconds() / 1e9
	})
	other := put(p.bench, make([]float64, n))
	back := devices.Transfer{Region: deps.Interval(other.Buffer, 0, n), Elem: 8, From: to.gpu.space, To: from.gpu.space}
	require.NoError(p.t, waitFor(from.Copy(back, nil)))
	p.median("peer 256 MiB both ways at once, host clock", "GB/s", 9, func() float64 {
		start := time.Now()
		e, f := to.Copy(t, nil), from.Copy(back, nil)
		require.NoError(p.t, waitFor(e))
		require.NoError(p.t, waitFor(f))
		return 16 * n / time.Since(start).Seconds() / 1e9
	})
}

// profileAccess maps a granule for its owner alone, for the owner and the other GPUs at once, and
// for one other GPU afterwards.
func profileAccess(p *profile) {
	const times = 64
	d, bytes := p.d, deps.Bytes(2<<20)
	buffer := put(p.bench, make([]float64, bytes/8)).Buffer
	m, err := d.mirrors.get(buffer)
	require.NoError(p.t, err)
	others := uint64(0)
	for _, x := range p.all[1:] {
		if x.Reaches(d.gpu.space) {
			others |= 1 << x.gpu.index
		}
	}
	took := func(name string, sharers uint64, after func()) {
		sum := time.Duration(0)
		for range times {
			d.mirrors.sharers.Store(sharers)
			require.NoError(p.t, d.Unmap(buffer, 0, bytes))
			start := time.Now()
			require.NoError(p.t, d.Map(buffer, 0, bytes))
			if after != nil {
				start = time.Now()
				after()
			}
			sum += time.Since(start)
		}
		p.note(name, sum.Seconds()/times*1e6, "us")
	}
	took("map 2 MiB for its owner alone", 0, nil)
	took(fmt.Sprintf("map 2 MiB for its owner and %d others at once", bits.OnesCount64(others)), others, nil)
	took("let another GPU touch 2 MiB that are mapped", 0, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		require.NoError(p.t, d.mirrors.grant(m, 0, 1, 1<<p.all[1].gpu.index))
	})
	d.mirrors.sharers.Store(0)
}

// profileGraph replays a chain of kernels as a graph of the driver.
func profileGraph(p *profile) {
	const n = 1000
	d := p.d
	x := put(p.bench, make([]int64, 1))
	r, err := d.newRun(&devices.Launch{Kernel: benchKernel(p.t, "Empty"), Args: &devices.Args{List: []devices.Arg{x}}})
	require.NoError(p.t, err)
	ok := func(err error) { require.NoError(p.t, err) }
	d.gpu.enter()
	defer d.gpu.leave()
	e, b := &r.version.source.Entries[0], driver.NewBlock()
	defer b.Free()
	params := make([]byte, e.ArgsSize)
	ok(r.binding.Pack(e, params, d.mirrors.addressOf, 0))
	node, extra := driver.NewBlock(), driver.NewBlock()
	extra.Words[8] = uint64(e.ArgsSize)
	extra.Words[0], extra.Words[1], extra.Words[2], extra.Words[3], extra.Words[4] = 1, uint64(uintptr(unsafe.Pointer(&params[0]))), 2, uint64(extra.At(8)), 0
	// CUDA_KERNEL_NODE_PARAMS_v2: func, grid x3, block x3, shared memory, params, extra, kern, ctx
	node.Words[0] = uint64(r.version.entries[0].function)
	node.Words[1], node.Words[2], node.Words[3] = 1|1<<32, 1|1<<32, 1|1<<32
	node.Words[4] = 0
	node.Words[5], node.Words[6], node.Words[7], node.Words[8] = 0, uint64(extra.At(0)), 0, 0
	ok(p.call(rawGraphCreate, b.At(0), 0))
	graph := uintptr(b.Words[0])
	p.each("graph: add a kernel node", n, func(i int) {
		if i == 0 {
			ok(p.call(rawGraphAddKernel, b.At(2), graph, 0, 0, node.At(0)))
		} else {
			ok(p.call(rawGraphAddKernel, b.At(2), graph, b.At(3), 1, node.At(0)))
		}
		b.Words[3] = b.Words[2]
	})
	start := time.Now()
	ok(p.call(rawInstantiate, b.At(4), graph, 0))
	p.note("graph: instantiate, each node", time.Since(start).Seconds()/n*1e6, "us")
	exec := uintptr(b.Words[4])
	s := d.streams.kernels[0]
	p.median("graph: replay of a chain of 1000, each node", "us", 9, func() float64 {
		start := time.Now()
		ok(p.call(rawGraphLaunch, exec, s.cu))
		ok(d.gpu.driver.Do(driver.CuStreamSynchronize, s.cu))
		return time.Since(start).Seconds() / n * 1e6
	})
	ok(p.call(rawExecDestroy, exec))
	ok(p.call(rawGraphDestroy, graph))
	runtime.KeepAlive(params)
	node.Free()
	extra.Free()
	p.move(x.Buffer, 1, 8, d.gpu.space, devices.Host)
	require.EqualValues(p.t, 9*n, p.keep[0].([]int64)[0])
}

// profileBatches makes every node of a small graph another kernel before each launch, as for a
// batch of tasks.
func profileBatches(p *profile) {
	d := p.d
	x := put(p.bench, make([]int64, 1))
	r, err := d.newRun(&devices.Launch{Kernel: benchKernel(p.t, "Empty"), Args: &devices.Args{List: []devices.Arg{x}}})
	require.NoError(p.t, err)
	ok := func(err error) { require.NoError(p.t, err) }
	d.gpu.enter()
	defer d.gpu.leave()
	var node *kernelNode
	ok(r.nodes(d, 0, func(n *kernelNode) error { node = n; return nil }))
	s, b := d.streams.kernels[0], driver.NewBlock()
	defer b.Free()
	for _, chain := range []bool{true, false} {
		for _, n := range []int{4, 8, 16, 32, 64} {
			ok(d.gpu.driver.Do(driver.CuGraphCreate, b.At(0), 0))
			graph := uintptr(b.Words[0])
			var nodes, after []uint64
			for range n {
				id, err := d.gpu.addNode(graph, node, after)
				ok(err)
				nodes = append(nodes, id)
				if chain {
					after = []uint64{id}
				}
			}
			ok(d.gpu.driver.Do(driver.CuGraphInstantiate, b.At(0), graph, 0))
			exec := uintptr(b.Words[0])
			name := fmt.Sprintf("graph of %d, %s", n, map[bool]string{true: "a chain", false: "independent"}[chain])
			ok(d.gpu.driver.Do(driver.CuGraphLaunch, exec, s.cu))
			ok(d.gpu.driver.Do(driver.CuStreamSynchronize, s.cu))
			batches := 4000 / n
			began := time.Now()
			for range batches {
				for _, id := range nodes {
					ok(d.gpu.setNode(exec, id, node))
				}
			}
			p.note(name+": set a node", time.Since(began).Seconds()/float64(batches*n)*1e6, "us")
			began = time.Now()
			for range batches {
				ok(d.gpu.driver.Do(driver.CuGraphLaunch, exec, s.cu))
			}
			p.note(name+": launch unchanged, each node", time.Since(began).Seconds()/float64(batches*n)*1e6, "us")
			ok(d.gpu.driver.Do(driver.CuStreamSynchronize, s.cu))
			p.note(name+": the same until over", time.Since(began).Seconds()/float64(batches*n)*1e6, "us")
			began = time.Now()
			for range batches {
				for _, id := range nodes {
					ok(d.gpu.setNode(exec, id, node))
				}
				ok(d.gpu.driver.Do(driver.CuGraphLaunch, exec, s.cu))
			}
			p.note(name+": set all and launch, each node", time.Since(began).Seconds()/float64(batches*n)*1e6, "us")
			ok(d.gpu.driver.Do(driver.CuStreamSynchronize, s.cu))
			p.note(name+": the same until over ", time.Since(began).Seconds()/float64(batches*n)*1e6, "us")
			ok(d.gpu.driver.Do(driver.CuGraphExecDestroy, exec))
			ok(d.gpu.driver.Do(driver.CuGraphDestroy, graph))
		}
	}
}

// profileContended launches on all GPUs at once, from a thread each.
func profileContended(p *profile) {
	const n = 10000
	var all sync.WaitGroup
	kernel := benchKernel(p.t, "Empty")
	x := put(p.bench, make([]int64, 1))
	var runs []*run
	for _, d := range p.all {
		require.NoError(p.t, d.Prepare(kernel))
		r, err := d.newRun(&devices.Launch{Kernel: kernel, Args: &devices.Args{List: []devices.Arg{x}}})
		require.NoError(p.t, err)
		runs = append(runs, r)
	}
	began := time.Now()
	for i, d := range p.all {
		all.Go(func() {
			d.gpu.enter()
			defer d.gpu.leave()
			op := &operation{event: &event{device: d}, stream: d.streams.kernels[0]}
			for range n {
				if err := runs[i].start(op); err != nil {
					p.t.Error(err)
					return
				}
			}
			if err := d.gpu.driver.Do(driver.CuStreamSynchronize, op.stream.cu); err != nil {
				p.t.Error(err)
			}
		})
	}
	all.Wait()
	p.note(fmt.Sprintf("launches of %d GPUs, a thread each, together", len(p.all)), float64(n*len(p.all))/time.Since(began).Seconds(), "a second")
}
