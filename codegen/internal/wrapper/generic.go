package wrapper

import (
	"bytes"
	"fmt"
	"go/ast"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen/internal/frontend"
	"github.com/gompss/gompss/codegen/ir"
)

// generic writes wrappers for the generic kernels of the file: which instances a program needs its
// calls say, so that the wrapper is generic too and makes an instance at the first call for its
// types. A kernel that can have none is left out with a warning, and the others get theirs.
func (g *generator) generic(p *frontend.Package) {
	for _, d := range g.syntax.Decls {
		decl, ok := d.(*ast.FuncDecl)
		if !ok || decl.Recv != nil || decl.Type.TypeParams == nil || p.Generic[decl.Name.Name] == nil {
			continue
		}
		w := wrapper{name: decl.Name.Name, decl: decl, params: g.params(decl), generic: typeParamNames(decl)}
		if why, instead := g.genericArguments(&w, p.Trials[decl.Name.Name]); why != "" {
			g.warn(decl.Name.Pos(), "kernel "+w.name, "it gets no wrapper: "+why, instead)
			continue
		}
		w.variables, w.constants = g.variables(p.Trials[decl.Name.Name]), g.constants(w.name)
		g.need(decl.Type.TypeParams)
		g.declare(&w)
		g.wraps = append(g.wraps, w)
	}
}

// genericArguments fills in how the arguments of w are read; trial is an instance of its kernel.
// why says what makes that impossible.
func (g *generator) genericArguments(w *wrapper, trial *ir.Kernel) (why, instead string) {
	const byHand = "call task.NewKernel or task.MustKernel with TypeArgs"
	if trial == nil {
		return "no types are found that satisfy its constraints", byHand
	}
	for _, n := range []string{"a", "rt", "options"} {
		if slices.Contains(w.generic, n) {
			return "its type parameter " + n + " hides a name that the wrapper needs", "rename it"
		}
	}
	if trial.Target.Native != nil || trial.Task.Loop != nil {
		return "clauses native and taskloop name one kernel, and this one is a kernel for each list of types", "leave them out, or write the kernel for one type"
	}
	for i, given := range trial.GoParams() {
		p, t := &w.params[i], given.Type
		if t.Kind == ir.Slice && !strings.HasPrefix(p.typ, "[]") || t.Kind == ir.Pointer && !strings.HasPrefix(p.typ, "*") {
			return fmt.Sprintf("its parameter %s is of type %s, which hides a slice or pointer", p.name, p.typ), "write the type with its element"
		}
		p.arg = readArgument(p.typ, t, given.First)
	}
	return "", ""
}

func typeParamNames(decl *ast.FuncDecl) []string {
	var out []string
	for _, f := range decl.Type.TypeParams.List {
		for _, n := range f.Names {
			out = append(out, n.Name)
		}
	}
	return out
}

func instancesVar(name string) string {
	return strings.TrimSuffix(kernelVar(name), "Kernel") + "Instances"
}

// writeGeneric writes the wrapper of a generic kernel.
func (g *generator) writeGeneric(b *bytes.Buffer, w *wrapper, args string) {
	declared, used := g.text(w.decl.Type.TypeParams), "["+strings.Join(w.generic, ", ")+"]"
	types := make([]string, len(w.generic))
	for i, t := range w.generic {
		types[i] = "reflect.TypeFor[" + t + "]()"
	}
	fmt.Fprintf(b, "\nvar %s task.Instances\n", instancesVar(w.name))
	fmt.Fprintf(b, "\n// %s returns the kernel that runs %s for its type arguments on any device. It is not cut over workers: it is generic.\n",
		kernelVar(w.name), w.name)
	fmt.Fprintf(b, "func %s%s() (*task.Kernel, error) {\nreturn %s.Kernel(func() task.KernelSpec {\n", kernelVar(w.name), declared, instancesVar(w.name))
	fmt.Fprintf(b, "return task.KernelSpec{\nName: %q,\nFiles: %s,\nSources: %q,\nGo: func(a *task.Args) { %s%s(%s) },\n",
		w.name, g.filesVar(), g.pkg.Hash(w.name), w.name, used, args)
	w.writeVariables(b)
	w.writeConstants(b)
	fmt.Fprintf(b, "}\n}, %s)\n}\n", strings.Join(types, ", "))
	w.writeGenericSubmit(b, declared, used)
}

func (w *wrapper) writeGenericSubmit(b *bytes.Buffer, declared, used string) {
	rt, options, k := w.free("rt"), w.free("options"), w.free("k")
	fmt.Fprintf(b, "\n// %s submits a task that runs %s; see task.Kernel.Submit.\nfunc %s%s(%s task.Submitter, ",
		submitName(w.name), w.name, submitName(w.name), declared, rt)
	names := []string{rt}
	for _, p := range w.params {
		names = append(names, p.name)
		fmt.Fprintf(b, "%s %s, ", p.name, p.typ)
	}
	fmt.Fprintf(b, "%s ...task.Option) (task.Task, error) {\n%s, err := %s%s()\nif err != nil {\nreturn task.Task{}, err\n}\n", options, k, kernelVar(w.name), used)
	fmt.Fprintf(b, "return %s.With(%s...).Submit(%s)\n}\n", k, options, strings.Join(names, ", "))
}
