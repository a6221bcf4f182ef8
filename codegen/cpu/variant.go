package cpu

import (
	"sync"
	"sync/atomic"

	"github.com/klauspost/cpuid/v2"

	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// Kernels that stream through their slices have variants for where those lie: the widest vectors for the first cache and for what is
// computed, 256 bits between it and the last one, where long vectors gain nothing and lines that are split cost more, and stores past the caches
// well above the last one.
type place uint8

const (
	nearby  place = iota // the program that was compiled first
	cached               // 256 bits
	faraway              // stores that leave the caches alone
	places
)

// variants are the programs of one kernel by place, compiled when they are first wanted.
type variants struct {
	arena   *Arena
	kernel  *ir.Kernel
	options Options
	streams bool // else it is a nest that streams through rows: only stores past the caches are worth another program
	once    [places]sync.Once
	program [places]atomic.Pointer[Program]
}

// NewKernelRunner compiles a kernel and returns its runner, which chooses vector width and kind of stores by launch. The error is a *Refusal
// where the kernel has no vector code.
func NewKernelRunner(a *Arena, k *ir.Kernel, o Options) (*Runner, error) {
	code, err := Compile(k, o)
	if err != nil {
		return nil, err
	}
	p, err := a.Install(code)
	if err != nil {
		return nil, err
	}
	if !code.Streams && !code.Rows || !o.AVX512 || o.Width != x86.W128 {
		return NewRunner(p), nil
	}
	v := &variants{arena: a, kernel: k, options: o, streams: code.Streams}
	if halves512 && v.streams {
		v.make(cached, p)
		p = v.program[cached].Load()
	}
	r := NewRunner(p)
	r.variants, r.reach = v, caches.first
	if halves512 || !v.streams {
		r.reach = caches.far - 1
	}
	return r, nil
}

// caches are the sizes between which the variants change: the first cache, and well above the last one - or well above what a core may
// count on of it where the system reports one that many share.
var caches = struct{ first, far int64 }{int64(max(cpuid.CPU.Cache.L1D, 16<<10)),
	int64(min(2*max(cpuid.CPU.Cache.L3, 4<<20), 64*max(cpuid.CPU.Cache.L2, 256<<10)))}

// halves512 tells the processors that move 512 bits in two halves: streams gain nothing from long vectors there, also in the first cache. They
// are AMD's before Zen 5.
var halves512 = cpuid.CPU.VendorID == cpuid.AMD && cpuid.CPU.Family < 26

// choose is the program for slices of so many bytes.
func (r *Runner) choose(bytes int64) *Program {
	if r.variants == nil || bytes <= caches.first {
		return r.program
	}
	v, at := r.variants, cached
	if bytes >= caches.far {
		at = faraway
	} else if !v.streams {
		return r.program
	}
	if p := v.program[at].Load(); p != nil {
		return p
	}
	return v.need(at, r.program)
}

// make compiles the variant; where there is no room for it, the first program serves.
func (v *variants) make(at place, otherwise *Program) {
	o := v.options
	if at == cached {
		o.Width = x86.W256
	} else {
		o.Past = true
	}
	made := otherwise
	if code, err := Compile(v.kernel, o); err == nil && (at == cached || code.Far) {
		if p, err := v.arena.InstallPast(code, otherwise); err == nil {
			made = p
		}
	}
	v.program[at].Store(made) // once: no other launch may get another program for the same size, which combines sums in another order
}

// streams tells whether a parallel loop does nothing but move and combine elements.
func streams(f *ir.For) bool {
	plain := true
	ir.Inspect(f.Body, func(s ir.Stmt) {
		switch s.(type) {
		case *ir.Assign, *ir.Decl, *ir.If:
		default:
			plain = false
		}
	}, func(e ir.Expr) {
		switch e := e.(type) {
		case *ir.Math:
			plain = plain && e.Fn == ir.FMA
		case *ir.Binary:
			plain = plain && e.Op != ir.Div && e.Op != ir.Rem
		}
	})
	return plain
}

// streamsRows tells the same of a nest of two parallel loops.
func streamsRows(f *ir.For) bool {
	if len(f.Body) != 1 {
		return false
	}
	inner, ok := f.Body[0].(*ir.For)
	return ok && ir.RunsTogether(inner) && streams(inner)
}

// rowGoesPast tells whether the store that a loop over lanes inside a parallel loop aligns may leave the caches alone.
func (g *gen) rowGoesPast(ix *ir.Index, s *ir.For) bool {
	root, ok := ix.X.(*ir.Ref)
	return ok && g.past && g.inLoop && s != g.parallelLanes && g.frame.word[root.Var] > 0 && !g.readFrom(root.Var)
}

// goesPast tells whether the store of ix in the lanes loop may leave the caches alone: whole vectors to a slice that the kernel only writes,
// at the number of the iteration.
func (g *gen) goesPast(ix *ir.Index) (image.PastStore, bool) {
	if !g.past || g.exec != nil || ix.Type().Size < 4 {
		return image.PastStore{}, false
	}
	root, ok := ix.X.(*ir.Ref)
	if ok && ix == g.pastRow && g.exec == nil {
		return image.PastStore{Word: g.frame.word[root.Var], Size: int64(ix.Type().Size), Rows: true}, true
	}
	if !ok || g.parallelLanes == nil || !ir.IsRef(ix.I, g.parallelLanes.Var) || g.arrays[root.Var] > 0 || g.readFrom(root.Var) {
		return image.PastStore{}, false
	}
	if lo, ok := ir.ConstInt(g.parallelLo); !ok || lo != 0 {
		return image.PastStore{}, false
	}
	return image.PastStore{Word: g.frame.word[root.Var], Size: int64(ix.Type().Size)}, true
}

// readFrom tells whether the kernel reads elements of v.
func (g *gen) readFrom(v *ir.Var) bool {
	writes, uses := 0, 0
	ir.Inspect(g.kernel.Body, func(s ir.Stmt) {
		if a, ok := s.(*ir.Assign); ok {
			if ix, ok := a.Place.(*ir.Index); ok && ir.IsRef(ix.X, v) {
				writes++
			}
		}
	}, func(e ir.Expr) {
		if ix, ok := e.(*ir.Index); ok && ir.IsRef(ix.X, v) {
			uses++
		}
	})
	return uses > writes
}
