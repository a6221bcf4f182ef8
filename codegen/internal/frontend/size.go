package frontend

import (
	"fmt"
	"go/ast"
	"go/token"
	"math/bits"

	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/ir"
)

// Bounds of what is compiled, so that the time of the compiler is bounded, too. Analyses follow
// calls, so that what a kernel calls counts anew at each call.
const (
	maxNesting    = 2000    // of a syntax tree: every stage after the parser walks it by recursion
	maxStatements = 10_000  // of a kernel
	maxBlocks     = 1000    // of the statements of a kernel, one in the other; a case of a switch is in the one before
	maxParts      = 4096    // fields of a struct, those of its fields and so on
	maxTypeNames  = 500     // that a type is behind
	maxRegions    = 1000    // of a kernel
	maxClause     = 1 << 14 // bytes of an expression of a clause, with lets expanded
)

// countStatements returns the number of statements below n.
func countStatements(n ast.Node) int {
	count := 0
	ast.Inspect(n, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.BlockStmt, *ast.CaseClause:
		case ast.Stmt:
			count++
		}
		return true
	})
	return count
}

// largeKernels reports the kernels that alone have more statements than one may have.
func (p *program) largeKernels() []diag.Diagnostic {
	var out []diag.Diagnostic
	for _, f := range p.files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil || !p.isKernel(fn) {
				continue
			}
			if n := countStatements(fn.Body); n > maxStatements {
				out = append(out, diag.Diagnostic{Pos: p.position(fn.Name.Pos()), What: "kernel " + fn.Name.Name,
					Why: fmt.Sprintf("it has %d statements, and a kernel has at most %d", n, maxStatements), Instead: "write loops, or several kernels"})
			}
		}
	}
	return out
}

// spend counts a statement that is built. It reports the first one too many; none behind it is
// built.
func (b *builder) spend(at token.Pos) bool {
	if b.u.size++; b.u.size == maxStatements+1 {
		b.fail(at, "kernel "+b.u.source(), fmt.Sprintf("with what it calls it has more than %d statements", maxStatements),
			"write loops, or several kernels")
	}
	return b.u.size <= maxStatements
}

// A sizer counts the statements of functions with those of what they call.
type sizer struct {
	sizes map[*ir.Func]uint64
	depth int
	deep  ir.Stmt // one that is nested deeper than maxBlocks
}

// checkSize reports a kernel that is too large with its calls, or nested too deeply. It reports
// whether the kernel fits.
func (u *unit) checkSize() bool {
	s := &sizer{sizes: map[*ir.Func]uint64{}}
	n := s.list(u.k.Body)
	d := diag.Diagnostic{Pos: u.k.At, What: "kernel " + u.source(), Instead: "write loops, or several kernels"}
	switch {
	case n > maxStatements:
		d.Why = fmt.Sprintf("with those of the functions that it calls, at each call, it has %d statements, and a kernel has at most %d", n, maxStatements)
		if f := s.largest(); f != nil && s.sizes[f] > n/2 {
			d.Why += fmt.Sprintf("; %s (%s:%d) has %d of them", f.Name, f.At.File, f.At.Line, s.sizes[f])
		}
	case s.deep != nil:
		d.Pos, d.What, d.Instead = s.deep.Pos(), "statement", "call a function, or look the value up in an array"
		d.Why = fmt.Sprintf("it is nested more than %d statements deep; a case of a switch and an else count as in the one before", maxBlocks)
	default:
		return true
	}
	u.report(d)
	return false
}

func (s *sizer) list(list []ir.Stmt) uint64 {
	n := uint64(0)
	if s.depth++; s.depth > maxBlocks && len(list) > 0 && s.deep == nil {
		s.deep = list[0]
	}
	for _, x := range list {
		n = plus64(n, 1)
		if c, ok := x.(*ir.Call); ok {
			n = plus64(n, s.function(c.Fn))
		}
		ir.Lists(x, func(inner []ir.Stmt) { n = plus64(n, s.list(inner)) })
	}
	s.depth--
	return n
}

func (s *sizer) function(f *ir.Func) uint64 {
	if n, ok := s.sizes[f]; ok {
		return n
	}
	depth := s.depth
	s.depth = 0
	n := s.list(f.Body)
	s.depth = depth
	s.sizes[f] = n
	return n
}

// largest returns the function with the most statements, nil where none is called.
func (s *sizer) largest() (found *ir.Func) {
	for f, n := range s.sizes {
		if found == nil || n > s.sizes[found] || n == s.sizes[found] && f.Name < found.Name {
			found = f
		}
	}
	return found
}

// plus64 adds, up to the largest number.
func plus64(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return 1<<64 - 1
	}
	return sum
}

// A partCounter measures types by their text alone: go/types, as Go's own compiler, walks all parts
// of a struct, and all names that a type is behind at each of them. Types that one name may mean,
// in functions and in packages, count as the largest of them.
type partCounter struct {
	specs map[string][]*ast.TypeSpec
	sizes map[*ast.TypeSpec]typeSize
}

// A typeSize is how many fields a type has, those of its fields and so on, and how many names it is
// behind.
type typeSize struct {
	parts uint64
	depth int
}

// largeTypes reports the first type of the files that has too many parts, or is nested too deeply.
func (p *program) largeTypes() []diag.Diagnostic {
	c := &partCounter{specs: map[string][]*ast.TypeSpec{}, sizes: map[*ast.TypeSpec]typeSize{}}
	var list []*ast.TypeSpec
	for _, f := range p.allFiles() {
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				list = append(list, spec)
				c.specs[spec.Name.Name] = append(c.specs[spec.Name.Name], spec)
			}
			return true
		})
	}
	for _, spec := range list {
		d := diag.Diagnostic{Pos: p.position(spec.Pos()), What: "type " + spec.Name.Name}
		switch n := c.spec(spec); {
		case n.parts > maxParts:
			d.Why, d.Instead = fmt.Sprintf("with the fields of its fields, and so on, it has %d, at most %d", n.parts, maxParts), "use arrays and slices"
		case n.depth > maxTypeNames:
			d.Why, d.Instead = fmt.Sprintf("it is behind %d names of types, at most %d", n.depth, maxTypeNames), "name fewer types"
		default:
			continue
		}
		return []diag.Diagnostic{d}
	}
	return nil
}

// Named is the largest type that a name may mean.
func (c *partCounter) named(name string) typeSize {
	out := typeSize{parts: 1}
	for _, spec := range c.specs[name] {
		n := c.spec(spec)
		out = typeSize{max(out.parts, n.parts), max(out.depth, n.depth)}
	}
	return out
}

func (c *partCounter) spec(spec *ast.TypeSpec) typeSize {
	if n, ok := c.sizes[spec]; ok {
		return n
	}
	c.sizes[spec] = typeSize{parts: 1} // a type that holds itself, which go/types reports
	n := c.of(spec.Type)
	n.depth++
	c.sizes[spec] = n
	return n
}

// of measures a type. What is behind a pointer or in a slice is one part.
func (c *partCounter) of(e ast.Expr) typeSize {
	one := typeSize{parts: 1}
	switch e := e.(type) {
	case *ast.Ident:
		return c.named(e.Name)
	case *ast.SelectorExpr: // of another package
		return c.named(e.Sel.Name)
	case *ast.ParenExpr:
		return c.of(e.X)
	case *ast.StarExpr:
		return typeSize{1, c.of(e.X).depth}
	case *ast.ArrayType:
		n := c.of(e.Elt)
		if e.Len == nil {
			n.parts = 1
		}
		return n
	case *ast.IndexExpr:
		return c.instance(e.X, e.Index)
	case *ast.IndexListExpr:
		return c.instance(e.X, e.Indices...)
	case *ast.StructType:
		sum := typeSize{}
		for _, f := range e.Fields.List {
			n := c.of(f.Type)
			sum.depth = max(sum.depth, n.depth)
			for range max(1, len(f.Names)) {
				sum.parts = plus64(sum.parts, n.parts)
			}
		}
		sum.parts = max(sum.parts, 1)
		return sum
	}
	return one
}

// instance measures an instance of a generic type: every part may be the largest of its arguments.
func (c *partCounter) instance(generic ast.Expr, args ...ast.Expr) typeSize {
	out, most := c.of(generic), typeSize{parts: 1}
	for _, arg := range args {
		n := c.of(arg)
		most = typeSize{max(most.parts, n.parts), max(most.depth, n.depth)}
	}
	high, low := bits.Mul64(out.parts, most.parts)
	if high > 0 {
		low = 1<<64 - 1
	}
	return typeSize{low, out.depth + most.depth}
}
