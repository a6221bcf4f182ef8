package opencl

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

// A Fence is how a device orders memory for all of its teams, which lock-free sums over the league
// need.
type Fence uint8

// The fences.
const (
	NoFence   Fence = iota // there is none: programs that need one are refused
	C11Fence               // atomic_work_item_fence of OpenCL C 2.0, or 3.0 with __opencl_c_atomic_scope_device
	PTXFence               // the instruction of NVIDIA's compiler, which has OpenCL C 1.2
	HostFence              // mem_fence on a CPU, where it orders what every thread sees
)

// Subgroups is how the threads of a subgroup of a device exchange values. A program with warp
// operations needs subgroups of 32 threads, numbered as their team is.
type Subgroups uint8

// The ways.
const (
	NoSubgroups      Subgroups = iota // there are none: programs with warp operations are refused
	KhronosSubgroups                  // cl_khr_subgroup_shuffle
	IntelSubgroups                    // cl_intel_subgroups
	PTXSubgroups                      // the instruction of NVIDIA's compiler, whose subgroups are warps
)

// FloatAtomics are the floats that a device adds to atomically: by cl_ext_float_atomics, or, where
// its fence is PTXFence, by the instruction of NVIDIA's compiler. Others are added to by
// compare-and-swap.
type FloatAtomics uint8

// The floats, in device memory and in that of a team.
const (
	GlobalFloat32 FloatAtomics = 1 << iota
	GlobalFloat64
	TeamFloat32
	TeamFloat64
)

// Options choose the version of a program that Print writes.
type Options struct {
	Fence     Fence
	Subgroups Subgroups
	Atomics   FloatAtomics
	// Language is the newest version of OpenCL C that the text may be in, 1.2 where it needs no
	// more: "CL2.0" or "CL3.0". Where it is "", that is CL2.0.
	Language string
	// Lines writes #line directives, so that messages of the compiler name the Go source.
	Lines bool
	// RoundedDivide says that float32 division and square root are correctly rounded with the
	// option of that name; else they are done in float64 and rounded, which gives the same bits.
	RoundedDivide bool
}

// Exits reports whether a thread that fails a check ends by an instruction, as on CUDA, and not
// where its team meets: the others do without it, at barriers and where they exchange values.
func (o *Options) Exits() bool { return o.Fence == PTXFence }

// Source is a printed program.
type Source struct {
	Text    string
	Options []string // of the compiler; the text has its meaning only with them
	Needs   []string // names of extensions that the text uses
	Entries []Entry  // one per launch of the program, in order
	Sites   []Site   // of checks: site number n of a fault is Sites[n-1]
	Hash    string   // of Text and Options, hexadecimal
}

// FaultSize is the size of the fault record, which the caller zeroes before a run: site (uint32 at
// offset 0, 0 is no fault), index (int64 at 8) and length (int64 at 16).
const FaultSize ir.Bytes = 24

// An Entry is one kernel of a Source.
type Entry struct {
	Name       string
	Launch     *ir.Launch
	Args       []Argument
	TeamMemory ir.Bytes
	Fault      bool // the last argument is the fault record
	warps      bool // it has operations of subgroups
}

// An ArgKind says what an Argument holds.
type ArgKind uint8

// The kinds of arguments.
const (
	Value    ArgKind = iota // a scalar, struct or array, in its own layout
	Memory                  // the memory object of a slice, a pointer or a scratchpad
	Offset                  // where in the object it begins, int64, in bytes
	Length                  // len of a slice, int64
	Capacity                // cap of a slice, int64
	Fault                   // the memory object of the fault record
)

// An Argument is one argument of a kernel. Var is a parameter or scratchpad of the program, nil for
// Fault.
type Argument struct {
	Kind ArgKind
	Var  *ir.Var
	Size ir.Bytes
}

// A Site is one check in the text.
type Site struct {
	Pos      ir.Pos
	Kind     ir.CheckKind
	What     string // the slice, slice expression, divisor, count or pointer, as Go text
	Unsigned bool   // the index is a uint64
}

// Print returns p as OpenCL C.
//
// Errors: what OpenCL C or this printer cannot express, naming the kernel and the position.
func Print(p *ir.Program, opt Options) (*Source, error) {
	src, err := printAll(p, opt)
	if err != nil {
		return nil, err
	}
	for i := range src.Entries {
		if e := &src.Entries[i]; e.Fault && e.warps && !opt.Exits() {
			return nil, fmt.Errorf("opencl: kernel %s: %s: operations of a subgroup beside a check that may fail: not supported by opencl", p.Name, e.Launch.At)
		}
	}
	return src, nil
}

// printAll is Print, also for programs whose threads exchange values beside checks that may fail,
// where one that fails is missed.
func printAll(p *ir.Program, opt Options) (*Source, error) {
	first := newPrinter(p, opt, nil)
	first.kernels().program()
	pr := newPrinter(p, opt, first.fileNames()) // the names that the text takes are known only after printing
	pr.kernels().program()
	if pr.err != nil {
		return nil, fmt.Errorf("opencl: kernel %s: %w", p.Name, pr.err)
	}
	src := &Source{Text: pr.text(), Options: opt.compiler(pr.newer), Needs: slices.Sorted(maps.Keys(pr.needs)), Entries: pr.entries, Sites: pr.sites}
	sum := sha256.Sum256([]byte(src.Text + "\x00" + strings.Join(src.Options, "\x00")))
	src.Hash = hex.EncodeToString(sum[:])
	return src, nil
}

// compiler returns the options that decide what the text means. Contraction is off by the pragma
// that the text begins with.
func (o Options) compiler(newer bool) []string {
	out := []string{"-cl-std=CL1.2"}
	if newer || o.Fence == C11Fence {
		out[0] = "-cl-std=" + cmp.Or(o.Language, "CL2.0")
	}
	if o.RoundedDivide {
		out = append(out, "-cl-fp32-correctly-rounded-divide-sqrt")
	}
	return out
}

// dialect is how OpenCL C spells what languages like C have.
var dialect = cprint.Dialect{
	Types: []string{"", "bool", "char", "short", "int", "long", "uchar", "ushort", "uint", "ulong", "float", "double"},
	Long:  "l", UnsignedLong: "ul", Nil: "NULL",
	Float32Bits: "as_float(0x%xu)", Float64Bits: "as_double(0x%xul)",
}

// A file is what a printed program is made of outside of its functions.
type file struct {
	prog       *ir.Program
	opt        Options
	names      cprint.Names    // of the file
	hidden     map[string]bool // names that variables may not take: what the text uses of the file
	pieces     map[string]string
	pieceOrder []string
	needs      map[string]bool
	newer      bool // more than OpenCL C 1.2 is used
	structs    cprint.Structs
	instances  map[string]*instance
	functions  strings.Builder
	entries    []Entry
	sites      []Site
	err        error
}

// A printer writes one program once.
type printer struct {
	file
	*body
}

// body is the state of the function being printed.
type body struct {
	cprint.Names
	cprint.Writer
	meetings
	jumps   cprint.Jumps
	spaces  map[*ir.Var]space
	ranges  map[*ir.Var]interval
	inits   map[*ir.Var]ir.Expr // values of variables that never change
	taken   *ir.VarSet          // variables that something points at
	params  []*ir.Var           // parameters and scratchpads that the body uses
	offsets map[*ir.Var]string  // names of the arguments that say where memory begins
	fault   bool                // a check was printed
	warps   bool                // an operation of warps was
	fn      *instance           // nil in a kernel
}

// The parts of a printer, one for each family of the IR: they print into the same function.
type (
	kernelsPrinter  struct{ *printer }
	callsPrinter    struct{ *printer }
	branchesPrinter struct{ *printer }
	loopsPrinter    struct{ *printer }
	checksPrinter   struct{ *printer }
	atomicsPrinter  struct{ *printer }
	valuesPrinter   struct{ *printer }
	arithPrinter    struct{ *printer }
	mathsPrinter    struct{ *printer }
	placesPrinter   struct{ *printer }
)

func (p *printer) kernels() kernelsPrinter   { return kernelsPrinter{p} }
func (p *printer) calls() callsPrinter       { return callsPrinter{p} }
func (p *printer) branches() branchesPrinter { return branchesPrinter{p} }
func (p *printer) loops() loopsPrinter       { return loopsPrinter{p} }
func (p *printer) checks() checksPrinter     { return checksPrinter{p} }
func (p *printer) atomics() atomicsPrinter   { return atomicsPrinter{p} }
func (p *printer) values() valuesPrinter     { return valuesPrinter{p} }
func (p *printer) arith() arithPrinter       { return arithPrinter{p} }
func (p *printer) maths() mathsPrinter       { return mathsPrinter{p} }
func (p *printer) places() placesPrinter     { return placesPrinter{p} }

func newPrinter(p *ir.Program, opt Options, hidden map[string]bool) *printer {
	names := cprint.NewNames(maps.Clone(libraryNames), reserved)
	names.Push()
	return &printer{file: file{prog: p, opt: opt, names: names, hidden: hidden, pieces: map[string]string{}, needs: map[string]bool{},
		structs: cprint.NewStructs(p), instances: map[string]*instance{}}}
}

// fileNames are the names that the file has, those of the prelude too.
func (p *file) fileNames() map[string]bool {
	out := maps.Clone(p.names.Innermost())
	for name := range p.pieces {
		out[name] = true
	}
	return out
}

func (p *file) fail(at ir.Pos, format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("%s: %s", at, fmt.Sprintf(format, args...))
	}
}

// text puts the file together: head, prelude, types, functions.
func (p *file) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "// Kernel %s, %s. Generated by gompss.\n", p.prog.Name, cprint.Position(p.prog))
	fmt.Fprintf(&b, "// Compile with %s.\n", strings.Join(p.opt.compiler(p.newer), " "))
	if !p.prog.FastMath {
		b.WriteString("#pragma OPENCL FP_CONTRACT OFF\n")
	}
	for _, need := range slices.Sorted(maps.Keys(p.needs)) {
		fmt.Fprintf(&b, "#pragma OPENCL EXTENSION %s : enable\n", need)
	}
	b.WriteString(p.prelude())
	b.WriteString(p.structs.Text.String())
	b.WriteString(p.functions.String())
	return b.String()
}
