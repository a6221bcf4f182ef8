package codegen

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"sync"

	"github.com/gompss/gompss/codegen/ir"
)

// A File is one source file of a package: its name, for positions, and its text.
type File struct{ Name, Text string }

// A Package is a package of Go source with the loop IR of its kernels.
type Package struct {
	name       string
	only       string // the file whose kernels are made; "" for all
	fset       *token.FileSet
	files      []*ast.File
	types      *types.Package
	directives map[ast.Node]*directive
	misread    []Diagnostic // what is wrong with the text and the places of directives
	clouds     []cloud      // what those govern
	funcs      map[*types.Func]*ast.FuncDecl
	decls      []*topDecl // by position
	kernels    []*ir.Kernel
	generic    map[string]*types.Func
	trials     map[string]*ir.Kernel // an instance of each generic kernel, for which types were found
	warnings   []Diagnostic
	goErrors   map[ir.Pos]bool // the lines in what kernels reach where go/types finds errors

	// mu guards what follows: an instance adds its clauses to info.
	mu    sync.Mutex
	info  *types.Info
	fates map[types.Object]fate // what happens to variables; nil until asked for
}

// Load parses and type-checks the files of one package, in any order, and makes loop IR of every kernel in them: every
// top-level function with a target or task directive. What kernels do not reach need not be in the dialect, nor need
// its imports be there.
//
// Errors: an ErrorList of all that is wrong with the text and with what kernels reach.
func Load(files ...File) (*Package, error) { return load("", files) }

// LoadFile is Load for the kernels of one of the files. What is wrong with the others counts where these kernels reach it.
func LoadFile(name string, files ...File) (*Package, error) { return load(path.Base(name), files) }

// load makes the kernels of file, of all files where it is "".
func load(file string, files []File) (*Package, error) {
	p, diags := parseFiles(files)
	if len(diags) > 0 {
		return nil, sortedErrors(diags)
	}
	p.only = file
	diags = p.check()
	for _, d := range diags {
		p.goErrors[ir.Pos{File: d.Pos.File, Line: d.Pos.Line}] = true
	}
	diags = append(diags, p.misread...)
	for _, f := range p.functions() {
		if p.isKernel(p.funcs[f]) {
			diags = append(diags, p.load(f)...)
		}
	}
	errs, warnings := split(diags)
	if len(errs) > 0 {
		return nil, sortedErrors(errs)
	}
	p.warnings = sortedErrors(warnings)
	return p, nil
}

// isKernel reports whether n is a kernel, of the file that is asked for.
func (p *Package) isKernel(n ast.Node) bool {
	d := p.directives[n]
	return (d.has("target") || d.has("task")) && (p.only == "" || p.position(n.Pos()).File == p.only)
}

// load builds kernel f; of a generic one an instance is built to find its errors, and dropped.
func (p *Package) load(f *types.Func) []Diagnostic {
	decl := p.funcs[f]
	if unfit := p.unfit(f, decl); len(unfit) > 0 {
		if decl.Body == nil || f.Signature().TypeParams().Len() > 0 || f.Signature().RecvTypeParams().Len() > 0 {
			return unfit
		}
		_, diags := p.build(f, decl, nil) // for the errors in it
		return append(unfit, diags...)
	}
	if params := f.Signature().TypeParams(); params.Len() > 0 {
		p.generic[f.Name()] = f
		args := trialArgs(params)
		if args == nil {
			return nil
		}
		k, diags := p.build(f, decl, args)
		p.trials[f.Name()] = k
		return diags
	}
	k, diags := p.build(f, decl, nil)
	p.kernels = append(p.kernels, k)
	return diags
}

// unfit says why the function f cannot be a kernel.
func (p *Package) unfit(f *types.Func, decl *ast.FuncDecl) []Diagnostic {
	var out []Diagnostic
	fail := func(pos token.Pos, why, instead string) {
		out = append(out, Diagnostic{Pos: p.position(pos), What: "kernel " + f.Name(), Why: why, Instead: instead})
	}
	switch sig := f.Signature(); {
	case sig.Recv() != nil:
		fail(decl.Recv.Pos(), "it is a method", "write a top-level function with the receiver as a parameter")
	case decl.Body == nil:
		fail(decl.Pos(), "it has no body", "write it in Go")
	case sig.Results().Len() > 0:
		fail(decl.Type.Results.Pos(), "it has results, and a task returns none", "write them to an element of a slice parameter")
	}
	return out
}

// Name returns the name of the package.
func (p *Package) Name() string { return p.name }

// Kernels returns the kernels that are not generic, by file in the order given to Load and by position. The caller must
// not change them.
func (p *Package) Kernels() []*ir.Kernel { return slices.Clone(p.kernels) }

// Samples returns an instance of each generic kernel, with types that satisfy its constraints, by the name in the source; those for
// which no types were found are left out. The caller must not change them.
func (p *Package) Samples() map[string]*ir.Kernel { return maps.Clone(p.trials) }

// Kernel returns the kernel of a name. Errors: there is none, or it is generic.
func (p *Package) Kernel(name string) (*ir.Kernel, error) {
	for _, k := range p.kernels {
		if k.Name == name {
			return k, nil
		}
	}
	if f := p.generic[name]; f != nil {
		n := f.Signature().TypeParams().Len()
		return nil, fmt.Errorf("codegen: kernel %s: it is generic: ask Instance for it with %d %s", name, n,
			plural(n, "type argument", "type arguments"))
	}
	return nil, fmt.Errorf("codegen: kernel %s: package %s has no kernel of this name: put //omp:target above the function", name, p.name)
}

// Warnings returns what may be wrong with the kernels, by position.
func (p *Package) Warnings() []Diagnostic { return slices.Clone(p.warnings) }

// position returns where p is in the files as given to Load; //line comments do not count.
func (p *Package) position(pos token.Pos) ir.Pos {
	at := p.fset.PositionFor(pos, false)
	return ir.Pos{File: path.Base(at.Filename), Line: at.Line, Col: at.Column}
}

// functions returns the functions of the package by position.
func (p *Package) functions() []*types.Func {
	var out []*types.Func
	for f := range p.funcs {
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b *types.Func) int { return cmp.Compare(a.Pos(), b.Pos()) })
	return out
}

func split(list []Diagnostic) (errs, warnings []Diagnostic) {
	for _, d := range list {
		if d.Severity == Warning {
			warnings = append(warnings, d)
		} else {
			errs = append(errs, d)
		}
	}
	return errs, warnings
}
