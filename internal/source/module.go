package source

import (
	"go/build"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/gompss/gompss/codegen"
)

// This file finds the packages of the module that a folder is in: kernels may use what these
// declare.

// A Module is a tree of packages.
type Module struct {
	root, path string
	build      *build.Context
}

// ModuleOf returns the module that dir is in; its path is "" where there is none.
func ModuleOf(c *build.Context, dir string) Module {
	root, err := filepath.Abs(dir)
	for err == nil {
		if text, err := os.ReadFile(filepath.Join(root, "go.mod")); err == nil {
			return Module{root: root, path: modulePath(string(text)), build: c}
		}
		if filepath.Dir(root) == root {
			break
		}
		root = filepath.Dir(root)
	}
	return Module{build: c}
}

// modulePath returns the path in the module directive of the text of a go.mod file.
func modulePath(text string) string {
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "//")
		if words := strings.Fields(line); len(words) == 2 && words[0] == "module" {
			return strings.Trim(words[1], "\"`")
		}
	}
	return ""
}

// Folder returns the folder of the package of an import path; "" where it is not of the module.
func (m Module) Folder(importPath string) string {
	below, ok := strings.CutPrefix(importPath+"/", m.path+"/")
	if m.path == "" || !ok {
		return ""
	}
	dir := m.root
	for part := range strings.SplitSeq(path.Clean(below), "/") {
		dir = filepath.Join(dir, part)
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil && dir != m.root {
			return "" // of a module of its own
		}
	}
	return dir
}

// Files returns the files of the package of an import path; none where it is not of the module or
// cannot be read, which the go command says more of.
func (m Module) Files(importPath string) []codegen.File {
	dir := m.Folder(importPath)
	if dir == "" {
		return nil
	}
	found, err := ReadFolder(m.build, dir)
	if err != nil {
		return nil
	}
	return found.Built
}
