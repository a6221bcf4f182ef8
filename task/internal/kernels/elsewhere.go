package kernels

import (
	"bytes"
	"go/build"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/internal/source"
)

// A wrapper holds what its kernels use of other packages of the module as text, which no build of
// the program renews. Where the module is still where the program was built, its files say whether
// that text is the one that the program has.

// changedElsewhere returns the first package, of those that the kernel of s uses, of which the
// kernel reaches other declarations now, so that it has another hash; "" where there is none, or no
// one can tell: the wrapper there is not that of the program, or files are younger than the
// program, which it was not built from. When files were written says nothing else: a checkout
// writes them in any order.
func (s *Spec) changedElsewhere() string {
	if s.Sources == "" || !filepath.IsAbs(s.Generated) { // -trimpath leaves no folder
		return ""
	}
	paths := s.packages()
	if len(paths) == 0 {
		return ""
	}
	wrapper, err := os.ReadFile(s.Generated)
	if err != nil || !bytes.Contains(wrapper, []byte(s.Sources)) {
		return ""
	}
	program, err := os.Executable()
	if err != nil {
		return ""
	}
	built, err := os.Stat(program)
	if err != nil {
		return ""
	}
	module := source.ModuleOf(&build.Default, filepath.Dir(s.Generated))
	there := false
	for _, path := range paths {
		dir := module.Folder(path)
		if dir != "" && newest(dir).After(built.ModTime()) {
			return ""
		}
		there = there || dir != "" // the text of other modules, and of ours, does not change
	}
	if !there {
		return ""
	}
	return s.changedNow(module)
}

// packages are the import paths of other packages in the files of s.
func (s *Spec) packages() (out []string) {
	for _, f := range s.Files {
		if f.Package != "" && !slices.Contains(out, f.Package) {
			out = append(out, f.Package)
		}
	}
	return out
}

// newest returns when the latest of the Go files of a folder was changed.
func newest(dir string) (t time.Time) {
	list, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, name := range list {
		if f, err := os.Stat(name); err == nil && f.ModTime().After(t) && source.IsSource(filepath.Base(name)) {
			t = f.ModTime()
		}
	}
	return t
}

// changedNow returns the first package whose text differs where the kernel has another hash with
// what other packages of the module declare now; "" where it has not, or they cannot be read.
func (s *Spec) changedNow(module source.Module) string {
	own := slices.DeleteFunc(slices.Clone(s.Files), func(f codegen.File) bool { return f.Package != "" })
	files, err := codegen.SourcesFor(own[0].Name, own, module.Files)
	if err != nil {
		return ""
	}
	pkg, err := codegen.LoadKernel(s.Name, files...)
	if pkg == nil || err != nil || pkg.Hash(s.Name) == s.Sources {
		return ""
	}
	for _, f := range s.Files {
		if f.Package != "" && !slices.ContainsFunc(files, func(o codegen.File) bool { return o.Package == f.Package && o.Text == f.Text }) {
			return f.Package
		}
	}
	return s.packages()[0]
}
