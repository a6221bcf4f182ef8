package opencl

import (
	"fmt"
	"strings"

	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

// An instance is a function for arguments in given spaces.
type instance struct {
	of        *ir.Func
	name      string
	results   []space
	structure string // of several results, or of one that is a slice
	fails     bool   // it takes the fault record and, but where threads exit, a flag that says that a check failed
}

// instanceOf returns the function that a call needs, which it prints the first time.
func (p callsPrinter) instanceOf(s *ir.Call) *instance {
	key := fmt.Sprintf("%p", s.Fn)
	spaces := make([]space, len(s.Args))
	for i, a := range s.Args {
		if isAddress(s.Fn.Params[i].Type) {
			if spaces[i] = p.spaceOf(a); spaces[i] == unknown {
				spaces[i] = global
			}
		}
		key += fmt.Sprint(" ", uint8(spaces[i]))
	}
	if in := p.instances[key]; in != nil {
		return in
	}
	in := &instance{of: s.Fn, name: p.names.Fresh(s.Fn.Name)}
	p.function(in, spaces)
	p.instances[key] = in
	return in
}

func (p callsPrinter) function(in *instance, spaces []space) {
	f := in.of
	defer p.kernels().start(in, f.Body)()
	var params []string
	for i, v := range f.Params {
		name := p.Declare(v)
		p.spaces[v] = spaces[i]
		if v.Type.Kind == ir.Slice {
			params = append(params, spaces[i].qualifier()+p.pointee(v.Type.Elem)+" *"+name, "long "+name+"_len", "long "+name+"_cap")
			continue
		}
		params = append(params, p.declaration(v, name))
	}
	p.kernels().prepare(f.Body)
	in.fails = checksIn(f.Body)
	in.results = p.resultSpaces(f)
	kind := p.resultType(in)
	p.stmts(f.Body)
	if in.fails {
		params = append(params, "global "+p.checks().record()+" *fault")
		if !p.opt.Exits() {
			params = append(params, "bool *failed")
		}
	}
	fmt.Fprintf(&p.functions, "\n%s %s(%s)\n{\n%s}\n", kind, in.name, cprint.WrapLines(params, 100), p.Out.String())
}

// resultSpaces returns the spaces of the results that are addresses.
func (p callsPrinter) resultSpaces(f *ir.Func) []space {
	out := make([]space, len(f.Results))
	ir.WalkStmts(f.Body, func(s ir.Stmt) bool {
		if r, ok := s.(*ir.Return); ok {
			for i, e := range r.Results {
				if !isAddress(f.Results[i]) {
					continue
				}
				switch s := p.spaceOf(e); {
				case out[i] == unknown:
					out[i] = s
				case s != unknown && s != out[i]:
					p.fail(r.At, "result %d of %s refers to %s and to %s: not supported by opencl", i+1, f.Name, out[i], s)
				}
			}
		}
		return true
	})
	return out
}

// resultType prints the type that an instance returns, and its definition.
func (p callsPrinter) resultType(in *instance) string {
	f := in.of
	if len(f.Results) == 0 {
		return "void"
	}
	if len(f.Results) == 1 && f.Results[0].Kind != ir.Slice {
		if f.Results[0].Kind == ir.Bool {
			return "bool"
		}
		return strings.TrimSuffix(p.declarator(f.Results[0], "", in.results[0]), " ")
	}
	in.structure = p.names.Fresh(in.name + "_results")
	var b strings.Builder
	for i, t := range f.Results {
		name := fmt.Sprintf("r%d", i)
		if t.Kind == ir.Slice {
			fmt.Fprintf(&b, "\t%s%s *%s;\n\tlong %s_len, %s_cap;\n", in.results[i].qualifier(), p.pointee(t.Elem), name, name, name)
			continue
		}
		fmt.Fprintf(&b, "\t%s;\n", p.declarator(t, name, in.results[i]))
	}
	fmt.Fprintf(&p.structs.Text, "\ntypedef struct {\n%s} %s;\n", b.String(), in.structure)
	return in.structure
}

// zero prints what a function returns that has failed.
func (in *instance) zero(p *printer) string {
	switch {
	case in.structure != "":
		return "(" + in.structure + "){" + zero(in.of.Results[0]) + "}"
	case len(in.of.Results) == 0:
		return ""
	}
	if t := in.of.Results[0]; t.Kind == ir.Struct || t.Kind == ir.Array {
		return "(" + p.typeName(t) + ")" + wrappedZero(p, t)
	}
	return zero(in.of.Results[0])
}

func wrappedZero(p *printer, t *ir.Type) string {
	if t.Kind == ir.Array && p.isWrapped(t) {
		return "{" + zero(t) + "}"
	}
	return zero(t)
}

// call prints a call, and takes its results apart.
func (p callsPrinter) call(s *ir.Call) {
	in := p.instanceOf(s)
	var args []string
	for i, a := range s.Args {
		if s.Fn.Params[i].Type.Kind == ir.Slice {
			x := p.places().slice(a)
			args = append(args, x.ptr.Text, x.len.Text, x.cap.Text)
			continue
		}
		args = append(args, p.expr(a).Text)
	}
	if in.fails {
		p.fault = true
		args = append(args, "fault")
		switch {
		case p.opt.Exits():
		case p.fn != nil:
			args = append(args, "failed")
		default:
			args = append(args, "&failed")
		}
	}
	text := in.name + "(" + strings.Join(args, ", ") + ")"
	switch {
	case in.structure != "":
		p.spread(s, in, text)
	case len(s.Results) > 0 && s.Results[0] != nil:
		p.Printf(s.At, "%s = %s;", p.Of[s.Results[0]], text)
		p.endIfFailed(s, in)
	default:
		p.Printf(s.At, "%s;", text)
		p.endIfFailed(s, in)
	}
}

// spread assigns several results.
func (p callsPrinter) spread(s *ir.Call, in *instance, text string) {
	all := p.Fresh(in.name + "_result")
	p.Printf(s.At, "const %s %s = %s;", in.structure, all, text)
	p.endIfFailed(s, in)
	for i, v := range s.Results {
		if v == nil {
			continue
		}
		p.Printf(s.At, "%s = %s.r%d;", p.Of[v], all, i)
		if v.Type.Kind == ir.Slice {
			p.Printf(s.At, "%s_len = %s.r%d_len;", p.Of[v], all, i)
			p.Printf(s.At, "%s_cap = %s.r%d_cap;", p.Of[v], all, i)
		}
	}
}

// endIfFailed ends the thread where a check of the function has failed.
func (p callsPrinter) endIfFailed(s *ir.Call, in *instance) {
	if !in.fails || p.opt.Exits() {
		return
	}
	if p.fn != nil {
		p.Printf(s.At, "if (*failed)")
		p.Printf(s.At, "\treturn%s;", cprint.Spaced(p.fn.zero(p.printer)))
		return
	}
	p.Printf(s.At, "if (failed) {")
	p.checks().end(s.At)
	p.Printf(s.At, "}")
}
