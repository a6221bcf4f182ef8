// Package source finds and reads the Go files that kernels are in: of a folder, in a build, and of
// the packages of its module.
package source

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen"
)

// GoTags returns the build tags that GOFLAGS has for the go command.
func GoTags() (tags string) {
	for _, flag := range strings.Fields(os.Getenv("GOFLAGS")) {
		if list, ok := strings.CutPrefix(strings.TrimLeft(flag, "-"), "tags="); ok {
			tags = list
		}
	}
	return tags
}

// WithTags returns what chooses files in builds with a list of tags, as go build -tags takes it.
func WithTags(tags string) *build.Context {
	c := build.Default
	c.BuildTags = strings.FieldsFunc(tags, func(r rune) bool { return r == ',' || r == ' ' })
	return &c
}

// A Folder is the Go files of a folder that kernels can be in, by their base names.
type Folder struct {
	Built    []codegen.File   // that a build takes
	Excluded []codegen.File   // that it leaves out
	Broken   map[string]error // of which the go command cannot tell; where they have a text they count as built
}

// ErrorsOf returns what is wrong with the broken files among names, nil for all.
func (f *Folder) ErrorsOf(names []string) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(f.Broken)) {
		if names == nil || slices.Contains(names, name) {
			errs = append(errs, f.Broken[name])
		}
	}
	return errors.Join(errs...)
}

// ReadFolder reads the files of a folder. A file that cannot be read does not keep it from the
// others.
func ReadFolder(c *build.Context, dir string) (*Folder, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("gompss: %w", err)
	}
	out := &Folder{Broken: map[string]error{}}
	for _, e := range entries {
		if e.IsDir() || !IsSource(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			out.Broken[e.Name()] = fmt.Errorf("gompss: %w", err)
			continue
		}
		f := codegen.File{Name: e.Name(), Text: string(WithoutCR(text))}
		switch ok, err := c.MatchFile(dir, e.Name()); {
		case err != nil:
			out.Broken[f.Name] = unreadable(dir, f, err)
			out.Built = append(out.Built, f)
		case ok:
			out.Built = append(out.Built, f)
		default:
			out.Excluded = append(out.Excluded, f)
		}
	}
	return out, nil
}

// unreadable is what is wrong with a file whose head the go command cannot read: its syntax, with
// positions, or else what that says.
func unreadable(dir string, f codegen.File, err error) error {
	if _, syntax := codegen.Load(f); syntax != nil {
		return InFolder(dir, syntax)
	}
	return fmt.Errorf("gompss: %w", err)
}

// IsSource reports whether kernels can be in a file of this name that wrappers are made of.
func IsSource(name string) bool {
	return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && !strings.HasSuffix(name, "_gompss.go")
}

// WithoutCR returns text with the line ends that it has on Unix: git writes others on Windows.
func WithoutCR(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) }

// HasKernels reports whether a file has kernels, or does not parse, which loading it reports.
func HasKernels(f codegen.File) bool {
	if !strings.Contains(f.Text, "//omp:") {
		return false
	}
	syntax, err := parser.ParseFile(token.NewFileSet(), f.Name, f.Text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return true // loading it reports the error
	}
	return slices.ContainsFunc(syntax.Decls, func(d ast.Decl) bool {
		fn, ok := d.(*ast.FuncDecl)
		return ok && codegen.IsKernel(fn)
	})
}

// Embedder returns the file of a package that embeds the source of name, so as to make its kernels
// by task.NewKernel; "" where none does.
func Embedder(name string, sources []codegen.File) string {
	for _, f := range sources {
		for line := range strings.Lines(f.Text) {
			patterns, ok := strings.CutPrefix(line, "//go:embed ")
			if ok && slices.Contains(strings.Fields(patterns), name) {
				return f.Name
			}
		}
	}
	return ""
}
