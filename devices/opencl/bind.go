//go:build linux && (amd64 || arm64)

package opencl

import (
	"fmt"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// A binding is the arguments of one launch by parameter: an ir.Env.
type binding struct {
	params []*ir.Var
	args   []devices.Arg
	pads   []pad
	teams  int64 // answers the query of a scratchpad's count
}

// A pad is one scratchpad: a piece of the device's scratch memory.
type pad struct {
	of     *ir.Var
	count  int64
	offset deps.Bytes
}

func (b *binding) arg(v *ir.Var) *devices.Arg {
	for i, p := range b.params {
		if p == v {
			return &b.args[i]
		}
	}
	return nil
}

func (b *binding) pad(v *ir.Var) *pad {
	for i := range b.pads {
		if b.pads[i].of == v {
			return &b.pads[i]
		}
	}
	return nil
}

// Scalar implements ir.Env.
func (b *binding) Scalar(v *ir.Var) (ir.Bits, bool) {
	if a := b.arg(v); a != nil && v.Type.IsScalar() {
		return ir.Bits(ir.Normal(v.Type, a.Bits)), true
	}
	return 0, false
}

// Bytes implements ir.Env.
func (b *binding) Bytes(v *ir.Var) ([]byte, bool) {
	if a := b.arg(v); a != nil && a.Blob != nil {
		return a.Blob, true
	}
	return nil, false
}

// Slice implements ir.Env.
func (b *binding) Slice(v *ir.Var) (length, capacity int64, ok bool) {
	if p := b.pad(v); p != nil {
		return p.count, p.count, true
	}
	if a := b.arg(v); a != nil && v.Type.Kind == ir.Slice {
		return a.Len, a.Cap, true
	}
	return 0, 0, false
}

// Apart implements ir.AddressEnv. Buffers have no byte in common.
func (b *binding) Apart(x, y *ir.Var) (apart, ok bool) {
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

// Query implements ir.Env: the number of teams, for scratchpads.
func (b *binding) Query(q ir.QueryKind) (int64, bool) {
	return b.teams, q == ir.NumTeams && b.teams > 0
}

// idle reports whether a launch would find that it has nothing to do.
func (b *binding) idle(l *ir.Launch) bool {
	if l.When == nil {
		return false
	}
	bits, err := ir.Eval(l.When, b)
	return err == nil && bits == 0
}

// scratchAlign is the alignment of scratchpads in their memory object.
const scratchAlign deps.Bytes = 256

// sizeScratch computes the sizes of the scratchpads, whose launches have the given shapes, and
// returns the end of those that begin as zero, which come first, and of all.
func (b *binding) sizeScratch(p *ir.Program, grids []grid) (zeroed, all deps.Bytes, err error) {
	if zeroed, err = b.sizeSome(p, grids, false, 0); err == nil {
		all, err = b.sizeSome(p, grids, true, zeroed)
	}
	return zeroed, all, err
}

func (b *binding) sizeSome(p *ir.Program, grids []grid, unset bool, sum deps.Bytes) (deps.Bytes, error) {
	for i := range p.Scratch {
		if p.Scratch[i].Unset != unset {
			continue
		}
		s := &p.Scratch[i]
		b.teams = grids[s.Launch].teams
		n, err := ir.EvalInt(s.Count, b)
		b.teams = 0
		elem := s.Var.Type.Elem.Size
		if err == nil && (n < 0 || elem > 0 && deps.Bytes(n) > (1<<46)/elem) {
			err = fmt.Errorf("%d elements", n)
		}
		if err != nil {
			return 0, fmt.Errorf("scratch memory %s: %w", s.Var.Name, err)
		}
		b.pads = append(b.pads, pad{of: s.Var, count: n, offset: sum})
		sum += (deps.Bytes(n)*elem + scratchAlign - 1) / scratchAlign * scratchAlign
	}
	return sum, nil
}
