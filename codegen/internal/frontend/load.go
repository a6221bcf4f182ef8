// Package frontend translates Go source with directives to loop IR. Load parses and type-checks the
// files of a package with go/parser and go/types, reads directives and clauses, and builds and
// checks the kernels and all declarations that they reach. It reports all errors at once; source
// that cannot be translated becomes a bad statement in the IR.
//
// There is no lock but Package.mu, which lets Instance run from several goroutines.
package frontend

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/internal/frontend/reach"
	"github.com/gompss/gompss/codegen/internal/frontend/source"
	"github.com/gompss/gompss/codegen/internal/frontend/typing"
	"github.com/gompss/gompss/codegen/internal/syntax"
	"github.com/gompss/gompss/codegen/ir"
)

// A Package is a package of Go source with the loop IR of its kernels.
type Package struct {
	src       *source.Program
	reach     *reach.Graph
	selection selection
	kernels   []*ir.Kernel
	Generic   map[string]*types.Func
	Trials    map[string]*ir.Kernel     // an instance of each generic kernel, for which types were found
	broken    map[string]diag.ErrorList // errors of the other kernels
	warnings  []diag.Diagnostic
	notes     map[string][]diag.Diagnostic // of kernels, by their names in the source

	// mu guards src: an instance adds the facts of its clauses to those about types.
	mu sync.Mutex
}

// A selection says which kernels are built: those of a file, or one, or all.
type selection struct{ file, kernel string }

// Load parses and type-checks the files of one package, in any order, and makes loop IR of every
// kernel in them: every top-level function with a target or task directive. Declarations that no
// kernel reaches need not be in the dialect, and their imports need not exist. Files of other
// packages have the declarations of those packages that kernels use.
//
// Errors: an ErrorList of all errors in the text and in the declarations that kernels reach. The
// package is returned nevertheless, with the kernels that have no errors, unless a file cannot be
// parsed or belongs to another package.
func Load(files ...syntax.File) (*Package, error) { return load(selection{}, files) }

// LoadFile is Load for the kernels of one of the files, and the kernels that implement them. Errors
// in other files count only in declarations that these kernels reach.
func LoadFile(name string, files ...syntax.File) (*Package, error) {
	return load(selection{file: path.Base(name)}, files)
}

// LoadKernel is Load for one kernel, by its name. Errors elsewhere count only in declarations that
// the kernel reaches.
func LoadKernel(name string, files ...syntax.File) (*Package, error) {
	return load(selection{kernel: name}, files)
}

func load(a selection, files []syntax.File) (*Package, error) {
	src, diags := source.Parse(files)
	if len(diags) > 0 {
		return nil, diag.Sorted(diags)
	}
	p := &Package{src: src, reach: reach.New(src), selection: a, Generic: map[string]*types.Func{}, Trials: map[string]*ir.Kernel{},
		broken: map[string]diag.ErrorList{}, notes: map[string][]diag.Diagnostic{}}
	if large := append(p.src.LargeTypes(), p.src.LargeKernels()...); len(large) > 0 {
		return nil, diag.Sorted(large)
	}
	p.src.Check()
	for _, d := range p.src.SyntaxErrors {
		if a.kernel == "" && (a.file == d.Pos.File || a.file == "" && !strings.Contains(d.Pos.File, "/")) {
			diags = append(diags, d)
		}
	}
	for _, f := range p.src.Functions() {
		if p.isAsked(p.src.Funcs[f]) {
			diags = append(diags, p.load(f)...)
		} else if p.isVersion(p.src.Funcs[f]) {
			p.load(f) // its errors count where its file is requested
		}
	}
	errs, warnings := source.Split(diags)
	p.warnings = diag.Sorted(slices.DeleteFunc(warnings, func(d diag.Diagnostic) bool { return source.Silences(p.src, d) }))
	if len(errs) > 0 {
		return p, diag.Sorted(errs)
	}
	return p, nil
}

// isAsked reports whether n is a requested kernel.
func (p *Package) isAsked(n *ast.FuncDecl) bool {
	return p.src.IsKernel(n) && (p.selection.file == "" || p.src.Position(n.Pos()).File == p.selection.file) && (p.selection.kernel == "" || n.Name.Name == p.selection.kernel)
}

// isVersion reports whether n is a kernel that says it implements one of the file that is asked
// for.
func (p *Package) isVersion(n *ast.FuncDecl) bool {
	if p.selection.file == "" || !p.src.IsKernel(n) {
		return false
	}
	for _, c := range p.src.Directives[n].Clauses() {
		if c.Name.Text == "implements" {
			o := p.src.GoTypes.Scope().Lookup(c.Args.Trim().Text)
			return o != nil && p.src.Position(o.Pos()).File == p.selection.file
		}
	}
	return false
}

// load builds kernel f, and returns the errors of f and of the declarations that it uses.
func (p *Package) load(f *types.Func) []diag.Diagnostic {
	reached := p.reach.ReachOf(p.src.Funcs[f])
	before := append(p.src.ErrorsIn(reached), p.src.MisreadIn(reached)...)
	k, diags := p.loadOne(f)
	diags = append(before, diags...)
	errs, _ := source.Split(diags)
	switch generic := f.Signature().TypeParams().Len() > 0; {
	case len(errs) > 0: // warnings may follow from them
		p.broken[f.Name()] = diag.Sorted(errs)
		return errs
	case generic:
		p.Generic[f.Name()], p.Trials[f.Name()] = f, k
	default:
		p.kernels = append(p.kernels, k)
	}
	isNote := func(d diag.Diagnostic) bool { return d.Severity == diag.Note }
	for _, d := range diags {
		if isNote(d) {
			p.notes[f.Name()] = append(p.notes[f.Name()], d)
		}
	}
	return slices.DeleteFunc(diags, isNote)
}

// loadOne builds kernel f; of a generic one an instance, nil where no types are found for it.
func (p *Package) loadOne(f *types.Func) (*ir.Kernel, []diag.Diagnostic) {
	decl := p.src.Funcs[f]
	if unfit := p.unfit(f, decl); len(unfit) > 0 {
		if decl.Body == nil || f.Signature().TypeParams().Len() > 0 || f.Signature().RecvTypeParams().Len() > 0 {
			return nil, unfit
		}
		_, diags := p.build(f, decl, nil) // for the errors in it
		return nil, append(unfit, diags...)
	}
	params := f.Signature().TypeParams()
	args := typing.TrialArgs(params)
	if params.Len() > 0 && args == nil {
		return nil, nil
	}
	return p.build(f, decl, args)
}

// unfit returns the reason why the function f cannot be a kernel.
func (p *Package) unfit(f *types.Func, decl *ast.FuncDecl) []diag.Diagnostic {
	var out []diag.Diagnostic
	fail := func(pos token.Pos, why, instead string) {
		out = append(out, diag.Diagnostic{Pos: p.src.Position(pos), What: "kernel " + f.Name(), Why: why, Instead: instead})
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
func (p *Package) Name() string { return p.src.Name }

// Kernels returns the kernels that are not generic, by file in the order given to Load and by
// position. The caller must not change them.
func (p *Package) Kernels() []*ir.Kernel { return slices.Clone(p.kernels) }

// Samples returns an instance of each generic kernel, with types that satisfy its constraints, by
// the name in the source; those for which no types were found are left out. The caller must not
// change them.
func (p *Package) Samples() map[string]*ir.Kernel { return maps.Clone(p.Trials) }

// Kernel returns the kernel of a name. Errors: there is none, or it is generic; an ErrorList of its
// errors.
func (p *Package) Kernel(name string) (*ir.Kernel, error) {
	if errs := p.broken[name]; errs != nil {
		return nil, errs
	}
	for _, k := range p.kernels {
		if k.Name == name {
			return k, nil
		}
	}
	if f := p.Generic[name]; f != nil {
		n := f.Signature().TypeParams().Len()
		return nil, fmt.Errorf("codegen: kernel %s: it is generic: ask Instance for it with %d %s", name, n,
			diag.Plural(n, "type argument", "type arguments"))
	}
	return nil, fmt.Errorf("codegen: kernel %s: package %s has no kernel of this name: put //omp:target above the function", name, p.src.Name)
}

// Warnings returns the warnings about the kernels, by position.
func (p *Package) Warnings() []diag.Diagnostic { return slices.Clone(p.warnings) }

// Notes returns the notes on a kernel, by its name in the source, that ask for no change, by
// position.
func (p *Package) Notes(kernel string) []diag.Diagnostic { return diag.Sorted(p.notes[kernel]) }

// Files returns the names of the files of the package that a kernel, by its name in the source,
// needs.
func (p *Package) Files(kernel string) []string {
	names := map[string]bool{}
	for f, decl := range p.src.Funcs {
		if f.Name() == kernel && p.src.IsKernel(decl) {
			for d := range p.reach.ReachOf(decl) {
				names[p.src.Position(d.Node.Pos()).File] = true
			}
		}
	}
	return source.SortedKeys(names)
}

// Silences reports whether a comment in the source suppresses the warning d.
func (p *Package) Silences(d diag.Diagnostic) bool { return source.Silences(p.src, d) }

// Hash returns the hash of the declarations that the named kernels reach, themselves included:
// functions, methods, types, constants and variables of the package and of other packages of the
// program. It is "" where there is no such kernel.
func (p *Package) Hash(kernels ...string) string { return p.reach.Hash(kernels...) }

// Constants returns the constants of imported packages that a kernel reaches.
func (p *Package) Constants(kernel string) []*types.Const { return p.reach.Constants(kernel) }

// CodeLines returns the lines of a kernel's file on which code of its function begins or continues,
// as "12-16 18": comments and empty lines are not among them. It is "" where there is no such
// kernel.
func (p *Package) CodeLines(kernel string) string { return p.reach.CodeLines(kernel) }

// HashOf returns the hash of the declarations that the kernels of a file reach; see Hash.
func (p *Package) HashOf(file string) string { return p.reach.HashOf(p.reach.KernelsOf(file)) }

// ImportsAt returns the imports that the words of a file name, by their place in it.
func (p *Package) ImportsAt(file string) map[int]*types.PkgName { return p.reach.ImportsAt(file) }

// DotsAt returns the packages of which the words of a file name something without the name of the
// package, by their place in it; a word behind a dot counts, too.
func (p *Package) DotsAt(file string) map[int]*types.Package { return p.reach.DotsAt(file) }

// TypesOf returns the known types of another package of the program, by its import path; nil where
// it has none of that path.
func (p *Package) TypesOf(importPath string) *types.Package {
	return p.src.OtherNamed(importPath).Types
}
