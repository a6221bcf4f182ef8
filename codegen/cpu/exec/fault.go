package exec

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/ir"
)

// A FaultError is a touch of memory that is not there, or not to be read or written, by generated
// code: the memory behind a slice was unmapped or protected, or a kernel without checks went
// astray. What the kernel had written before stays written.
type FaultError struct {
	Kernel string
	At     ir.Pos  // of the kernel
	Addr   uintptr // that was touched; 0 where the system does not say
	Slice  string  // the parameter that it lies in, "" for none
	Index  int64   // of the element
}

func (e *FaultError) Error() string {
	where := "in no slice of the kernel"
	if e.Slice != "" {
		where = fmt.Sprintf("element %d of %s", e.Index, e.Slice)
	}
	return fmt.Sprintf("%s: %s: memory fault: address %#x, %s", e.At, e.Kernel, e.Addr, where)
}

// watched is what must happen when a goroutine has run code on a launch: faults at any address are
// panics of the goroutine meanwhile, as those near nil are anyway, and one that came out of
// generated code becomes an error here. All other panics continue. It must be deferred itself.
func watched(l *launch, c *image.Code, old bool, err *error) {
	debug.SetPanicOnFault(old)
	if l.block[image.WordStatus] != image.StatusRunning {
		return
	}
	l.block[image.WordStatus] = image.StatusDone
	tidy()
	*err = faultAt(c, l.block, addressOf(recover()))
}

// caught notes in the block that the code that ran on it came to a fault, and where.
func caught(b *image.Block, cause any) {
	b[image.WordStatus], b[image.WordIndex] = image.StatusFault, uint64(addressOf(cause))
	tidy()
}

// addressOf is the address of a fault, 0 where the system does not say.
func addressOf(cause any) uintptr {
	if a, ok := cause.(interface {
		runtime.Error
		Addr() uintptr
	}); ok {
		return a.Addr()
	}
	return 0
}

// faultAt says where the address of a fault lies.
func faultAt(c *image.Code, b *image.Block, addr uintptr) error {
	e := &FaultError{Kernel: c.Kernel.Name, At: c.Kernel.At, Addr: addr}
	word := image.WordParams
	for _, v := range c.Params {
		if v.Type.Kind != ir.Slice {
			word++
			continue
		}
		size := int64(v.Type.Elem.Size)
		if off := int64(e.Addr) - int64(b[word]); size > 0 && off >= 0 && off < int64(b[word+1])*size {
			e.Slice, e.Index = v.Name, off/size
		}
		word += 2
	}
	return e
}
