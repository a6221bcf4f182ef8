package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/devices"
	_ "github.com/gompss/gompss/devices/all" // all plug-ins
	"github.com/gompss/gompss/internal/machine"
	"github.com/gompss/gompss/task"
)

// listDevices opens every kind of device by itself and lists its devices, or the reason why there
// are none; with an argument, or with GOMPSS_DEVICES, the devices that are named.
func listDevices(args []string, stdout, _ io.Writer) error {
	if len(args) > 1 {
		return usageError("it takes one specification, such as smp:2,sim:4")
	}
	t := tabwriter.NewWriter(stdout, 0, 8, 2, ' ', 0)
	defer t.Flush()
	if spec := os.Getenv(task.DevicesVariable); len(args) == 0 && spec != "" {
		args = []string{spec}
	}
	if len(args) == 1 {
		return describe(t, args[0])
	}
	for _, kind := range devices.Kinds() {
		if err := describe(t, string(kind)); err != nil {
			fmt.Fprintf(t, "%s\t-\t%v\n", kind, err)
		}
	}
	fmt.Fprintf(t, "vectors\t-\t%s\n", vectorUnits(cpu.Processor{}, cpu.Memory{}))
	return nil
}

// describe opens the devices of a specification and prints a line for each.
func describe(w io.Writer, spec string) error {
	m, err := machine.Open(spec, machine.Options{})
	if err != nil {
		return err
	}
	for _, d := range m.Devices() {
		p := d.Properties()
		memory := "-"
		if p.Memory > 0 {
			memory = p.Memory.String()
		}
		text := p.Description
		if p.Kind != devices.SMP {
			text += fmt.Sprintf(", %v", devices.LinkOf(d))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", p.Name, memory, text)
	}
	for _, a := range m.Absent() {
		fmt.Fprintf(w, "%s\t-\tnot there: %v\n", a.Device, a.Why)
	}
	describeCompilers(w, m.Devices())
	return errors.Join(m.Close())
}

// describeCompilers prints a line for each kind of device that compiles kernels with a library:
// which, or why there is none.
func describeCompilers(w io.Writer, list []devices.Device) {
	var told []devices.Kind
	for _, d := range list {
		c, ok := d.(interface{ Compiler() (string, error) })
		kind := d.Properties().Kind
		if !ok || slices.Contains(told, kind) {
			continue
		}
		told = append(told, kind)
		text, err := c.Compiler()
		if err != nil {
			text = fmt.Sprintf("no compiler, so only kernels in the cache run: %v", err)
		} else {
			text = "kernels are compiled by " + text
		}
		fmt.Fprintf(w, "%s\t-\t%s\n", kind, text)
	}
}

// vectorUnits says what vector code this machine runs, or why none.
func vectorUnits(p cpu.Processor, m cpu.Memory) string {
	o, err := p.Choose(os.Getenv(task.VectorVariable))
	if err != nil {
		return err.Error()
	}
	arena, err := m.NewArena()
	if err != nil {
		return fmt.Sprintf("%v: kernels run as Go functions", err)
	}
	how := arena.How()
	if err := arena.Close(); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s on %s/%s, executable memory by %s: kernels run as vector code on the CPU workers", o.Name(), runtime.GOOS, runtime.GOARCH, how)
}

// compileCPU makes the vector code for AVX-512, which every machine can print, or for what this
// machine has.
func compileCPU(k *ir.Kernel) (*cpu.Code, cpu.Options, error) {
	o, err := cpu.Processor{}.Choose(os.Getenv(task.VectorVariable))
	if err != nil {
		o = cpu.Options{AVX512: true}
	}
	code, err := cpu.Compile(codegen.ForCPU(k), o)
	return code, o, err
}

// cpuDecision says how the CPU workers run the kernel.
func cpuDecision(k *ir.Kernel) string {
	if len(k.Target.Kinds) > 0 && !slices.Contains(k.Target.Kinds, "smp") {
		return "CPU: not there: the device clause does not name smp"
	}
	return cpuDecisionOn(k, cpu.Processor{}, cpu.Memory{})
}

// cpuDecisionOn is cpuDecision for a processor and the memory that there is for code.
func cpuDecisionOn(k *ir.Kernel, p cpu.Processor, m cpu.Memory) string {
	code, o, err := compileCPU(k)
	if l := scanOf(k); err != nil && l != nil && strings.Contains(err.Error(), "there is no loop") {
		return fmt.Sprintf("CPU: the Go function runs: %v: a scan runs in order on CPUs", l.At) + unfused(k)
	}
	if err != nil {
		return fmt.Sprintf("CPU: the Go function runs: %v", err) + unfused(k)
	}
	if why := notHere(p, m); why != nil {
		return fmt.Sprintf("CPU: the Go function runs on this machine: %v", why) + unfused(k)
	}
	text := fmt.Sprintf("CPU: the iterations of the loop at %s -> lanes: %s, %d lanes, %s", code.Loop, o.Name(), code.Lanes, vectors(code.Unroll))
	if code.Lanes == 1 {
		text = fmt.Sprintf("CPU: the iterations of the loop at %s -> machine code of single numbers, in chunks that the workers share", code.Loop)
	}
	for _, n := range code.Notes {
		text += "\n  CPU: " + n
	}
	return text + "\n  CPU: " + variantRule(k, code)
}

// vectors describes how many vectors an iteration of the code computes.
func vectors(n int) string {
	if n == 1 {
		return "one vector at a time"
	}
	return fmt.Sprintf("%d vectors at a time", n)
}

// scanOf returns the first loop of k that a scan directive cuts, nil for none.
func scanOf(k *ir.Kernel) (scan *ir.For) {
	ir.WalkStmts(k.Body, func(s ir.Stmt) bool {
		if l, ok := s.(*ir.For); ok && scan == nil && l.Directive != nil && l.Directive.Scan != nil {
			scan = l
		}
		return scan == nil
	})
	return scan
}

// variantRule says when CPU workers run code of a kernel, and when its Go function.
func variantRule(k *ir.Kernel, code *cpu.Code) string {
	if len(k.Globals) > 0 {
		text := "the values that package variables had at submission; the Go function would read them itself, and never runs"
		text += "; sim devices interpret the kernel, which takes far longer, unless it has these values as parameters"
		if cpu.DiffersByLanes(k) == "" {
			return "that code, or scalar code where that is measured to be faster, has " + text
		}
		return "that code has " + text
	}
	if why := cpu.Differs(codegen.ForCPU(k)); why != "" {
		switch {
		case code.Scalar() && cpu.DiffersAlone(codegen.ForCPU(k)) == "":
			return "or the Go function, where it is measured to be faster than one worker with that code, which makes atomics in the same order"
		case code.Lanes > 1 && cpu.DiffersByLanes(k) == "":
			return "or scalar code where that is measured to be faster: never the Go function, which may give other bits: " + why
		}
		return "that code always runs, as the Go function may give other bits: " + why
	}
	return "or the Go function, until that code is compiled and where it is measured to be faster: both give the same bits if no two iterations conflict"
}

// unfused says that the Go function rounds what contract fuses elsewhere, "" where that is nothing.
func unfused(k *ir.Kernel) string {
	if len(k.Fused) == 0 {
		return ""
	}
	return "\n  CPU: it rounds products that contract makes one operation with a sum on other devices: the last places may differ"
}

// notHere says why code for lanes does not run on this machine, whatever the kernel.
func notHere(p cpu.Processor, m cpu.Memory) error {
	if _, err := p.Choose(os.Getenv(task.VectorVariable)); err != nil {
		return err
	}
	arena, err := m.NewArena()
	if err != nil {
		return err
	}
	return arena.Close()
}

func emitAssembly(k *ir.Kernel, w io.Writer) error {
	code, o, err := compileCPU(k)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "; kernel %s for %s: %d bytes\n%s", k.Name, o.Name(), len(code.Bytes), code.Listing())
	return err
}
