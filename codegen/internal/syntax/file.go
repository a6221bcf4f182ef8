package syntax

import (
	"go/token"
	"path"
	"path/filepath"
	"strings"

	"github.com/gompss/gompss/codegen/ir"
)

// A File is one source file of a package: its name, for positions, and its text. Package is the
// import path of the package, "" for that of the kernels.
type File struct{ Name, Text, Package string }

// FileName names a file in positions: one of another package with the last part of the import path
// before it.
func (f *File) FileName() string {
	if f.Package == "" {
		return path.Base(f.Name)
	}
	return path.Base(f.Package) + "/" + path.Base(f.Name)
}

// PositionOf returns where pos is. Line comments count in files of other packages, of which there
// may be parts alone.
func PositionOf(fset *token.FileSet, pos token.Pos) ir.Pos {
	at := fset.PositionFor(pos, false)
	if strings.Contains(at.Filename, "/") {
		at = fset.PositionFor(pos, true)
	}
	return ir.Pos{File: filepath.ToSlash(at.Filename), Line: at.Line, Col: at.Column}
}
