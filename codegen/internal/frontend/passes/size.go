package passes

import (
	"fmt"

	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/internal/frontend/source"
	"github.com/gompss/gompss/codegen/internal/integers"
	"github.com/gompss/gompss/codegen/ir"
)

// A sizer counts the statements of functions, including those of called functions.
type sizer struct {
	sizes map[*ir.Func]uint64
	depth int
	deep  ir.Stmt // one that is nested deeper than MaxBlocks
}

// CheckSize reports a kernel that is too large with its calls, or nested too deeply. It reports
// whether the kernel fits.
func (u *Pass) CheckSize() bool {
	s := &sizer{sizes: map[*ir.Func]uint64{}}
	n := s.list(u.Kernel.Body)
	d := diag.Diagnostic{Pos: u.Kernel.At, What: "kernel " + u.Source(), Instead: "write loops, or several kernels"}
	switch {
	case n > source.MaxStatements:
		d.Why = fmt.Sprintf("with those of the functions that it calls, at each call, it has %d statements, and a kernel has at most %d", n, source.MaxStatements)
		if f := s.largest(); f != nil && s.sizes[f] > n/2 {
			d.Why += fmt.Sprintf("; %s (%s:%d) has %d of them", f.Name, f.At.File, f.At.Line, s.sizes[f])
		}
	case s.deep != nil:
		d.Pos, d.What, d.Instead = s.deep.Pos(), "statement", "call a function, or look the value up in an array"
		d.Why = fmt.Sprintf("it is nested more than %d statements deep; a case of a switch and an else count as in the one before", source.MaxBlocks)
	default:
		return true
	}
	u.Report(d)
	return false
}

func (s *sizer) list(list []ir.Stmt) uint64 {
	n := uint64(0)
	if s.depth++; s.depth > source.MaxBlocks && len(list) > 0 && s.deep == nil {
		s.deep = list[0]
	}
	for _, x := range list {
		n = integers.AddUpToMax(n, 1)
		if c, ok := x.(*ir.Call); ok {
			n = integers.AddUpToMax(n, s.function(c.Fn))
		}
		ir.Lists(x, func(inner []ir.Stmt) { n = integers.AddUpToMax(n, s.list(inner)) })
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
