package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"go/build"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/internal/source"
)

// gen writes, or with -check only compares, the generated file of every file with kernels.
func gen(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("gen", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	check := flags.Bool("check", false, "")
	werror := flags.Bool("werror", false, "")
	tags := flags.String("tags", source.GoTags(), "")
	watch := flags.Bool("watch", false, "")
	if err := flags.Parse(args); err != nil {
		return usageError("%v", err)
	}
	targets, err := findTargets(flags.Args())
	if err != nil {
		return err
	}
	g := &genRun{check: *check, werror: *werror, build: source.WithTags(*tags), stdout: stdout, stderr: stderr}
	if *watch {
		if *check {
			return usageError("-watch writes, and -check does not")
		}
		ctx, end := untilInterrupted()
		defer end()
		return g.watch(ctx, flags.Args())
	}
	if err := g.all(targets); err != nil || g.kernels > 0 {
		return err
	}
	fmt.Fprintln(stderr, noKernels(flags.Args()))
	return nil
}

// all generates the wrappers of targets.
func (g *genRun) all(targets []target) error {
	var errs []error
	g.kernels, g.warnings = 0, 0
	for _, t := range targets {
		if err := g.target(t); err != nil {
			errs = append(errs, err)
		}
	}
	if g.werror && g.warnings > 0 {
		errs = append(errs, fmt.Errorf("gompss gen: -werror makes %s an error", counted(g.warnings, "warning")))
	}
	return distinct(errs)
}

// counted returns n things as text.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// noKernels says that there is nothing to do in the places that were asked for.
func noKernels(places []string) string {
	where := strings.Join(places, ", ")
	if where == "" {
		where = "."
	}
	return fmt.Sprintf("gompss: %s: no kernels: put //omp:target above a function", where)
}

// distinct joins errors, each once: what two files of a package need is looked at for both.
func distinct(errs []error) error {
	var out []error
	seen := map[string]bool{}
	for _, line := range strings.Split(errorText(errors.Join(errs...)), "\n") {
		if line != "" && !seen[line] {
			out = append(out, errors.New(line))
		}
		seen[line] = true
	}
	return errors.Join(out...)
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
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
			return nil, fmt.Errorf("gompss: %w", err)
		case at.IsDir():
			out = append(out, target{dir: arg})
		case !source.IsSource(arg):
			return nil, fmt.Errorf("gompss: %s: not a Go file that kernels are written in", arg)
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
		return nil, fmt.Errorf("gompss: %w", err)
	}
	return out, nil
}

// genRun carries the options of one call.
type genRun struct {
	check, werror  bool
	build          *build.Context
	stdout, stderr io.Writer
	kernels        int // files with kernels that were seen
	warnings       int // that were printed
}

func (g *genRun) target(t target) error {
	found, err := source.ReadFolder(g.build, t.dir)
	if err != nil {
		return err
	}
	sources, errs := found.Built, []error{found.ErrorsOf(t.files)}
	var made []string
	for name := range found.Broken { // whose kernels are not known
		made = append(made, codegen.GeneratedName(name))
	}
	for _, f := range found.Excluded {
		if source.HasKernels(f) { // their wrappers are made where they are built
			made = append(made, codegen.GeneratedName(f.Name))
		}
		if slices.Contains(t.files, f.Name) {
			errs = append(errs, excludedError(g.build, filepath.Join(t.dir, f.Name)))
		}
	}
	for _, f := range sources {
		if found.Broken[f.Name] != nil {
			continue
		}
		if !source.HasKernels(f) {
			if t.files == nil || slices.Contains(t.files, f.Name) {
				errs = append(errs, g.without(t.dir, f, slices.Contains(t.files, f.Name)))
			}
			continue
		}
		made = append(made, codegen.GeneratedName(f.Name))
		if by := source.Embedder(f.Name, sources); by != "" && t.files == nil && !g.exists(t.dir, f.Name) {
			g.leave(t.dir, f.Name, by)
		} else if t.files == nil || slices.Contains(t.files, f.Name) {
			errs = append(errs, g.file(t.dir, f.Name, sources))
		}
	}
	if t.files == nil {
		errs = append(errs, unknownDirectives(t.dir, found.Excluded), g.orphans(t.dir, made))
	}
	g.kernels += len(made)
	return errors.Join(errs...)
}

// without handles a file without kernels: it prints the warnings of its directives, and returns an
// error if the directives are wrong or the command line names the file.
func (g *genRun) without(dir string, f codegen.File, named bool) error {
	if codegen.HasDirectives(f.Text) {
		loaded, err := codegen.Load(f)
		if err != nil {
			return source.InFolder(dir, err)
		}
		for _, w := range loaded.Warnings() {
			g.warnings++
			fmt.Fprintln(&source.Placed{Dir: dir, To: g.stderr}, w.Error())
		}
	}
	if named {
		return fmt.Errorf("gompss: %s: no kernels: put //omp:target above a function", filepath.Join(dir, f.Name))
	}
	return nil
}

// unknownDirectives returns the unknown directives of files that this build leaves out, and of
// tests, in which nothing else counts.
func unknownDirectives(dir string, excluded []codegen.File) error {
	tests, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return fmt.Errorf("gompss gen: %w", err)
	}
	var errs []error
	for _, path := range tests {
		text, err := os.ReadFile(path)
		if err != nil {
			errs = append(errs, fmt.Errorf("gompss gen: %w", err))
			continue
		}
		excluded = append(excluded, codegen.File{Name: filepath.Base(path), Text: string(text)})
	}
	for _, f := range excluded {
		errs = append(errs, source.InFolder(dir, codegen.UnknownDirectives(f)))
	}
	return errors.Join(errs...)
}

// exists reports whether a file has wrappers already.
func (g *genRun) exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, codegen.GeneratedName(name)))
	return err == nil
}

// leave tells that no wrappers are made of a file.
func (g *genRun) leave(dir, name, by string) {
	if !g.check {
		path := filepath.Join(dir, name)
		fmt.Fprintf(g.stderr, "%s: left out: %s embeds it, so as to make its kernels by task.NewKernel; gompss gen %s makes wrappers all the same\n", path, by, path)
	}
}

// file generates the wrappers of one file.
func (g *genRun) file(dir, name string, pkg []codegen.File) error {
	sources, err := codegen.SourcesFor(name, pkg, source.ModuleOf(g.build, dir).Files)
	if err != nil {
		return source.InFolder(dir, err)
	}
	loaded, broken := codegen.LoadFile(name, sources...)
	if loaded == nil || broken != nil && len(kernelsOf(loaded, name, "")) == 0 {
		return source.InFolder(dir, broken)
	}
	stderr := &source.Placed{Dir: dir, To: g.stderr}
	warn := func(d codegen.Diagnostic) {
		if !loaded.Silences(d) {
			g.warnings++
			fmt.Fprintln(stderr, d.Error())
		}
	}
	for _, w := range slices.Concat(constraintWarnings(name, sources), loaded.Warnings()) {
		warn(w)
	}
	if err := nativeFiles(dir, kernelsOf(loaded, name, "")); err != nil {
		return source.InFolder(dir, err)
	}
	text, err := codegen.Generate(loaded, codegen.GenerateOptions{File: name, Sources: sources, Package: pkg, Warn: warn})
	if err != nil {
		return source.InFolder(dir, err)
	}
	path := filepath.Join(dir, codegen.GeneratedName(name))
	if g.check {
		return errors.Join(source.InFolder(dir, broken), compare(dir, name, string(text)))
	}
	if err := g.write(path, text); err != nil || broken == nil {
		return errors.Join(source.InFolder(dir, broken), err)
	}
	var without error
	if names := missing(name, pkg, loaded); len(names) > 0 {
		without = fmt.Errorf("gompss gen: %s: has no Submit function for %s, because of the errors above, but those of the other kernels: mend the errors and run %s %s again",
			path, strings.Join(names, ", "), codegen.GenerateCommand, filepath.Join(dir, name))
	}
	return errors.Join(source.InFolder(dir, broken), without)
}

// missing returns the kernels of a file that have no wrappers.
func missing(name string, pkg []codegen.File, loaded *codegen.Package) (names []string) {
	there := kernelsOf(loaded, name, "")
	for _, f := range pkg {
		if f.Name != name {
			continue
		}
		for _, m := range namedKernel.FindAllStringSubmatch(f.Text, -1) {
			if !slices.ContainsFunc(there, func(k *ir.Kernel) bool { return k.Name == m[1] || strings.HasPrefix(k.Name, m[1]+"[") }) {
				names = append(names, m[1])
			}
		}
	}
	return names
}

// nativeFiles returns an error of the texts in other languages that the folder lacks.
func nativeFiles(dir string, kernels []*ir.Kernel) error {
	var list codegen.ErrorList
	for _, k := range kernels {
		n := k.Target.Native
		if n == nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, n.File)); err != nil {
			list = append(list, codegen.Diagnostic{Pos: k.At, What: "clause native", Why: "there is no file " + n.File + " beside this one", Instead: "write it, or correct its name"})
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list
}

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

// compare says whether and why the wrappers of file name in dir are not what text, made now, is.
// Lines of sources may have moved since.
func compare(dir, name, text string) error {
	path, command := filepath.Join(dir, codegen.GeneratedName(name)), codegen.GenerateCommand+" "+filepath.Join(dir, name)
	content, err := os.ReadFile(path)
	old := string(source.WithoutCR(content))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("gompss gen: %s: missing: run %s", path, command)
	case err != nil:
		return fmt.Errorf("gompss gen: %w", err)
	case codegen.SameGenerated(old, text):
		return nil
	case codegen.GeneratedHash(old) != codegen.GeneratedHash(text):
		return fmt.Errorf("gompss gen: %s: stale: a kernel, or what it uses, has changed: run %s", path, command)
	}
	return fmt.Errorf("gompss gen: %s: stale: it was edited, was made by another version, or needs other files: run %s", path, command)
}

// orphans removes generated files whose source has no kernels any more, or with -check reports
// them.
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
			errs = append(errs, fmt.Errorf("gompss gen: %s: stale: its source has no kernels: run %s", path, codegen.GenerateCommand))
		default:
			errs = append(errs, os.Remove(path))
			fmt.Fprintln(g.stdout, "removed", path)
		}
	}
	return errors.Join(errs...)
}
