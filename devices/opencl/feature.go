//go:build linux && (amd64 || arm64)

package opencl

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen/opencl"
)

// Features are what a device has beyond OpenCL 1.2, or need not have of it, that texts depend on.
type Features struct {
	RoundedDivide bool // float32 division and square root
	Fence         opencl.Fence
	Subgroups     opencl.Subgroups
	Atomics       opencl.FloatAtomics
}

// shuffleSync is the least major compute capability whose warps exchange values after some of their
// threads have ended.
// Source: NVIDIA, Parallel Thread Execution ISA 8.5, sections on shfl.sync and on Volta.
const shuffleSync = 7

// hasPTX reports whether the device's compiler takes instructions of NVIDIA's GPUs in a text.
func (i *Info) hasPTX() bool { return i.has("cl_nv_device_attribute_query") }

// endsAtFailure reports whether a kernel that fails ends its context, or the process, so that none
// behind it succeeds: then the last event of several kernels tells of all. Elsewhere a command can
// fail for want of memory, and others behind it succeed.
//
// Source: NVIDIA, CUDA Driver API, CUDA_ERROR_ILLEGAL_ADDRESS: the context cannot be used any more;
// its OpenCL is made of the same driver.
func (i *Info) endsAtFailure() bool { return i.hasPTX() || i.Type == "cpu" }

// Properties of what OpenCL 1.2 does not have.
const (
	deviceFences        = 0x1064 // OpenCL 3.0
	deviceSubgroupSizes = 0x4108 // cl_intel_required_subgroup_size
	deviceFloat32Atomic = 0x4231 // cl_ext_float_atomics
	deviceFloat64Atomic = 0x4232
)

// fences reports whether a device of OpenCL 3.0, which need not have it, orders memory for all of
// its teams.
func (i *Info) fences(number func(what uintptr) uint64) bool {
	const acquireRelease, allTeams = 1 << 1, 1 << 5
	const both = acquireRelease | allTeams
	return strings.HasPrefix(i.Language, "OpenCL C 3") && number(deviceFences)&both == both
}

// subgroupsOf returns how threads of a subgroup exchange values. Only devices that take the size of
// their subgroups from the text are sure to have 32 threads in each: AMD's have 64 or 32, and no
// extension for the exchange. NVIDIA's compiler knows no subgroups, but takes the instruction by
// which the threads of its warps exchange values.
func (i *Info) subgroupsOf(d *driver, number func(what uintptr) uint64) opencl.Subgroups {
	const size = 32
	if i.hasPTX() && number(deviceWarp) == size && number(deviceMajor) >= shuffleSync {
		return opencl.PTXSubgroups
	}
	if !i.has("cl_intel_required_subgroup_size") {
		return opencl.NoSubgroups
	}
	raw, err := d.bytes(clGetDeviceInfo, i.id, deviceSubgroupSizes)
	sizes := slices.Collect(func(yield func(uint64) bool) {
		for ; len(raw) >= 8 && yield(binary.LittleEndian.Uint64(raw)); raw = raw[8:] {
		}
	})
	switch {
	case err != nil || !slices.Contains(sizes, size):
		return opencl.NoSubgroups
	case i.has("cl_khr_subgroup_shuffle"):
		return opencl.KhronosSubgroups
	case i.has("cl_intel_subgroups"):
		return opencl.IntelSubgroups
	}
	return opencl.NoSubgroups
}

// atomicsOf returns the floats to which the device adds atomically.
func (i *Info) atomicsOf(number func(what uintptr) uint64) (a opencl.FloatAtomics) {
	if i.Fence == opencl.PTXFence {
		return opencl.GlobalFloat32 | opencl.GlobalFloat64 | opencl.TeamFloat32 | opencl.TeamFloat64
	}
	if !i.has("cl_ext_float_atomics") || !strings.HasPrefix(i.Language, "OpenCL C 3") {
		return 0
	}
	const global, team = 1 << 1, 1 << 17
	note := func(what uintptr, inGlobal, inTeam opencl.FloatAtomics) {
		has := number(what)
		if has&global != 0 {
			a |= inGlobal
		}
		if has&team != 0 {
			a |= inTeam
		}
	}
	note(deviceFloat32Atomic, opencl.GlobalFloat32, opencl.TeamFloat32)
	if i.has("cl_khr_fp64") {
		note(deviceFloat64Atomic, opencl.GlobalFloat64, opencl.TeamFloat64)
	}
	return a
}

// has reports whether the device has an extension.
func (i *Info) has(extension string) bool { return slices.Contains(i.Extensions, extension) }
