package launch

import (
	"encoding/binary"
	"fmt"

	"github.com/gompss/gompss/codegen/cuda"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// A Binding is the arguments of one launch by parameter: an ir.Env, and the addresses on the GPU.
type Binding struct {
	Params  []*ir.Var
	Args    []devices.Arg
	Scratch []Scratchpad
	teams   int64 // answers the query of a scratchpad's count
}

// A Scratchpad is scratch memory of a launch: count elements from offset on in its piece.
type Scratchpad struct {
	of      *ir.Var
	Count   int64
	unset   bool       // it may hold anything
	offset  deps.Bytes // in the launch's piece of scratch memory of its kind
	address uint64
}

func (b *Binding) arg(v *ir.Var) *devices.Arg {
	for i, p := range b.Params {
		if p == v {
			return &b.Args[i]
		}
	}
	return nil
}

func (b *Binding) pad(v *ir.Var) *Scratchpad {
	for i := range b.Scratch {
		if b.Scratch[i].of == v {
			return &b.Scratch[i]
		}
	}
	return nil
}

// Scalar implements ir.Env.
func (b *Binding) Scalar(v *ir.Var) (ir.Bits, bool) {
	if a := b.arg(v); a != nil && v.Type.IsScalar() {
		return ir.Bits(ir.Normal(v.Type, a.Bits)), true
	}
	return 0, false
}

// Bytes implements ir.Env.
func (b *Binding) Bytes(v *ir.Var) ([]byte, bool) {
	if a := b.arg(v); a != nil && a.Blob != nil {
		return a.Blob, true
	}
	return nil, false
}

// Slice implements ir.Env.
func (b *Binding) Slice(v *ir.Var) (length, capacity int64, ok bool) {
	if p := b.pad(v); p != nil {
		return p.Count, p.Count, true
	}
	if a := b.arg(v); a != nil && v.Type.Kind == ir.Slice {
		return a.Len, a.Cap, true
	}
	return 0, 0, false
}

// Apart implements ir.AddressEnv. Buffers have no byte in common.
func (b *Binding) Apart(x, y *ir.Var) (apart, ok bool) {
	p, q := b.arg(x), b.arg(y)
	if p == nil || q == nil {
		return false, false
	}
	length := func(a *devices.Arg, v *ir.Var) int64 {
		if v.Type.Kind == ir.Pointer {
			return 1
		}
		return a.Len
	}
	end := func(a *devices.Arg, v *ir.Var) deps.Bytes {
		return a.Offset + deps.Bytes(length(a, v))*v.Type.Elem.Size
	}
	return p.Nil || q.Nil || length(p, x) == 0 || length(q, y) == 0 || p.Buffer != q.Buffer || end(p, x) <= q.Offset || end(q, y) <= p.Offset, true
}

// Idle reports whether a launch would find that it has nothing to do.
func (b *Binding) Idle(l *ir.Launch) bool {
	if l.When == nil {
		return false
	}
	bits, err := ir.Eval(l.When, b)
	return err == nil && bits == 0
}

// Query implements ir.Env: the number of teams, for scratchpads.
func (b *Binding) Query(q ir.QueryKind) (int64, bool) {
	return b.teams, q == ir.NumTeams && b.teams > 0
}

// ScratchAlign is the alignment of scratchpads, that of what a driver allocates.
const ScratchAlign deps.Bytes = 256

// A Room is how much scratch memory a launch takes: the part that is zero when it begins, and the
// part that may hold anything.
type Room struct {
	Zeroed, Unset deps.Bytes
}

// Total is the size of both parts.
func (r Room) Total() deps.Bytes { return r.Zeroed + r.Unset }

// SizeScratch computes the sizes of the scratchpads, whose launches have the given shapes, and
// returns their sums.
func (b *Binding) SizeScratch(p *ir.Program, grids []Grid) (sum Room, err error) {
	for i := range p.Scratch {
		s := &p.Scratch[i]
		b.teams = grids[s.Launch].Teams
		n, err := ir.EvalInt(s.Count, b)
		b.teams = 0
		elem := s.Var.Type.Elem.Size
		if err == nil && (n < 0 || elem > 0 && deps.Bytes(n) > (1<<46)/elem) {
			err = fmt.Errorf("%d elements", n)
		}
		if err != nil {
			return Room{}, fmt.Errorf("scratch memory %s: %w", s.Var.Name, err)
		}
		part := &sum.Zeroed
		if s.Unset {
			part = &sum.Unset
		}
		b.Scratch = append(b.Scratch, Scratchpad{of: s.Var, Count: n, unset: s.Unset, offset: *part})
		*part = AlignUp(*part+deps.Bytes(n)*elem, ScratchAlign)
	}
	return sum, nil
}

// Place gives the scratchpads their addresses, in memory that is zero and in memory that may hold
// anything.
func (b *Binding) Place(zeroed, unset uint64) {
	for i := range b.Scratch {
		base := zeroed
		if b.Scratch[i].unset {
			base = unset
		}
		b.Scratch[i].address = base + uint64(b.Scratch[i].offset)
	}
}

// Pad returns the address of the scratchpad of a name, 0 where there is none.
func (b *Binding) Pad(name string) uint64 {
	for i := range b.Scratch {
		if b.Scratch[i].of.Name == name {
			return b.Scratch[i].address
		}
	}
	return 0
}

// Aligned reports whether the arguments are the multiples that src relies on; at is that of Pack.
// Scratchpads are.
func (b *Binding) Aligned(src *cuda.Source, at func(deps.BufferID) (uint64, error)) (bool, error) {
	for i := range src.Entries {
		for _, a := range src.Entries[i].Args {
			arg := b.arg(a.Var)
			if a.Multiple == 0 || arg == nil {
				continue
			}
			x, err := arg.Bits, error(nil)
			if a.Kind == cuda.Data {
				x, err = AddressOf(arg, at)
			}
			if err != nil || x%uint64(a.Multiple) != 0 || a.Kind == cuda.Value && int64(x) < 0 {
				return false, err
			}
		}
	}
	return true, nil
}

// Pack writes the arguments of an entry to out, which has Entry.ArgsSize bytes.
//
// at gives the address of byte 0 of a buffer's mirror, fault is that of the fault record.
func (b *Binding) Pack(e *cuda.Entry, out []byte, at func(deps.BufferID) (uint64, error), fault uint64) error {
	for i := range e.Args {
		a := &e.Args[i]
		if err := b.packOne(a, out[a.Offset:a.Offset+a.Size], at, fault); err != nil {
			return err
		}
	}
	return nil
}

func (b *Binding) packOne(a *cuda.Argument, out []byte, at func(deps.BufferID) (uint64, error), fault uint64) error {
	switch a.Kind {
	case cuda.Fault:
		binary.LittleEndian.PutUint64(out, fault)
		return nil
	case cuda.Early:
		putInt(out, 0)
		return nil
	case cuda.Divisor:
		n, err := ir.EvalInt(a.Of, b)
		if err != nil { // no value of 32 bits, which it has wherever the kernel divides by it
			n = 0
		}
		multiplier, shift := cuda.Multiplier(max(n, -n))
		binary.LittleEndian.PutUint32(out, multiplier)
		binary.LittleEndian.PutUint32(out[4:], shift)
		return nil
	case cuda.Length, cuda.Capacity:
		length, capacity, _ := b.Slice(a.Var)
		if a.Kind == cuda.Capacity {
			length = capacity
		}
		putInt(out, uint64(length))
		return nil
	}
	if p := b.pad(a.Var); p != nil {
		binary.LittleEndian.PutUint64(out, p.address)
		return nil
	}
	arg := b.arg(a.Var)
	if arg == nil {
		panic(fmt.Sprintf("gompss: bug: cuda: %s is no parameter of its kernel", a.Var.Name))
	}
	switch k := a.Var.Type.Kind; {
	case k == ir.Slice || k == ir.Pointer:
		address, err := AddressOf(arg, at)
		binary.LittleEndian.PutUint64(out, address)
		return err
	case a.Var.Type.IsScalar():
		putInt(out, arg.Bits)
	case len(arg.Blob) != len(out):
		return fmt.Errorf("argument %s: %d bytes for a %s of %d", a.Var.Name, len(arg.Blob), a.Var.Type, len(out))
	default:
		copy(out, arg.Blob)
	}
	return nil
}

// AddressOf returns the address of the first element of a slice, or of what a pointer points to;
// nil has 0.
func AddressOf(arg *devices.Arg, at func(deps.BufferID) (uint64, error)) (uint64, error) {
	if arg.Nil || arg.Type.Kind == ir.Slice && arg.Cap == 0 {
		return 0, nil
	}
	base, err := at(arg.Buffer)
	return base + uint64(arg.Offset), err
}

// putInt writes the low bytes of x, as many as out has: 1, 2, 4 or 8.
func putInt(out []byte, x uint64) {
	for i := range out {
		out[i] = byte(x >> (8 * i))
	}
}

// AlignUp rounds n up to a multiple of align.
func AlignUp(n, align deps.Bytes) deps.Bytes { return (n + align - 1) / align * align }
