package kernels

import (
	"fmt"
	"slices"
	"sync"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/target"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/task/internal/values"
)

// lower makes the accelerator variant. Where there is none, the kernel knows why.
func (k *Kernel) lower() {
	k.Device.Portable = portable(k.IR)
	lowered, err := codegen.Lower(k.IR, codegen.LowerOptions{})
	if err != nil {
		k.Device.Refused = err
		return
	}
	k.Device.Program = lowered.Program
	list := append([]*codegen.Lowering{lowered}, k.unchecked()...)
	if orderIsFixed(list) {
		k.Device.Candidates = sync.OnceValue(func() []devices.Candidate { return k.candidatesOf(k.IR, k.Contract.Unchecked(k.IR)) })
	}
	if lowered.Varies() {
		k.Device.Rows = k.rows()
	}
	if !slices.ContainsFunc(list, func(l *codegen.Lowering) bool { return len(l.Sizes()) == 0 }) {
		k.Device.Sizes, k.Device.Sized = lowered.Sizes(), k.sized
	}
}

// orderIsFixed reports whether other ways to lower a kernel leave the same bits, in all its forms.
func orderIsFixed(list []*codegen.Lowering) bool {
	return !slices.ContainsFunc(list, func(l *codegen.Lowering) bool { return l.OrderShows() != "" })
}

// rows returns how k is made for nested loops of other lengths.
func (k *Kernel) rows() *devices.Rows {
	return &devices.Rows{
		Count: func() (p, unchecked *ir.Program, err error) {
			if p, err = codegen.CountLengths(k.IR, codegen.LowerOptions{}); err != nil {
				return nil, nil, err
			}
			if free := k.Contract.Unchecked(k.IR); free != nil {
				unchecked, err = codegen.CountLengths(free, codegen.LowerOptions{})
			}
			return p, unchecked, err
		},
		Forms: sync.OnceValue(func() (out []devices.RowForm) {
			list, err := codegen.NestedWidths(k.IR, k.Contract.Unchecked(k.IR), codegen.LowerOptions{})
			if err != nil {
				return nil // the unchecked form has one width alone
			}
			for _, f := range list {
				out = append(out, devices.RowForm{Width: f.Width, Program: f.Program, Unchecked: f.Unchecked})
			}
			return out
		}),
	}
}

// sized makes the accelerator variants for launches with these sizes.
func (k *Kernel) sized(values map[int]uint64) (*devices.Kernel, error) {
	lowered, err := codegen.LowerSized(k.IR, values, codegen.LowerOptions{})
	if err != nil {
		return nil, err
	}
	list := []*codegen.Lowering{lowered}
	out := &devices.Kernel{Name: k.Name, Pos: k.Pos, Program: lowered.Program}
	own, free := lowered.Kernel, k.Contract.Unchecked(k.IR)
	if free != nil {
		if lowered, err = codegen.LowerSized(free, values, codegen.LowerOptions{}); err != nil {
			return nil, err
		}
		list = append(list, lowered)
		free = lowered.Kernel
		out.Unchecked, out.Proves = lowered.Program, k.proves
	}
	if orderIsFixed(list) {
		out.Candidates = sync.OnceValue(func() []devices.Candidate { return k.candidatesOf(own, free) })
	}
	return out, nil
}

// mostCandidates is how many ways to lower a kernel are tried, the compiler's first choice
// included.
const mostCandidates = 4

// candidatesOf lowers a form of k, and the one without the checks that the host makes, in other
// ways that leave the same bits.
func (k *Kernel) candidatesOf(form, unchecked *ir.Kernel) (out []devices.Candidate) {
	list, err := codegen.Variants(form, unchecked, codegen.LowerOptions{}, mostCandidates)
	if err != nil {
		panic(fmt.Sprintf("gompss: bug: kernel %s: other candidates: %v", k.Name, err))
	}
	for _, c := range list {
		out = append(out, devices.Candidate{Name: c.Choice.String(), Program: c.Program, Unchecked: c.Unchecked})
	}
	return out
}

// portable returns what lowers k for devices without all operations of warps, once for each form
// and target.
func portable(k *ir.Kernel) func(devices.TeamForm, *target.Target) (*ir.Program, error) {
	type form struct {
		teams devices.TeamForm
		on    target.Target
	}
	var forms sync.Map // form -> func() (*ir.Program, error)
	return func(teams devices.TeamForm, on *target.Target) (*ir.Program, error) {
		made, _ := forms.LoadOrStore(form{teams, *on}, sync.OnceValues(func() (*ir.Program, error) {
			opt := teamForms[teams]
			opt.Device = on
			lowered, err := codegen.Lower(k, opt)
			if err != nil {
				return nil, err
			}
			return lowered.Program, nil
		}))
		return made.(func() (*ir.Program, error))()
	}
}

// unchecked makes the variant of accelerators without the checks that the host makes at each
// launch. It returns its lowering, if there is one.
func (k *Kernel) unchecked() []*codegen.Lowering {
	free := k.Contract.Unchecked(k.IR)
	if free == nil {
		return nil
	}
	lowered, err := codegen.Lower(free, codegen.LowerOptions{})
	if err != nil {
		panic(fmt.Sprintf("gompss: bug: kernel %s without checks: %v", k.Name, err))
	}
	k.Device.Unchecked, k.Device.Proves = lowered.Program, k.proves
	k.Device.PortableUnchecked = portable(free)
	return []*codegen.Lowering{lowered}
}

// proves reports whether a launch with these arguments needs no check that the host makes.
func (k *Kernel) proves(args []devices.Arg) bool {
	d := ScratchPool.Get().(*Scratch)
	d.Env.Params, d.Env.List = k.IR.Params, args
	d.Proof.Load(k.IR, k.Contract, &d.Env)
	ok := d.Proof.Proves()
	d.Env.List = nil
	ScratchPool.Put(d)
	return ok
}

// Named reports whether the device clause of k allows a kind.
func (k *Kernel) Named(kind devices.Kind) bool {
	for _, word := range k.IR.Target.Kinds {
		if word == string(kind) || word == string(devices.Acc) && kind != devices.SMP {
			return true
		}
	}
	return len(k.IR.Target.Kinds) == 0
}

// AddVersion makes v another version of k.
func (k *Kernel) AddVersion(v *Kernel) error {
	if of := v.IR.Target.Implements; of != k.Name {
		return fmt.Errorf("task: kernel %s (%s:%d): its target directive says implements(%s), not %s", v.Name, v.Pos.File, v.Pos.Line, of, k.Name)
	}
	if k.Deferral != nil || v.Deferral != nil {
		return fmt.Errorf("task: kernel %s (%s:%d): implements %s: one of them has nested(cpu), and then there are no other versions: write nested(host)", v.Name, v.Pos.File, v.Pos.Line, k.Name)
	}
	if len(v.Params) != len(k.Params) {
		return fmt.Errorf("task: kernel %s (%s:%d): implements %s, which has %d parameters, with %d", v.Name, v.Pos.File, v.Pos.Line, k.Name, len(k.Params), len(v.Params))
	}
	for i := range k.Params {
		if a, b := values.TypeText(k.Params[i].Type), values.TypeText(v.Params[i].Type); a != b {
			return fmt.Errorf("task: kernel %s (%s:%d): parameter %s is %s, and %s in %s, which it implements", v.Name, v.Pos.File, v.Pos.Line, v.Params[i].name, b, a, k.Name)
		}
	}
	if !k.readsAlike(v) {
		return fmt.Errorf("task: kernel %s (%s:%d): it reads other package variables than %s, which it implements, or reads them in another way: pass them as parameters",
			v.Name, v.Pos.File, v.Pos.Line, k.Name)
	}
	k.Versions = append(k.Versions, v)
	return nil
}

// AddNative makes n a variant of k.
func (k *Kernel) AddNative(n devices.Native) error {
	switch {
	case n.Kind == "" || n.Source == "" && n.Binary == nil:
		return k.nativeError("a native variant needs a kind, and a text or a binary")
	case k.Deferral != nil:
		return k.nativeError("it has nested(cpu), and then no native variants: write nested(host)")
	case slices.ContainsFunc(k.Device.Natives, func(m devices.Native) bool { return m.Kind == n.Kind }):
		return k.nativeError(fmt.Sprintf("it has a native variant for %s already", n.Kind))
	case n.Shape == nil && k.IR.Target.Native == nil:
		return k.nativeError("a native variant needs a Shape, or clause ndrange of the kernel")
	}
	if n.Shape == nil {
		n.Shape = k.NDRange
	}
	k.Device.Natives = append(k.Device.Natives, n)
	return nil
}

func (k *Kernel) nativeError(why string) error {
	return fmt.Errorf("task: kernel %s (%s:%d): %s", k.Name, k.Pos.File, k.Pos.Line, why)
}

// NDRange returns the shape that the clauses ndrange and shmem give to a launch. An extent that
// cannot be computed, such as a division by zero, is 0, which the device refuses.
func (k *Kernel) NDRange(a *devices.Args) devices.NDRange {
	env := &values.Arguments{Params: k.IR.Params, List: a.List}
	value := func(e ir.Expr) int64 {
		if e == nil {
			return 0
		}
		bits, err := ir.Eval(e, env)
		if err != nil {
			return 0
		}
		return int64(bits)
	}
	var shape devices.NDRange
	clause := k.IR.Target.Native
	for i, e := range clause.Items {
		shape.Items[i] = value(e)
	}
	for i, e := range clause.Team {
		shape.Team[i] = value(e)
	}
	shape.Shared = deps.Bytes(value(clause.Shared))
	return shape
}

// nativeOnly returns why the Go function of k is not compiled, nil where it is.
func (k *Kernel) nativeOnly() error {
	if n := k.IR.Target.Native; n != nil {
		return fmt.Errorf("its text for %s is %s", n.Kind, n.File)
	}
	return nil
}

// takeNatives adds the native variants of a spec.
func (k *Kernel) takeNatives(list []devices.Native) error {
	for _, n := range list {
		if n.Shape == nil && k.IR.Target.Native == nil { // the device refuses it at submission
			k.Device.Natives = append(k.Device.Natives, n)
			continue
		}
		if err := k.AddNative(n); err != nil {
			return err
		}
	}
	return nil
}

// teamForms are the options of the forms of devices.Kernel.Portable.
var teamForms = map[devices.TeamForm]codegen.LowerOptions{
	devices.AnyTeams:      {Target: "opencl", NoShuffles: true},
	devices.WholeTeams:    {Target: "opencl", NoShuffles: true, TeamUnit: 32},
	devices.SubgroupTeams: {Target: "opencl", TeamUnit: 32},
}
