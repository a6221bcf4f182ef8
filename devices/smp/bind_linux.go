package smp

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// systemTopology returns the nodes of this machine, with the processors that the process may use.
func systemTopology() (Topology, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return Topology{}, nil // then no worker is bound, and all are alike
	}
	var allowed []int
	for c := range len(set) * 64 {
		if set.IsSet(c) {
			allowed = append(allowed, c)
		}
	}
	return ReadTopology(os.DirFS("/sys/devices/system/node"), allowed)
}

// bind keeps the calling goroutine on its thread, and that on the processors of a node. The thread
// ends with the goroutine, so that no other goroutine inherits it.
func (n *memoryNode) bind() error {
	runtime.LockOSThread()
	var set unix.CPUSet
	for _, c := range n.cpus {
		set.Set(c)
	}
	return unix.SchedSetaffinity(0, &set)
}
