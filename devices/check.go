package devices

import (
	"errors"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"github.com/gompss/gompss/codegen/ir"
)

// The texts of Go's run time: "index out of range [5] with length 3", "slice bounds out of range
// [:5] with capacity 3", "[5:3]", "[:5:3]", "[5:3:]"; of a negative number there is no other.
var (
	goIndex = regexp.MustCompile(`index out of range \[(-?\d+)\](?: with length (\d+))?`)
	goBound = regexp.MustCompile(`slice bounds out of range \[:{0,2}(-?\d+):{0,2}(\d*):{0,2}\](?: with (?:length|capacity) (\d+))?`)
)

// goCheck is the check that Go's run time has panicked for; nil where err is nothing of that kind.
func goCheck(err error) *ir.CheckError {
	var fault runtime.Error
	if !errors.As(err, &fault) {
		return nil
	}
	text := fault.Error()
	if m := goIndex.FindStringSubmatch(text); m != nil {
		return numbered(ir.IndexCheck, m[1], m[2])
	}
	if m := goBound.FindStringSubmatch(text); m != nil {
		return numbered(ir.SliceCheck, m[1], m[2]+m[3])
	}
	for part, kind := range map[string]ir.CheckKind{"divide by zero": ir.DivisorCheck, "negative shift": ir.CountCheck, "nil pointer dereference": ir.PointerCheck} {
		if strings.Contains(text, part) {
			return &ir.CheckError{Kind: kind}
		}
	}
	return nil
}

// numbered is an error with the numbers of Go's text; one that no int64 has is a uint64.
func numbered(kind ir.CheckKind, index, length string) *ir.CheckError {
	e := &ir.CheckError{Kind: kind}
	e.Length, _ = strconv.ParseInt(length, 10, 64) // none is 0
	n, err := strconv.ParseInt(index, 10, 64)
	if err != nil {
		wide, _ := strconv.ParseUint(index, 10, 64)
		n, e.Unsigned = int64(wide), true
	}
	e.Index = n
	return e
}

// Locate gives the failed check in err, if there is one in k or a step of it, the text that it has
// on every device: see ir.Kernel.Locate. args are the arguments of the launch. Nothing else may use
// err yet.
func (k *Kernel) Locate(err error, args []Arg) {
	var check *ir.CheckError
	if !errors.As(err, &check) || check.Among != nil {
		return
	}
	if k.owns(check) {
		loop := k.loop()
		loop.Locate(check, valuesOf(loop, args))
		return
	}
	var loop *ir.Kernel
	var values ir.Values
	for i := range k.Steps {
		s := &k.Steps[i]
		own := args[:len(s.Args)] // the arguments of the steps, one after the other
		args = args[len(s.Args):]
		switch {
		case !s.Kernel.owns(check):
		case loop == nil:
			loop = s.Kernel.loop()
			values = valuesOf(loop, own)
		default:
			alike(values, valuesOf(loop, own))
		}
	}
	if loop != nil {
		loop.Locate(check, values)
	}
}

// valuesOf are the arguments of a launch by parameter.
func valuesOf(loop *ir.Kernel, args []Arg) ir.Values {
	values := ir.Values{}
	for i := range args[:min(len(args), len(loop.Params))] {
		a := &args[i]
		values[loop.Params[i]] = ir.Value{Bits: ir.Bits(a.Bits), Len: a.Len, Cap: a.Cap}
	}
	return values
}

// alike leaves in x what is the same in y: it is not known which of two steps with one kernel has
// failed.
func alike(x, y ir.Values) {
	for v, a := range x {
		if b := y[v]; a.Bits != b.Bits || a.Len != b.Len || a.Cap != b.Cap {
			delete(x, v)
		}
	}
}

// owns reports whether a failed check is one of k's.
func (k *Kernel) owns(check *ir.CheckError) bool {
	loop := k.loop()
	return loop != nil && (check.Kernel == k.Name || check.Kernel == loop.Name)
}

// loop is the loop IR of k, nil where there is none.
func (k *Kernel) loop() *ir.Kernel {
	if k.Loop == nil && k.Program != nil {
		return k.Program.Kernel
	}
	return k.Loop
}

// Checked is err, which a launch of k ended with, with the text of the failed check in it, if that
// is all that it says; else err.
func (k *Kernel) Checked(err error) error {
	if list, joined := err.(interface{ Unwrap() []error }); joined && len(list.Unwrap()) == 1 {
		err = list.Unwrap()[0]
	}
	var check *ir.CheckError
	if _, several := err.(interface{ Unwrap() []error }); several || !errors.As(err, &check) {
		return err
	}
	if check.Kernel == "" { // the host has evaluated something for k
		check.Kernel = k.Name
	}
	return &checked{CheckError: check, from: err}
}

// A checked error reads as a failed check, and is what a device says of it besides.
type checked struct {
	*ir.CheckError
	from error
}

// Unwrap returns both.
func (e *checked) Unwrap() []error { return []error{e.CheckError, e.from} }
