// Package kernels describes kernels apart from any runtime: their source as loop IR, their
// parameters and package variables, and the variants that are made of them.
//
// A Kernel does not change after the first task of it was submitted.
package kernels

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/printing"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/printer"
	"github.com/gompss/gompss/task/internal/values"
)

// hashOf returns the FNV-1a hash of s.
func hashOf(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

// A Scratch has the buffers for the description of a task, of no use afterwards.
type Scratch struct {
	Env     values.Arguments
	Proof   codegen.Proof
	Regions codegen.Regions
	Boxes   [][]codegen.Box // of the regions
	Printed uint64          // the number of a task that prints
}

var ScratchPool = sync.Pool{New: func() any { return new(Scratch) }}

// printingKernel returns the kernel that prints in place of loop if the environment enables
// printing. One with versions does not print: its versions take the same arguments.
func printingKernel(loop *ir.Kernel, s *Spec) (*ir.Kernel, error) {
	size, err := printer.Size()
	if err != nil {
		return nil, fmt.Errorf("task: kernel %s: %w", s.Name, err)
	}
	if size == 0 || loop.Printing == nil || loop.Target.Implements != "" || len(s.Versions) > 0 {
		return loop, nil
	}
	return loop.Printing, nil
}

// Prints reports whether k is a kernel with records of its output.
func (k *Kernel) Prints() bool {
	return len(k.Variables) > 0 && k.Variables[len(k.Variables)-1].Name == printing.Task
}

// A Constant says whether a constant of another package has the value that a kernel was made with.
type Constant struct {
	Name string
	Same bool
}

// A Kernel is a kernel without the verbs of a runtime: its source and all that is made of it.
type Kernel struct {
	Name      string
	Hash      uint64 // of name and position
	Pos       ir.Pos
	Device    devices.Kernel
	IR        *ir.Kernel
	Contract  *codegen.Contract
	Overlaps  *codegen.Overlaps // nil where arguments may overlap
	Params    []param           // of the loop IR
	Given     []given           // the arguments of a submission
	Warnings  []codegen.Diagnostic
	Versions  []*Kernel        // others for the same task
	Variables []*values.Global // of the package: arguments behind those for params
	Reduces   bool             // a task of it has reductions
	Atomics   bool             // it has some, which neither its Go function nor its vector code makes
	Deferral  *Deferral        // how accelerators run it with nested(cpu); nil for every other kernel
}

// A Spec is the source of a description: see KernelSpec of package task.
type Spec struct {
	Name           string
	TypeArgs       []string
	Files          []codegen.File
	Sources, Lines string
	Go             func(a *devices.Args)
	Split, Part    func(a *devices.Args, lo, hi int64)
	Trips          func(a *devices.Args) int64
	Natives        []devices.Native
	Versions       []*Kernel
	Variables      []values.Variable
	Constants      []Constant
	Generated      string // the file of the wrapper, "" without
}

// New makes the kernel that s describes.
func New(s *Spec) (*Kernel, error) {
	if s.Go == nil {
		return nil, fmt.Errorf("task: kernel %s: no Go function", s.Name)
	}
	pkg, err := codegen.LoadKernel(s.Name, s.Files...)
	if s.Sources != "" && pkg != nil && s.Sources != pkg.Hash(s.Name) {
		return nil, &StaleError{spec: s}
	}
	if i := slices.IndexFunc(s.Constants, func(c Constant) bool { return !c.Same }); i >= 0 {
		return nil, &StaleError{s, "constant " + s.Constants[i].Name + ", which it uses, has another value now"}
	}
	if path := s.changedElsewhere(); path != "" {
		return nil, &StaleError{s, "what it uses of package " + path + " has changed"}
	}
	if err != nil {
		return nil, err
	}
	var loop *ir.Kernel
	if len(s.TypeArgs) > 0 {
		loop, err = pkg.Instance(s.Name, s.TypeArgs...)
	} else {
		loop, err = pkg.Kernel(s.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("task: %w", err)
	}
	loop, err = printingKernel(loop, s)
	if err != nil {
		return nil, err
	}
	k := describe(s, loop, pkg)
	if err := k.deferToCPU(s, pkg); err != nil {
		k.Device.Refused = err
	} else if k.Deferral != nil {
		k.Device.Refused = errNotDeferred
	} else if k.Device.Refused = k.nativeOnly(); k.Device.Refused == nil {
		k.lower()
	}
	if err := k.takeNatives(s.Natives); err != nil {
		return nil, err
	}
	if err := k.takeVariables(s.Variables); err != nil {
		return nil, err
	}
	for _, v := range s.Versions {
		if err := k.AddVersion(v); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// describe makes the kernel of loop, without variants for accelerators.
func describe(s *Spec, loop *ir.Kernel, pkg *codegen.Package) *Kernel {
	k := &Kernel{Name: s.Name, Hash: hashOf(s.Name + loop.At.String()), Pos: loop.At, IR: loop, Contract: codegen.NewContract(loop), Overlaps: codegen.NewOverlaps(loop), Warnings: pkg.Warnings()}
	k.Device = devices.Kernel{Name: s.Name, Pos: loop.At, Loop: loop, Go: s.Go, Split: s.Split, Trips: s.Trips, Hidden: len(loop.Globals)}
	if s.Lines != "" {
		now := pkg.CodeLines(s.Name)
		k.Device.MovedLine = func(function string, line int) int {
			if !strings.HasSuffix(function, "."+codegen.RangeName(s.Name)) {
				return line
			}
			return cmp.Or(codegen.MovedLine(s.Lines, now, line), k.Pos.Line)
		}
	}
	k.keepOrder()
	k.Atomics = hasAtomics(loop)
	k.Reduces = slices.ContainsFunc(loop.Task.Accesses, func(a ir.Access) bool { return a.Mode == deps.Reduction })
	k.takeParams()
	return k
}

// keepOrder takes care that Split cuts a descriptive loop only where its iterations are
// independent: not at all, or where the arguments show it.
func (k *Kernel) keepOrder() {
	conds, why := codegen.Independent(k.IR)
	if why != "" {
		k.Device.Split, k.Device.Trips = nil, nil
	}
	trips := k.Device.Trips
	if trips == nil || len(conds) == 0 {
		return
	}
	k.Device.Trips = func(a *devices.Args) int64 {
		env := &values.Arguments{Params: k.IR.Params, List: a.List}
		for _, c := range conds {
			if bits, err := ir.Eval(c, env); err != nil || bits == 0 {
				return 1 // the Go function runs all of it
			}
		}
		return trips(a)
	}
}

// A StaleError means that the source which the kernel of a wrapper reaches in its files is not the
// source that its Go functions were made from.
type StaleError struct {
	spec *Spec
	why  string // "" where something in the kernel's own package has changed
}

func (e *StaleError) Error() string {
	generated, file := "its wrapper", "./..."
	if len(e.spec.Files) > 0 {
		file = e.spec.Files[0].Name
		generated = codegen.GeneratedName(file)
	}
	why := cmp.Or(e.why, "the kernel, or what it uses, has changed")
	return fmt.Sprintf("task: kernel %s: %s is stale: %s: run %s %s%s", e.spec.Name, generated, why, codegen.GenerateCommand, file, e.spec.where())
}

// where returns " in " and the folder of the wrapper, or the package where the program was built
// with -trimpath, and "" for the current folder.
func (s *Spec) where() string {
	dir := filepath.Dir(s.Generated)
	if s.Generated == "" {
		return ""
	}
	if at, err := os.Getwd(); err == nil && filepath.IsAbs(dir) {
		if near, err := filepath.Rel(at, dir); err == nil && filepath.IsLocal(near) {
			dir = near
		}
	}
	if dir == "." {
		return ""
	}
	return " in " + dir
}

// hasAtomics reports whether k, or a function that it calls, has an atomic directive.
func hasAtomics(k *ir.Kernel) bool {
	found := false
	visit := func(s ir.Stmt) bool { _, ok := s.(*ir.Atomic); found = found || ok; return !found }
	ir.WalkStmts(k.Body, visit)
	for _, f := range k.Funcs {
		ir.WalkStmts(f.Body, visit)
	}
	return found
}
