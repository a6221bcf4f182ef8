package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/build"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
)

// gen writes, or with -check only compares, the generated file of every file with kernels.
func gen(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("gen", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	check := flags.Bool("check", false, "")
	if err := flags.Parse(args); err != nil {
		return usageError("%v", err)
	}
	targets, err := findTargets(flags.Args())
	if err != nil {
		return err
	}
	g := &genRun{check: *check, stdout: stdout, stderr: stderr}
	var errs []error
	for _, t := range targets {
		if err := g.target(t); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// A target is a folder, and the files in it that are asked for.
type target struct {
	dir   string
	files []string // base names; nil means all with kernels
}

// findTargets expands files, folders and folder/... patterns; none means the current folder.
func findTargets(args []string) ([]target, error) {
	if len(args) == 0 {
		args = []string{"."}
	}
	var out []target
	for _, arg := range args {
		if root, ok := strings.CutSuffix(arg, "..."); ok {
			below, err := foldersBelow(filepath.Clean(root + "."))
			if err != nil {
				return nil, err
			}
			out = append(out, below...)
			continue
		}
		at, err := os.Stat(arg)
		switch {
		case err != nil:
			return nil, fmt.Errorf("gompss gen: %w", err)
		case at.IsDir():
			out = append(out, target{dir: arg})
		case !isSource(arg):
			return nil, fmt.Errorf("gompss gen: %s: not a Go file that kernels are written in", arg)
		default:
			out = append(out, target{dir: filepath.Dir(arg), files: []string{filepath.Base(arg)}})
		}
	}
	return out, nil
}

func foldersBelow(root string) ([]target, error) {
	var out []target
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		name := d.Name()
		if path != root && (name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")) {
			return fs.SkipDir
		}
		out = append(out, target{dir: path})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("gompss gen: %w", err)
	}
	return out, nil
}

func isSource(name string) bool {
	return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && !strings.HasSuffix(name, "_gompss.go")
}

// genRun carries the options of one call.
type genRun struct {
	check          bool
	stdout, stderr io.Writer
}

func (g *genRun) target(t target) error {
	sources, excluded, err := readPackage(t.dir)
	if err != nil {
		return err
	}
	var errs []error
	var made []string
	for _, f := range excluded {
		if hasKernels(f) { // their wrappers are made where they are built
			made = append(made, codegen.GeneratedName(f.Name))
		}
		if slices.Contains(t.files, f.Name) {
			errs = append(errs, excludedError(filepath.Join(t.dir, f.Name)))
		}
	}
	for _, f := range sources {
		if !hasKernels(f) {
			continue
		}
		made = append(made, codegen.GeneratedName(f.Name))
		if t.files == nil || slices.Contains(t.files, f.Name) {
			errs = append(errs, g.file(t.dir, f.Name, sources))
		}
	}
	if t.files == nil {
		errs = append(errs, g.orphans(t.dir, made))
	}
	return errors.Join(errs...)
}

// readPackage reads the Go files of a folder that kernels can be in, by their base names: those that go build takes on this
// machine, and those that it leaves out.
func readPackage(dir string) (built, excluded []codegen.File, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("gompss: %w", err)
	}
	for _, e := range entries {
		if e.IsDir() || !isSource(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, nil, fmt.Errorf("gompss: %w", err)
		}
		f := codegen.File{Name: e.Name(), Text: string(withoutCR(text))}
		switch ok, err := build.Default.MatchFile(dir, e.Name()); {
		case err != nil:
			return nil, nil, fmt.Errorf("gompss: %w", err)
		case ok:
			built = append(built, f)
		default:
			excluded = append(excluded, f)
		}
	}
	return built, excluded, nil
}

func excludedError(path string) error {
	return fmt.Errorf("gompss: %s: its name or its build constraint leaves it out of builds for %s/%s", path, build.Default.GOOS, build.Default.GOARCH)
}

// warnOfConstraints tells which files are not in every build, while the wrappers embed them in all.
func warnOfConstraints(w io.Writer, sources []codegen.File) {
	for _, f := range sources {
		if why, line := conditional(f); why != "" {
			d := codegen.Diagnostic{Pos: ir.Pos{File: f.Name, Line: line, Col: 1}, Severity: codegen.Warning, What: "file " + f.Name,
				Why: why + " leaves it out of some builds, and accelerators and vector code run it in all", Instead: "keep what kernels need in files of every build"}
			fmt.Fprintln(w, d.Error())
		}
	}
}

// conditional says what leaves f out of some builds, and on which line; "" where nothing does.
func conditional(f codegen.File) (why string, line int) {
	elsewhere := build.Default
	elsewhere.GOOS, elsewhere.GOARCH = "elsewhere", "elsewhere"
	elsewhere.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("package p\n")), nil }
	if ok, err := elsewhere.MatchFile("", f.Name); err == nil && !ok {
		return "its name", 1
	}
	fset := token.NewFileSet()
	syntax, err := parser.ParseFile(fset, f.Name, f.Text, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		return "", 0
	}
	for _, group := range syntax.Comments {
		for _, c := range group.List {
			expr, err := constraint.Parse(c.Text)
			if err != nil || c.Pos() > syntax.Package {
				continue
			}
			varies := false
			expr.Eval(func(tag string) bool { varies = varies || !strings.HasPrefix(tag, "go1."); return true })
			if varies {
				return c.Text, fset.Position(c.Pos()).Line
			}
		}
	}
	return "", 0
}

// withoutCR returns text with the line ends that it has on Unix: git writes others on Windows.
func withoutCR(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) }

func hasKernels(f codegen.File) bool {
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

// file generates the wrappers of one file.
func (g *genRun) file(dir, name string, pkg []codegen.File) error {
	sources, err := codegen.SourcesFor(name, pkg)
	if err != nil {
		return inFolder(dir, err)
	}
	loaded, err := codegen.Load(sources...)
	if err != nil {
		return inFolder(dir, err)
	}
	warnOfConstraints(g.stderr, sources)
	for _, w := range loaded.Warnings() {
		fmt.Fprintln(g.stderr, w.Error())
	}
	warn := func(d codegen.Diagnostic) { fmt.Fprintln(g.stderr, d.Error()) }
	text, err := codegen.Generate(loaded, codegen.GenerateOptions{File: name, Sources: sources, Warn: warn})
	if err != nil {
		return inFolder(dir, err)
	}
	path := filepath.Join(dir, codegen.GeneratedName(name))
	if g.check {
		return compare(path, text, sources)
	}
	return g.write(path, text)
}

// inFolder says where the files of an error are, whose positions have base names.
func inFolder(dir string, err error) error { return fmt.Errorf("gompss: in %s:\n%w", dir, err) }

func (g *genRun) write(path string, text []byte) error {
	old, err := os.ReadFile(path)
	if err == nil && bytes.Equal(old, text) {
		return nil
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return fmt.Errorf("gompss gen: %w", err)
	}
	fmt.Fprintln(g.stdout, path)
	return nil
}

// compare says whether and why the file at path is not text.
func compare(path string, text []byte, sources []codegen.File) error {
	old, err := os.ReadFile(path)
	old = withoutCR(old)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("gompss gen: %s: missing: run gompss gen", path)
	case err != nil:
		return fmt.Errorf("gompss gen: %w", err)
	case bytes.Equal(old, text):
		return nil
	case codegen.GeneratedHash(string(old)) != codegen.SourcesHash(sources):
		return fmt.Errorf("gompss gen: %s: stale: its sources have changed: run gompss gen", path)
	}
	return fmt.Errorf("gompss gen: %s: stale: it was edited or made by another version: run gompss gen", path)
}

// orphans removes generated files whose source has no kernels any more, or with -check reports them.
func (g *genRun) orphans(dir string, made []string) error {
	found, err := filepath.Glob(filepath.Join(dir, "z*_gompss.go"))
	if err != nil {
		return fmt.Errorf("gompss gen: %w", err)
	}
	var errs []error
	for _, path := range found {
		if slices.Contains(made, filepath.Base(path)) {
			continue
		}
		text, err := os.ReadFile(path)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("gompss gen: %w", err))
		case !strings.HasPrefix(string(text), codegen.GeneratedHeader):
		case g.check:
			errs = append(errs, fmt.Errorf("gompss gen: %s: stale: its source has no kernels: run gompss gen", path))
		default:
			errs = append(errs, os.Remove(path))
			fmt.Fprintln(g.stdout, "removed", path)
		}
	}
	return errors.Join(errs...)
}
