package main

import (
	"errors"
	"fmt"
	"go/build"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
)

// This file is about the builds that files are in.

// goTags returns the build tags that GOFLAGS has for the go command.
func goTags() (tags string) {
	for _, flag := range strings.Fields(os.Getenv("GOFLAGS")) {
		if list, ok := strings.CutPrefix(strings.TrimLeft(flag, "-"), "tags="); ok {
			tags = list
		}
	}
	return tags
}

// withTags returns what chooses files in builds with a list of tags, as go build -tags takes it.
func withTags(tags string) *build.Context {
	c := build.Default
	c.BuildTags = strings.FieldsFunc(tags, func(r rune) bool { return r == ',' || r == ' ' })
	return &c
}

// A folder is the Go files of a folder that kernels can be in, by their base names.
type folder struct {
	built    []codegen.File   // that a build takes
	excluded []codegen.File   // that it leaves out
	broken   map[string]error // of which the go command cannot tell; where they have a text they count as built
}

// errorsOf returns what is wrong with the broken files among names, nil for all.
func (f *folder) errorsOf(names []string) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(f.broken)) {
		if names == nil || slices.Contains(names, name) {
			errs = append(errs, f.broken[name])
		}
	}
	return errors.Join(errs...)
}

// readFolder reads the files of a folder. A file that cannot be read does not keep it from the others.
func readFolder(c *build.Context, dir string) (*folder, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("gompss: %w", err)
	}
	out := &folder{broken: map[string]error{}}
	for _, e := range entries {
		if e.IsDir() || !isSource(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			out.broken[e.Name()] = fmt.Errorf("gompss: %w", err)
			continue
		}
		f := codegen.File{Name: e.Name(), Text: string(withoutCR(text))}
		switch ok, err := c.MatchFile(dir, e.Name()); {
		case err != nil:
			out.broken[f.Name] = unreadable(dir, f, err)
			out.built = append(out.built, f)
		case ok:
			out.built = append(out.built, f)
		default:
			out.excluded = append(out.excluded, f)
		}
	}
	return out, nil
}

// unreadable is what is wrong with a file whose head the go command cannot read: its syntax, with positions, or else what that says.
func unreadable(dir string, f codegen.File, err error) error {
	if _, syntax := codegen.Load(f); syntax != nil {
		return inFolder(dir, syntax)
	}
	return fmt.Errorf("gompss: %w", err)
}

func excludedError(c *build.Context, path string) error {
	tags := ""
	if len(c.BuildTags) > 0 {
		tags = " with -tags " + strings.Join(c.BuildTags, ",")
	}
	return fmt.Errorf("gompss: %s: its name or its build constraint leaves it out of builds for %s/%s%s", path, c.GOOS, c.GOARCH, tags)
}

// constraintWarnings tells which of the files that the kernels of one need are not in every build that has them, while the wrappers
// embed them in all.
func constraintWarnings(file string, sources []codegen.File) (out []codegen.Diagnostic) {
	var own constraint.Expr
	for _, f := range sources { // the file with the kernels is the first
		built, line := builtWhere(f)
		if f.Name == file {
			own = built
		} else if built != nil && !implies(own, built) {
			d := codegen.Diagnostic{Pos: ir.Pos{File: f.Name, Line: line, Col: 1}, Severity: codegen.Warning, What: "file " + f.Name,
				Why: "//go:build " + built.String() + " leaves it out of some builds, and accelerators and vector code run it in all", Instead: "keep what kernels need in files of every build"}
			out = append(out, d)
		}
	}
	return out
}

// builtWhere says which builds take a file, nil where all do, and on which line it says so.
func builtWhere(f codegen.File) (built constraint.Expr, line int) {
	fset := token.NewFileSet()
	syntax, err := parser.ParseFile(fset, f.Name, f.Text, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		return nil, 0
	}
	line = 1
	for _, group := range syntax.Comments {
		for _, c := range group.List {
			if constraint.IsGoBuild(c.Text) && c.Pos() < syntax.Package {
				line = fset.Position(c.Pos()).Line
			}
		}
	}
	return codegen.Constraint(f.Name, syntax), line
}

// mostTags is how many tags implies goes through.
const mostTags = 12

// implies reports whether every build that a, nil for all, takes is one that b takes. Versions of Go that there are count as there. With
// very many tags it says no.
func implies(a, b constraint.Expr) bool {
	var tags []string
	number := map[string]int{}
	note := func(tag string) bool {
		if _, known := number[tag]; !known && !strings.HasPrefix(tag, "go1.") {
			number[tag] = len(tags)
			tags = append(tags, tag)
		}
		return true
	}
	if b.Eval(note); a != nil {
		a.Eval(note)
	}
	for set := 0; len(tags) <= mostTags && set < 1<<len(tags); set++ {
		has := func(tag string) bool { n, known := number[tag]; return !known || set>>n&1 != 0 }
		if (a == nil || a.Eval(has)) && !b.Eval(has) {
			return false
		}
	}
	return len(tags) <= mostTags
}
