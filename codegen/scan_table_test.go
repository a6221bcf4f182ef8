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

// A scan of many chunks: sizes around the ends of groups, tiles and chunks, with the operators whose order shows.
func TestScan_ManyChunks(t *testing.T) {
	const text = `package k

//omp:target device(acc)
//omp:task in(x) inout(y, z, at, least, out)
func K(x, y, z []int64, at []int32, least []float32, out []int64) {
	s, m, w := out[0], float32(1e9), int32(-1)
	//omp:teams distribute parallel for reduction(inscan, +: s) reduction(inscan, minloc: m, w) num_teams(5)
	for i, e := range x {
		s += e
		if v := float32(e % 1000003); v < m {
			m, w = v, int32(i)
		}
		//omp:scan inclusive(s, m, w)
		y[i], least[i], at[i] = s, m, w
	}
	out[0], out[1], out[2] = s, int64(w), int64(m)
	//omp:loop reduction(inscan, ^: s)
	for i := range x {
		z[i] = s
		//omp:scan exclusive(s)
		s ^= x[i] >> 3
	}
	out[3] = s
}
`
	pkg, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
	require.NoError(t, err)
	for i, n := range []int{4095, 4096, 4097, 8191, 12289, 1<<16 + 3} {
		l, err := codegen.Lower(pkg.Kernels()[0], codegen.LowerOptions{NoShuffles: i%2 == 1})
		require.NoError(t, err)
		program, err := simt.New(l.Program)
		require.NoError(t, err)
		r := rand.New(rand.NewPCG(uint64(n), 5))
		x, y, z, out := ints[int64](r, n, 1<<40), make([]int64, n), make([]int64, n), []int64{5, 0, 0, 0}
		at, least := make([]int32, n), make([]float32, n)
		cfg := simt.Config{Teams: 3, Threads: 96, Seed: uint64(i), Races: n < 1<<16}
		require.NoError(t, runDevice(program, []any{x, y, z, at, least, out}, cfg))
		s, m, w := int64(5), float32(1e9), int32(-1)
		for i, e := range x {
			s += e
			if v := float32(e % 1000003); v < m {
				m, w = v, int32(i)
			}
			if y[i] != s || at[i] != w || least[i] != m {
				t.Fatalf("%d of %d: %d %d %v, want %d %d %v", i, n, y[i], at[i], least[i], s, w, m)
			}
		}
		require.Equal(t, []int64{s, int64(w), int64(m)}, out[:3])
		for i := range x {
			require.Equal(t, s, z[i])
			s ^= x[i] >> 3
		}
		require.Equal(t, s, out[3])
	}
}

// Scans of floats have the same bits for every number of teams and threads, whether by shuffles or in team memory, over the
// league and in rows; the order follows from the trip count alone.
func TestScan_FloatsHaveTheSameBits(t *testing.T) {
	const text = `package k

//omp:target device(acc)
//omp:task in(x) inout(y, z, out)
func K(x, y, z []float32, out []float64) {
	s, p := float32(0.1), out[0]
	//omp:teams distribute parallel for reduction(inscan, +: s) reduction(inscan, *: p)
	for i, e := range x {
		s += e
		p *= 1 + float64(e)/1000
		//omp:scan inclusive(s, p)
		y[i] = s + float32(p)
	}
	out[0], out[1] = p, float64(s)
	//omp:teams distribute
	for r := 0; r < 3; r++ {
		n := len(x) / 3
		t := float32(r)
		//omp:parallel for reduction(inscan, +: t)
		for i := r * n; i < (r+1)*n; i++ {
			z[i] = t
			//omp:scan exclusive(t)
			t += x[i]
		}
	}
}
`
	pkg, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
	require.NoError(t, err)
	for _, n := range []int{1, 33, 1000, 5000, 13000} {
		var want []any
		for i, shape := range []simt.Config{{Teams: 1, Threads: 32}, {Teams: 3, Threads: 96}, {Teams: 7, Threads: 256, Seed: 3}, {Teams: 2, Threads: 7}, {Teams: 5, Threads: 300}} {
			for _, plain := range []bool{false, true} {
				l, err := codegen.Lower(pkg.Kernels()[0], codegen.LowerOptions{NoShuffles: plain})
				require.NoError(t, err)
				program, err := simt.New(l.Program)
				require.NoError(t, err)
				shape.Races = true
				got := []any{floats[float32](rand.New(rand.NewPCG(1, 2)), n), make([]float32, n), make([]float32, n), []float64{0.5, 0}}
				require.NoError(t, runDevice(program, got, shape))
				if want == nil {
					want = got
				}
				require.Equal(t, want, got, "%d elements, shape %d", n, i)
			}
		}
	}
}
