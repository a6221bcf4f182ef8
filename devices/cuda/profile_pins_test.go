//go:build linux && (amd64 || arm64)

package cuda

import (
	"fmt"
	"slices"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// profilePins has large memory registered, in small pages and in huge ones, touched before and not,
// and runs tiny kernels meanwhile on the GPU in whose context it is and on the last one: what the
// driver lets them wait for shows in the longest of them.
func profilePins(p *profile) {
	const size = 1 << 30
	x := put(p.bench, make([]int64, 1))
	k := benchKernel(p.t, "Empty")
	for _, d := range p.all {
		require.NoError(p.t, d.Prepare(k))
	}
	last := p.all[len(p.all)-1]
	tiny := func(d *Device) time.Duration {
		began := time.Now()
		require.NoError(p.t, waitFor(d.Launch(&devices.Launch{Kernel: k, Args: &devices.Args{List: []devices.Arg{x}}}, nil)))
		return time.Since(began)
	}
	tiny(p.d)
	tiny(last)
	for _, pages := range []struct {
		name   string
		advice int
	}{{"4 KiB pages", unix.MADV_NOHUGEPAGE}, {"huge pages", unix.MADV_HUGEPAGE}} {
		for _, touched := range []bool{false, true} {
			memory, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
			require.NoError(p.t, err)
			_ = unix.Madvise(memory, pages.advice) // a system without huge pages has small ones
			name := fmt.Sprintf("%v in %s, touched %t", deps.Bytes(size), pages.name, touched)
			if touched {
				began := time.Now()
				populate(memory)
				p.note("populate "+name, time.Since(began).Seconds()*1e3, "ms")
				for i := 0; i < size; i += unix.Getpagesize() { // where it leaves that to the driver
					memory[i] = 1
				}
			}
			id := p.next
			p.next++
			began := time.Now()
			require.NoError(p.t, p.d.Reserve(devices.Buffer{ID: id, Host: devices.NewHostMemory(unsafe.Pointer(&memory[0])), Size: size, Elem: 8}))
			p.note("reserve "+name, time.Since(began).Seconds()*1e3, "ms")
			here, there := []time.Duration{tiny(p.d)}, []time.Duration{tiny(last)}
			for _, over := p.d.platform.pins.request(id); over != nil && !over.Done(); {
				here, there = append(here, tiny(p.d)), append(there, tiny(last))
			}
			p.note("until it is registered", time.Since(began).Seconds()*1e3, "ms")
			require.True(p.t, p.d.platform.pins.has(id), "it was refused")
			p.note("kernels meanwhile, on each of two GPUs", float64(len(here)), "")
			p.note("the longest of them, in whose context it is", slices.Max(here).Seconds()*1e3, "ms")
			p.note("the longest of them, on the last GPU", slices.Max(there).Seconds()*1e3, "ms")
			began = time.Now()
			require.NoError(p.t, p.d.Release(id))
			p.note("release "+name, time.Since(began).Seconds()*1e3, "ms")
			require.NoError(p.t, unix.Munmap(memory))
		}
	}
}
