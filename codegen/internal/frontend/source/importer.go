package source

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"strings"

	"github.com/gompss/gompss/codegen/internal/syntax"
	"github.com/gompss/gompss/codegen/kernel"
)

// KernelPath is the package of functions that kernels may call.
const KernelPath = "github.com/gompss/gompss/codegen/kernel"

// An importer gives go/types the packages that kernels may use, from source that travels with the
// compiler, because a program that compiles kernels at run time has no toolchain. Every other
// import fails. The type checker then treats the names of the package as valid, with unknown types;
// this is an error only in code that a kernel reaches.
type importer struct {
	fset   *token.FileSet
	done   map[string]*types.Package
	names  map[string]string // of packages without device counterpart, as far as they are known
	info   *types.Info       // of packages whose functions have bodies, that kernels call; nil is permitted
	bodies []*ast.File       // of these
}

func NewImporter() *importer {
	return &importer{fset: token.NewFileSet(), done: map[string]*types.Package{}, names: map[string]string{}}
}

// Import returns the package of an import path. Errors: there is no device counterpart of it; the
// package is empty then and has its name.
func (i *importer) Import(path string) (*types.Package, error) {
	if p := i.done[path]; p != nil {
		return p, nil
	}
	files, err := i.sources(path)
	if err != nil {
		return i.empty(path), err
	}
	conf, info := types.Config{Importer: i, IgnoreFuncBodies: true, Sizes: Sizes()}, (*types.Info)(nil)
	if path == "math" || path == "math/bits" {
		conf.IgnoreFuncBodies, info = false, i.info
		i.bodies = append(i.bodies, files...)
	}
	p, err := conf.Check(path, i.fset, files, info)
	if err != nil {
		panic(fmt.Sprintf("gompss: bug: codegen: source of package %s: %v", path, err))
	}
	i.done[path] = p
	return p, nil
}

// Has reports whether the compiler has the package.
func (i *importer) Has(path string) bool {
	_, err := i.Import(path)
	return err == nil
}

// empty returns a package of which nothing but the name is known. It is another one each time:
// go/types marks it.
func (i *importer) empty(path string) *types.Package {
	name := i.names[path]
	if names := namesOfPath(path); name == "" && len(names) > 0 {
		name = names[0]
	}
	if name == "" {
		return nil // go/types makes one
	}
	return types.NewPackage(path, name)
}

func (i *importer) sources(path string) ([]*ast.File, error) {
	switch path {
	case "math":
		return i.parse(map[string]string{"math/math.go": mathSource, "math/bessel.go": besselSource, "math/gamma.go": gammaSource, "math/inverse.go": inverseSource})
	case "math/bits":
		return i.parse(map[string]string{"math/bits.go": bitsSource})
	case "fmt":
		return i.parse(map[string]string{"fmt.go": fmtSource})
	case "cmp":
		return i.parse(map[string]string{"cmp.go": cmpSource})
	case KernelPath:
		return i.parse(kernelFiles())
	}
	return nil, fmt.Errorf("package %s has no device counterpart", path)
}

func (i *importer) parse(texts map[string]string) ([]*ast.File, error) {
	var out []*ast.File
	for _, name := range SortedKeys(texts) {
		f, err := parser.ParseFile(i.fset, name, texts[name], parser.SkipObjectResolution)
		if err != nil {
			panic(fmt.Sprintf("gompss: bug: codegen: own source %s: %v", name, err))
		}
		out = append(out, f)
	}
	return out, nil
}

func kernelFiles() map[string]string {
	out := map[string]string{}
	for _, name := range kernel.SourceNames {
		out[name] = embedded(name)
	}
	return out
}

func embedded(name string) string {
	text, err := kernel.Source.ReadFile(name)
	if err != nil {
		panic(fmt.Sprintf("gompss: bug: codegen: embedded source: %v", err))
	}
	return string(text)
}

// LibraryFiles returns the files of a package below codegen/kernel, which is compiled as if the
// program had it, and for math/cmplx those of the package that stands for it there; none for any
// other import path.
func LibraryFiles(importPath string) (out []syntax.File) {
	name, ok := strings.CutPrefix(importPath, KernelPath+"/")
	if importPath == "math/cmplx" {
		name, ok = "cmplx", true
	}
	if !ok {
		return nil
	}
	for _, file := range kernel.Packages[name] {
		out = append(out, syntax.File{Name: path.Base(file), Package: importPath, Text: embedded(file)})
	}
	return out
}

// Sizes are those of host and device alike.
func Sizes() types.Sizes { return types.SizesFor("gc", "amd64") }

// fmtSource declares the part of package fmt that go/types needs; kernels call the functions of
// printFuncs.
const fmtSource = `package fmt
func Printf(format string, a ...any) (n int, err error)
func Println(a ...any) (n int, err error)
func Print(a ...any) (n int, err error)
func Sprintf(format string, a ...any) string
func Sprint(a ...any) string
func Sprintln(a ...any) string
func Errorf(format string, a ...any) error
func Fprintf(w any, format string, a ...any) (n int, err error)
func Fprintln(w any, a ...any) (n int, err error)
func Fprint(w any, a ...any) (n int, err error)
type Stringer interface{ String() string }
`
