package source

import (
	"fmt"
	"go/ast"
	"math/bits"

	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/internal/integers"
)

// Limits of the size of a kernel, which bound the compile time. Analyses follow calls, so a called
// function counts once for each call.
const (
	maxNesting    = 2000    // of a syntax tree: every stage after the parser walks it by recursion
	MaxStatements = 10_000  // of a kernel
	MaxBlocks     = 1000    // of the statements of a kernel, one in the other; a case of a switch is in the one before
	MaxParts      = 4096    // fields of a struct, those of its fields and so on
	maxTypeNames  = 500     // that a type is behind
	MaxRegions    = 1000    // of a kernel
	MaxClause     = 1 << 14 // bytes of an expression of a clause, with lets expanded
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

// LargeKernels reports the kernels that alone have more statements than one may have.
func (p *Program) LargeKernels() []diag.Diagnostic {
	var out []diag.Diagnostic
	for _, f := range p.Files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil || !p.IsKernel(fn) {
				continue
			}
			if n := countStatements(fn.Body); n > MaxStatements {
				out = append(out, diag.Diagnostic{Pos: p.Position(fn.Name.Pos()), What: "kernel " + fn.Name.Name,
					Why: fmt.Sprintf("it has %d statements, and a kernel has at most %d", n, MaxStatements), Instead: "write loops, or several kernels"})
			}
		}
	}
	return out
}

// A partCounter measures types by their text alone: go/types, as Go's own compiler, walks all parts
// of a struct, and all names that a type is behind at each of them. Types that one name may mean,
// in functions and in packages, count as the largest of them.
type partCounter struct {
	specs map[string][]*ast.TypeSpec
	sizes map[*ast.TypeSpec]typeSize
}

// A typeSize is the number of fields that a type has, those of its fields and so on, and how many
// names it is behind.
type typeSize struct {
	parts uint64
	depth int
}

// LargeTypes reports the first type of the files that has too many parts, or is nested too deeply.
func (p *Program) LargeTypes() []diag.Diagnostic {
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
		d := diag.Diagnostic{Pos: p.Position(spec.Pos()), What: "type " + spec.Name.Name}
		switch n := c.spec(spec); {
		case n.parts > MaxParts:
			d.Why, d.Instead = fmt.Sprintf("with the fields of its fields, and so on, it has %d, at most %d", n.parts, MaxParts), "use arrays and slices"
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

// of measures a type. The target of a pointer, or the elements of a slice, count as one part.
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
				sum.parts = integers.AddUpToMax(sum.parts, n.parts)
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
