package cuda

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"strings"

	"github.com/gompss/gompss/codegen/guard"
	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

// Options choose the version of a program that Print writes. The zero value is right for every
// launch.
type Options struct {
	// Index32 computes indices, lengths and Go ints in 32 bits where interval analysis proves that
	// they fit, provided that the launch keeps to Limit and GridLimit; the caller checks that for
	// every launch (Argument.Narrow).
	Index32 bool
	// Align has neighbouring elements accessed so many bytes at once, Widest or 0, provided that
	// slices begin at multiples of it and the lengths of rows suit; the caller checks that for every
	// launch (Argument.Multiple).
	Align ir.Bytes
	// Lines writes #line directives, so that messages of NVRTC and profilers name the Go source.
	Lines bool
	// MaxThreads bounds the threads of a team where the launch itself has no constant bound; 0 is
	// no bound.
	MaxThreads int
	// Early gives each kernel an argument by which it waits, at its beginning, for the kernels that
	// it is behind, and lets those behind it be set up meanwhile, where an edge of a graph is made
	// for that (sm_90 and later; on other edges it does nothing). It is an argument because a
	// launch without such edges must not pay for it, and what is only read is then read as what may
	// change. Source: measured on an H200, STREAM copy in teams of 128 threads: 4270 GB/s without
	// the wait, 3390 with it.
	Early bool
}

// Source is a printed program.
type Source struct {
	Text    string
	Options []string // of NVRTC, without the architecture; the text has its meaning only with them
	Entries []Entry  // one per launch of the program, in order
	Sites   []Site   // of checks: site number n of a fault is Sites[n-1]
	Hash    string   // of Text and Options, hexadecimal
}

// FaultSize is the size of the fault record, which the caller zeroes before a run: site (uint32 at
// offset 0, 0 is no fault), index (int64 at 8) and length (int64 at 16).
const FaultSize ir.Bytes = 24

// An Entry is one kernel of a Source.
type Entry struct {
	Name       string // of the extern "C" function
	Launch     *ir.Launch
	Args       []Argument
	ArgsSize   ir.Bytes  // of the whole parameter block
	TeamMemory ir.Bytes  // static __shared__ bytes
	MaxThreads int       // in __launch_bounds__; 0 is none
	Fault      bool      // the last argument is the fault record
	Promises   []ir.Expr // with Index32: over parameters, to be within Limit both ways at every launch
}

// Wait writes whether the kernel is to wait for those before it into its arguments. Without
// Options.Early there is nothing to be written.
func (e *Entry) Wait(args []byte, wait bool) {
	for i := range e.Args {
		if a := &e.Args[i]; a.Kind == Early {
			args[a.Offset] = map[bool]byte{true: 1}[wait]
		}
	}
}

// An ArgKind says what an Argument holds.
type ArgKind uint8

// The kinds of arguments.
const (
	Value    ArgKind = iota // a scalar, struct, array or pointer parameter, in its own layout
	Data                    // the address of a slice's first element
	Length                  // len of a slice
	Capacity                // cap of a slice
	Fault                   // the address of the fault record
	Divisor                 // Multiplier of the magnitude of Of, in 32 bits each
	Early                   // with Options.Early: whether to wait for the kernels before (Entry.Wait)
)

// An Argument is one argument of a kernel. Var is a parameter or scratchpad of the program, nil for
// Fault, Divisor and Early.
type Argument struct {
	Kind   ArgKind
	Var    *ir.Var
	Of     ir.Expr  // of a Divisor, over the parameters
	Offset ir.Bytes // in the parameter block
	Size   ir.Bytes
	// Narrow says of a Go integer that it is passed in 32 bits, and its value must be within Limit,
	// both ways; of a slice that its length must be.
	Narrow bool
	// Multiple is, with Options.Align, what an integer or an address has to be a multiple of, a
	// power of two, and an integer not negative; 0 is anything.
	Multiple int64
}

// A SiteKind says what a check tests.
type SiteKind uint8

// The kinds of checks, and what the index and length of their faults mean.
const (
	IndexSite   SiteKind = iota // index out of range; the index and the length
	SliceSite                   // slice bounds out of range; the bound and what it may be at most
	DivisorSite                 // integer division by zero
	CountSite                   // negative shift count; the count
	PointerSite                 // nil pointer
	StepSite                    // step of a counted loop that is zero or goes the wrong way; the step
)

func (k SiteKind) String() string {
	return [...]string{"index out of range", "slice bounds out of range", "integer divide by zero",
		"negative shift amount", "nil pointer dereference", "loop step of zero or of the wrong sign"}[k]
}

// A Site is one check in the text.
type Site struct {
	Pos      ir.Pos
	Kind     SiteKind
	What     string // the slice, slice expression, divisor, count or pointer, as Go text
	Unsigned bool   // the index is a uint64
}

// Print returns p as CUDA C++.
//
// Errors: what CUDA C++ or this printer cannot express, naming the kernel and the position.
func Print(p *ir.Program, opt Options) (*Source, error) {
	first := newPrinter(p, opt, nil)
	first.kernels().program()
	pr := newPrinter(p, opt, first.used) // names that the prelude takes are known only after printing
	pr.kernels().program()
	if pr.err != nil {
		return nil, fmt.Errorf("cuda: kernel %s: %w", p.Name, pr.err)
	}
	src := &Source{Text: pr.text(), Options: nvrtcOptions(p), Entries: pr.entries, Sites: pr.sites}
	sum := sha256.Sum256([]byte(src.Text + "\x00" + strings.Join(src.Options, "\x00")))
	src.Hash = hex.EncodeToString(sum[:])
	return src, nil
}

// nvrtcOptions returns the options that decide what the text means. Contraction is chosen here and
// not by intrinsics: the dialect has one fastmath for a whole kernel as NVRTC has one --fmad for a
// whole program, and a * b + c stays readable.
func nvrtcOptions(p *ir.Program) []string {
	precise := "true"
	if p.FastMath {
		precise = "false"
	}
	return []string{"--std=c++17", "--fmad=" + map[bool]string{true: "true", false: "false"}[p.FastMath],
		"--ftz=false", "--prec-div=" + precise, "--prec-sqrt=" + precise}
}

// A file is what a printed program is made of outside of its functions.
type file struct {
	prog      *ir.Program
	opt       Options
	names     cprint.Names    // of the file
	hidden    map[string]bool // names that variables may not take: what the text uses of the file
	used      map[string]bool
	structs   cprint.Structs
	functions strings.Builder
	results   map[*ir.Func]string // the struct of a function's results
	faulting  map[*ir.Func]bool   // functions with a fault parameter
	funcNames map[*ir.Func]string
	entries   []Entry
	sites     []Site
	err       error
}

// A printer writes one program once.
type printer struct {
	file
	body
}

// body is the state of the function being printed.
type body struct {
	cprint.Names
	cprint.Writer
	facts
	sliceParams
	meeting
	divisors []*divisor
	jumps    cprint.Jumps
	old      *ir.Var  // declared by the atomic being printed
	head     string   // of a kernel, printed after its body
	fault    bool     // a check was printed
	wrap32   bool     // the expression is an index of which 32 bits are right
	rising   bool     // and no part of it is larger than the whole
	fn       *ir.Func // nil in a kernel
}

// A divisor is a number by which a kernel divides, and that the host knows.
type divisor struct {
	of   ir.Expr // over parameters
	name string  // of its multiplier
	used bool
}

// The parts of a printer, one for each family of the IR: they print into the same function.
type (
	kernelsPrinter  struct{ *printer }
	callsPrinter    struct{ *printer }
	branchesPrinter struct{ *printer }
	loopsPrinter    struct{ *printer }
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
func (p *printer) atomics() atomicsPrinter   { return atomicsPrinter{p} }
func (p *printer) values() valuesPrinter     { return valuesPrinter{p} }
func (p *printer) arith() arithPrinter       { return arithPrinter{p} }
func (p *printer) maths() mathsPrinter       { return mathsPrinter{p} }
func (p *printer) places() placesPrinter     { return placesPrinter{p} }

// A meeting is how threads wait for each other beside checks, which end threads.
type meeting struct {
	named *ir.Barrier // a barrier that waits for a number of threads
	gates bool        // such barriers are gates, because checks may end threads
	gate  string      // the name of the array of gates
	grid  bool        // a barrier of the grid was printed
	ends  bool        // checks may end threads before such a barrier

	pending copies // copies to team memory that are made beside their threads
}

func newPrinter(p *ir.Program, opt Options, used map[string]bool) *printer {
	taken := maps.Clone(libraryNames)
	for _, piece := range pieces {
		taken[piece.name] = true
	}
	names := cprint.NewNames(taken, reserved)
	names.Push()
	return &printer{file: file{prog: p, opt: opt, names: names, hidden: used, used: map[string]bool{}, structs: cprint.NewStructs(p),
		results: map[*ir.Func]string{}, faulting: map[*ir.Func]bool{}, funcNames: map[*ir.Func]string{}}}
}

// A checkpoint is what the body of a launch may add to the file, as it was before the body: the
// checks, the pieces of the prelude, the types with their names, text and comparisons.
type checkpoint struct {
	sites                       int
	used, structNames, compared map[string]bool
	structs                     map[string]string
	structText                  string
}

func (p *file) checkpoint() checkpoint {
	return checkpoint{sites: len(p.sites), used: maps.Clone(p.used), structNames: maps.Clone(p.names.Innermost()),
		compared: maps.Clone(p.structs.Equal), structs: maps.Clone(p.structs.Names), structText: p.structs.Text.String()}
}

// rewind drops what was added to the file since c, so that the body of a launch can be printed
// again. A type that is defined again notes the pieces of the prelude that its definition needs.
func (p *file) rewind(c checkpoint) {
	p.sites, p.used, p.structs.Equal, p.structs.Names = p.sites[:c.sites], c.used, c.compared, c.structs
	p.names.Rewind(c.structNames)
	p.structs.Text.Reset()
	p.structs.Text.WriteString(c.structText)
}

func (p *file) fail(at ir.Pos, format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("%s: %s", at, fmt.Sprintf(format, args...))
	}
}

// use notes a piece of the prelude or a function of CUDA and returns its name.
func (p *file) use(name string) string {
	p.used[name] = true
	return name
}

// text puts the file together: head, prelude, types, functions.
func (p *file) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "// Kernel %s, %s. Generated by gompss.\n", p.prog.Name, cprint.Position(p.prog))
	fmt.Fprintf(&b, "// Compile with %s.\n", strings.Join(nvrtcOptions(p.prog), " "))
	if head := prelude(p.used); head != "" {
		b.WriteString("\n" + strings.TrimPrefix(head, "\n"))
	}
	b.WriteString(p.structs.Text.String())
	b.WriteString(p.functions.String())
	return b.String()
}

// prelude returns the pieces that are used, and those that they need.
func prelude(used map[string]bool) string {
	need := map[string]bool{}
	for i := len(pieces) - 1; i >= 0; i-- { // a piece needs earlier ones only
		if piece := pieces[i]; used[piece.name] || need[piece.name] {
			need[piece.name] = true
			for _, n := range piece.needs {
				need[n] = true
			}
		}
	}
	var b strings.Builder
	for _, piece := range pieces {
		if need[piece.name] {
			b.WriteString(piece.text)
		}
	}
	return b.String()
}

// Proved returns p as it is when guards hold: see guard.Proved.
func Proved(p *ir.Program) (proved *ir.Program, guards []ir.Expr) {
	return guard.Proved(p, func(q *ir.Program) ([]bool, error) {
		source, err := Print(q, Options{})
		if err != nil {
			return nil, err
		}
		left := make([]bool, len(source.Entries))
		for i := range left {
			left[i] = source.Entries[i].Fault
		}
		return left, nil
	})
}
