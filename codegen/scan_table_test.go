package codegen_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/codegen/simt"
)

// scanForms are the directives of a loop that scans: R stands for the clause and LOOP for the loop.
var scanForms = []struct{ name, text string }{
	{"teams distribute parallel for", "//omp:teams distribute parallel for R\nLOOP"},
	{"teams distribute parallel for simd", "//omp:teams distribute parallel for simd num_teams(3) R\nLOOP"},
	{"teams loop", "//omp:teams loop R\nLOOP"},
	{"one team", "//omp:teams distribute parallel for num_teams(1) thread_limit(64) R\nLOOP"},
	{"parallel for", "//omp:parallel for R\nLOOP"},
	{"parallel for num_threads", "//omp:parallel for num_threads(40) R\nLOOP"},
	{"parallel for if", "//omp:parallel for if(len(x) > 32) R\nLOOP"},
	{"parallel loop", "//omp:parallel loop R\nLOOP"},
	{"for", "//omp:parallel num_threads(64)\n{\n//omp:for R\nLOOP\n}"},
	{"for of some threads", "//omp:parallel num_threads(int(few))\n{\n//omp:for R\nLOOP\n}"},
	{"for in teams", "//omp:teams num_teams(1)\n{\n//omp:parallel\n{\n//omp:for R\nLOOP\n}\n}"},
	{"simd", "//omp:simd R\nLOOP"},
	{"loop", "//omp:loop R\nLOOP"},
	{"loop bind(parallel)", "//omp:loop bind(parallel) R\nLOOP"},
	{"loop bind(thread)", "//omp:loop bind(thread) R\nLOOP"},
	{"control loop", "//omp:teams num_teams(1) mode(control_loop)\n{\nif len(x) > 1 {\nout[1] = out[0]\n}\n//omp:parallel for R\nLOOP\n}"},
	{"warp specialised", "//omp:teams num_teams(1) mode(warp_specialized)\n{\nif len(x) > 1 {\nout[1] = out[0]\n}\n//omp:parallel for R\nLOOP\n}"},
}

// scanBodies are the bodies of the loops: UPDATE stands for the update of s by e.
var scanBodies = []struct{ name, text string }{
	{"inclusive", "for i, e := range x {\nUPDATE\n//omp:scan inclusive(s)\ny[i] = s\n}"},
	{"exclusive", "for i, e := range x {\ny[i] = s\n//omp:scan exclusive(s)\nUPDATE\n}"},
	{"inclusive, in place", "for i := range x {\ne := x[i]\nUPDATE\n//omp:scan inclusive(s)\n{\nx[i] = s\n}\ny[i] = e\n}"},
	{"exclusive, in place", "for i := 0; i < len(x); i++ {\ne := x[i]\nx[i] = s\n//omp:scan exclusive(s)\nUPDATE\n}"},
	{"downwards", "for i := len(x) - 1; i >= 0; i -= 2 {\ne := x[i]\nif i%3 == 0 {\nUPDATE\n}\n//omp:scan inclusive(s)\nif i%5 == 0 {\ncontinue\n}\ny[i] = s\n}"},
	{"storing", "for i := range x {\ne := x[i]\nx[i] = y[i]\nUPDATE\n//omp:scan inclusive(s)\ny[i] = s\n}"},
}

func scanText(typ, op, update, form, body string, number int) string {
	loop := strings.ReplaceAll(strings.ReplaceAll(form, "LOOP", body), "R", "reduction(inscan, "+op+": s)")
	return fmt.Sprintf("//omp:target device(acc)\n//omp:task inout(x, y, out)\nfunc K%d(few int32, x, y, out []%s) {\ns := out[0]\n%s\nout[0] = s\n}\n", number, typ,
		strings.ReplaceAll(loop, "UPDATE", update))
}

// scanOracle is the Go run of a body.
func scanOracle[T any](body string, combine func(s, e T) T, x, y []T, s T) T {
	switch body {
	case "inclusive":
		for i, e := range x {
			s = combine(s, e)
			y[i] = s
		}
	case "exclusive":
		for i, e := range x {
			y[i] = s
			s = combine(s, e)
		}
	case "inclusive, in place":
		for i := range x {
			e := x[i]
			s = combine(s, e)
			x[i], y[i] = s, e
		}
	case "exclusive, in place":
		for i := range x {
			e := x[i]
			x[i] = s
			s = combine(s, e)
		}
	case "downwards":
		for i := len(x) - 1; i >= 0; i -= 2 {
			if i%3 == 0 {
				s = combine(s, x[i])
			}
			if i%5 != 0 {
				y[i] = s
			}
		}
	case "storing":
		for i := range x {
			e := x[i]
			x[i] = y[i]
			s = combine(s, e)
			y[i] = s
		}
	}
	return s
}

var scanSizes = []int{0, 1, 2, 31, 32, 33, 1000}

// scanTable runs every operator on one type under every directive, as device code on many grids and as vector code.
func scanTable[T comparable](t *testing.T, typ string, ops []reduceOp[T], random func(*rand.Rand) T) {
	type job struct {
		op         reduceOp[T]
		form, body int
		text       string
	}
	var jobs []job
	text := "package k\n\n"
	for _, op := range ops {
		for f := range scanForms {
			for b := range scanBodies {
				k := scanText(typ, op.name, op.update, scanForms[f].text, scanBodies[b].text, len(jobs))
				jobs, text = append(jobs, job{op, f, b, k}), text+k+"\n"
			}
		}
	}
	pkg, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
	require.NoError(t, err)
	vector := 0
	for i, j := range jobs {
		k, err := pkg.Kernel(fmt.Sprintf("K%d", i))
		require.NoError(t, err)
		what := scanForms[j.form].name + ", " + scanBodies[j.body].name
		l, err := codegen.Lower(k, codegen.LowerOptions{NoShuffles: i%3 == 2})
		require.NoError(t, err, j.text)
		program, err := simt.New(l.Program)
		require.NoError(t, err)
		if _, err := cpu.Compile(codegen.ForCPU(k), cpu.Options{}); err == nil {
			vector++
		}
		for c, n := range []int{scanSizes[i%len(scanSizes)], scanSizes[(i/7)%len(scanSizes)]} {
			r := rand.New(rand.NewPCG(uint64(i), uint64(n)))
			s := shapes[(i+c)%len(shapes)]
			x, y, out := make([]T, n), make([]T, n), make([]T, 2)
			for k := range x {
				x[k], y[k] = random(r), random(r)
			}
			out[0] = random(r)
			wantX, wantY, want := append([]T{}, x...), append([]T{}, y...), append([]T{}, out...)
			if n > 1 && strings.Contains(scanForms[j.form].text, "mode(") {
				want[1] = want[0]
			}
			want[0] = scanOracle(scanBodies[j.body].name, j.op.combine, wantX, wantY, want[0])
			cfg := simt.Config{Teams: s.teams, Threads: s.threads, Seed: uint64(i), Races: true}
			require.NoError(t, runDevice(program, []any{int32(5 + i%60), x, y, out}, cfg), "%s\n%s\n%s", what, j.text, l.Program)
			require.Equal(t, wantY, y, "%s of %d, %+v\n%s\n%s", what, n, s, j.text, l.Program)
			require.Equal(t, wantX, x, "%s of %d, %+v\n%s\n%s", what, n, s, j.text, l.Program)
			require.Equal(t, want, out, "%s of %d, %+v\n%s\n%s", what, n, s, j.text, l.Program)
		}
	}
	t.Logf("%d scans of %s, %d of them with vector code", len(jobs), typ, vector)
}

// Every operator scans every type it takes, inclusively and exclusively, in place, downwards and beside other stores, under
// every directive that takes the clause: y, the value behind the loop and what else the loop stores are Go's.
func TestEveryScan(t *testing.T) {
	few := func(r *rand.Rand) int { return r.IntN(4) + 1 }
	for name, run := range map[string]func(*testing.T){
		"int8": func(t *testing.T) {
			scanTable(t, "int8", integerOps[int8](), func(r *rand.Rand) int8 { return int8(r.Uint32()) })
		},
		"int16": func(t *testing.T) {
			scanTable(t, "int16", integerOps[int16]()[:4], func(r *rand.Rand) int16 { return int16(r.Uint32()) })
		},
		"int32": func(t *testing.T) {
			scanTable(t, "int32", integerOps[int32](), func(r *rand.Rand) int32 { return int32(r.Uint32()) })
		},
		"int64": func(t *testing.T) {
			scanTable(t, "int64", integerOps[int64](), func(r *rand.Rand) int64 { return int64(r.Uint64()) })
		},
		"uint8": func(t *testing.T) {
			scanTable(t, "uint8", integerOps[uint8]()[4:], func(r *rand.Rand) uint8 { return uint8(r.Uint32()) })
		},
		"uint32": func(t *testing.T) { scanTable(t, "uint32", integerOps[uint32]()[2:], (*rand.Rand).Uint32) },
		"uint64": func(t *testing.T) { scanTable(t, "uint64", integerOps[uint64](), (*rand.Rand).Uint64) },
		"float32": func(t *testing.T) {
			scanTable(t, "float32", numberOps[float32]()[:1], func(r *rand.Rand) float32 { return float32(few(r)) })
		},
		"float64": func(t *testing.T) {
			scanTable(t, "float64", numberOps[float64]()[2:], func(r *rand.Rand) float64 { return r.NormFloat64() })
		},
		"bool": func(t *testing.T) { scanTable(t, "bool", boolOps, func(r *rand.Rand) bool { return r.IntN(9) > 0 }) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t)
		})
	}
}
