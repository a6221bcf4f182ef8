package contract

import (
	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/internal/integers"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A Proof applies contracts to launches. It is scratch memory, to be used again and again by one
// goroutine at a time; the zero value is ready.
type Proof struct {
	c        *Contract
	k        *ir.Kernel
	env      ir.Env // for what Load leaves out
	atoms    []integers.Number
	values   []integers.Number        // of the forms
	Point    [analysis.MaxDepth]int64 // an iteration that a search is at
	Steps    int                      // of that search
	loopEnds [analysis.MaxDepth]end   // of the loops of the nest that is looked at
	off      [analysis.MaxConds]bool  // its conditions that are left out
	key      []int64
	slice    [1]Box // all of a slice, for below
	whole    [1][]Box
	ends     [3]int64
}

// Load takes the arguments of a launch of k, whose contract is c. Cost: a multiplication for each
// product in the forms of the contract; no allocation but the first time.
func (p *Proof) Load(k *ir.Kernel, c *Contract, env ir.Env) {
	p.k, p.c, p.env = k, c, env
	p.atoms, p.values = p.atoms[:0], p.values[:0]
	p.load(c.Atoms[:c.CheckAtoms], c.Forms[:c.CheckForms])
}

// load adds the values of atoms and forms.
func (p *Proof) load(atoms []hostAtom, forms []hostForm) {
	for _, a := range atoms {
		p.atoms = append(p.atoms, valueOf(a, p.env))
	}
	for _, f := range forms {
		sum := integers.Number{Ok: true}
		for _, t := range f {
			x := integers.Number{N: t.coef, Ok: true}
			for _, i := range t.atoms {
				x = x.Times(p.atoms[i])
			}
			sum = sum.Plus(x)
		}
		p.values = append(p.values, sum)
	}
}

func valueOf(a hostAtom, env ir.Env) integers.Number {
	if a.expr != nil {
		x, err := ir.EvalInt(a.expr, env)
		return integers.Number{N: x, Ok: err == nil}
	}
	if a.Of == affine.ValueOf {
		x, ok := env.Scalar(a.Var)
		return integers.Number{N: int64(x), Ok: ok && (a.Var.Type.Kind != ir.Uint64 || x < 1<<63)}
	}
	if a.Of == affine.SetOf {
		return setIn(a.Var, env)
	}
	length, capacity, ok := env.Slice(a.Var)
	if a.Of == affine.CapOf {
		return integers.Number{N: capacity, Ok: ok}
	}
	return integers.Number{N: length, Ok: ok}
}

// A pointerEnv is an Env that knows pointers.
type pointerEnv interface {
	// Set reports whether a pointer variable is not nil.
	Set(v *ir.Var) (set, ok bool)
}

// setIn returns 1 for a pointer that is not nil.
func setIn(v *ir.Var, env ir.Env) integers.Number {
	pointers, ok := env.(pointerEnv)
	if !ok {
		return integers.Number{}
	}
	set, ok := pointers.Set(v)
	return integers.Number{N: int64(ir.BoolBits(set)), Ok: ok}
}

// Lengths checks the steps and spans of loops, arguments of clauses, and the parts of dist_ clauses
// and the accesses against the lengths of the slices.
//
// Errors: *StepError, *ClauseError, *TripsError, *PartError, *AccessError.
func (p *Proof) Lengths() error {
	for i := range p.c.steps {
		if err := p.stepOf(&p.c.steps[i]); err != nil {
			return err
		}
	}
	for i := range p.c.positives {
		if err := p.c.positives[i].of(p); err != nil {
			return err
		}
	}
	for i := range p.c.spans {
		if err := p.c.spans[i].of(p); err != nil {
			return err
		}
	}
	for i := range p.c.parts {
		if err := p.part(&p.c.parts[i]); err != nil {
			return err
		}
	}
	for i := range p.c.checks {
		if c := &p.c.checks[i]; c.length > 0 {
			length := p.values[c.length]
			if err := p.examine(c, nil, length); err != nil {
				return err
			}
		}
	}
	return nil
}

// Inside checks the accesses against the declared regions, whose boxes are those that EvalRegion
// returns for each of Accesses. Errors: *AccessError.
func (p *Proof) Inside(boxes [][]Box) error {
	for i := range p.c.checks {
		if c := &p.c.checks[i]; c.regions != nil {
			if err := p.examine(c, boxes, integers.Number{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// examine looks at the elements that c touches: that they are below length where boxes is nil, else
// in the boxes.
func (p *Proof) examine(c *Check, boxes [][]Box, length integers.Number) error {
	w := Where{boxes, c.regions}
	if boxes == nil {
		if !length.Ok {
			return nil
		}
		w = p.Below(length.N)
	}
	found := p.Stays(c, w)
	if found == AllInside {
		return nil
	}
	var points [2][analysis.MaxDepth]int64
	var ends [2]integers.Number
	bad := -1
	for end := range ends {
		if len(c.conds) > 0 {
			break // the iteration at an end may not make the access
		}
		ends[end] = p.extreme(c, end == 1, &points[end])
		if n := ends[end]; bad < 0 && n.Ok && !w.holds(n.N) {
			bad = end
		}
	}
	e := &AccessError{Kernel: p.k.Name, Pos: c.At, Access: query.Source(c.Expr), Param: c.Base.Name, Length: length.N}
	switch {
	case bad >= 0:
		e.First, e.Last = ends[bad].N, ends[bad].N
		if ends[0].Ok && ends[1].Ok {
			e.First, e.Last = ends[0].N, ends[1].N
		}
		e.At = c.point(points[bad][:len(c.loops)])
	case found == SomeOutside:
		e.First = p.At(&c.Index, len(c.loops), &p.Point).N
		e.Last, e.At = e.First, c.point(p.Point[:len(c.loops)])
	default:
		return nil
	}
	if boxes != nil {
		var declared []ir.Access
		all := Accesses(p.k)
		for _, i := range c.regions {
			declared = append(declared, all[i])
		}
		e.Regions = RegionList(declared)
	}
	return e
}

// holds reports whether element n of the slice lies in the box.
func (b *Box) holds(n int64) bool {
	if n < 0 {
		return false
	}
	for d := len(b.Shape) - 1; d >= 0; d-- {
		at := n
		if d > 0 {
			if b.Shape[d] == 0 {
				return false
			}
			at, n = n%b.Shape[d], n/b.Shape[d]
		}
		if at < b.Lo[d] || at >= b.Hi[d] {
			return false
		}
	}
	return true
}

// extreme returns the least or greatest index of c and fills in the iteration that has it; not ok
// where there is no such iteration, or none that is easily found. The index returned is that of the
// iteration filled in, always.
func (p *Proof) extreme(c *Check, greatest bool, point *[analysis.MaxDepth]int64) integers.Number {
	var upper [analysis.MaxDepth]bool // the variable is at its last value
	coef := [analysis.MaxDepth]integers.Number{}
	for k := range c.loops {
		coef[k] = p.values[c.Index.coefs[k]]
	}
	for k := len(c.loops) - 1; k >= 0; k-- {
		l := &c.loops[k]
		upper[k] = greatest == (coef[k].N > 0) == (l.step > 0)
		end := &l.first
		if upper[k] {
			end = &l.last
		}
		for j := range k {
			if f := end.coefs[j]; f > 0 {
				coef[j] = coef[j].Plus(coef[k].Times(p.values[f]))
			}
		}
	}
	for k := range c.loops {
		l := &c.loops[k]
		first, last := p.At(&l.first, k, point), p.At(&l.last, k, point)
		span := last.Minus(first)
		if !span.Ok || l.passes(last.N) || span.N != 0 && span.N > 0 != (l.step > 0) {
			return integers.Number{} // the loop makes no iteration here
		}
		point[k] = first.N
		if upper[k] {
			point[k] += span.N / l.step * l.step
		}
	}
	return p.At(&c.Index, len(c.loops), point)
}

// At returns the value of a linear form over the outermost depth loops at a point.
func (p *Proof) At(l *linear, depth int, point *[analysis.MaxDepth]int64) integers.Number {
	sum := p.values[l.base]
	for k := range depth {
		if f := l.coefs[k]; f > 0 {
			sum = sum.Plus(p.values[f].Times(integers.Number{N: point[k], Ok: true}))
		}
	}
	return sum
}
