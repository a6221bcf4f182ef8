package gompss_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/gompss/gompss"

// layers is the import table: which of our packages a package may import.
// A new edge is a design decision. Packages that are not listed here may not exist.
var layers = map[string][]string{
	"codegen/kernel": {}, "codegen/kernel/random": {}, "codegen/kernel/ordered": {}, "codegen/kernel/dense": {}, "codegen/kernel/cmplx": {},
	// The environment variables that this module reads.
	"internal/environment": {},
	// The Go files of folders and modules, for commands and analyzers.
	"internal/source": {"codegen"},
	// What go vet says of kernels.
	"codegen/vet": {"codegen", "internal/source"},
	// What the kernels of a runtime print.
	"internal/printer": {"codegen/ir", "codegen/ir/printing"},
	// Locks that spin; in a perturb build they yield at random.
	"internal/spin":        {},
	"internal/graphviz":    {},
	"internal/sighandlers": {},
	// Memory in pages outside of the Go heap, and what lies at an address.
	"internal/hostmem": {},
	// Goroutines told apart; what a process prints when it gets SIGQUIT.
	"internal/goid": {}, "internal/quit": {},
	"deps":        {"internal/spin"},
	"trace/clock": {},
	"trace/probe": {"deps"},
	"codegen/ir":  {"deps"},
	// Constructors of the IR, and questions about it.
	"codegen/ir/query": {"codegen/ir"},
	// The rules of the IR.
	"codegen/ir/verify": {"codegen/ir"},
	"codegen/ir/build":  {"codegen/ir", "codegen/ir/query"},
	// Forms of device programs that are right for some launches alone.
	"codegen/ir/order":      {"codegen/ir"},
	"codegen/ir/specialise": {"codegen/ir", "codegen/ir/build", "codegen/ir/query"},
	// println in kernels: records in a buffer, and lines of them.
	"codegen/ir/printing": {"codegen/ir", "codegen/ir/build", "deps"},
	// The stages of the compiler, in their order.
	"codegen/cost":              {"codegen/ir", "codegen/target", "deps"},
	"codegen/internal/diag":     {"codegen/ir"},
	"codegen/internal/integers": {},
	// Directives and clauses as text.
	"codegen/internal/syntax": {"codegen/ir", "codegen/internal/diag"},
	// Affine forms of integer expressions.
	"codegen/internal/analysis/affine": {"codegen/ir", "codegen/internal/integers", "codegen/ir/build"},
	"codegen/internal/analysis":        {"codegen/ir", "codegen/ir/build", "codegen/ir/query", "codegen/internal/diag", "codegen/internal/integers", "deps", "codegen/internal/analysis/affine"},
	"codegen/internal/mapping":         {"codegen/ir", "codegen/ir/build", "codegen/ir/query", "codegen/internal/diag", "codegen/internal/analysis", "codegen/internal/analysis/affine"},
	"codegen/target":                   {"deps"},
	// Lowering: what its parts ask of loops.
	"codegen/internal/lower/forms": {"codegen/ir", "codegen/ir/build", "codegen/ir/query", "codegen/internal/mapping", "codegen/internal/analysis/affine"},
	// Iteration spaces and the loops over them.
	"codegen/internal/lower/spaces": {"codegen/internal/analysis/affine", "codegen/internal/mapping", "codegen/ir", "codegen/ir/build", "codegen/ir/query"},
	// The team of a launch, and the ways to share a loop among its threads.
	"codegen/internal/lower/guarded":            {"codegen/internal/analysis", "codegen/ir", "codegen/ir/build", "codegen/ir/query", "codegen/internal/analysis/affine"},
	"codegen/internal/lower/crews":              {"codegen/internal/analysis", "codegen/internal/lower/forms", "codegen/internal/lower/spaces", "codegen/ir", "codegen/ir/build", "codegen/ir/query", "codegen/target"},
	"codegen/internal/lower/accumulate":         {"codegen/internal/lower/forms", "codegen/internal/mapping", "codegen/ir", "codegen/ir/build", "codegen/ir/query", "codegen/internal/analysis/affine"},
	"codegen/internal/lower/strategy/bodies":    {"codegen/internal/analysis", "codegen/internal/lower/crews", "codegen/internal/lower/forms", "codegen/ir", "codegen/ir/build", "codegen/ir/query", "codegen/internal/analysis/affine"},
	"codegen/internal/lower/strategy/unchecked": {"codegen/internal/analysis", "codegen/internal/integers", "codegen/internal/lower/accumulate", "codegen/internal/lower/crews", "codegen/internal/lower/forms", "codegen/internal/lower/spaces", "codegen/internal/lower/strategy/bodies", "codegen/internal/lower/unroll", "codegen/ir", "codegen/ir/build", "codegen/ir/query", "codegen/internal/analysis/affine"},
	"codegen/internal/lower/strategy/tiling":    {"codegen/internal/integers", "codegen/internal/lower/crews", "codegen/internal/lower/forms", "codegen/internal/lower/spaces", "codegen/internal/lower/strategy/bodies", "codegen/internal/mapping", "codegen/ir", "codegen/ir/build", "codegen/ir/query", "codegen/internal/analysis/affine"},
	"codegen/internal/lower/strategy/blocks":    {"codegen/internal/analysis", "codegen/internal/integers", "codegen/internal/lower/crews", "codegen/internal/lower/forms", "codegen/internal/lower/guarded", "codegen/internal/lower/spaces", "codegen/internal/lower/strategy/bodies", "codegen/internal/lower/strategy/unchecked", "codegen/internal/lower/unroll", "codegen/internal/mapping", "codegen/ir", "codegen/ir/build", "codegen/ir/query", "codegen/target", "codegen/internal/analysis/affine"},
	"codegen/internal/lower/strategy":           {"codegen/internal/analysis", "codegen/internal/integers", "codegen/internal/lower/accumulate", "codegen/internal/lower/crews", "codegen/internal/lower/forms", "codegen/internal/lower/spaces", "codegen/internal/lower/strategy/blocks", "codegen/internal/lower/strategy/bodies", "codegen/internal/lower/strategy/tiling", "codegen/internal/lower/strategy/unchecked", "codegen/internal/lower/unroll", "codegen/internal/mapping", "codegen/ir", "codegen/ir/build", "codegen/ir/query", "codegen/target", "codegen/internal/analysis/affine"},
	// Passes of lowering.
	"codegen/internal/lower/prepare": {"codegen/internal/lower/forms", "codegen/internal/mapping", "codegen/ir", "codegen/ir/build"},
	"codegen/internal/lower/unroll":  {"codegen/internal/analysis", "codegen/internal/integers", "codegen/internal/mapping", "codegen/ir", "codegen/ir/query", "codegen/target", "codegen/internal/analysis/affine"},
	"codegen/internal/lower/arrays":  {"codegen/internal/lower/forms", "codegen/internal/mapping", "codegen/ir", "codegen/ir/build", "codegen/ir/query"},
	"codegen/internal/lower/dist":    {"codegen/internal/lower/forms", "codegen/internal/mapping", "codegen/ir", "codegen/ir/build", "codegen/ir/query", "codegen/internal/analysis/affine"},
	"codegen/internal/lower/nested":  {"codegen/internal/analysis", "codegen/internal/lower/forms", "codegen/internal/mapping", "codegen/ir", "codegen/ir/build", "codegen/ir/query", "codegen/target"},
	"codegen/internal/lower":         {"codegen/internal/analysis", "codegen/internal/diag", "codegen/internal/lower/arrays", "codegen/internal/lower/crews", "codegen/internal/lower/dist", "codegen/internal/lower/forms", "codegen/internal/lower/nested", "codegen/internal/lower/prepare", "codegen/internal/lower/spaces", "codegen/internal/lower/strategy", "codegen/internal/lower/strategy/unchecked", "codegen/internal/lower/unroll", "codegen/internal/mapping", "codegen/ir", "codegen/ir/build", "codegen/ir/order", "codegen/ir/query", "codegen/ir/specialise", "codegen/ir/verify", "codegen/target"},
	"codegen/internal/contract":      {"codegen/ir", "codegen/ir/query", "codegen/internal/integers", "codegen/internal/analysis", "codegen/internal/mapping", "deps", "codegen/internal/analysis/affine"},
	"codegen/internal/check": {"codegen/ir", "codegen/ir/build", "codegen/ir/query", "codegen/internal/diag", "codegen/internal/integers",
		"codegen/internal/analysis", "codegen/internal/mapping", "codegen/internal/contract", "deps", "codegen/internal/analysis/affine"},
	// The front end: Go source, what it reaches, its types; what is known of a kernel under construction,
	// and what makes its expressions, calls, clauses, assignments and statements.
	"codegen/internal/frontend/source":  {"codegen/internal/diag", "codegen/internal/integers", "codegen/internal/syntax", "codegen/ir", "codegen/kernel"},
	"codegen/internal/frontend/reach":   {"codegen/internal/diag", "codegen/internal/frontend/source", "codegen/internal/syntax"},
	"codegen/internal/frontend/typing":  {"codegen/internal/frontend/source", "codegen/internal/integers", "codegen/ir", "codegen/ir/query", "deps"},
	"codegen/internal/frontend/scope":   {"codegen/internal/check", "codegen/internal/diag", "codegen/internal/frontend/source", "codegen/internal/frontend/typing", "codegen/ir", "codegen/ir/query"},
	"codegen/internal/frontend/passes":  {"codegen/internal/diag", "codegen/internal/frontend/scope", "codegen/internal/frontend/source", "codegen/internal/integers", "codegen/ir", "codegen/ir/build", "codegen/ir/query", "deps"},
	"codegen/internal/frontend/fuse":    {"codegen/internal/mapping", "codegen/ir", "codegen/ir/build", "codegen/ir/query"},
	"codegen/internal/frontend/exprs":   {"codegen/internal/diag", "codegen/internal/frontend/scope", "codegen/internal/frontend/typing", "codegen/ir", "codegen/ir/build", "codegen/ir/query"},
	"codegen/internal/frontend/calls":   {"codegen/ir/printing", "codegen/internal/frontend/exprs", "codegen/internal/frontend/passes", "codegen/internal/frontend/scope", "codegen/internal/frontend/source", "codegen/internal/frontend/typing", "codegen/ir", "codegen/ir/build", "codegen/ir/query"},
	"codegen/internal/frontend/clauses": {"codegen/internal/analysis", "codegen/internal/diag", "codegen/internal/frontend/exprs", "codegen/internal/frontend/scope", "codegen/internal/frontend/source", "codegen/internal/syntax", "codegen/ir", "codegen/ir/build", "codegen/ir/query", "deps"},
	"codegen/internal/frontend/assigns": {"codegen/internal/frontend/calls", "codegen/internal/frontend/exprs", "codegen/internal/frontend/scope", "codegen/ir", "codegen/ir/build", "codegen/ir/query"},
	"codegen/internal/frontend/stmts":   {"codegen/internal/analysis", "codegen/internal/diag", "codegen/internal/frontend/assigns", "codegen/internal/frontend/calls", "codegen/internal/frontend/clauses", "codegen/internal/frontend/exprs", "codegen/internal/frontend/scope", "codegen/internal/syntax", "codegen/ir", "codegen/ir/build", "codegen/ir/query"},
	"codegen/internal/frontend":         {"codegen/ir/order", "codegen/ir/printing", "codegen/internal/analysis", "codegen/internal/check", "codegen/internal/diag", "codegen/internal/frontend/clauses", "codegen/internal/frontend/fuse", "codegen/internal/frontend/passes", "codegen/internal/frontend/reach", "codegen/internal/frontend/scope", "codegen/internal/frontend/source", "codegen/internal/frontend/stmts", "codegen/internal/frontend/typing", "codegen/internal/syntax", "codegen/ir"},
	"codegen/internal/wrapper": {"codegen/ir", "codegen/ir/query", "codegen/internal/diag", "codegen/internal/lower", "codegen/internal/contract",
		"codegen/internal/syntax", "codegen/internal/frontend", "codegen/internal/frontend/source", "codegen/internal/frontend/reach", "deps"},
	// The facade.
	"codegen": {"codegen/ir", "codegen/internal/diag", "codegen/internal/mapping", "codegen/internal/lower", "codegen/internal/contract",
		"codegen/internal/syntax", "codegen/internal/frontend", "codegen/internal/frontend/source", "codegen/internal/frontend/reach", "codegen/internal/wrapper"},
	"codegen/cpu/x86": {}, "codegen/cpu/arm64": {}, "codegen/cpu/vcode": {},
	// Virtual code, register allocation, linking.
	"codegen/cpu/mach": {"codegen/ir", "codegen/cpu/vcode"},
	// Loop IR to the loop IR that is selected.
	"codegen/cpu/prepare": {"codegen/ir"},
	// Functions of floats and integers in the lanes of a vector.
	"codegen/cpu/vecmath": {"codegen/ir", "codegen/cpu/vcode"},
	// Machine code of a kernel as a value.
	"codegen/cpu/image": {"codegen/ir/order", "codegen/ir", "codegen/cpu/vcode", "codegen/cpu/mach"},
	// What runs it: executable memory, runners, sharing among workers.
	"codegen/cpu/exec": {"codegen/ir/order", "codegen/ir", "codegen/cpu/vcode", "codegen/cpu/image", "codegen/cpu/mach"},
	// What selection has to know of loop IR, and its cut into stages.
	"codegen/cpu/internal/analysis": {"codegen/ir", "codegen/cpu/prepare", "codegen/cpu/vecmath"},
	"codegen/cpu/internal/stages":   {"codegen/ir", "codegen/cpu/prepare", "codegen/cpu/image", "codegen/cpu/internal/analysis"},
	// Selection, in layers: registers and lanes, ways out, memory, expressions, statements.
	"codegen/cpu/internal/vector":   {"codegen/cpu/internal/analysis", "codegen/cpu/mach", "codegen/cpu/prepare", "codegen/cpu/vecmath", "codegen/cpu/vcode", "codegen/ir"},
	"codegen/cpu/internal/protocol": {"codegen/cpu/image", "codegen/cpu/internal/vector", "codegen/cpu/mach", "codegen/cpu/vcode", "codegen/ir"},
	"codegen/cpu/internal/memory":   {"codegen/cpu/image", "codegen/cpu/internal/analysis", "codegen/cpu/internal/protocol", "codegen/cpu/internal/stages", "codegen/cpu/internal/vector", "codegen/cpu/mach", "codegen/cpu/prepare", "codegen/cpu/vcode", "codegen/ir"},
	"codegen/cpu/internal/values":   {"codegen/cpu/image", "codegen/cpu/internal/analysis", "codegen/cpu/internal/memory", "codegen/cpu/internal/protocol", "codegen/cpu/internal/vector", "codegen/cpu/mach", "codegen/cpu/prepare", "codegen/cpu/vecmath", "codegen/cpu/vcode", "codegen/ir"},
	// Virtual code as instructions of a processor: nothing else knows one.
	"codegen/cpu/internal/amd64":     {"codegen/cpu/mach", "codegen/cpu/vcode", "codegen/cpu/x86"},
	"codegen/cpu/internal/neon":      {"codegen/cpu/arm64", "codegen/cpu/mach", "codegen/cpu/vcode"},
	"codegen/cpu/internal/selection": {"codegen/ir/order", "codegen/cpu/image", "codegen/cpu/internal/analysis", "codegen/cpu/internal/memory", "codegen/cpu/internal/protocol", "codegen/cpu/internal/stages", "codegen/cpu/internal/values", "codegen/cpu/internal/vector", "codegen/cpu/mach", "codegen/cpu/prepare", "codegen/cpu/vcode", "codegen/ir"},
	"codegen/cpu":                    {"codegen/ir/order", "codegen/cpu/exec", "codegen/cpu/image", "codegen/cpu/internal/amd64", "codegen/cpu/internal/analysis", "codegen/cpu/internal/memory", "codegen/cpu/internal/neon", "codegen/cpu/internal/selection", "codegen/cpu/internal/stages", "codegen/cpu/internal/vector", "codegen/cpu/mach", "codegen/cpu/prepare", "codegen/cpu/vcode", "codegen/ir"},
	"codegen/guard":                  {"codegen/ir"},
	// What printers of languages like C share.
	"codegen/internal/cprint": {"codegen/ir"},
	"codegen/cuda":            {"codegen/ir", "codegen/guard", "codegen/internal/cprint"},
	"codegen/opencl":          {"codegen/ir", "codegen/guard", "codegen/internal/cprint"},
	"codegen/simt":            {"codegen/ir", "codegen/ir/verify"},
	// Numbers of a device are data, which the compiler and a plug-in exchange.
	"devices": {"codegen/ir", "codegen/target", "deps"},
	// Which data are where: decided in coherence, carried out by machine.
	"internal/coherence": {"devices", "deps"},
	"internal/machine":   {"internal/coherence", "devices", "codegen/ir", "deps", "trace/probe", "internal/spin"},
	"devices/smp":        {"devices", "codegen/ir", "deps", "trace/probe", "codegen/cpu", "internal/goid", "internal/spin"},
	"devices/sim":        {"devices", "codegen/ir", "deps", "trace/probe", "codegen/simt", "internal/spin"},
	"devices/cuda": {"devices", "devices/internal/sizing", "codegen/ir", "codegen/ir/specialise", "deps", "trace/probe", "codegen/cuda", "codegen/target", "internal/spin",
		"devices/cuda/internal/driver", "devices/cuda/internal/launch", "devices/cuda/internal/nvtx", "devices/cuda/internal/tune", "devices/cuda/internal/tuner", "internal/sighandlers"},
	// libcuda, NVRTC and compiled programs on disk, without a device.
	"devices/cuda/internal/driver": {"deps", "internal/sighandlers"},
	// What one launch is: grid, arguments, checks that the host makes.
	"devices/cuda/internal/tune":   {},
	"devices/cuda/internal/tuner":  {"devices/cuda/internal/driver", "devices/cuda/internal/tune"},
	"devices/cuda/internal/launch": {"devices", "codegen/ir", "codegen/cuda", "deps"},
	// Names of launches for profiling tools.
	"devices/cuda/internal/nvtx": {"devices/cuda/internal/driver", "internal/sighandlers"},
	"devices/opencl":             {"devices", "codegen/ir", "deps", "trace/probe", "codegen/opencl", "codegen/target", "internal/sighandlers"},
	// Which sizes of a kernel get device code of their own.
	"devices/internal/sizing": {"devices"},
	// The choice between the variants of a kernel, from times alone.
	"devices/smp/choose": {},
	// One conformance suite for every plug-in; imported by tests alone.
	"devices/devicetest": {"devices", "codegen/ir", "deps", "trace/probe"},
	"sched":              {"devices", "deps", "trace/probe"},
	// The states of a task and the events that change them, as a table.
	"task/internal/state": {},
	// State, number, traits and holdings of a task in flight.
	"task/internal/life": {"task/internal/state", "deps"},
	// Go values as the engine sees them: memory, arguments of kernels, package variables.
	"task/internal/values": {"codegen", "codegen/ir", "codegen/ir/printing", "deps", "devices"},
	// Calls, tasks in flight and submitting goroutines, counted and bounded.
	"task/internal/admission": {"internal/goid", "internal/spin"},
	// Registered memory by address and number, its growth and its end.
	"task/internal/memory": {"task/internal/values", "deps", "devices", "internal/hostmem", "internal/spin"},
	// Kernels apart from any runtime: source, parameters, variants.
	"task/internal/kernels": {"task/internal/values", "codegen", "codegen/ir", "codegen/ir/printing", "codegen/target", "deps", "devices", "internal/printer", "internal/source"},
	// Kernels on CPU workers: vector code, Go functions, and the choice between them.
	"task/internal/cpucode": {"task/internal/kernels", "task/internal/memory", "task/internal/values", "codegen", "codegen/cpu", "codegen/ir", "codegen/simt",
		"deps", "devices", "devices/smp", "devices/smp/choose", "internal/printer", "internal/spin", "trace/clock"},
	// Run times that a policy has learned, and its answers.
	"task/internal/learn": {"deps", "sched"},
	// The graph of a run in the language of Graphviz.
	"task/internal/dot": {"deps", "internal/graphviz", "internal/spin", "trace/probe"},
	// Ready tasks that any worker may run at once.
	"task/internal/simple": {"task/internal/admission", "devices/smp", "internal/spin", "trace/clock"},
	// A recorded graph of steps, run by several workers.
	"task/internal/replay": {"devices", "devices/smp", "internal/spin", "trace/clock", "trace/probe"},
	// The order of events in a virtual time.
	"task/internal/virtual": {"deps", "devices", "devices/smp"},
	// Operators of reductions.
	"task/internal/operator": {"task/internal/values", "codegen/ir", "deps"},
	// Tasks in flight: their records, graph, queues, workers and launches.
	"task/internal/engine": {"task/internal/admission", "task/internal/cpucode", "task/internal/kernels", "task/internal/learn", "task/internal/life", "task/internal/memory",
		"task/internal/operator", "task/internal/replay", "task/internal/simple", "task/internal/state", "task/internal/values", "task/internal/virtual",
		"codegen", "codegen/ir", "deps", "devices", "devices/smp", "internal/goid", "internal/hostmem", "internal/machine", "internal/printer",
		"internal/spin", "sched", "trace/clock", "trace/probe", "trace/session"},
	"task": {"task/internal/admission", "task/internal/cpucode", "task/internal/dot", "task/internal/engine", "task/internal/kernels", "task/internal/learn",
		"task/internal/life", "task/internal/memory", "task/internal/operator", "task/internal/replay", "task/internal/state", "task/internal/values",
		"task/internal/virtual", "codegen", "codegen/cpu", "codegen/ir", "codegen/ir/printing", "deps", "devices", "devices/smp", "internal/environment",
		"internal/hostmem", "internal/machine", "internal/quit", "internal/spin", "sched", "trace/clock", "trace/probe", "trace/session"},
	// Kernels for whole arrays, as tasks.
	"lib": {"task", "devices"},
	// Ranks, owners, transports.
	"dist": {"task", "deps", "trace/probe", "dist/mpi", "internal/goid", "internal/hostmem"},
	// The MPI library of the machine; usable on its own.
	"dist/mpi": {},
	// Launchers for tests.
	"dist/internal/ranktest": {},
	"devices/all":            {"devices/smp", "devices/sim", "devices/cuda", "devices/opencl"},
	"trace/record":           {"trace/probe", "deps"},
	"trace/run":              {"trace/probe", "trace/record", "deps"},
	"trace/session":          {"trace/probe", "trace/record", "trace/run", "deps"},
	"trace/export":           {"trace/probe", "trace/record", "trace/run", "internal/graphviz", "deps"},
	"trace/otel":             {"trace/probe", "trace/record", "trace/run", "deps"},
	"trace":                  {"trace/probe", "trace/record", "trace/run", "trace/session", "trace/export", "deps"},
}

// external names the third-party modules that only the listed packages may import.
var external = map[string][]string{
	"github.com/ebitengine/purego": {"devices/cuda", "devices/cuda/internal/driver", "devices/cuda/internal/nvtx", "devices/opencl", "dist/mpi"},
	"go.opentelemetry.io/otel":     {"trace/otel", "examples/otlp"},
}

// pure names the packages that decide and do not act: they import none of actions.
var (
	pure = []string{"task/internal/state", "internal/coherence", "codegen/cpu/x86", "codegen/cpu/arm64", "codegen/cpu/vcode", "codegen/cpu/internal/amd64", "codegen/cpu/mach", "codegen/cpu/prepare", "codegen/cpu/vecmath",
		"codegen/cpu/internal/analysis", "codegen/cpu/internal/stages", "codegen/cpu/internal/vector", "codegen/cpu/internal/protocol",
		"codegen/cpu/internal/memory", "codegen/cpu/internal/values", "codegen/cpu/internal/neon", "codegen/cpu/internal/selection", "devices/cuda/internal/launch",
		"codegen/ir/query", "codegen/ir/build", "codegen/ir/verify", "codegen/internal/diag", "codegen/internal/syntax", "codegen/internal/integers", "codegen/internal/analysis", "codegen/internal/analysis/affine",
		"codegen/internal/mapping", "codegen/internal/lower", "codegen/internal/lower/forms", "codegen/internal/lower/spaces", "codegen/internal/lower/crews", "codegen/internal/lower/strategy",
		"codegen/internal/lower/strategy/bodies", "codegen/internal/lower/strategy/unchecked", "codegen/internal/lower/strategy/tiling", "codegen/internal/lower/strategy/blocks",
		"codegen/internal/lower/prepare", "codegen/internal/lower/unroll",
		"codegen/internal/lower/arrays", "codegen/internal/lower/dist", "codegen/internal/lower/nested", "codegen/internal/check", "codegen/internal/frontend/source",
		"codegen/internal/frontend/reach", "codegen/internal/frontend/typing", "codegen/internal/frontend/scope", "codegen/internal/frontend/passes",
		"codegen/internal/frontend/fuse", "codegen/internal/frontend/exprs", "codegen/internal/frontend/calls", "codegen/internal/frontend/clauses",
		"codegen/internal/frontend/assigns", "codegen/internal/frontend/stmts"}
	actions = []string{"sync", "sync/atomic", "time", "os", "unsafe"}
)

type goPackage struct {
	ImportPath string
	Imports    []string
}

func TestImportsFollowTheLayers(t *testing.T) {
	for _, p := range listPackages(t) {
		for _, problem := range violations(p.ImportPath, p.Imports) {
			t.Error(problem)
		}
	}
}

func TestLayersCatchAForbiddenEdge(t *testing.T) {
	require.NotEmpty(t, violations("deps", []string{module + "/sched"}))
	require.NotEmpty(t, violations("codegen", []string{"github.com/ebitengine/purego"}))
	require.NotEmpty(t, violations("nosuchpackage", nil))
	require.NotEmpty(t, violations("internal/coherence", []string{"time"}))
	require.Empty(t, violations("sched", []string{module + "/deps", "sync"}))
	require.Empty(t, violations("examples/nbody", []string{module + "/task"}))
}

func violations(path string, imports []string) []string {
	thin := path == "" || strings.HasPrefix(path, "cmd/") || strings.HasPrefix(path, "examples/")
	allowed, known := layers[path]
	if !known && !thin {
		return []string{fmt.Sprintf("package %s is not in the layer table", path)}
	}
	var out []string
	for _, imp := range imports {
		if ours, ok := strings.CutPrefix(imp, module+"/"); ok && !thin && !slices.Contains(allowed, ours) {
			out = append(out, fmt.Sprintf("%s may not import %s", path, ours))
		}
		if slices.Contains(pure, path) && slices.Contains(actions, imp) {
			out = append(out, fmt.Sprintf("%s is pure and may not import %s", path, imp))
		}
		for prefix, users := range external {
			if strings.HasPrefix(imp, prefix) && !slices.Contains(users, path) {
				out = append(out, fmt.Sprintf("%s may not import %s", path, imp))
			}
		}
	}
	return out
}

// listPackages reads the import clauses of all non-test files, of every system. It opens the files itself, so that a cached
// test result is never older than they are.
func listPackages(t *testing.T) []goPackage {
	t.Helper()
	imports := map[string][]string{}
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(filepath.Dir(path))
		for _, i := range f.Imports {
			imports[pkg] = append(imports[pkg], strings.Trim(i.Path.Value, `"`))
		}
		return nil
	}))
	var out []goPackage
	for pkg, list := range imports {
		out = append(out, goPackage{ImportPath: strings.TrimPrefix(pkg, "."), Imports: list})
	}
	return out
}

// Two files whose paths differ only in case cannot be in one module zip, which go get needs, nor in one folder on macOS or Windows.
func TestNoPathsDifferOnlyInCase(t *testing.T) {
	seen := map[string]string{}
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		folded := strings.ToLower(path)
		require.Empty(t, seen[folded], "%s differs from it only in case", path)
		seen[folded] = path
		return nil
	}))
	require.Greater(t, len(seen), 100)
}
