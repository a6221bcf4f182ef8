package codegen

import (
	"go/ast"
	"go/build/constraint"

	"github.com/gompss/gompss/codegen/internal/contract"
	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/internal/frontend"
	"github.com/gompss/gompss/codegen/internal/frontend/reach"
	"github.com/gompss/gompss/codegen/internal/frontend/source"
	"github.com/gompss/gompss/codegen/internal/lower"
	"github.com/gompss/gompss/codegen/internal/mapping"
	"github.com/gompss/gompss/codegen/internal/syntax"
	"github.com/gompss/gompss/codegen/internal/wrapper"
	"github.com/gompss/gompss/codegen/ir"
)

// What is wrong with the source, or may be.
type (
	Diagnostic = diag.Diagnostic
	ErrorList  = diag.ErrorList
	Severity   = diag.Severity
)

// The severities.
const (
	Error   = diag.Error
	Warning = diag.Warning
	Note    = diag.Note // of explain: there is nothing to change
)

// What lowering takes and gives.
type (
	LowerOptions = lower.Options
	Lowering     = lower.Result
	Decision     = mapping.Decision
	Choice       = lower.Choice
	Candidate    = lower.Candidate
	Variant      = lower.Variant
)

// Lower makes device IR of k, which it leaves as it is; see lower.Lower.
func Lower(k *ir.Kernel, opt LowerOptions) (*Lowering, error) { return lower.Lower(k, opt) }

// A Deferral is the parts of a kernel with nested(cpu); see lower.Deferral.
type Deferral = lower.Deferral

// DeferToCPU returns the parts of a kernel with nested(cpu), nil for every other; see
// lower.DeferToCPU.
func DeferToCPU(k *ir.Kernel) (*Deferral, error) { return lower.DeferToCPU(k) }

// Candidates returns up to most ways to lower k that all leave the same bits; see lower.Candidates.
func Candidates(k *ir.Kernel, opt LowerOptions, most int) ([]Candidate, error) {
	return lower.Candidates(k, opt, most)
}

// Variants returns the candidates of k beside the first one, in both forms that devices have; see
// lower.Variants.
func Variants(k, unchecked *ir.Kernel, opt LowerOptions, most int) ([]Variant, error) {
	return lower.Variants(k, unchecked, opt, most)
}

// LowerSized makes device IR of k for launches with these sizes; see lower.LowerSized.
func LowerSized(k *ir.Kernel, values map[int]ir.Bits, opt LowerOptions) (*Lowering, error) {
	return lower.LowerSized(k, values, opt)
}

// ForCPU returns k with what the compiler finds about its loops for the vector code of CPUs; see
// lower.ForCPU.
func ForCPU(k *ir.Kernel) *ir.Kernel { return lower.ForCPU(k) }

// Independent returns why the iterations of the parallel loop at the end of k may not be cut into
// parts that run at once, "" where they may if all conditions hold; these name parameters alone.
func Independent(k *ir.Kernel) (conds []ir.Expr, why string) { return lower.Independent(k) }

// What the host proves of a launch.
type (
	Contract     = contract.Contract
	Proof        = contract.Proof
	AccessError  = contract.AccessError
	PartError    = contract.PartError
	StepError    = contract.StepError
	CounterError = contract.CounterError
	TripsError   = contract.TripsError
	ClauseError  = contract.ClauseError
	Overlaps     = contract.Overlaps
	OverlapError = contract.OverlapError
	OverlapTouch = contract.OverlapTouch
	Box          = contract.Box
	Regions      = contract.Regions
	RegionError  = contract.RegionError
)

// Accesses returns the accesses of the parameters of k; see contract.Accesses.
func Accesses(k *ir.Kernel) []ir.Access { return contract.Accesses(k) }

// NewContract returns what the host proves of the accesses of k; see contract.NewContract.
func NewContract(k *ir.Kernel) *Contract { return contract.NewContract(k) }

// NewOverlaps returns what the host proves of the slices of k that may overlap; see
// contract.NewOverlaps.
func NewOverlaps(k *ir.Kernel) *Overlaps { return contract.NewOverlaps(k) }

// EvalRegion returns the boxes of a region for the values of an environment; see
// contract.EvalRegion.
func EvalRegion(r ir.Region, length int64, env ir.Env) ([]Box, error) {
	return contract.EvalRegion(r, length, env)
}

// The sources of a package, and what was loaded of them.
type (
	File            = syntax.File
	Package         = frontend.Package
	GenerateOptions = wrapper.Options
)

// GeneratedHeader is the first line of every generated file.
const GeneratedHeader = wrapper.GeneratedHeader

// GenerateCommand is how a module that has the command as a tool runs it.
const GenerateCommand = wrapper.GenerateCommand

// Load checks the files of a package and builds its kernels. Errors: an ErrorList of all that is
// wrong with them.
func Load(files ...File) (*Package, error) { return frontend.Load(files...) }

// LoadFile is Load for the kernels of one of the files, and those that implement them.
func LoadFile(name string, files ...File) (*Package, error) { return frontend.LoadFile(name, files...) }

// LoadKernel is Load for one kernel, by its name.
func LoadKernel(name string, files ...File) (*Package, error) {
	return frontend.LoadKernel(name, files...)
}

// SourcesFor returns the files that the kernels of file need, file first; see reach.SourcesFor.
func SourcesFor(file string, pkg []File, imported func(path string) []File) ([]File, error) {
	return reach.SourcesFor(file, pkg, imported)
}

// IsKernel reports whether a target or task directive stands on f. The file must have been parsed
// with comments.
func IsKernel(f *ast.FuncDecl) bool { return source.IsKernel(f) }

// HasDirectives reports whether a file may have directives, or comments that were meant to be some.
func HasDirectives(text string) bool { return syntax.HasDirectives(text) }

// UnknownDirectives returns an ErrorList of the comments of a file that begin as directives do and
// name none, nil where there are none. Nothing else of the file need be right.
func UnknownDirectives(f File) error { return syntax.UnknownDirectives(f) }

// MovedLine returns the line of a kernel's file on which now stands what stood on a line before, by
// the CodeLines of both; 0 where that is not known.
func MovedLine(before, now string, line int) int { return reach.MovedLine(before, now, line) }

// Generate returns the Go file with a typed wrapper for every kernel of opt.File; see
// wrapper.Generate.
func Generate(p *Package, opt GenerateOptions) ([]byte, error) { return wrapper.Generate(p, opt) }

// GeneratedName returns the name of the generated file for the kernels of a file:
// zkernels_gompss.go for kernels.go.
func GeneratedName(file string) string { return wrapper.GeneratedName(file) }

// GeneratedHash returns the hash of what the kernels of text, a generated file, reached when it was
// made, "" where there is none.
func GeneratedHash(text string) string { return wrapper.GeneratedHash(text) }

// SameGenerated reports whether two generated files are the same code, made from the same
// declarations.
func SameGenerated(a, b string) bool { return wrapper.SameGenerated(a, b) }

// RangeName returns the name of the function that runs a part of a kernel's iterations.
func RangeName(kernel string) string { return wrapper.RangeName(kernel) }

// Constraint returns what decides whether go build takes a file, nil where every build takes it;
// see wrapper.Constraint.
func Constraint(name string, syntax *ast.File) constraint.Expr {
	return wrapper.Constraint(name, syntax)
}

// ExplainAccesses returns the accesses of tasks of k as lines of text.
func ExplainAccesses(k *ir.Kernel) []string { return wrapper.ExplainAccesses(k) }

// A WidthVariant is a kernel with another number of lanes for its nested loops; see
// lower.WidthVariant.
type WidthVariant = lower.WidthVariant

// NestedWidths returns the forms of k with other numbers of lanes for its nested loops; see
// lower.NestedWidths.
func NestedWidths(k, unchecked *ir.Kernel, opt LowerOptions) ([]WidthVariant, error) {
	return lower.NestedWidths(k, unchecked, opt)
}

// CountLengths makes device IR that counts how long the nested loops of k would be; see
// lower.CountLengths.
func CountLengths(k *ir.Kernel, opt LowerOptions) (*ir.Program, error) {
	return lower.CountLengths(k, opt)
}
