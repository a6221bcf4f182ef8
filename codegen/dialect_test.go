package codegen

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
)

type refusal struct{ dialect, message, tests string }

// refusals says, for what DIALECT.md refuses or warns of, by its words, which message a golden file shows. Where the
// refusal is one at run time, tests names the file that has it.
var refusals = []refusal{
	{"`cpu` and `cross` are refused", `"nested("+s+")"`, "lower_rest_test.go"},
	// section 1
	{"reading it before assigning is an error", "it is read before anything assigns to it", ""},
	{"writing shared memory there without `atomic` is a warning", "is shared by all teams", ""},
	{"a missing barrier, atomic or private copy", "RaceError", "simt/planted_test.go"},

	// section 2
	{"top-level, no receiver", "it is a method", ""},
	{"kernels without results", "it has results, and a task returns none", ""},
	{"assigned to a local once", "assignment of a function", ""},
	{"assigning to a captured variable after the capture is refused", "so it cannot be assigned afterwards", ""},
	{"bool, all sized ints and uints, int, uint, float32, float64", "addresses are no numbers in a kernel", ""},
	{"slices `[]T` of any of these", "the memory of a buffer holds no slices and pointers", ""},
	{"a struct that holds slices or pointers goes by value", "pass the struct by value: its slices refer to the same memory", ""},
	{"or in a local that is assigned once", "it is assigned again, and a struct that holds slices has no address on a device", ""},
	{"it is no element of a slice or array", "the elements of an array hold no slices and pointers", ""},
	{"of a struct parameter the slices and pointers in it", "which holds slices or pointers; name them", ""},
	{"`break`, `goto` and `return` out of a loop or block that a directive governs are errors", "break: it leaves what the directive", ""},
	{"`break`, `goto` and `return` out of a loop or block that a directive governs are errors", "return: it leaves what the directive", ""},
	{"`break`, `goto` and `return` out of a loop or block that a directive governs are errors", "goto: the compiler needs structured control flow", ""},
	{"`continue` is fine", "continue: it leaves what the directive", ""}, // not of an outer loop
	{"as in Go an error: of the task", "ErrDivide", "../task/contract_test.go"},
	{"integer division by zero, index out of range", "ErrDivide", "../task/contract_test.go"},
	{"integer division by zero, index out of range", "ErrBounds", "../task/contract_test.go"},
	{"with a device counterpart", "it has no device counterpart", ""},
	{"refused, with file:line:col and the reason", "while.go:8:2: loop under teams distribute parallel for: it does not start with one new variable; write", ""},
	{"goroutines", "go statement: there are no goroutines on a device", ""},
	{"channels", "there are no channels on a device", ""},
	{"maps", "there are no maps on a device", ""},
	{"interface values", "there are no interface values on a device", ""},
	{"strings", "there are no strings on a device", ""},
	{"`defer`", "defer: there is no stack of calls on a device", ""},
	{"`panic`/`recover`", "panic: a kernel cannot unwind", ""},
	{"`panic`/`recover`", "recover: a kernel cannot unwind", ""},
	{"`append`", "append: slices do not grow on a device", ""},
	{"`make`/`new` of unknown size", "make: its size is not a constant", ""},
	{"recursion", "and there is no stack on a device", ""},
	{"writes to package variables", "kernels read package variables and change none", ""},
	{"All errors of a file are reported at once", "everyclean.go:10:4: access to y", ""},

	// section 3
	{"the submission is an error, unless `overlap(ok)`", "arguments y and x overlap", "../task/overlap_test.go"},
	{"Within one argument, a conflict that depends on a parameter", "argument x: iteration i = 3 writes x[3]", "../task/overlap_test.go"},
	{"where it suspects one it warns", "may name the same", "scatter_test.go"},
	{"on the lines right above the function or statement that it governs", "nothing that it could govern starts on the line below", ""},
	{"on the lines right above the function or statement that it governs", "it stands behind code", ""},
	{"Unknown names and clauses are errors", "there is no such directive", ""},
	{"Unknown names and clauses are errors", "there is no such clause", ""},
	{"Clauses of `target` and `task` are Go expressions over parameters and package constants", "but this clause is evaluated when the task is submitted", ""},
	{"clauses of statement directives see what is in scope there", "is not a variable that is declared above and can be seen here", ""},
	{"`device(acc, smp, cuda, opencl)` kinds that may run it", "clause device: it does not know 'gpu'", ""},
	{"out of 100 per kind", "a kind has 100 tokens", ""},
	{"`implements(F)`: another version of task F", "the package has no function Nothing", ""},
	{"`check(bounds)` (default) or `check(none)`", "clause check: it does not know 'bound'", ""},
	{"a is read as a row-major n by m array", "does not give a slice its extents", ""},
	{"`name = expr`: a name for clauses", "does not name an expression", ""},
	{"Regions: `x` (all of it)", "is not a region; write x, *p, x[i], x[lo:hi], x[start;length] or [n][m]x[i][lo:hi]", ""},
	{"`out` promises that every byte of the region is written: where that is provably false it is an error", "leaves some out", ""},
	{"where unprovable a warning", "it promises that every element is written, which cannot be proved", ""},
	{"a touch provably outside", "which is outside x[lo:hi]", ""},
	{"a write to an `in`, is an error", "and the task declares it in", ""},
	{"where it depends on data, a warning", "whose place depends on data", ""},
	{"an x too short for the parts of all iterations is an error of the submission", "needs length 40 and has length 39", "../task/part_test.go"},
	{"a touch of another part of x is an error where provable", "and owns x[0:4]; keep the index inside x[i*4 : (i+1)*4]", ""},
	{"on ints and uints of 32 and 64 bits, floats, and smaller types and bool", "only bools, ints and floats can be indivisible", ""},
	{"`read`, `write`, `update` (default;", "this is not one of its forms", ""},
	{"`single`, `masked` | block | inside `parallel`", "directive single: it stands outside parallel", ""},
	{"Combined forms are one line", "these words do not combine", ""},
	{"The barrier inside `parallel` is `kernel.Barrier()`", "kernel.Barrier: it is called outside parallel", ""},
	{"where the compiler is certain of a conflict between iterations it refuses, where it suspects one it warns, with both places", "the iterations over i depend on one another", ""},
	{"Reductions: `+ * min max & | ^ && || minloc maxloc`", "there is no operator '-'", ""},
	{"whole fixed arrays and their constant parts", "is a slice, whose length is not known here", ""},
	{"whole fixed arrays and their constant parts", "are not constant; name a scalar variable", ""},
	{"elements `w[i]` with i unchanged in the loop", "which place it is changes here", ""},
	{"written as `s op= e`", "may only be updated by its operator here", ""},
	{"a loop without its scan or with two", "no //omp:scan cuts the body of the loop", ""},
	{"a loop without its scan or with two", "the body of this loop has one already", ""},
	{"an update on the wrong side", "is changed in the second phase of the scan", ""},
	{"a `continue` past the directive", "it leaves out the second phase of the scan", ""},
	{"an input phase that stores or depends on s or on what the scan phase of its iteration writes", "writes memory besides what it scans", ""},
	{"an input phase that stores or depends on s or on what the scan phase of its iteration writes", "the input phase uses e, which depends on s", ""},
	{"an input phase that stores or depends on s or on what the scan phase of its iteration writes", "the scan phase writes x here", ""},
	{"`collapse`, `schedule`, `lastprivate`, `nested` and reductions without `inscan` beside it", "it does not combine with collapse", ""},
	{"a loop that teams share out inside a `teams` block", "the teams that share the loop cannot wait for one another inside teams", ""},
	{"`schedule` kinds:", "clause schedule: it does not know 'statc'", ""},
	{"`nested(auto | inline | eager | cta | warp | host | cpu | cross [, boost])`", "clause nested: it does not know 'ctas'", ""},
	{"Everything else, and `cross`, is refused with the reason", "changes memory before it", "nested_cpu_test.go"},

	// section 5
	{"a failed check is an error and nothing has been written", "outside its region x[0:10]", "../task/contract_test.go"},
	{"checked in the kernel, on every target", "TestFailedChecksAreAlike", "../task/contract_test.go"},
	{"The error names slice, index, length and source line", "contract_kernels_test.go:123", "../task/contract_test.go"},
	{"Both are errors of the submission where that knows the numbers", "codegen.CounterError", "../task/span_test.go"},
	{"one that changes while it runs is an error of the task", "VariableError", "../task/variable_test.go"},
	{"each function's error at most", "1e-5", "cpu/math_test.go"},
}

// shown returns what the golden files want to be said, without the sources that it is said of.
func shown(t *testing.T) string {
	paths, err := filepath.Glob("testdata/*/*.txtar")
	require.NoError(t, err)
	var out strings.Builder
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		require.NoError(t, err)
		for _, f := range archive.Files {
			if strings.HasSuffix(f.Name, ".want") {
				out.Write(f.Data)
			}
		}
	}
	return out.String()
}

// TestEveryRefusalOfTheDialectIsShown keeps DIALECT.md and the golden files together: each message is one that a golden
// file wants, which other tests compare with what is said.
func TestEveryRefusalOfTheDialectIsShown(t *testing.T) {
	dialect, err := os.ReadFile("../DIALECT.md")
	require.NoError(t, err)
	golden := shown(t)
	for _, r := range refusals {
		require.Contains(t, string(dialect), r.dialect, "DIALECT.md says it in other words now")
		text := golden
		if r.tests != "" {
			file, err := os.ReadFile(r.tests)
			require.NoError(t, err)
			text = string(file)
			require.Contains(t, text, "\nfunc Test", "%s has no tests", r.tests)
		}
		require.True(t, strings.Contains(text, r.message), "no test shows %q for %q", r.message, r.dialect)
	}
}

// refuses finds the sentences of DIALECT.md that speak of errors and warnings.
var refuses = regexp.MustCompile(`\b([Ee]rrors?|[Rr]efused?|[Ww]arn(s|ing)|reports|[Uu]nknown|stands? outside)\b`)

// TestEveryRefusalOfTheDialectIsListed takes DIALECT.md apart into sentences: each that speaks of an error or a warning has
// its line in refusals.
func TestEveryRefusalOfTheDialectIsListed(t *testing.T) {
	text, err := os.ReadFile("../DIALECT.md")
	require.NoError(t, err)
	sentences := regexp.MustCompile(`\n\n|\n- |\n\||[.;]\s+| \| `).Split(string(text), -1)
	found := 0
	for _, s := range sentences {
		if !refuses.MatchString(s) {
			continue
		}
		found++
		require.True(t, slices.ContainsFunc(refusals, func(r refusal) bool {
			for part := range strings.SplitSeq(r.dialect, "; ") {
				if strings.Contains(s, part) || strings.Contains(part, strings.TrimSpace(s)) {
					return true
				}
			}
			return false
		}), "no line of refusals is about %q", s)
	}
	require.Greater(t, found, 15, "DIALECT.md is not read any more")
}
