package kernels

import (
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

// changedElsewhere returns the first package, of those that the kernel of s uses, whose files have
// been changed between the wrapper and the program, so that the kernel has another hash; "" where
// there is none, or no one can tell. Files that are younger than the program are not those that it
// was built from.
func (s *Spec) changedElsewhere() string {
	if s.Sources == "" || !filepath.IsAbs(s.Generated) { // -trimpath leaves no folder
		return ""
	}
	paths := s.packages()
	if len(paths) == 0 {
		return ""
	}
	wrapper, err := os.Stat(s.Generated)
	if err != nil {
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
	for _, path := range paths {
		dir := module.Folder(path)
		if dir == "" {
			continue // of another module, or of ours: its text does not change
		}
		if changed := newest(dir); changed.After(wrapper.ModTime()) && !changed.After(built.ModTime()) && s.Sources != s.hashNow(module) {
			return path
		}
	}
	return ""
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

// hashNow returns the hash of the kernel with what other packages of the module declare now, that
// of s where they cannot be read.
func (s *Spec) hashNow(module source.Module) string {
	own := slices.DeleteFunc(slices.Clone(s.Files), func(f codegen.File) bool { return f.Package != "" })
	files, err := codegen.SourcesFor(own[0].Name, own, module.Files)
	if err != nil {
		return s.Sources
	}
	pkg, err := codegen.LoadKernel(s.Name, files...)
	if pkg == nil || err != nil {
		return s.Sources
	}
	return pkg.Hash(s.Name)
}
