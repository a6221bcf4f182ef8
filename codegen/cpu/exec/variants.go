package exec

import (
	"sync"
	"sync/atomic"

	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/klauspost/cpuid/v2"
)

// Kernels that stream through their slices have variants for where those lie: the widest vectors
// for the first cache and for what is computed, 256 bits between it and the last one, where long
// vectors gain nothing and lines that are split cost more, and stores past the caches well above
// the last one.
type place uint8

// variants are the programs of one kernel by place, compiled when they are first wanted.
type variants struct {
	arena   *Arena
	compile func(image.Options) (*image.Code, error)
	options image.Options
	// else it is a nest that streams through rows: only stores past the caches are worth another
	// program
	streams bool
	once    [places]sync.Once
	program [places]atomic.Pointer[Program]
}

// NewVariants returns a runner of the code that compile makes for o, and of code for other sizes of
// the arguments, where that is worth it: that is compiled when it is first needed.
func NewVariants(a *Arena, o image.Options, compile func(image.Options) (*image.Code, error)) (*Runner, error) {
	code, err := compile(o)
	if err != nil {
		return nil, err
	}
	p, err := a.Install(code)
	if err != nil {
		return nil, err
	}
	if !code.Streams && !code.Rows || !o.AVX512 || o.Width != vcode.W128 {
		return NewRunner(p), nil
	}
	v := &variants{arena: a, compile: compile, options: o, streams: code.Streams}
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

// halves512 tells the processors that move 512 bits in two halves: streams gain nothing from long
// vectors there, also in the first cache. They are AMD's before Zen 5.
var halves512 = cpuid.CPU.VendorID == cpuid.AMD && cpuid.CPU.Family < 26

const (
	nearby  place = iota // the program that was compiled first
	cached               // 256 bits
	faraway              // stores that leave the caches alone
	places
)

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
		o.Width = vcode.W256
	} else {
		o.Past = true
	}
	made := otherwise
	if code, err := v.compile(o); err == nil && (at == cached || code.Far) {
		if p, err := v.arena.InstallPast(code, otherwise); err == nil {
			made = p
		}
	}
	// once: no other launch may get another program for the same size, which combines sums in
	// another order
	v.program[at].Store(made)
}

// caches are the sizes between which the variants change: the first cache, and well above the last
// one - or well above what a core may count on of it where the system reports one that many share.
var caches = struct{ first, far int64 }{int64(max(cpuid.CPU.Cache.L1D, 16<<10)),
	int64(min(2*max(cpuid.CPU.Cache.L3, 4<<20), 64*max(cpuid.CPU.Cache.L2, 256<<10)))}
