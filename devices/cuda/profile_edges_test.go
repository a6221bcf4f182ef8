//go:build linux && (amd64 || arm64)

package cuda

import (
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
)

// edgesSource has kernels that do nothing, and that count, with and without what lets the next
// kernel of a chain be started early: it waits for the one before at its beginning, and the driver
// may set it up meanwhile.
const edgesSource = `
extern "C" __global__ void nothing(long long* x) { if (!x) *x = 1; }
extern "C" __global__ void counting(long long* x) { *x += 1; }
extern "C" __global__ void nothing_early(long long* x) { asm volatile("griddepcontrol.wait;" ::: "memory"); if (!x) *x = 1; }
extern "C" __global__ void counting_early(long long* x) { asm volatile("griddepcontrol.wait;" ::: "memory"); *x += 1; }
extern "C" __global__ void counting_earliest(long long* x) { asm volatile("griddepcontrol.launch_dependents;"); asm volatile("griddepcontrol.wait;" ::: "memory"); *x += 1; }
`

// profileEdges measures what a node of a chain takes when the edges are ordinary ones, and when
// they let the next kernel start early.
func profileEdges(p *profile) {
	const n, launches = 1000, 10
	d := p.d
	if d.gpu.chip.major < 9 {
		return
	}
	raw, err := driver.OpenFile(d.gpu.driver.Path, []string{"cuGraphAddDependencies_v2"})
	if err != nil {
		p.note("no cuGraphAddDependencies_v2", 0, err.Error())
		return
	}
	x := put(p.bench, make([]int64, 1))
	ok := func(err error) { require.NoError(p.t, err) }
	names := []string{"nothing", "counting", "nothing_early", "counting_early", "counting_earliest"}
	options := []string{"--std=c++17"}
	code, _, err := d.platform.compile("edges", edgesSource, fmt.Sprint(edgesSource, options), d.gpu.chip.arch(), options)
	ok(err)
	d.gpu.enter()
	defer d.gpu.leave()
	_, entries, err := d.gpu.loadModule(code, names)
	ok(err)
	base := p.addressOf(x)
	params := bytesOfWords([]uint64{base})
	b := driver.NewBlock()
	defer b.Free()
	counted := int64(0)
	for i, name := range names {
		for _, early := range []bool{false, true} {
			ok(d.gpu.driver.Do(driver.CuGraphCreate, b.At(0), 0))
			graph := uintptr(b.Words[0])
			node := kernelNode{function: entries[i].function, teams: [3]int64{1, 1, 1}, team: [3]int64{1, 1, 1}, params: params}
			var nodes []uint64
			for range n {
				id, err := d.gpu.addNode(graph, &node, nil)
				ok(err)
				nodes = append(nodes, id)
			}
			edges := make([]uint64, n-1)
			if early {
				for k := range edges {
					edges[k] = 1 | 1<<16 // from the programmatic port, of the programmatic type
				}
			}
			r, _, _ := purego.SyscallN(raw.Addresses[0], graph, uintptr(unsafe.Pointer(&nodes[0])), uintptr(unsafe.Pointer(&nodes[1])), uintptr(unsafe.Pointer(&edges[0])), n-1)
			runtime.KeepAlive(edges)
			what := fmt.Sprintf("graph: chain of %d, %s, early edges %t", n, name, early)
			if r == 0 {
				r = uintptr(d.gpu.driver.Call(driver.CuGraphInstantiate, b.At(0), graph, 0))
			}
			if r != 0 {
				p.note(what+": refused", float64(r), "(code)")
				ok(d.gpu.driver.Do(driver.CuGraphDestroy, graph))
				continue
			}
			exec := uintptr(b.Words[0])
			s := d.streams.kernels[0]
			p.median(what+", a node", "us", 5, func() float64 {
				start := time.Now()
				for range launches {
					ok(d.gpu.driver.Do(driver.CuGraphLaunch, exec, s.cu))
				}
				ok(d.gpu.driver.Do(driver.CuStreamSynchronize, s.cu))
				return time.Since(start).Seconds() / (n * launches) * 1e6
			})
			start := time.Now()
			ok(d.gpu.driver.Do(driver.CuGraphLaunch, exec, s.cu))
			p.note(what+": the call", time.Since(start).Seconds()*1e6, "us")
			ok(d.gpu.driver.Do(driver.CuStreamSynchronize, s.cu))
			if i == 1 || i >= 3 {
				counted += n * (5*launches + 1)
			}
			ok(d.gpu.driver.Do(driver.CuGraphExecDestroy, exec))
			ok(d.gpu.driver.Do(driver.CuGraphDestroy, graph))
		}
	}
	p.move(x.Buffer, 1, 8, d.gpu.space, devices.Host)
	if have := p.keep[0].([]int64)[0]; have != counted {
		p.note("graph: WRONG count with early edges", float64(have-counted), "too many")
	}
}
