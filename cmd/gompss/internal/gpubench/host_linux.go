//go:build amd64 || arm64

package gpubench

import (
	"fmt"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/sim"
)

// A hostCode compiles kernels to vector code that runs on one thread.
type hostCode struct {
	arena   *cpu.Arena
	options cpu.Options
}

func newHostCode() (*hostCode, error) {
	options, err := cpu.Detect()
	if err != nil {
		return nil, err
	}
	arena, err := cpu.NewArena()
	return &hostCode{arena, options}, err
}

// kernel compiles a kernel from its loop IR.
//
// Errors: *cpu.Refusal if the kernel has no vector code.
func (h *hostCode) kernel(k *ir.Kernel) (*devices.Kernel, error) {
	runner, err := cpu.NewKernelRunner(h.arena, codegen.ForCPU(k), h.options)
	if err != nil {
		return nil, err
	}
	run := func(a *devices.Args) {
		values := make([]cpu.Value, len(a.List))
		for i := range a.List {
			arg := &a.List[i]
			values[i] = cpu.Value{Bits: arg.Bits}
			if kind := k.Params[i].Type.Kind; kind == ir.Slice || kind == ir.Pointer {
				values[i] = cpu.Value{Addr: a.Address(i), Len: max(arg.Len, 1), Cap: arg.Cap}
			}
		}
		var on cpu.Launcher
		if err := on.Call(runner, values, nil); err != nil {
			panic(fmt.Sprintf("gompss: bug: %s: %v", k.Name, err))
		}
	}
	return &devices.Kernel{Name: k.Name, Pos: k.At, Go: run}, nil
}

// openHost opens a device that runs kernels on the host, in its own memory.
func openHost(string) (*wall, error) {
	list, err := sim.Open(1, spaceOf(0), sim.Options{Memory: 8 << 30})
	if err != nil {
		return nil, err
	}
	return &wall{list[0], "this processor", 1}, nil
}
