//go:build linux && (amd64 || arm64)

package opencl

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/gompss/gompss/codegen/opencl"
	"github.com/gompss/gompss/codegen/target"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/sighandlers"
)

// Kind is the kind of devices with an OpenCL driver.
const Kind devices.Kind = "opencl"

func init() { devices.Register(Kind, openConfig) }

// The types of devices, bits.
const (
	typeCPU = 2
	typeGPU = 4
)

// An Info says what a device is.
type Info struct {
	Platform, Name, Vendor, Version, Driver string
	Language                                string // "OpenCL C 1.2"
	Type                                    string // "gpu", "cpu" or "accelerator"
	Memory, Largest                         deps.Bytes
	TeamMemory                              deps.Bytes
	Units, Threads                          int // compute units, threads of a team
	Arguments                               deps.Bytes
	Extensions                              []string
	Target                                  *target.Target // what kernels are made for
	Features

	id, platform uintptr
	kind         uint64
}

// Devices returns what all drivers of this machine have, in the order in which Open takes them:
// first GPUs and accelerators but NVIDIA's, which kind cuda serves, then these, then CPUs.
//
// Errors: *LibraryError where there is no loader.
func Devices() ([]Info, error) {
	drv, err := theDriver()
	if err != nil {
		return nil, err
	}
	return drv.devices()
}

func (d *driver) devices() (_ []Info, err error) {
	restore := sighandlers.Keep() // the first call opens the vendors' libraries
	defer func() { err = errors.Join(err, restore()) }()
	platforms, err := d.handles(clGetPlatformIDs)
	if codeOf(err) == codeNoPlatform {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Info
	const all = 0xffffffff
	for _, p := range platforms {
		ids, err := d.handles(clGetDeviceIDs, p, all)
		if codeOf(err) == codeNoDevice {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			info, err := d.info(p, id)
			if err != nil {
				return nil, err
			}
			out = append(out, info)
		}
	}
	slices.SortStableFunc(out, func(a, b Info) int { return a.rank() - b.rank() })
	return out, nil
}

// handles asks for a list of objects.
func (d *driver) handles(f fn, args ...uintptr) ([]uintptr, error) {
	b := newBlock()
	defer b.free()
	b.words[0] = 0
	if err := d.do(f, append(args[:len(args):len(args)], 0, 0, b.at(0))...); err != nil {
		return nil, err
	}
	n := uint32(b.words[0])
	if n == 0 {
		return nil, nil
	}
	out := make([]uintptr, n)
	err := d.do(f, append(args[:len(args):len(args)], uintptr(n), uintptr(unsafe.Pointer(&out[0])), 0)...)
	return out, err
}

// rank orders devices: see Devices.
func (i *Info) rank() int {
	switch {
	case i.kind&typeCPU != 0:
		return 2
	case strings.Contains(strings.ToLower(i.Vendor), "nvidia"):
		return 1
	}
	return 0
}

// Properties of devices and platforms.
const (
	platformName      = 0x0902
	deviceType        = 0x1000
	deviceUnits       = 0x1002
	deviceGroupSize   = 0x1004
	deviceClock       = 0x100C // in megahertz
	deviceBits        = 0x100D
	deviceLargest     = 0x1010
	deviceArguments   = 0x1017
	deviceSingle      = 0x101B
	deviceLine        = 0x101D
	deviceCache       = 0x101E
	deviceMemory      = 0x101F
	deviceLocalType   = 0x1022
	deviceLocal       = 0x1023
	deviceName        = 0x102B
	deviceVendor      = 0x102C
	deviceDriver      = 0x102D
	deviceVersion     = 0x102F
	deviceExtensions  = 0x1030
	deviceLanguage    = 0x103D
	deviceMajor       = 0x4000 // of the compute capability: cl_nv_device_attribute_query
	deviceMinor       = 0x4001
	deviceWarp        = 0x4003
	roundedDivideSqrt = 1 << 7
)

// residentOnCPU is how many threads a unit of a CPU runs at once: it takes those of one team in
// turn, for which a large team costs less than several.
const residentOnCPU = 256

// targetOf returns the numbers that kernels are made by. OpenCL tells no number of registers, no
// rate and no number of threads that run at once: these are those of NVIDIA's compute capability,
// where there is one, else of the target that code is generated for.
func (i *Info) targetOf(number func(what uintptr) uint64) *target.Target {
	like := target.Default()
	const asGlobal = 2 // CL_GLOBAL
	d := target.Description{Name: i.Name, Units: i.Units, Clock: 1e6 * float64(number(deviceClock)), Threads: i.Threads, TeamMemory: i.TeamMemory,
		Cached: number(deviceLocalType) == asGlobal, Cache: deps.Bytes(number(deviceCache)), Line: deps.Bytes(number(deviceLine))}
	if i.hasPTX() {
		if known := target.Nearest(int(number(deviceMajor)), int(number(deviceMinor))); known != nil {
			like, d.UnitMemory = known, known.Memory.Shared
		}
	}
	if i.Type == "cpu" {
		d.Resident = residentOnCPU
	}
	return d.Of(like)
}

// TeamForm returns what kernels are made for. A CPU runs the threads of a team one after the other:
// there the forms that share loads among threads cost more than they save.
func (o *Options) TeamForm(i *Info) devices.TeamForm {
	teams := o.Teams
	if teams == "" && i.Type == "cpu" {
		teams = teamsAny
	}
	switch {
	case teams == teamsAny:
		return devices.AnyTeams
	case teams == teamsWhole || i.Subgroups == opencl.NoSubgroups:
		return devices.WholeTeams
	}
	return devices.SubgroupTeams
}

// printing returns the options of a text for the device.
func (i *Info) printing() opencl.Options {
	return opencl.Options{Fence: i.Fence, Subgroups: i.Subgroups, Atomics: i.Atomics, Language: i.language(), Lines: true, RoundedDivide: i.RoundedDivide}
}

// language is the newest version of OpenCL C that the device has, as an option names it.
func (i *Info) language() string {
	if strings.HasPrefix(i.Language, "OpenCL C 3") {
		return "CL3.0"
	}
	return "CL2.0"
}

func (d *driver) info(platform, id uintptr) (Info, error) {
	i := Info{id: id, platform: platform}
	var errs []error
	text := func(f fn, of, what uintptr) string {
		s, err := d.text(f, of, what)
		errs = append(errs, err)
		return strings.TrimSpace(s)
	}
	number := func(what uintptr) uint64 {
		n, err := d.number(clGetDeviceInfo, id, what)
		errs = append(errs, err)
		return n
	}
	i.Platform = text(clGetPlatformInfo, platform, platformName)
	i.Name, i.Vendor = text(clGetDeviceInfo, id, deviceName), text(clGetDeviceInfo, id, deviceVendor)
	i.Version, i.Driver = text(clGetDeviceInfo, id, deviceVersion), text(clGetDeviceInfo, id, deviceDriver)
	i.Language = text(clGetDeviceInfo, id, deviceLanguage)
	i.Extensions = strings.Fields(text(clGetDeviceInfo, id, deviceExtensions))
	i.kind = number(deviceType)
	i.Memory, i.Largest = deps.Bytes(number(deviceMemory)), deps.Bytes(number(deviceLargest))
	i.TeamMemory, i.Arguments = deps.Bytes(number(deviceLocal)), deps.Bytes(number(deviceArguments))
	i.Units, i.Threads = int(number(deviceUnits)), int(number(deviceGroupSize))
	i.RoundedDivide = number(deviceSingle)&roundedDivideSqrt != 0
	if bits := number(deviceBits); bits != 64 && errors.Join(errs...) == nil {
		i.Largest = 0 // addresses are 64 bits in what is printed: such a device is refused when it is opened
	}
	switch {
	case i.kind&typeCPU != 0:
		i.Type, i.Fence = "cpu", opencl.HostFence
	case i.kind&typeGPU != 0:
		i.Type = "gpu"
	default:
		i.Type = "accelerator"
	}
	switch {
	case i.Fence != opencl.NoFence:
	case strings.HasPrefix(i.Language, "OpenCL C 2") || i.fences(number):
		i.Fence = opencl.C11Fence
	case i.hasPTX():
		i.Fence = opencl.PTXFence
	}
	i.Subgroups, i.Atomics, i.Target = i.subgroupsOf(d, number), i.atomicsOf(number), i.targetOf(number)
	return i, errors.Join(errs...)
}

// Wants reports whether a device is of the platform and type of the options.
func (o *Options) Wants(i Info) bool {
	platform := strings.ToLower(i.Platform + " " + i.Version) // PoCL gives its short name with the version
	return strings.Contains(platform, strings.ToLower(o.Platform)) && (o.Type == "" || o.Type == i.Type)
}

// Open opens n devices, with address spaces from first on. When n is 0 it opens all GPUs and
// accelerators that no other kind serves, or if there are none the first other device.
//
// Errors: *LibraryError where there is no loader; which devices there are when they are too few.
func Open(n int, first devices.SpaceID, o Options) (_ []*Device, err error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	drv, err := theDriver()
	if err != nil {
		return nil, err
	}
	all, err := drv.devices()
	if err != nil {
		return nil, err
	}
	var list []Info
	for _, i := range all {
		if o.Wants(i) {
			list = append(list, i)
		}
	}
	if n == 0 {
		for n < len(list) && list[n].rank() == 0 {
			n++
		}
		n = max(n, 1)
	}
	if n > len(list) {
		return nil, fmt.Errorf("opencl: %d devices wanted: %d of the machine's are as wanted: it has %s", n, len(list), listed(all))
	}
	var out []*Device
	for i := range n {
		d, err := openDevice(drv, i, list[i], devices.SpaceID{Node: first.Node, Device: first.Device + uint16(i)}, o)
		if err != nil {
			for _, d := range out {
				err = errors.Join(err, d.Close())
			}
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

func listed(all []Info) string {
	if len(all) == 0 {
		return "none"
	}
	var out []string
	for _, i := range all {
		out = append(out, fmt.Sprintf("%s (%s, platform %s)", i.Name, i.Type, i.Platform))
	}
	return strings.Join(out, ", ")
}

func openConfig(c devices.Config) ([]devices.Device, error) {
	var o Options
	switch given := c.Options.(type) {
	case nil:
	case Options:
		o = given
	default:
		return nil, fmt.Errorf("opencl: options of type %T: want opencl.Options", given)
	}
	if err := c.Scan(o.setters()); err != nil {
		return nil, err
	}
	o.Timed = o.Timed || c.Timed
	opened, err := Open(c.Count, c.First, o)
	if err != nil {
		return nil, err
	}
	out := make([]devices.Device, len(opened))
	for i, d := range opened {
		out[i] = d
	}
	return out, nil
}
