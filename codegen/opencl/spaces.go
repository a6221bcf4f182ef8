package opencl

import (
	"github.com/gompss/gompss/codegen/ir"
)

// A space is an address space of OpenCL C. An address belongs to one, which is part of its type.
type space uint8

const (
	unknown space = iota
	global        // parameters and scratch memory
	local         // team memory
	private       // variables of a thread
)

func (s space) qualifier() string { return [...]string{"global ", "global ", "local ", ""}[s] }

func (s space) String() string {
	return [...]string{"no", "global", "team", "private"}[s] + " memory"
}

// findSpaces finds the space of every slice and pointer variable of list, whose parameters have
// some already.
func (p *printer) findSpaces(list []ir.Stmt) {
	for again := true; again; {
		again = false
		note := func(v *ir.Var, s space, at ir.Pos) {
			switch have := p.spaces[v]; {
			case !isAddress(v.Type) || s == unknown || have == s:
			case have != unknown:
				p.fail(at, "%s refers to %s and to %s: not supported by opencl", v.Name, have, s)
			default:
				p.spaces[v] = s
				again = true
			}
		}
		ir.WalkStmts(list, func(s ir.Stmt) bool {
			switch s := s.(type) {
			case *ir.Decl:
				if s.Init != nil {
					note(s.Var, p.spaceOf(s.Init), s.At)
				}
			case *ir.Assign:
				if r, ok := s.Place.(*ir.Ref); ok {
					note(r.Var, p.spaceOf(s.Value), s.At)
				}
			case *ir.Call:
				in := p.calls().instanceOf(s)
				for i, v := range s.Results {
					if v != nil && i < len(in.results) {
						note(v, in.results[i], s.At)
					}
				}
			}
			return p.err == nil
		})
	}
}

func isAddress(t *ir.Type) bool { return t.Kind == ir.Slice || t.Kind == ir.Pointer }

// spaceOf returns the space that an address e is in; unknown for nil, and for what is no address.
func (p *body) spaceOf(e ir.Expr) space {
	switch e := e.(type) {
	case *ir.Ref:
		return p.spaces[e.Var]
	case *ir.AddrOf:
		return p.placeSpace(e.X)
	case *ir.Reslice:
		if e.X.Type().Kind == ir.Array {
			return p.placeSpace(e.X)
		}
		return p.spaceOf(e.X)
	case *ir.Select:
		if s := p.spaceOf(e.X); s != unknown {
			return s
		}
		return p.spaceOf(e.Y)
	case *ir.Convert:
		return p.spaceOf(e.X)
	}
	return unknown
}

// placeSpace returns the space in which a place is.
func (p *body) placeSpace(e ir.Expr) space {
	switch e := e.(type) {
	case *ir.Ref:
		if e.Var.Space == ir.Team {
			return local
		}
		return private
	case *ir.Index:
		if e.X.Type().Kind == ir.Slice {
			return p.spaceOf(e.X)
		}
		return p.placeSpace(e.X)
	case *ir.Member:
		return p.placeSpace(e.X)
	case *ir.Deref:
		return p.spaceOf(e.X)
	}
	return private
}
