package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/environment"
	"github.com/gompss/gompss/internal/machine"
	"github.com/gompss/gompss/task"
)

const doctorAbout = `Says of each thing that programs use whether it is there and works: processors and vectors, executable memory, the
drivers, compilers and links of accelerators, the cache folder, limits, clocks, MPI, OpenCL, variables. What is wrong comes
with the command that mends it, and makes the exit code 1; what is not there, and need not be, does not.
`

// A finding is one line of doctor's report.
type finding struct {
	what string
	kind findingKind
	text string
	mend string // how to repair it, "" if nothing is wrong
}

type findingKind string

const (
	fine   findingKind = "ok"
	absent findingKind = "-" // missing, which is not a fault
	slow   findingKind = "slow"
	wrong  findingKind = "WRONG"
)

// A patient is the machine that doctor examines. Tests use other patients than this machine.
type patient struct {
	root      fs.FS // the root of the file system, "/"
	environ   []string
	look      func(program string) (string, error) // finds a program
	run       func(program string, args ...string) (string, error)
	processor cpu.Processor
	memory    cpu.Memory
	kinds     []devices.Kind
	open      func(spec string) (*machine.Machine, error)
	cache     func() (string, error)
	limit     func() (string, bool) // the limit of memory that a process may lock
}

func thisMachine() *patient {
	return &patient{root: os.DirFS("/"), environ: os.Environ(), look: exec.LookPath, run: firstLine, kinds: devices.Kinds(), cache: os.UserCacheDir, limit: lockLimit,
		open: func(spec string) (*machine.Machine, error) { return machine.Open(spec, machine.Options{}) }}
}

// firstLine runs a program and returns the first line that it prints.
func firstLine(program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return line, err
}

// doctor reports what keeps this machine from running kernels.
func doctor(args []string, stdout, _ io.Writer) error {
	if len(args) > 0 {
		return usageError("it takes no arguments")
	}
	return printFindings(stdout, thisMachine().examine())
}

func printFindings(w io.Writer, list []finding) error {
	faults := 0
	for _, f := range list {
		fmt.Fprintf(w, "%-6s %-18s %s\n", f.kind, f.what, f.text)
		if f.mend != "" {
			fmt.Fprintf(w, "%-6s %-18s -> %s\n", "", "", f.mend)
		}
		if f.kind == wrong {
			faults++
		}
	}
	if faults > 0 {
		return fmt.Errorf("gompss: doctor: %s wrong", counted(faults, "thing"))
	}
	return nil
}

func (p *patient) examine() (out []finding) {
	for _, look := range []func() []finding{p.build, p.vectors, p.accelerators, p.cacheFolder, p.limits, p.clocks, p.mpi, p.opencl, p.variables} {
		out = append(out, look()...)
	}
	return out
}

func (p *patient) build() []finding {
	return []finding{
		{"gompss", fine, buildVersion(), ""},
		{"processors", fine, fmt.Sprintf("%d of %s/%s, GOMAXPROCS %d", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0)), ""},
	}
}

// vectors examines whether CPU workers can run vector code, which needs the instructions and
// executable memory.
func (p *patient) vectors() []finding {
	o, err := p.processor.Choose(os.Getenv(task.VectorVariable))
	if err != nil {
		return []finding{{"vectors", slow, err.Error() + ": kernels run as Go functions", "a machine with AVX2 or AVX-512 runs them as vector code"}}
	}
	out := []finding{{"vectors", fine, o.Name(), ""}}
	arena, err := p.memory.NewArena()
	if err != nil {
		return append(out, finding{"executable memory", slow, err.Error() + ": kernels run as Go functions",
			"allow memfd_create and mmap with PROT_EXEC: seccomp and SELinux (execmem) refuse it"})
	}
	how := arena.How()
	if err := arena.Close(); err != nil {
		return append(out, finding{"executable memory", wrong, err.Error(), ""})
	}
	return append(out, finding{"executable memory", fine, "by " + how, ""})
}

// accelerators opens the devices of each plug-in.
func (p *patient) accelerators() (out []finding) {
	for _, kind := range p.kinds {
		if kind == devices.SMP || kind == task.Sim {
			continue
		}
		m, err := p.open(string(kind) + "?")
		if err != nil {
			out = append(out, p.missing(kind, err))
			continue
		}
		out = append(out, p.opened(kind, m)...)
		if err := m.Close(); err != nil {
			out = append(out, finding{string(kind), wrong, err.Error(), ""})
		}
	}
	return out
}

// missing reports why there is no device of a kind. It is a fault if the hardware is present.
func (p *patient) missing(kind devices.Kind, err error) finding {
	_, why, _ := strings.Cut(": "+err.Error(), ": "+string(kind)+": ")
	f := finding{what: string(kind), kind: absent, text: why}
	if gpus := p.nvidia(); kind == task.CUDA && gpus > 0 {
		f.kind, f.text = wrong, fmt.Sprintf("%s of NVIDIA on the PCI bus, but %s", counted(gpus, "device"), why)
		f.mend = "install NVIDIA's driver (nvidia-smi lists the GPUs then), or name libcuda.so.1 by GOMPSS_CUDA_LIB; in a container: --gpus all"
	}
	return f
}

func (p *patient) opened(kind devices.Kind, m *machine.Machine) (out []finding) {
	for _, d := range m.Devices() {
		of := d.Properties()
		text := of.Description
		if of.Memory > 0 && !strings.Contains(text, of.Memory.String()) { // the description may already contain it
			text += fmt.Sprintf(", %v", of.Memory)
		}
		out = append(out, finding{of.Name, fine, fmt.Sprintf("%s, %v", text, devices.LinkOf(d)), ""})
	}
	for _, a := range m.Absent() {
		out = append(out, finding{a.Device, wrong, a.Why.Error(), "nvidia-smi says more; the other devices are used meanwhile"})
	}
	out = append(out, compilers(m.Devices())...)
	return append(out, peers(kind, m)...)
}

func compilers(list []devices.Device) []finding {
	for _, d := range list {
		if c, ok := d.(interface{ Compiler() (string, error) }); ok {
			kind := d.Properties().Kind
			text, err := c.Compiler()
			if err != nil {
				return []finding{{string(kind) + " compiler", wrong, err.Error(), "python3 -m pip install nvidia-cuda-nvrtc-cu12, and GOMPSS_NVRTC_LIB names its libnvrtc.so"}}
			}
			return []finding{{string(kind) + " compiler", fine, text, ""}}
		}
	}
	return nil
}

// peers reports which accelerators cannot copy from each other directly.
func peers(kind devices.Kind, m *machine.Machine) []finding {
	var without []string
	pairs := 0
	for _, a := range m.Devices() {
		for _, b := range m.Devices() {
			to, ok := a.(devices.Accelerator)
			if !ok || a == b {
				continue
			}
			if pairs++; !to.Reaches(m.SpaceOf(b)) {
				without = append(without, b.Properties().Name+" to "+a.Properties().Name)
			}
		}
	}
	switch {
	case pairs == 0:
		return nil
	case len(without) == 0:
		return []finding{{string(kind) + " peers", fine, "every device copies from every other one", ""}}
	}
	return []finding{{string(kind) + " peers", slow, "copies go through the host: " + strings.Join(without, ", "),
		"nvidia-smi topo -m shows the links; an IOMMU or ACS of the PCI bridges can forbid them"}}
}

// nvidia counts the GPUs of NVIDIA on the PCI bus.
func (p *patient) nvidia() (n int) {
	list, err := fs.Glob(p.root, "sys/bus/pci/devices/*/vendor")
	if err != nil {
		return 0
	}
	for _, name := range list {
		class, _ := fs.ReadFile(p.root, filepath.ToSlash(filepath.Join(filepath.Dir(name), "class")))
		vendor, err := fs.ReadFile(p.root, name)
		display := strings.HasPrefix(string(class), "0x0300") || strings.HasPrefix(string(class), "0x0302")
		if err == nil && display && strings.TrimSpace(string(vendor)) == "0x10de" {
			n++
		}
	}
	return n
}

// cacheFolder examines whether compiled kernels can be stored.
func (p *patient) cacheFolder() []finding {
	const mend = "export XDG_CACHE_HOME=FOLDER, one that you can write to"
	dir, err := p.cache()
	if err != nil {
		return []finding{{"cache folder", slow, fmt.Sprintf("%v: every run compiles its kernels again", err), mend}}
	}
	dir = filepath.Join(dir, "gompss")
	err = os.MkdirAll(dir, 0o755)
	if err == nil {
		var f *os.File
		if f, err = os.CreateTemp(dir, "doctor"); err == nil {
			err = errors.Join(f.Close(), os.Remove(f.Name()))
		}
	}
	if err != nil {
		return []finding{{"cache folder", slow, fmt.Sprintf("%v: every run compiles its kernels again", err), mend}}
	}
	return []finding{{"cache folder", fine, dir, ""}}
}

func (p *patient) limits() []finding {
	text, known := p.limit()
	if !known {
		return nil
	}
	return []finding{{"locked memory", fine, "limit of a process: " + text, ""}}
}

// clocks examines settings that make time measurements inexact or expensive.
func (p *patient) clocks() (out []finding) {
	source := p.line("sys/devices/system/clocksource/clocksource0/current_clocksource")
	switch source {
	case "":
	case "tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page":
		out = append(out, finding{"clock", fine, source, ""})
	default:
		out = append(out, finding{"clock", slow, source + ": reading it is a system call, which makes traces expensive", "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource"})
	}
	if governor := p.line("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"); governor == "powersave" {
		out = append(out, finding{"frequency", slow, "governor powersave: times vary", "sudo cpupower frequency-set -g performance, for measurements"})
	} else if governor != "" {
		out = append(out, finding{"frequency", fine, "governor " + governor, ""})
	}
	return out
}

func (p *patient) line(name string) string {
	text, err := fs.ReadFile(p.root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func (p *patient) mpi() []finding {
	for _, program := range []string{"mpirun", "mpiexec"} {
		path, err := p.look(program)
		if err != nil {
			continue
		}
		line, err := p.run(path, "--version")
		if err != nil {
			return []finding{{"MPI", wrong, fmt.Sprintf("%s --version: %v: %s", path, err, line), "install openmpi-bin or mpich again"}}
		}
		return []finding{{"MPI", fine, path + ": " + line, ""}}
	}
	return []finding{{"MPI", absent, "no mpirun and no mpiexec: a program of several ranks needs one", ""}}
}

// opencl lists the platforms that an OpenCL loader would find.
func (p *patient) opencl() []finding {
	list, err := fs.Glob(p.root, "etc/OpenCL/vendors/*.icd")
	if err != nil || len(list) == 0 {
		return []finding{{"OpenCL", absent, "no platform in /etc/OpenCL/vendors", ""}}
	}
	var names []string
	for _, name := range list {
		names = append(names, p.line(name))
	}
	return []finding{{"OpenCL", fine, "platforms: " + strings.Join(names, ", "), ""}}
}

// variables examines the environment variables of this module.
func (p *patient) variables() (out []finding) {
	for _, text := range environment.Unknown(p.environ) {
		out = append(out, finding{"environment", wrong, text, "unset it, or correct its name: docs/reference/environment.md"})
	}
	for _, entry := range p.environ {
		name, value, _ := strings.Cut(entry, "=")
		if name != task.DevicesVariable || value == "" {
			continue
		}
		m, err := p.open(value)
		if err == nil {
			err = m.Close()
		}
		if err != nil {
			out = append(out, finding{name, wrong, fmt.Sprintf("%s: %v", value, err), "gompss devices SPEC tries others; auto takes what is there"})
		} else {
			out = append(out, finding{name, fine, value, ""})
		}
	}
	return out
}
