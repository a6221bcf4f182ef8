//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/simt"
)

// deferralOf returns the parts of a kernel of the nested ones with nested(cpu).
func deferralOf(t *testing.T, kernel string) *codegen.Deferral {
	t.Helper()
	p, err := codegen.Load(codegen.File{Name: "nested_kernels_test.go", Text: nestedText("cpu")})
	require.NoError(t, err)
	k, err := p.Kernel(kernel)
	require.NoError(t, err)
	parts, err := codegen.DeferToCPU(k)
	require.NoError(t, err)
	return parts
}

// kernelK returns the kernel K of a source text.
func kernelK(t *testing.T, text string) *ir.Kernel {
	t.Helper()
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: "package k\n\n" + text})
	require.NoError(t, err)
	k, err := p.Kernel("K")
	require.NoError(t, err)
	return k
}

func lowerParts(t *testing.T, parts *codegen.Deferral) *codegen.Lowering {
	t.Helper()
	l, err := codegen.Lower(parts.Device, codegen.LowerOptions{})
	require.NoError(t, err)
	return l
}

// runsRest are the ways to run the rest of a kernel: the interpreter, on several teams and with
// races, and vector code.
func runsRest(t *testing.T, rest *ir.Kernel) map[string]func(args []any) error {
	t.Helper()
	l, err := codegen.Lower(rest, codegen.LowerOptions{})
	require.NoError(t, err)
	program, err := simt.New(l.Program)
	require.NoError(t, err)
	runs := map[string]func(args []any) error{"interpreter": func(args []any) error {
		return runDevice(program, args, simt.Config{Teams: 3, Threads: 64, Races: true, Steps: 200_000_000})
	}}
	arena, err := cpu.NewArena()
	if err != nil {
		return runs
	}
	t.Cleanup(func() { require.NoError(t, arena.Close()) })
	code, err := cpu.NewKernelRunner(arena, codegen.ForCPU(rest), cpu.Options{})
	require.NoError(t, err)
	runs["vector code"] = func(args []any) error {
		var values []cpu.Value
		for _, a := range args {
			values = append(values, cpuValue(reflect.ValueOf(a)))
		}
		return code.Call(values, nil)
	}
	return runs
}

// What the accelerator and the CPU workers do of a kernel with nested(cpu) is, together, what the
// Go function does, for every grid, with no race, and however many iterations the list has room
// for.
func TestNestedCPU_PartsEqualGo(t *testing.T) {
	for _, c := range nestedCases {
		if name(c.kernel) == "NestedSSSP" { // its loop ends in a reduction
			continue
		}
		t.Run(name(c.kernel), func(t *testing.T) {
			t.Parallel()
			parts := deferralOf(t, name(c.kernel))
			rests := runsRest(t, parts.Rest)
			for _, opt := range []codegen.LowerOptions{{}, {NoShuffles: true, KeepChecks: true}} {
				l, err := codegen.Lower(parts.Device, opt)
				require.NoError(t, err)
				program, err := simt.New(l.Program)
				require.NoError(t, err)
				for _, n := range []int{0, 3, shortRows, 150} {
					c.compareParts(t, program, rests, n)
				}
			}
		})
	}
}

func (c corpusCase) compareParts(t *testing.T, program *simt.Program, rests map[string]func([]any) error, n int) {
	t.Helper()
	want := c.makeArgs(n)
	c.runGo(want)
	for k, s := range shapes {
		for _, room := range []int{0, 2, n} {
			for i, how := range slices.Sorted(maps.Keys(rests)) {
				if (k+room)%len(rests) != i { // each in turn
					continue
				}
				where := fmt.Sprintf("size %d, %d teams of %d threads, a list of %d, rest by %s", n, s.teams, s.threads, room, how)
				got, list, count := c.makeArgs(n), make([]int64, room), []int64{0}
				cfg := simt.Config{Teams: s.teams, Threads: s.threads, Seed: uint64(k), Races: true, Steps: 200_000_000}
				require.NoError(t, runDevice(program, append(got[:len(got):len(got)], list, count), cfg), where)
				if n > shortRows {
					require.NotZero(t, count[0], where)
				}
				deferred := list[:min(int64(room), count[0])]
				if n > shortRows && len(deferred) > 0 {
					require.NotEmpty(t, c.differ(want, got), "%s: a deferred iteration has run", where)
				}
				require.NoError(t, rests[how](append(got[:len(got):len(got)], deferred)), where)
				if d := c.differ(want, got); d != "" {
					t.Fatalf("%s: %s", where, d)
				}
			}
		}
	}
}

// The number of iterations, which the list has room for, follows from the arguments.
func TestNestedCPU_Trips(t *testing.T) {
	for _, c := range []struct {
		loop string
		want int64
	}{
		{"for i := 0; i < n; i++", 40}, {"for i := 5; i <= m; i += 3", 12}, {"for i := m; i > 0; i -= 7", 6}, {"for i := range x", 100}, {"for i := 0; i < 0; i++", 0},
	} {
		k := kernelK(t, "//omp:target device(acc)\n//omp:task inout(x)\nfunc K(x []int, n int) {\nm := n\n_ = m\n"+
			"//omp:teams distribute parallel for\n"+c.loop+" {\n//omp:parallel for nested(cpu)\nfor j := 0; j < n; j++ {\n//omp:atomic\nx[i] += j\n}\n}\n}")
		parts, err := codegen.DeferToCPU(k)
		require.NoError(t, err, c.loop)
		program, err := simt.New(lowerParts(t, parts).Program)
		require.NoError(t, err)
		x, list, count := make([]int, 100), make([]int64, 200), []int64{0}
		require.NoError(t, runDevice(program, []any{x, 40, list, count}, simt.Config{Teams: 2, Threads: 32}))
		require.Equal(t, c.want, count[0], c.loop)
		seen := map[int64]bool{}
		for _, i := range list[:count[0]] {
			require.True(t, 0 <= i && i < c.want && !seen[i], "%s: iteration %d", c.loop, i)
			seen[i] = true
		}
		bits, err := ir.Eval(parts.Trips, ir.Values{k.Params[0]: {Len: 100, Cap: 100}, k.Params[1]: {Bits: 40}})
		require.NoError(t, err)
		require.Equal(t, c.want, int64(bits), c.loop)
	}
}

// What CPU workers cannot be given says why, where, and what to write.
func TestNestedCPU_Refusals(t *testing.T) {
	const nested = "//omp:parallel for nested(cpu)\nfor j := 0; j < n; j++ {\n//omp:atomic\nx[i] += j\n}\n"
	const loop = "//omp:teams distribute parallel for\nfor i := 0; i < n; i++ {\n"
	for _, c := range []struct{ name, body, want string }{
		{"memory before it", loop + "x[i] = 3\n" + nested + "}", "k.go:8:1 changes memory before it"},
		{"an atomic before it", loop + "//omp:atomic\nx[0]++\n" + nested + "}", "k.go:9:1 changes memory before it"},
		{"a loop before it", loop + "s := 0\n//omp:parallel for reduction(+: x[i]) nested(cpu)\nfor j := 0; j < n; j++ {\nx[i] += j\n}\n" + nested + "x[i] += s\n}", "changes memory before it"},
		{"in a loop of the iteration", loop + "for k := 0; k < 2; k++ {\n" + nested + "}\n}", "no iteration of loop i runs it just once"},
		{"a reduction around it", "s := 0\n" + strings.Replace(loop, "for\n", "for reduction(+: s)\n", 1) + nested + "s++\n}\nx[0] = s", "it does more than declare variables before its last loop"},
		{"a reduction of the kernel", strings.Replace(loop, "for\n", "for reduction(+: x[0])\n", 1) + strings.ReplaceAll(nested, "x[i] += j", "x[0] += j") + "x[0] += 2\n}", "its loop ends in a reduction"},
		{"two loops", strings.Replace(loop, "i < n", "i < 3", 1) + "x[i]++\n}\n" + loop + nested + "}", "it does more than declare variables before its last loop"},
		{"a descriptive loop", "//omp:teams loop\nfor i := 0; i < n; i++ {\n" + nested + "}", "loop i around it is descriptive"},
		{"collapsed", "//omp:teams distribute parallel for collapse(2)\nfor i := 0; i < n; i++ {\nfor k := 0; k < 2; k++ {\n" + nested + "}\n}", "loop i around it is collapsed"},
		{"trips in memory", strings.Replace(loop, "i < n", "i < x[0]", 1) + nested + "}", "not known at the launch"},
		{"lastprivate", loop + "l := 0\n//omp:parallel for lastprivate(l) nested(cpu)\nfor j := 0; j < n; j++ {\nl = j\n}\nx[i] = l\n}", "it has lastprivate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := lowerText(t, "//omp:target device(acc)\n//omp:task inout(x)\nfunc K(x []int, n int) {\n"+c.body+"\n}", codegen.LowerOptions{})
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "nested(cpu)")
			require.ErrorContains(t, err, "write nested(host)")
		})
	}
	_, err := lowerText(t, "//omp:target device(acc)\n//omp:task commutative(x)\nfunc K(x []int, n int) {\n"+loop+nested+"}\n}", codegen.LowerOptions{})
	require.ErrorContains(t, err, "clause commutative lets other tasks come between the two parts")
}

// What an iteration computes before the nested loop may be another nested loop, and conditions may
// stand around both.
func TestNestedCPU_BehindAnother(t *testing.T) {
	k := kernelK(t, `
//omp:target device(acc)
//omp:task in(start) inout(x)
func K(x, start []int) {
	//omp:teams distribute parallel for
	for i := 0; i < len(start)-1; i++ {
		s, odd := 0, i%2 == 1
		//omp:parallel for reduction(+: s) nested(cpu)
		for j := start[i]; j < start[i+1]; j++ {
			s += j
		}
		if odd {
			t := 1
			//omp:parallel for reduction(max: t) nested(cpu) if(s > 900)
			for j := 0; j < i; j++ {
				t = max(t, start[j])
			}
			s += t
		}
		x[i] = s
	}
}`)
	parts, err := codegen.DeferToCPU(k)
	require.NoError(t, err)
	program, err := simt.New(lowerParts(t, parts).Program)
	require.NoError(t, err)
	start := make([]int, 65)
	for i := range 64 {
		start[i+1] = start[i] + i%40
	}
	want := make([]int, 64)
	late := map[int64]bool{}
	for i := range want {
		for j := start[i]; j < start[i+1]; j++ {
			want[i] += j
		}
		late[int64(i)] = start[i+1]-start[i] > 32 || i%2 == 1 && want[i] > 900
		if i%2 == 1 {
			most := 1
			for j := range i {
				most = max(most, start[j])
			}
			want[i] += most
		}
	}
	for how, rest := range runsRest(t, parts.Rest) {
		x, list, count := make([]int, 64), make([]int64, 64), []int64{0}
		require.NoError(t, runDevice(program, []any{x, start, list, count}, simt.Config{Teams: 3, Threads: 32, Races: true}))
		for _, i := range list[:count[0]] {
			require.True(t, late[i], "iteration %d", i)
			require.Zero(t, x[i])
		}
		require.NotZero(t, count[0])
		require.NoError(t, rest([]any{x, start, list[:count[0]]}))
		require.Equal(t, want, x, how)
	}
}

// Which iterations are deferred follows from the arguments alone, so that sums of floats have the
// same bits for every grid, and with and without the operations of warps.
func TestNestedCPU_SumsHaveOneOrder(t *testing.T) {
	for _, c := range nestedCases {
		if c.tolerance == 0 || c.tolerance >= 1e-9 {
			continue
		}
		t.Run(name(c.kernel), func(t *testing.T) {
			t.Parallel()
			parts := deferralOf(t, name(c.kernel))
			for how, rest := range runsRest(t, parts.Rest) {
				var first []any
				for _, opt := range []codegen.LowerOptions{{}, {NoShuffles: true}} {
					l, err := codegen.Lower(parts.Device, opt)
					require.NoError(t, err)
					program, err := simt.New(l.Program)
					require.NoError(t, err)
					for k, s := range shapes {
						if s.threads%32 != 0 {
							continue
						}
						const n = 150
						got, list, count := c.makeArgs(n), make([]int64, n), []int64{0}
						require.NoError(t, runDevice(program, append(got[:len(got):len(got)], list, count), simt.Config{Teams: s.teams, Threads: s.threads, Seed: uint64(k)}))
						require.NotZero(t, count[0])
						require.NoError(t, rest(append(got[:len(got):len(got)], list[:count[0]])))
						if first == nil {
							first = got
						}
						require.Equal(t, bitsOf(first), bitsOf(got), "%d teams of %d threads, rest by %s", s.teams, s.threads, how)
					}
				}
			}
		})
	}
}
