package task

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/gompss/gompss/devices"
)

// Instances are the kernels of one generic function, one for each list of type arguments, made at
// its first use. The zero value is ready; it may be used by several goroutines.
type Instances struct {
	made sync.Map // instanceKey -> *instance
}

// maxTypeArgs bounds the type arguments of a kernel.
const maxTypeArgs = 8

type instanceKey [maxTypeArgs]reflect.Type

type instance struct {
	once   sync.Once
	kernel *Kernel
	err    error
}

// Kernel returns the kernel for the given type arguments; spec describes it, but for TypeArgs.
//
// Errors: types that the constraints or the dialect do not allow, or that the kernel's package
// cannot name.
func (g *Instances) Kernel(spec func() KernelSpec, types ...reflect.Type) (*Kernel, error) {
	if len(types) > maxTypeArgs {
		return nil, fmt.Errorf("task: kernel %s: %d type arguments, and %d is the limit", spec().Name, len(types), maxTypeArgs)
	}
	var key instanceKey
	copy(key[:], types)
	x, ok := g.made.Load(key)
	if !ok {
		x, _ = g.made.LoadOrStore(key, &instance{})
	}
	i := x.(*instance)
	i.once.Do(func() {
		s := spec()
		for _, t := range types {
			if devices.HoldsAddress(t) {
				i.err = fmt.Errorf("task: kernel %s: type argument %s: it is or holds slices or pointers, which are arguments of their own: write it in the type of the parameter, as []T is", s.Name, t)
				return
			}
			s.TypeArgs = append(s.TypeArgs, typeArgument(t))
		}
		i.kernel, i.err = newKernel(s)
	})
	return i.kernel, i.err
}

// typeArgument returns t as the package of the kernel writes it.
func typeArgument(t reflect.Type) string {
	if t.Name() != "" {
		return t.Name()
	}
	return t.String()
}
