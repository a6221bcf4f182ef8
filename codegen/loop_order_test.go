//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/simt"
)

// descriptiveKernels are bodies of kernels of n, x, y, of 3*n elements, idx, of n, and s, whose descriptive loops may depend on themselves.
var descriptiveKernels = []struct{ name, body string }{
	{"chain", "//omp:loop\nfor i := 1; i < n; i++ { x[i] = x[i-1] + 1 }"},
	{"slice of one or the other", "d := x\nif n > 9 { d = y }\n//omp:loop\nfor i := 1; i < n; i++ { d[i] = x[i-1] + d[i] }"},
	{"slice assigned again", "d := x\nd = d[1:]\ny = x[:n]\n//omp:loop\nfor i := 1; i < n; i++ { y[i] = d[i-1] + 1 }"},
	{"slices swapped in a loop", "for r := 0; r < 3; r++ {\n//omp:loop\nfor i := 1; i < n; i++ { x[i] = y[i-1] + y[i] }\nx, y = y, x\n}"},
	{"slice advanced in a loop", "for len(x) > 4 {\n//omp:loop\nfor i := 0; i < 2; i++ { x[i] += x[i+1] }\nx = x[2:]\n}"},
	{"slice of an iteration", "//omp:loop\nfor i := 0; i < n; i++ {\nd := x[i:]\nif i%3 == 1 { d = y[i:] }\nd = d[:1]\nd[0] += int64(i)\n}"},
	{"chain under teams", "//omp:teams loop\nfor i := 1; i < n; i++ { x[i] = x[i-1] + 1 }"},
	{"chain in teams", "//omp:teams\n{\n//omp:loop\nfor i := 1; i < n; i++ { x[i] += x[i-1] }\n}"},
	{"chain in parallel", "//omp:teams num_teams(1)\n{\n//omp:parallel\n{\n//omp:loop\nfor i := 1; i < n; i++ { x[i] += x[i-1] }\n}\n}"},
	{"chain bound to threads", "//omp:loop bind(thread)\nfor i := 1; i < n; i++ { x[i] += x[i-1] }"},
	{"chain bound to a team", "//omp:loop bind(parallel)\nfor i := 1; i < n; i++ { x[i] += x[i-1] }"},
	{"chain downwards", "//omp:loop\nfor i := n - 2; i >= 0; i-- { x[i] = x[i+1]*3 + 1 }"},
	{"rows into one element", "//omp:loop\nfor i := 0; i < 4; i++ {\n//omp:loop\nfor j := 0; j < n/4; j++ { y[i] += x[i*(n/4)+j]*y[i] + 1 }\n}"},
	{"inner alone depends", "//omp:loop\nfor i := 0; i < n; i++ {\n//omp:loop\nfor j := 1; j < 3; j++ { x[i*3+j] = x[i*3+j-1] + 1 }\n}"},
	{"outer alone depends", "//omp:loop\nfor i := 1; i < 3; i++ {\n//omp:loop\nfor j := 0; j < n; j++ { x[i*n+j] += x[(i-1)*n+j] }\n}"},
	{"collapsed", "//omp:loop collapse(2)\nfor i := 1; i < 3; i++ {\nfor j := 1; j < n; j++ { x[i*n+j] += x[(i-1)*n+j-1] + x[i*n+j-1] }\n}"},
	{"collapsed triangle", "//omp:loop collapse(2)\nfor i := 0; i < n; i++ {\nfor j := 0; j <= i; j++ { x[i+j] = x[i+j]*3 + int64(j) }\n}"},
	{"scalar carried", "t := int64(1)\n//omp:loop\nfor i := 0; i < n; i++ {\nx[i] += t\nt = t*3 + x[i]\n}\ny[0] = t"},
	{"scalar of the team", "//omp:teams num_teams(1)\n{\nt := int64(1)\n//omp:loop\nfor i := 0; i < n; i++ {\nt = t*3 + x[i]\n}\n//omp:parallel for\nfor i := 0; i < n; i++ { y[i] = t }\n}"},
	{"through the pointer", "//omp:loop\nfor i := 0; i < n; i++ {\n*s = *s*3 + x[i]\ny[i] = *s\n}"},
	{"reduction through the pointer", "//omp:loop reduction(+: *s)\nfor i := 0; i < n; i++ { *s += x[i] }"},
	{"reduction and a chain", "t := int64(0)\n//omp:loop reduction(+: t)\nfor i := 1; i < n; i++ {\nx[i] += x[i-1]\nt += x[i]\n}\n*s = t"},
	{"reduction and slices", "t := int64(0)\n//omp:loop reduction(+: t)\nfor i := 0; i < n; i++ {\ny[i] = x[i]*2 + 1\nt += x[i]\n}\n*s = t"},
	{"private", "var t int64\n//omp:loop private(t)\nfor i := 0; i < n; i++ {\nt = x[i]\ny[i] = t * t\n}"},
	{"lastprivate", "var t int64\n//omp:loop lastprivate(t)\nfor i := 0; i < n; i++ {\nt = x[i]\ny[i] = t * t\n}\n*s = t"},
	{"lastprivate, sometimes", "var t int64\n//omp:loop lastprivate(t)\nfor i := 0; i < n; i++ {\nif x[i]%3 == 0 { t = x[i] }\n}\n*s = t"},
	{"lastprivate, carried", "var t int64\n//omp:loop lastprivate(t)\nfor i := 0; i < n; i++ {\nif i > 0 { y[i] = t }\nt = x[i]\n}\n*s = t"},
	{"atomics", "//omp:loop\nfor i := 0; i < n; i++ {\n//omp:atomic\nx[idx[i]] += int64(i)\n}"},
	{"atomic of a variable", "t := int64(0)\n//omp:loop\nfor i := 0; i < n; i++ {\n//omp:atomic\nt += x[i]\n}\n*s = t"},
	{"atomics read beside", "//omp:loop\nfor i := 0; i < n; i++ {\n//omp:atomic\nx[idx[i]] += x[i]\n}"},
	{"atomics of two kinds", "//omp:loop\nfor i := 0; i < n; i++ {\nif i%2 == 0 {\n//omp:atomic\nx[idx[i]%4] += int64(i)\n} else {\n//omp:atomic\nx[idx[i]%4] = max(x[idx[i]%4], 50)\n}\n}"},
	{"captured", "t := int64(0)\n//omp:loop\nfor i := 0; i < n; i++ {\nif x[i]%2 == 0 {\nvar at int64\n//omp:atomic capture\n{\nat = t\nt++\n}\ny[at] = x[i]\n}\n}"},
	{"indirect write", "//omp:loop\nfor i := 0; i < n; i++ { x[idx[i]] = x[i] + int64(i) }"},
	{"indirect read", "//omp:loop\nfor i := 0; i < n; i++ { y[i] = x[idx[i]] + int64(i) }"},
	{"helper that writes", "//omp:loop\nfor i := 1; i < n; i++ { set(x, i, at(x, i-1)+1) }"},
	{"helper that writes its own", "//omp:loop\nfor i := 0; i < n; i++ { set(y, i, at(x, i)+1) }"},
	{"helper with rows", "//omp:loop\nfor i := 0; i < n; i++ { fill(x[i*3:i*3+3], y[i]) }"},
	{"helper with rows that meet", "//omp:loop\nfor i := 0; i < n; i++ { fill(x[i*2:i*2+3], y[i]) }"},
	{"helper with a loop", "//omp:loop\nfor i := 1; i < 3; i++ { prefix(x, i*n, n) }\n//omp:loop\nfor i := 0; i < 3; i++ { prefix(x[i*n:], 1, n) }"},
	{"loop in a helper", "//omp:teams\n{\nshare(x, n)\n}"},
	{"rows as slices", "//omp:loop\nfor i := 0; i < n; i++ {\nrow := x[i*3 : i*3+3]\nfor j := range row { row[j] += y[i] }\n}"},
	{"rows as slices that meet", "//omp:loop\nfor i := 0; i < n; i++ {\nrow := x[i : i+3]\nfor j := range row { row[j] += y[i] + int64(j) }\n}"},
	{"elements by pointer", "//omp:loop\nfor i := 1; i < n; i++ {\np, q := &x[i], &x[i-1]\n*p += *q\n}"},
	{"elements by pointer alone", "//omp:loop\nfor i := 0; i < n; i++ {\np := &x[i]\n*p += y[i]\n}"},
	{"slice that moves", "row := x\nfor k := 0; k < 2; k++ {\n//omp:loop\nfor i := 0; i < n-1; i++ { row[i+1] += row[i] }\nrow = row[1:]\n}"},
	{"blocks", "//omp:loop\nfor i := 0; i < n; i++ {\nfor j := i * 3; j < (i+1)*3; j++ { x[j] += y[i] }\n}"},
	{"blocks that meet", "//omp:loop\nfor i := 0; i < n-1; i++ {\nfor j := i * 2; j < i*2+3; j++ { x[j] = x[j]*3 + y[i] }\n}"},
	{"rows by starts", "//omp:loop\nfor r := 0; r < n-1; r++ {\n//omp:loop\nfor k := start[r]; k < start[r+1]; k++ { x[k] = x[k]*3 + y[r] }\n}"},
	{"odd and even", "//omp:loop\nfor i := 1; i < n-1; i += 2 { x[i] = x[i-1] + x[i+1] }"},
	{"odd and even, doubled", "//omp:loop\nfor i := 0; i < n; i++ { x[2*i] = x[2*i+1] + 1 }"},
	{"far apart", "//omp:loop\nfor i := 0; i < n; i++ { x[i+n] = x[i] + x[i+n] }"},
	{"local array", "var t [4]int64\n//omp:loop\nfor i := 0; i < n; i++ {\nt[i%4] += x[i]\n}\ny[0] = t[1]"},
	{"array of an iteration", "//omp:loop\nfor i := 0; i < n; i++ {\nvar t [4]int64\nfor j := range t { t[j] = x[i] + int64(j) }\ny[i] = t[1] + t[3]\n}"},
	{"variable that was changed", "if n%2 == 1 { n-- }\n//omp:loop\nfor i := 0; i < n; i++ {\nfor j := 0; j < 3; j++ { x[j*n+i] += y[j] }\n}"},
	{"stride that was changed", "m := 3\nif n > 9 { m = 2 }\n//omp:loop\nfor i := 0; i < n-1; i++ { x[i*m] ^= y[i] }"},
	{"start that a loop changes", "k := 0\nfor k < 2 {\n//omp:loop\nfor i := k; i < n-1; i++ { x[(i+1)*k+i] += y[i*k] }\nk++\n}"},
	{"no directive", "for i := 1; i < n; i++ { x[i] = x[i-1] + y[i] }"},
	{"steps of time", "for k := 0; k < 3; k++ {\n//omp:loop\nfor i := 1; i < n-1; i++ { y[i] = x[i-1] + x[i+1] }\n//omp:loop\nfor i := 1; i < n-1; i++ { x[i] = y[i] }\n}"},
}

const descriptiveHelpers = `
func at(x []int64, i int) int64 { return x[i] }

func set(x []int64, i int, v int64) { x[i] = v }

func fill(x []int64, v int64) {
	for i := range x {
		x[i] = x[i]*3 + v
	}
}

func prefix(x []int64, from, n int) {
	for i := from; i < n; i++ {
		x[i] += x[i-1]
	}
}

func share(x []int64, n int) {
	//omp:loop
	for i := 1; i < n; i++ {
		x[i] += x[i-1]
	}
}
`

var statementDirective = regexp.MustCompile(`(?m)^\s*//omp:(loop|teams|parallel|atomic).*\n`)

// TestDescriptiveLoops_EveryTargetGivesWhatGoGives: descriptive loops whose iterations depend on one another, in all kinds of ways and through
// slices that overlap, ran in parallel: issue 16 item 1. The judge is the kernel without directives, run by one thread.
func TestDescriptiveLoops_EveryTargetGivesWhatGoGives(t *testing.T) {
	t.Parallel()
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	for _, c := range descriptiveKernels {
		t.Run(c.name, func(t *testing.T) { orderedRuns(t, arena, c.body) })
	}
}

func descriptiveText(body string) string {
	return "package k\n\n//omp:target device(acc, smp)\n//omp:task inout(x, y, *s) in(idx, start)\n" +
		"func K(n int, x, y []int64, idx []int32, start []int, s *int64) {\n" + body + "\n}\n" + descriptiveHelpers
}

// orderedRuns runs the body everywhere, on slices that lie in all ways beside and on each other.
func orderedRuns(t *testing.T, arena *cpu.Arena, body string) {
	k, plain := loadText(t, descriptiveText(body)), loadText(t, strings.Replace(statementDirective.ReplaceAllString(descriptiveText(body), ""), "//omp:target device(acc, smp)\n", "", 1))
	lowered, err := codegen.Lower(plain, codegen.LowerOptions{})
	require.NoError(t, err)
	judge, err := simt.New(lowered.Program)
	require.NoError(t, err)
	device, err := codegen.Lower(k, codegen.LowerOptions{})
	require.NoError(t, err)
	program, err := simt.New(device.Program)
	require.NoError(t, err)
	runners := orderedRunners(t, arena, k)
	rng := rand.New(rand.NewPCG(3, uint64(len(body))))
	for _, n := range []int{1, 2, 5, 64, 130} {
		for _, shift := range []int{3 * n, 0, 1, n, -1, 2} {
			if 3*n+min(shift, 0) < 0 {
				continue
			}
			begin := newMemory(n, shift)
			want := begin.clone()
			_, err := judge.Run(want.device(), simt.Config{Teams: 1, Threads: 1})
			require.NoError(t, err)
			for i, s := range shapes {
				got := begin.clone()
				_, err := program.Run(got.device(), simt.Config{Teams: s.teams, Threads: s.threads, Seed: uint64(i), Races: true})
				require.NoError(t, err, "n=%d shift=%d %+v\n%s", n, shift, s, device.Program)
				require.Equal(t, want, got, "n=%d shift=%d %+v\n%s", n, shift, s, device.Program)
			}
			for machine, run := range runners {
				got := begin.clone()
				require.NoError(t, run.Call(got.cpu(), chunks(rng)), machine)
				require.Equal(t, want, got, "%s: n=%d shift=%d", machine, n, shift)
			}
		}
	}
}

// orderedRunners compiles k for every machine; none where it has no vector form.
func orderedRunners(t *testing.T, arena *cpu.Arena, k *ir.Kernel) map[string]*cpu.Runner {
	out := map[string]*cpu.Runner{}
	for machine, o := range cpuMachines(t) {
		o.ShareFrom = 1
		code, err := cpu.Compile(codegen.ForCPU(k), o)
		if err != nil {
			var refusal *cpu.Refusal
			require.ErrorAs(t, err, &refusal)
			continue
		}
		prog, err := arena.Install(code)
		require.NoError(t, err)
		out[machine] = cpu.NewRunner(prog)
	}
	return out
}

// overlapMemory is the memory of the arguments: x and y are in one buffer, y shift elements behind x.
type overlapMemory struct {
	n, shift int
	all      []int64
	idx      []int32
	start    []int64
	sum      []int64
}

func newMemory(n, shift int) overlapMemory {
	rng := rand.New(rand.NewPCG(uint64(n), uint64(shift)))
	m := overlapMemory{n: n, shift: shift, all: make([]int64, 10*n+8), idx: make([]int32, n), start: make([]int64, n), sum: []int64{5}}
	for i := range m.all {
		m.all[i] = rng.Int64N(9) - 2
	}
	for i := range m.idx {
		m.idx[i], m.start[i] = rng.Int32N(int32(n)), rng.Int64N(int64(2*n))
	}
	if shift >= 0 {
		slices.Sort(m.start) // else rows that do not follow each other
	}
	return m
}

func (m overlapMemory) clone() overlapMemory {
	m.all, m.idx, m.start, m.sum = slices.Clone(m.all), slices.Clone(m.idx), slices.Clone(m.start), slices.Clone(m.sum)
	return m
}

func (m overlapMemory) parts() (x, y []int64) {
	at := 3 * m.n
	return m.all[at : at+3*m.n], m.all[at+m.shift : at+m.shift+3*m.n]
}

func (m overlapMemory) device() []simt.Arg {
	x, y := m.parts()
	both, n := memoryOfAll("both", m.all), int64(m.n)
	slice := func(memory *simt.Memory, at, n int64) simt.Arg {
		return simt.Arg{Memory: memory, Offset: at * 8, Len: n, Cap: n}
	}
	return []simt.Arg{{Bits: ir.Bits(n)}, slice(both, 3*n, int64(len(x))), slice(both, 3*n+int64(m.shift), int64(len(y))), slice(memoryOfAll("idx", m.idx), 0, n),
		slice(memoryOfAll("start", m.start), 0, n), {Memory: memoryOfAll("s", m.sum)}}
}

func (m overlapMemory) cpu() []cpu.Value {
	x, y := m.parts()
	slice := func(s []int64) cpu.Value { return cpu.Value{Addr: unsafe.Pointer(&s[0]), Len: int64(len(s))} }
	idx := cpu.Value{Addr: unsafe.Pointer(&m.idx[0]), Len: int64(len(m.idx))}
	return []cpu.Value{{Bits: uint64(m.n)}, slice(x), slice(y), idx, slice(m.start), slice(m.sum)}
}

// TestDescriptiveLoops_ExplainSaysWhyInOrder: nothing said that a loop could not run in parallel.
func TestDescriptiveLoops_ExplainSaysWhyInOrder(t *testing.T) {
	for name, want := range map[string]string{
		"chain": "loop i -> one iteration after the other: two iterations may touch the same element of x", "rows into one element": "loop j -> one iteration after the other: two iterations may touch the same element of y",
		"indirect write": "loop i -> one iteration after the other: an index of x is not affine", "scalar carried": "loop i -> one iteration after the other: every iteration changes t",
		"captured": "loop i -> one iteration after the other: every iteration changes t", "atomics of two kinds": "it holds atomics whose order matters", "helper that writes": "loop i -> one iteration after the other: two iterations may touch the same element of x",
		"rows by starts": "start never falls", "reduction through the pointer": "s and x do not overlap",
	} {
		i := slices.IndexFunc(descriptiveKernels, func(c struct{ name, body string }) bool { return c.name == name })
		l, err := codegen.Lower(loadText(t, descriptiveText(descriptiveKernels[i].body)), codegen.LowerOptions{})
		require.NoError(t, err)
		require.Contains(t, l.Explain(), want, name)
	}
}

// TestDescriptiveLoops_StayParallelWhereProved: what is independent, or where a test shows it, has a parallel launch.
func TestDescriptiveLoops_StayParallelWhereProved(t *testing.T) {
	for _, name := range []string{"rows into one element", "inner alone depends", "private", "lastprivate", "atomics", "atomic of a variable", "indirect read", "helper that writes its own",
		"elements by pointer alone", "blocks", "rows by starts", "odd and even", "odd and even, doubled", "far apart", "reduction through the pointer", "reduction and slices", "array of an iteration", "steps of time"} {
		i := slices.IndexFunc(descriptiveKernels, func(c struct{ name, body string }) bool { return c.name == name })
		l, err := codegen.Lower(loadText(t, descriptiveText(descriptiveKernels[i].body)), codegen.LowerOptions{})
		require.NoError(t, err)
		require.Regexp(t, `(?m)^launch .* (trip|by)`, fmt.Sprint(l.Program), name)
	}
}

// TestDescriptiveLoops_AreNoAdvice: a loop that runs in order was advised to get directive "loop", which it has, or which
// changes nothing; and what has it was explained twice.
func TestDescriptiveLoops_AreNoAdvice(t *testing.T) {
	inOrder := regexp.MustCompile(`(?m)^  (\S+): loop \w+ -> (one iteration after the other|one thread): .*; to change it: a directive that says`)
	seen := 0
	for _, c := range descriptiveKernels {
		l, err := codegen.Lower(loadText(t, descriptiveText(c.body)), codegen.LowerOptions{})
		require.NoError(t, err)
		require.NotContains(t, l.Explain(), "change it: //omp:loop", c.name)
		at := map[string]bool{}
		for _, m := range inOrder.FindAllStringSubmatch(l.Explain(), -1) {
			require.False(t, at[m[1]], "%s: twice at %s:\n%s", c.name, m[1], l.Explain())
			at[m[1]] = true
			seen++
		}
	}
	require.Greater(t, seen, 20)
}
