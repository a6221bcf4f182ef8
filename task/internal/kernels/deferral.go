package kernels

import (
	"errors"
	"slices"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// A Deferral is how a kernel with nested(cpu) runs on accelerators: Device runs there, and puts
// iterations with long nested loops into a list; Rest runs those on CPU workers. Both are kernels
// with parameters behind those of the kernel itself, see codegen.Deferral.
type Deferral struct {
	Device, Rest *Kernel
	Trips        ir.Expr // of the parallel loop, over the parameters
}

// errNotDeferred is the reason why no accelerator runs a kernel with nested(cpu) as it is.
var errNotDeferred = errors.New("nested(cpu): accelerators run it as a task of its own, and not as a step of an iteration or a sequence or by ranks: " +
	"submit it outside of these, or write nested(host)")

// deferToCPU makes the parts of a kernel with nested(cpu).
func (k *Kernel) deferToCPU(s *Spec, pkg *codegen.Package) error {
	parts, err := codegen.DeferToCPU(k.IR)
	if parts == nil || err != nil {
		return err
	}
	part := s.Part
	if part == nil {
		part = s.Split
	}
	switch {
	case part == nil:
		return errors.New("nested(cpu): CPU workers need a function that runs single iterations: use the wrapper that gompss gen writes, which generic kernels have none in, or write nested(host)")
	case len(s.Natives) > 0 || len(s.Versions) > 0 || k.IR.Target.Implements != "":
		return errors.New("nested(cpu): the kernel has native variants or other versions: write nested(host)")
	}
	last := len(parts.Device.Params) - 1
	addAccess(parts.Device, last-1, deps.Out)
	addAccess(parts.Device, last, deps.InOut)
	addAccess(parts.Rest, last-1, deps.In)
	d := &Deferral{Trips: parts.Trips, Device: describe(s, parts.Device, pkg), Rest: describe(s, parts.Rest, pkg)}
	d.Device.Overlaps, d.Rest.Overlaps = nil, nil // the submission has looked at the arguments
	d.Device.lower()
	if d.Device.Device.Refused != nil {
		return d.Device.Device.Refused
	}
	d.Rest.runsList(part, s.Split != nil)
	k.Deferral = d
	return nil
}

// addAccess says how tasks of k access all of parameter i, a slice.
func addAccess(k *ir.Kernel, i int, mode deps.Mode) {
	whole := ir.Region{Var: k.Params[i], Text: k.Params[i].Name, At: k.At}
	k.Task.Accesses = append(slices.Clone(k.Task.Accesses), ir.Access{Region: whole, Mode: mode})
	if t := &k.Target; t.NoCopyDeps {
		t.CopyInOut = append(slices.Clone(t.CopyInOut), whole)
	}
}

// runsList makes the Go function of k that which runs the iterations of a list, the last argument,
// by part. cut says that several workers may do so at once.
func (k *Kernel) runsList(part func(a *devices.Args, lo, hi int64), cut bool) {
	k.Name, k.Hash = k.IR.Name, hashOf(k.IR.Name+k.IR.At.String())
	k.Device.Name = k.Name
	at := len(k.IR.Params) - 1
	split := func(a *devices.Args, lo, hi int64) {
		for _, i := range devices.SliceArg[int64](a, at)[lo:hi] {
			part(a, i, i+1)
		}
	}
	trips := func(a *devices.Args) int64 { return a.List[at].Len }
	k.Device.Go = func(a *devices.Args) { split(a, 0, trips(a)) }
	k.Device.Split, k.Device.Trips = nil, nil
	if cut {
		k.Device.Split, k.Device.Trips = split, trips
	}
}
