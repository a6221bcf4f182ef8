package analysis

import (
	"fmt"
	"runtime"

	"github.com/gompss/gompss/codegen/cpu/vecmath"
	"github.com/gompss/gompss/codegen/ir"
)

// Differs returns why the vector code of k may give other bits than the Go function, "" where both
// give the same: integers, + - * / and sqrt of floats, conversions, and functions that vector code
// leaves to Go; kernels that ask for numbers of threads and teams, as both are one team of one
// thread. It is "" for most kernels, which may then run as either from one launch to the next.
func Differs(k *ir.Kernel) string {
	if k.Target.FastMath {
		return "fastmath lets it round in another way than the Go function"
	}
	if len(k.Fused) > 0 {
		return k.Fused[0].String() + ": contract makes one operation of a product and a sum, the Go function rounds twice"
	}
	d := &difference{}
	d.kernel(k)
	return d.why
}

// DiffersByLanes returns why the bits that vector code of k gives may depend on its lanes, "" where
// code for one iteration after the other gives the same: then both may run, from one launch to the
// next, also where the Go function may not. Functions are computed by the same operations in both,
// and what contract makes one operation is decided on the IR.
func DiffersByLanes(k *ir.Kernel) string {
	if k.Target.FastMath {
		return "fastmath lets lanes combine in another order"
	}
	d := &difference{of: lanesFromScalars}
	d.kernel(k)
	return d.why
}

// DiffersAlone returns why code of k for one iteration after the other, on one worker, may give
// other bits than the Go function, "" where both give the same: what Differs says but for atomics,
// which come in the order of Go there.
func DiffersAlone(k *ir.Kernel) string {
	if k.Target.FastMath || len(k.Fused) > 0 {
		return Differs(k)
	}
	d := &difference{of: aloneFromGo}
	d.kernel(k)
	return d.why
}

func (d *difference) kernel(k *ir.Kernel) {
	d.body(k.Body)
	for _, f := range k.Funcs {
		d.body(f.Body)
	}
	if d.why == "" && goFuses && d.products && d.sums && d.of != lanesFromScalars {
		d.why = "Go fuses products and sums of floats on this build, vector code does not"
	}
}

// goSaturates says that Go cuts floats that do not fit an integer to the least or the largest one.
const goSaturates = runtime.GOARCH == "arm64"

// A compared says what a difference is one of.
type compared uint8

const (
	vectorsFromGo    compared = iota
	aloneFromGo               // scalar code on one worker, which makes atomics in Go's order
	lanesFromScalars          // vector code from scalar code
)

// A difference is the first construct found whose bits vector code and Go need not share.
type difference struct {
	why            string
	of             compared
	products, sums bool // of floats, which Go's compiler may fuse, also across statements
}

func (d *difference) body(list []ir.Stmt) { ir.Inspect(list, d.stmt, d.expr) }

func (d *difference) found(at ir.Pos, format string, args ...any) {
	if d.why == "" {
		d.why = at.String() + ": " + fmt.Sprintf(format, args...)
	}
}

func (d *difference) stmt(s ir.Stmt) {
	switch s := s.(type) {
	case *ir.For:
		d.directive(s.Directive)
	case *ir.Construct:
		d.directive(s.Directive)
	case *ir.Atomic:
		switch {
		case d.of == aloneFromGo:
		case s.Kind != ir.AtomicRead && s.Place.Type().IsFloat():
			d.found(s.At, "atomic updates of floats come in no fixed order")
		case s.Kind != ir.AtomicUpdate:
			d.found(s.At, "what an atomic keeps or compares with comes in no fixed order")
		}
	}
}

// directive looks for reductions whose result depends on the order of the iterations.
func (d *difference) directive(of *ir.Directive) {
	if of == nil {
		return
	}
	for _, r := range of.Reductions {
		if (r.Op == ir.Add || r.Op == ir.Mul) && hasFloats(r.Place.Type()) {
			d.found(r.At, "a reduction of floats combines in another order than the Go function")
		}
	}
}

func (d *difference) expr(e ir.Expr) {
	switch e := e.(type) {
	case *ir.Math:
		if ulp, ok := vecmath.Bound(e.Fn, e.T); ok && d.of != lanesFromScalars {
			d.found(e.At, "%v of vector code is within %.3g ulp of the exact value, and need not be Go's", e.Fn, ulp)
		}
	case *ir.Convert:
		if goSaturates && e.X.Type().IsFloat() && e.T.IsInteger() && d.of != lanesFromScalars {
			d.found(e.At, "a float that does not fit %s is cut to it as on amd64, where the Go function takes the nearest one", e.T)
		}
	case *ir.Binary:
		d.products = d.products || e.Op == ir.Mul && e.T.IsFloat()
		d.sums = d.sums || (e.Op == ir.Add || e.Op == ir.Sub) && e.T.IsFloat()
	}
}

// hasFloats reports whether t is a float, or an array of floats.
func hasFloats(t *ir.Type) bool {
	for t.Kind == ir.Array || t.Kind == ir.Slice || t.Kind == ir.Pointer {
		t = t.Elem
	}
	return t.IsFloat()
}
