// Package vet checks kernels where go vet, gopls and golangci-lint check Go: its Analyzer reports
// what gompss gen would.
//
// That is directives and clauses that are wrong, code that is not in the kernel language, accesses
// that a kernel does not declare, races between iterations, with the warnings of the compiler, and
// wrappers that are missing or stale.
package vet

import (
	"errors"
	"fmt"
	"go/build"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/internal/source"
)

// Analyzer checks the kernels of a package.
var Analyzer = &analysis.Analyzer{
	Name: "gompss",
	Doc:  "check directives, kernels, accesses and generated wrappers of GOMPSs",
	URL:  "https://pkg.go.dev/github.com/gompss/gompss/codegen/vet",
	Run:  run,
}

// A checker is one package that is checked.
type checker struct {
	pass  *analysis.Pass
	dir   string
	files []codegen.File         // that kernels can be in
	at    map[string]*token.File // by base name
	said  map[string]bool        // what two files of a package need is looked at for both
}

func run(pass *analysis.Pass) (any, error) {
	c := &checker{pass: pass, at: map[string]*token.File{}, said: map[string]bool{}}
	var tests []codegen.File
	for _, f := range pass.Files {
		at := pass.Fset.File(f.FileStart)
		name := filepath.Base(at.Name())
		if !source.IsSource(name) && !strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := pass.ReadFile(at.Name())
		if err != nil {
			return nil, err
		}
		file := codegen.File{Name: name, Text: string(source.WithoutCR(text))}
		if c.at[name], c.dir = at, filepath.Dir(at.Name()); source.IsSource(name) {
			c.files = append(c.files, file)
		} else {
			tests = append(tests, file)
		}
	}
	slices.SortFunc(c.files, func(a, b codegen.File) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range tests {
		c.report(codegen.UnknownDirectives(f))
	}
	for _, f := range c.files {
		switch {
		case source.HasKernels(f):
			c.kernels(f)
		case codegen.HasDirectives(f.Text):
			loaded, err := codegen.Load(f)
			c.report(err)
			if loaded != nil {
				c.diagnostics(loaded.Warnings())
			}
		}
	}
	return nil, nil
}

// kernels checks a file with kernels, and its wrappers.
func (c *checker) kernels(f codegen.File) {
	context := build.Default
	sources, err := codegen.SourcesFor(f.Name, c.files, source.ModuleOf(&context, c.dir).Files)
	if err != nil {
		c.report(err)
		return
	}
	loaded, err := codegen.LoadFile(f.Name, sources...)
	c.report(err)
	if loaded == nil {
		return
	}
	var refused []codegen.Diagnostic
	c.diagnostics(loaded.Warnings())
	text, wrapped := codegen.Generate(loaded, codegen.GenerateOptions{File: f.Name, Sources: sources, Warn: func(d codegen.Diagnostic) {
		if !loaded.Silences(d) {
			refused = append(refused, d)
		}
	}})
	c.diagnostics(refused)
	switch {
	case err != nil:
	case wrapped != nil:
		c.report(wrapped)
	default:
		c.wrapper(f, string(text))
	}
}

// wrapper reports a generated file that is not what gompss gen would write. A file that another one
// embeds needs none.
func (c *checker) wrapper(f codegen.File, text string) {
	name := codegen.GeneratedName(f.Name)
	old, err := os.ReadFile(filepath.Join(c.dir, name))
	why := "is stale: a kernel, or what it uses, has changed"
	switch {
	case errors.Is(err, fs.ErrNotExist) && source.Embedder(f.Name, c.files) != "":
		return
	case errors.Is(err, fs.ErrNotExist):
		why = "is missing"
	case err != nil:
		why = err.Error()
	case codegen.SameGenerated(string(source.WithoutCR(old)), text):
		return
	}
	c.pass.Report(analysis.Diagnostic{Pos: c.position(f.Name, 1, 1), Category: "wrapper", Message: fmt.Sprintf("%s %s: run %s %s", name, why, codegen.GenerateCommand, f.Name)})
}

// report reports an error of the compiler, by its parts.
func (c *checker) report(err error) {
	var list codegen.ErrorList
	switch {
	case err == nil:
	case errors.As(err, &list):
		c.diagnostics(list)
	default:
		c.say(token.NoPos, "kernel", err.Error())
	}
}

func (c *checker) diagnostics(list []codegen.Diagnostic) {
	for _, d := range list {
		at := d.Pos
		d.Pos.File, d.Pos.Line, d.Pos.Col = "", 0, 0
		c.say(c.position(filepath.Base(at.File), at.Line, at.Col), "kernel", d.Error())
	}
}

func (c *checker) say(pos token.Pos, category, message string) {
	if key := fmt.Sprint(pos, message); !c.said[key] {
		c.said[key] = true
		if pos == token.NoPos && len(c.pass.Files) > 0 {
			pos = c.pass.Files[0].Package
		}
		c.pass.Report(analysis.Diagnostic{Pos: pos, Category: category, Message: message})
	}
}

// position returns a place in a file of the package; the beginning of the first one for a file of
// another package.
func (c *checker) position(name string, line, col int) token.Pos {
	at := c.at[name]
	if at == nil || line < 1 || line > at.LineCount() {
		return token.NoPos
	}
	return min(at.LineStart(line)+token.Pos(max(0, col-1)), token.Pos(at.Base()+at.Size()))
}
