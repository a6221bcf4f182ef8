package exec

import (
	"fmt"
	"math/bits"
	"runtime"
	"unsafe"

	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/ir"
)

// A Value is one actual argument of a run: a scalar as bits, or a slice as address and length. Its
// capacity is its length, unless Cap is more. Addr is no address on a goroutine's stack, which may
// move during the run; passing a Value does not let a variable escape from there.
type Value struct {
	Bits uint64
	Addr unsafe.Pointer
	Len  int64
	Cap  int64
}

// A Program is compiled code in executable memory, ready to run. It may run on any number of
// goroutines at once.
type Program struct {
	Code      *image.Code
	entry     uintptr
	otherwise *Program // runs what this one cannot; nil: it can run everything
	direct    uintptr  // the code of the one loop of a plain kernel; 0: it is not plain
	from      int64    // where that loop begins,
	until     int      // and the word of where it ends; 0: counting is more than that
}

// Install puts code into the arena. Code for another processor is an error.
func (a *Arena) Install(c *image.Code) (*Program, error) {
	if arm := c.Options.ISA == mach.ARM64; arm != (runtime.GOARCH == "arm64") {
		return nil, fmt.Errorf("cpu: %s: code for %s does not run on %s", c.Kernel.Name, c.Options.Name(), runtime.GOARCH)
	}
	entry, err := a.Add(c.Bytes)
	if err != nil {
		return nil, err
	}
	p := &Program{Code: c, entry: entry}
	if c.Plain && !c.Far && c.Scratch == 0 && c.Spill == 0 && len(c.Caps) == 0 {
		p.direct = entry + uintptr(c.Stages[1].Entry)
		if n := c.Stages[0].Count; n.Lo == 0 && n.Step == 1 && !n.Inclusive {
			p.from, p.until = n.LoConst, n.Hi
		}
	}
	return p, nil
}

// InstallPast puts code that stores past the caches into the arena: these stores must be aligned,
// so where a chunk is not, otherwise runs it.
func (a *Arena) InstallPast(c *image.Code, otherwise *Program) (*Program, error) {
	p, err := a.Install(c)
	if err == nil {
		p.otherwise = otherwise
	}
	return p, err
}

// A slot is how one argument goes into the block.
type slot struct {
	slice bool
	size  int64 // of an element
}

func slotsOf(params []*ir.Var) []slot {
	out := make([]slot, len(params))
	for i, v := range params {
		if v.Type.Kind == ir.Slice {
			out[i] = slot{true, int64(v.Type.Elem.Size)}
		}
	}
	return out
}

// bindArgs puts the arguments into the block and returns how many bytes their slices have.
//
// Safe: there are as many arguments as slots, and the words of all parameters are in the block:
// Compile has counted them. A copy of address and length at once is twice as fast as one by one,
// and these copies are a good part of a short call.
func bindArgs(b *image.Block, slots []slot, args []Value) (bytes int64) {
	args = args[:len(slots)]
	to := uintptr(8 * image.WordParams)
	for i := range slots {
		a, at := &args[i], unsafe.Add(unsafe.Pointer(b), to)
		if !slots[i].slice {
			*(*uint64)(at) = a.Bits
			to += 8
			continue
		}
		*(*[2]uint64)(at) = *(*[2]uint64)(unsafe.Pointer(&a.Addr))
		bytes += a.Len * slots[i].size
		to += 16
	}
	return bytes
}

// boundBytes is the number of bytes that the slices have that were bound.
func boundBytes(b *image.Block, slots []slot) (bytes int64) {
	word := image.WordParams
	for _, s := range slots {
		if word++; s.slice {
			bytes += int64(b[word]) * s.size
			word++
		}
	}
	return bytes
}

// bindCaps puts the capacities that the kernel asks for behind the arguments.
func bindCaps(b *image.Block, c *image.Code, args []Value) {
	at := image.WordParams
	for _, v := range c.Params {
		if at++; v.Type.Kind == ir.Slice {
			at++
		}
	}
	for k, i := range c.Caps {
		b[at+k] = uint64(max(args[i].Len, args[i].Cap))
	}
}

// run calls the code of a stage for iterations [lo, hi), and does what it asks for on the way.
func (p *Program) run(i int, l *launch, lo, hi int64) error {
	s, b := p.Code.Stages[i], l.block
	if p.Code.Far {
		if s.Copies.Size > 0 && !(halves512 && len(p.Code.Past) > 0 && p.Code.Aligned(b, lo)) && movePast(s.Copies, b, lo, hi) {
			return nil
		}
		if p.otherwise != nil && !p.Code.Aligned(b, lo) {
			p = p.otherwise
			s = p.Code.Stages[i]
		}
	}
	if enter(b, p.entry+uintptr(s.Entry), lo, hi) {
		return nil
	}
	return p.resume(s, l)
}

// enter calls the code at an address and reports whether it ran to its end.
func enter(b *image.Block, at uintptr, lo, hi int64) bool {
	b[image.WordLo], b[image.WordHi], b[image.WordStatus] = uint64(lo), uint64(hi), image.StatusRunning
	call(at, unsafe.Pointer(b))
	return b[image.WordStatus] == image.StatusDone
}

// resume does what a stage asks for, and calls it again until it has run to its end.
func (p *Program) resume(s *image.Stage, l *launch) error {
	b := l.block
	for {
		st := b[image.WordStatus]
		if st == image.StatusDone || st == image.StatusReturned {
			return nil
		}
		switch site := &p.Code.Sites[st-1]; site.Kind {
		case image.SiteLanes:
			if err := site.Compute(b); err != nil {
				return &ir.EvalError{At: site.At, What: p.Code.Kernel.Name, Err: err}
			}
		case image.SitePause: // call, which looks at the stack, is where the goroutine stops
			l.stopped = true
		case image.SiteShare:
			if err := p.shareNested(site.Stage, l); err != nil {
				return err
			}
		default:
			return p.failure(b)
		}
		b[image.WordStatus] = image.StatusRunning
		call(p.entry+uintptr(s.Resume), unsafe.Pointer(b))
	}
}

// failure makes an error of what the code reported. The access was not made, what the kernel had
// written before is undefined.
func (p *Program) failure(b *image.Block) error {
	s := &p.Code.Sites[b[image.WordStatus]-1]
	e := p.checkError(s)
	if s.Kind == image.SiteArith || s.Check == ir.PointerCheck {
		return e
	}
	e.Index, e.Length, e.Unsigned = int64(b[image.WordIndex]), int64(b[image.WordLen]), s.Wide
	if s.Bytes > 0 {
		lane := bits.TrailingZeros64(b[image.WordBits])
		e.Index = s.IndexIn(b, lane)
		if s.Limits {
			e.Length = int64(b[image.WordLanes+8+lane])
		}
	}
	if s.Part {
		e.Kind = ir.SliceCheck
		e.Length-- // the check is that the bound is below it
	}
	return e
}

// checkError is the error of a site without its numbers.
func (p *Program) checkError(s *image.Site) *ir.CheckError {
	return &ir.CheckError{Kernel: p.Code.Kernel.Name, At: s.At, Kind: s.Check, What: s.What}
}
