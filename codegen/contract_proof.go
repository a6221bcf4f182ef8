package codegen

import "github.com/gompss/gompss/codegen/ir"

// A Proof applies contracts to launches. It is scratch memory, to be used again and again by one goroutine at a time;
// the zero value is ready.
type Proof struct {
	c        *Contract
	k        *ir.Kernel
	env      ir.Env // for what Load leaves out
	atoms    []number
	values   []number        // of the forms
	point    [maxDepth]int64 // an iteration that a search is at
	steps    int             // of that search
	loopEnds [maxDepth]end   // of the loops of the nest that is looked at
	off      [maxConds]bool  // its conditions that are left out
	key      []int64
	slice    [1]Box // all of a slice, for below
	whole    [1][]Box
	ends     [3]int64
}

// A number is an int64, or not known: a value that leaves 64 bits.
type number struct {
	n  int64
	ok bool
}

func (a number) plus(b number) number {
	c := a.n + b.n
	return number{c, a.ok && b.ok && (c > a.n) == (b.n > 0)}
}

func (a number) minus(b number) number {
	return a.plus(number{-b.n, b.ok && (b.n == 0 || b.n != -b.n)})
}

func (a number) times(b number) number {
	if a.ok && b.ok && int64(int32(a.n)) == a.n && int64(int32(b.n)) == b.n { // what sizes are, as a rule
		return number{a.n * b.n, true}
	}
	c, ok := mulInt64(a.n, b.n)
	return number{c, ok && a.ok && b.ok}
}

// Load takes the arguments of a launch of k, whose contract is c. Cost: a multiplication for each product in the forms
// of the contract; no allocation but the first time.
func (p *Proof) Load(k *ir.Kernel, c *Contract, env ir.Env) {
	p.k, p.c, p.env = k, c, env
	p.atoms, p.values = p.atoms[:0], p.values[:0]
	p.load(c.atoms[:c.checkAtoms], c.forms[:c.checkForms])
}

// load adds the values of atoms and forms.
func (p *Proof) load(atoms []hostAtom, forms []hostForm) {
	for _, a := range atoms {
		p.atoms = append(p.atoms, valueOf(a, p.env))
	}
	for _, f := range forms {
		sum := number{ok: true}
		for _, t := range f {
			x := number{t.coef, true}
			for _, i := range t.atoms {
				x = x.times(p.atoms[i])
			}
			sum = sum.plus(x)
		}
		p.values = append(p.values, sum)
	}
}

func valueOf(a hostAtom, env ir.Env) number {
	if a.expr != nil {
		x, err := ir.EvalInt(a.expr, env)
		return number{x, err == nil}
	}
	if a.Of == ValueOf {
		x, ok := env.Scalar(a.Var)
		return number{int64(x), ok && (a.Var.Type.Kind != ir.Uint64 || x < 1<<63)}
	}
	if a.Of == SetOf {
		return setIn(a.Var, env)
	}
	length, capacity, ok := env.Slice(a.Var)
	if a.Of == CapOf {
		return number{capacity, ok}
	}
	return number{length, ok}
}

// A pointerEnv is an Env that knows pointers.
type pointerEnv interface {
	// Set reports whether a pointer variable is not nil.
	Set(v *ir.Var) (set, ok bool)
}

// setIn returns 1 for a pointer that is not nil.
func setIn(v *ir.Var, env ir.Env) number {
	pointers, ok := env.(pointerEnv)
	if !ok {
		return number{}
	}
	set, ok := pointers.Set(v)
	return number{int64(ir.BoolBits(set)), ok}
}

// Lengths checks the parts of dist_ clauses and the accesses against the lengths of the slices.
//
// Errors: *PartError, *AccessError.
func (p *Proof) Lengths() error {
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

// Inside checks the accesses against the declared regions, whose boxes are those that EvalRegion returns for each of
// Accesses. Errors: *AccessError.
func (p *Proof) Inside(boxes [][]Box) error {
	for i := range p.c.checks {
		if c := &p.c.checks[i]; c.regions != nil {
			if err := p.examine(c, boxes, number{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// examine looks at the elements that c touches: that they are below length where boxes is nil, else in the boxes.
func (p *Proof) examine(c *contractCheck, boxes [][]Box, length number) error {
	w := where{boxes, c.regions}
	if boxes == nil {
		if !length.ok {
			return nil
		}
		w = p.below(length.n)
	}
	found := p.stays(c, w)
	if found == allInside {
		return nil
	}
	var points [2][maxDepth]int64
	var ends [2]number
	bad := -1
	for end := range ends {
		ends[end] = p.extreme(c, end == 1, &points[end])
		if n := ends[end]; bad < 0 && n.ok && !w.holds(n.n) {
			bad = end
		}
	}
	e := &AccessError{Kernel: p.k.Name, Pos: c.at, Access: sourceText(c.expr), Param: c.base.Name, Length: length.n}
	switch {
	case bad >= 0:
		e.First, e.Last = ends[bad].n, ends[bad].n
		if ends[0].ok && ends[1].ok {
			e.First, e.Last = ends[0].n, ends[1].n
		}
		e.At = c.point(points[bad][:len(c.loops)])
	case found == someOutside:
		e.First = p.at(&c.index, len(c.loops), &p.point).n
		e.Last, e.At = e.First, c.point(p.point[:len(c.loops)])
	default:
		return nil
	}
	if boxes != nil {
		var declared []ir.Access
		all := Accesses(p.k)
		for _, i := range c.regions {
			declared = append(declared, all[i])
		}
		e.Regions = regionList(declared)
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

// extreme returns the least or greatest index of c and fills in the iteration that has it; not ok where there is no such
// iteration, or none that is easily found. The index returned is that of the iteration filled in, always.
func (p *Proof) extreme(c *contractCheck, greatest bool, point *[maxDepth]int64) number {
	var upper [maxDepth]bool // the variable is at its last value
	coef := [maxDepth]number{}
	for k := range c.loops {
		coef[k] = p.values[c.index.coefs[k]]
	}
	for k := len(c.loops) - 1; k >= 0; k-- {
		l := &c.loops[k]
		upper[k] = greatest == (coef[k].n > 0) == (l.step > 0)
		end := &l.first
		if upper[k] {
			end = &l.last
		}
		for j := range k {
			if f := end.coefs[j]; f > 0 {
				coef[j] = coef[j].plus(coef[k].times(p.values[f]))
			}
		}
	}
	for k := range c.loops {
		l := &c.loops[k]
		first, last := p.at(&l.first, k, point), p.at(&l.last, k, point)
		span := last.minus(first)
		if !span.ok || l.passes(last.n) || span.n != 0 && span.n > 0 != (l.step > 0) {
			return number{} // the loop makes no iteration here
		}
		point[k] = first.n
		if upper[k] {
			point[k] += span.n / l.step * l.step
		}
	}
	return p.at(&c.index, len(c.loops), point)
}

// at returns the value of a linear form over the outermost depth loops at a point.
func (p *Proof) at(l *linear, depth int, point *[maxDepth]int64) number {
	sum := p.values[l.base]
	for k := range depth {
		if f := l.coefs[k]; f > 0 {
			sum = sum.plus(p.values[f].times(number{point[k], true}))
		}
	}
	return sum
}
