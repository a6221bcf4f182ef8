package main

import (
	"fmt"
	"go/build"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"strings"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
)

// This file is about the builds that files are in.

func excludedError(c *build.Context, path string) error {
	tags := ""
	if len(c.BuildTags) > 0 {
		tags = " with -tags " + strings.Join(c.BuildTags, ",")
	}
	return fmt.Errorf("gompss: %s: its name or its build constraint leaves it out of builds for %s/%s%s", path, c.GOOS, c.GOARCH, tags)
}

// constraintWarnings tells which of the files that the kernels of one need are not in every build
// that has them, while the wrappers embed them in all.
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

// builtWhere returns the build constraint of a file, nil where it has none, and the line of the
// constraint.
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

// mostTags is the number of tags that implies goes through.
const mostTags = 12

// implies reports whether every build that a, nil for all, takes is one that b takes. Versions of
// Go that there are count as there. With very many tags it says no.
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
