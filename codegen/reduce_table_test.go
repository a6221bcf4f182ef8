package codegen_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/simt"
)

// A number is a type that reductions combine.
type number interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~int | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

type integer interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~int | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// A reduceOp is one operator: how a kernel writes the update of s by e, and what it means.
type reduceOp[T any] struct {
	name, update string
	combine      func(s, e T) T
}

func numberOps[T number]() []reduceOp[T] {
	return []reduceOp[T]{
		{"+", "s += e", func(s, e T) T { return s + e }},
		{"*", "s *= e", func(s, e T) T { return s * e }},
		{"min", "s = min(s, e)", func(s, e T) T { return min(s, e) }},
		{"max", "if e > s { s = e }", func(s, e T) T { return max(s, e) }},
	}
}

func integerOps[T integer]() []reduceOp[T] {
	return append(numberOps[T](),
		reduceOp[T]{"+", "s -= e", func(s, e T) T { return s - e }},
		reduceOp[T]{"&", "s &= e", func(s, e T) T { return s & e }},
		reduceOp[T]{"|", "s |= e", func(s, e T) T { return s | e }},
		reduceOp[T]{"^", "s ^= e", func(s, e T) T { return s ^ e }})
}

var boolOps = []reduceOp[bool]{
	{"&&", "s = s && e", func(s, e bool) bool { return s && e }},
	{"||", "s = s || e", func(s, e bool) bool { return s || e }},
	{"||", "if e { s = true }", func(s, e bool) bool { return s || e }},
	{"&&", "if !e { s = false }", func(s, e bool) bool { return s && e }},
}

// reduceForms are the constructs that reduce, each around the update of element i of n: BODY stands for it, R for the clause.
var reduceForms = []struct{ name, text string }{
	{"teams distribute parallel for", "//omp:teams distribute parallel for R\nfor i := range x {\nBODY\n}"},
	{"teams distribute", "//omp:teams distribute R\nfor i := range x {\nBODY\n}"},
	{"teams", "//omp:teams R\n{\n//omp:distribute parallel for R\nfor i := range x {\nBODY\n}\n}"},
	{"teams around distribute", "//omp:teams R mode(control_loop)\n{\n//omp:distribute\nfor i := range x {\nBODY\n}\n}"},
	{"parallel for", "//omp:parallel for R\nfor i := range x {\nBODY\n}"},
	{"parallel", "//omp:parallel R\n{\nfor i := kernel.ThreadNum(); i < len(x); i += kernel.NumThreads() {\nBODY\n}\n}"},
	{"for", "//omp:parallel num_threads(64)\n{\n//omp:for R\nfor i := range x {\nBODY\n}\n}"},
	{"simd", "//omp:simd R\nfor i := range x {\nBODY\n}"},
	{"loop", "//omp:loop R\nfor i := range x {\nBODY\n}"},
	{"halves in a loop of the teams", "//omp:teams\nfor h := 0; h < 2; h++ {\n//omp:distribute parallel for R\nfor i := h*len(x)/2; i < (h+1)*len(x)/2; i++ {\nBODY\n}\n}"},
	{"under a condition of the teams", "//omp:teams\n{\nif len(x) > 1 {\n//omp:distribute parallel for R\nfor i := range x {\nBODY\n}\n} else {\n//omp:distribute parallel for R\nfor i := range x {\nBODY\n}\n}\n}"},
	{"trials", "//omp:teams distribute parallel for R\nfor i := range x {\nfor k := i % 3; k < 3; k++ {\nif k == 2 {\nBODY\n}\n}\n}"},
	{"trials by one team, in two loops", "//omp:parallel for R\nfor i := range len(x)/2 {\nfor range 1 {\nBODY\n}\n}\n//omp:parallel for num_threads(64) R\nfor i := len(x)/2; i < len(x); i++ {\nfor range 1 {\nBODY\n}\n}"},
	{"trials in a loop of the teams", "//omp:teams\nfor h := 0; h < 2; h++ {\n//omp:distribute parallel for R\nfor i := h*len(x)/2; i < (h+1)*len(x)/2; i++ {\nfor range 1 {\nBODY\n}\n}\n}"},
	{"trials under a condition of the teams", "//omp:teams\n{\nif len(x) > 1 {\n//omp:distribute parallel for R\nfor i := range x {\nfor range 1 {\nBODY\n}\n}\n} else {\n//omp:distribute parallel for R\nfor i := range x {\nfor range 1 {\nBODY\n}\n}\n}\n}"},
	{"trials in a loop of one team", "//omp:teams num_teams(1)\nfor h := 0; h < 2; h++ {\n//omp:distribute parallel for R\nfor i := h*len(x)/2; i < (h+1)*len(x)/2; i++ {\nfor range 1 {\nBODY\n}\n}\n}"},
	{"for in a loop and for without it", "//omp:parallel\n{\nfor h := 0; h < 2; h++ {\n//omp:for R\nfor i := h*len(x)/4; i < (h+1)*len(x)/4; i++ {\nBODY\n}\n}\n//omp:for nowait R\nfor i := 2*len(x)/4; i < len(x); i++ {\nBODY\n}\n}"},
	{"for under a condition", "//omp:parallel\n{\nif len(x) > 1 {\n//omp:for R\nfor i := range x {\nfor range 1 {\nBODY\n}\n}\n} else {\n//omp:for R\nfor i := range x {\nBODY\n}\n}\n}"},
	{"for of few threads in a loop", "for h := 0; h < 2; h++ {\n//omp:parallel num_threads(7)\n{\n//omp:for R\nfor i := h*len(x)/2; i < (h+1)*len(x)/2; i++ {\nBODY\n}\n}\n}"},
	{"few threads", "//omp:parallel for num_threads(64) R\nfor i := range x {\nBODY\n}"},
	{"counter", "//omp:teams distribute parallel for R schedule(counter, 3)\nfor i := range x {\nBODY\n}"},
}

// reducePlaces are the places: PLACE in the update, CLAUSE in the clause; the kernel starts from out[0] and leaves the
// result there. Elements of arrays take every third update.
var reducePlaces = []struct{ name, place, clause, before, after string }{
	{"scalar", "s", "s", "s := out[0]", "out[0] = s"},
	{"pointer", "*p", "*p", "p := &out[0]", ""},
	{"parameter", "*q", "*q", "*q = out[0]", "out[0] = *q"},
	{"array", "a[i%3]", "a", "var a [3]T\na[0], a[1], a[2] = out[0], out[1], out[2]", "out[0], out[1], out[2] = a[0], a[1], a[2]"},
	{"part of an array", "a[i%3+2]", "a[2:5]", "var a [6]T\na[2], a[3], a[4] = out[0], out[1], out[2]", "out[0], out[1], out[2] = a[2], a[3], a[4]"},
	{"part of an array of arrays", "a[i%3+1][1]", "a[1:4]", "var a [5][2]T\na[1][1], a[2][1], a[3][1] = out[0], out[1], out[2]",
		"out[0], out[1], out[2] = a[1][1], a[2][1], a[3][1]"},
	{"array in an array, through a pointer", "b[1][i%3]", "*b", "var a [2][3]T\nb := &a\nb[1] = [3]T{out[0], out[1], out[2]}",
		"out[0], out[1], out[2] = a[1][0], a[1][1], a[1][2]"},
	{"one array of an array", "a[1][i%3]", "a[1]", "var a [2][3]T\na[1] = [3]T{out[0], out[1], out[2]}",
		"out[0], out[1], out[2] = a[1][0], a[1][1], a[1][2]"},
}

func reduceText(typ, op, update, form string, place, clause, before, after string, number int) string {
	update = strings.NewReplacer("s ", place+" ", "(s,", "("+place+",", "> s", "> "+place).Replace(update)
	body := strings.NewReplacer("BODY", "e := x[i]\n"+update, "R", "reduction("+op+": "+clause+")").Replace(form)
	return fmt.Sprintf("//omp:target device(acc)\n//omp:task in(x) inout(out, *q)\nfunc K%d(x, out []%s, q *%s) {\n%s\n%s\n%s\n}\n", number, typ, typ,
		strings.ReplaceAll(before, "T", typ), body, after)
}

// reduceTable runs every operator on one type, in every construct and place.
func reduceTable[T comparable](t *testing.T, typ string, ops []reduceOp[T], random func(*rand.Rand) T) {
	text := "package k\n\nimport \"github.com/gompss/gompss/codegen/kernel\"\n\nvar _ = kernel.TeamNum\n\n"
	type job struct {
		op    reduceOp[T]
		array bool
		text  string
	}
	var jobs []job
	for _, op := range ops {
		for _, form := range reduceForms {
			for _, p := range reducePlaces {
				k := reduceText(typ, op.name, op.update, form.text, p.place, p.clause, p.before, p.after, len(jobs))
				jobs = append(jobs, job{op, strings.Contains(p.name, "array"), k})
				text += k + "\n"
			}
		}
	}
	pkg, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
	require.NoError(t, err)
	for i, j := range jobs {
		k, err := pkg.Kernel(fmt.Sprintf("K%d", i))
		require.NoError(t, err)
		l, err := codegen.Lower(k, codegen.LowerOptions{NoShuffles: i%4 == 3, AtomicReductions: i%2 == 1})
		require.NoError(t, err, j.text)
		program, err := simt.New(l.Program)
		require.NoError(t, err)
		r := rand.New(rand.NewPCG(uint64(i), 3))
		n, s := []int{0, 1, 70}[i%3], shapes[i%len(shapes)]
		x, out := make([]T, n), make([]T, 3)
		for k := range x {
			x[k] = random(r)
		}
		out[0], out[1], out[2] = random(r), random(r), random(r)
		want := []T{out[0], out[1], out[2]}
		for k, e := range x {
			at := 0
			if j.array {
				at = k % 3
			}
			want[at] = j.op.combine(want[at], e)
		}
		q := random(r)
		cfg := simt.Config{Teams: s.teams, Threads: s.threads, Seed: uint64(i), Races: true}
		require.NoError(t, runDevice(program, []any{x, out, &q}, cfg), "%s\n%s", j.text, l.Program)
		require.Equal(t, want, out, "%s\n%s", j.text, l.Program)
	}
	t.Logf("%d reductions of %s", len(jobs), typ)
}

// Every operator reduces every type it takes, into a scalar, *p, an array and a part of one, in every construct that takes
// the clause; the value before takes part once. Floats are small whole numbers, so that their order does not show.
func TestEveryReduction(t *testing.T) {
	few := func(r *rand.Rand) int { return r.IntN(4) + 1 }
	for name, run := range map[string]func(*testing.T){
		"int8": func(t *testing.T) {
			reduceTable(t, "int8", integerOps[int8](), func(r *rand.Rand) int8 { return int8(r.Uint32()) })
		},
		"int16": func(t *testing.T) {
			reduceTable(t, "int16", integerOps[int16](), func(r *rand.Rand) int16 { return int16(r.Uint32()) })
		},
		"int32": func(t *testing.T) {
			reduceTable(t, "int32", integerOps[int32](), func(r *rand.Rand) int32 { return int32(r.Uint32()) })
		},
		"int64": func(t *testing.T) {
			reduceTable(t, "int64", integerOps[int64](), func(r *rand.Rand) int64 { return int64(r.Uint64()) })
		},
		"int": func(t *testing.T) {
			reduceTable(t, "int", integerOps[int](), func(r *rand.Rand) int { return int(r.Uint64()) })
		},
		"uint8": func(t *testing.T) {
			reduceTable(t, "uint8", integerOps[uint8](), func(r *rand.Rand) uint8 { return uint8(r.Uint32()) })
		},
		"uint16": func(t *testing.T) {
			reduceTable(t, "uint16", integerOps[uint16](), func(r *rand.Rand) uint16 { return uint16(r.Uint32()) })
		},
		"uint32": func(t *testing.T) { reduceTable(t, "uint32", integerOps[uint32](), (*rand.Rand).Uint32) },
		"uint64": func(t *testing.T) { reduceTable(t, "uint64", integerOps[uint64](), (*rand.Rand).Uint64) },
		"float32": func(t *testing.T) {
			reduceTable(t, "float32", numberOps[float32]()[:1], func(r *rand.Rand) float32 { return float32(few(r)) })
		},
		"float64": func(t *testing.T) {
			reduceTable(t, "float64", numberOps[float64]()[2:], func(r *rand.Rand) float64 { return r.NormFloat64() })
		},
		"bool": func(t *testing.T) { reduceTable(t, "bool", boolOps, func(r *rand.Rand) bool { return r.IntN(9) > 0 }) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t)
		})
	}
}

// Sums of floats come out with the same bits each time that the grid has the same shape, whatever order teams and threads
// run in; by atomics they need not, and explain says which of the two it is.
func TestReductionsAreTheSameEachTime(t *testing.T) {
	const text = "//omp:target device(acc)\n//omp:task in(x) inout(out)\nfunc K(x, out []float32) {\ns := out[0]\n" +
		"//omp:teams distribute parallel for reduction(+: s)\nfor i := range x { s += x[i] }\nout[0] = s\n}"
	results := map[bool]map[float32]bool{false: {}, true: {}}
	for _, atomics := range []bool{false, true} {
		l, err := lowerText(t, text, codegen.LowerOptions{AtomicReductions: atomics})
		require.NoError(t, err)
		program, err := simt.New(l.Program)
		require.NoError(t, err)
		for seed := range uint64(20) {
			x, out := floats[float32](rand.New(rand.NewPCG(1, 2)), 5000), []float32{0.5}
			require.NoError(t, runDevice(program, []any{x, out}, simt.Config{Teams: 13, Threads: 96, Seed: seed + 1, Races: true}))
			results[atomics][out[0]] = true
		}
		require.Contains(t, l.Explain(), map[bool]string{false: "the same bits on every device",
			true: "the last bits may differ from run to run"}[atomics])
	}
	require.Len(t, results[false], 1)
	require.Greater(t, len(results[true]), 1, "atomics took the same order each time: the test shows nothing")
}

// The place of the least and the greatest: the smallest index among equals, in every construct, and the place from before
// where nothing beats it.
func TestEveryLocation(t *testing.T) {
	t.Run("int32", func(t *testing.T) { locations[int32](t, "int32") })
	t.Run("uint8", func(t *testing.T) { locations[uint8](t, "uint8") })
	t.Run("int64", func(t *testing.T) { locations[int64](t, "int64") })
	t.Run("float64", func(t *testing.T) { locations[float64](t, "float64") })
}

func locations[T number](t *testing.T, typ string) {
	for k, op := range []struct {
		name, rel string
		better    func(e, s T) bool
	}{{"minloc", "<", func(e, s T) bool { return e < s }}, {"maxloc", ">", func(e, s T) bool { return e > s }}} {
		for _, form := range reduceForms {
			body := strings.NewReplacer("BODY", "if x[i] "+op.rel+" s { s = x[i]; at = i }", "R", "reduction("+op.name+": (s, at))").Replace(form.text)
			l, err := lowerText(t, "import \"github.com/gompss/gompss/codegen/kernel\"\n\nvar _ = kernel.TeamNum\n\n//omp:target device(acc)\n"+
				"//omp:task in(x) inout(best, where)\nfunc K(x, best []"+typ+", where []int) {\ns, at := best[0], -1\n"+body+
				"\nbest[0], where[0] = s, at\n}", codegen.LowerOptions{NoShuffles: k == 1})
			require.NoError(t, err, body)
			program, err := simt.New(l.Program)
			require.NoError(t, err)
			for n := range len(shapes) {
				r, s := rand.New(rand.NewPCG(uint64(n), 5)), shapes[n%len(shapes)]
				x, best, where := make([]T, n*n*2), []T{T(3)}, []int{0}
				for i := range x {
					x[i] = T(r.IntN(7))
				}
				want, at := best[0], -1
				for i, e := range x {
					if op.better(e, want) {
						want, at = e, i
					}
				}
				cfg := simt.Config{Teams: s.teams, Threads: s.threads, Seed: uint64(n), Races: true}
				require.NoError(t, runDevice(program, []any{x, best, where}, cfg), "%s\n%s", body, l.Program)
				require.Equal(t, []any{want, at}, []any{best[0], where[0]}, "%s\n%s", body, l.Program)
			}
		}
	}
}
