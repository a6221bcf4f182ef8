package codegen_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/simt"
)

// A combined directive means what its parts mean, one inside the other, with the clauses on the part that takes them.
func TestCombinedMeansItsParts(t *testing.T) {
	const loop = "\nfor i := lo; i < len(x); i++ {\nx[i] = x[i]*3 + first + i\nlast = x[i]\ns += x[i]\n}"
	for _, c := range []struct{ name, combined, split string }{
		{"teams distribute parallel for",
			"//omp:teams distribute parallel for num_teams(3) thread_limit(64) firstprivate(first) lastprivate(last) reduction(+: s)" + loop,
			"//omp:teams num_teams(3) thread_limit(64) reduction(+: s)\n{\n//omp:distribute parallel for firstprivate(first) lastprivate(last) reduction(+: s)" + loop + "\n}"},
		{"teams distribute parallel for simd",
			"//omp:teams distribute parallel for simd lastprivate(last) reduction(+: s)" + loop,
			"//omp:teams reduction(+: s)\n{\n//omp:distribute parallel for simd lastprivate(last) reduction(+: s)" + loop + "\n}"},
		{"teams distribute",
			"//omp:teams distribute firstprivate(first) lastprivate(last) reduction(+: s)" + loop,
			"//omp:teams reduction(+: s)\n{\n//omp:distribute firstprivate(first) lastprivate(last)" + loop + "\n}"},
		{"teams loop",
			"//omp:teams loop lastprivate(last) reduction(+: s)" + loop,
			"//omp:teams reduction(+: s)\n{\n//omp:loop lastprivate(last) reduction(+: s)" + loop + "\n}"},
		{"parallel for",
			"//omp:parallel for num_threads(32) firstprivate(first) lastprivate(last) reduction(+: s)" + loop,
			"//omp:parallel num_threads(32) firstprivate(first)\n{\n//omp:for lastprivate(last) reduction(+: s)" + loop + "\n}"},
		{"parallel for simd",
			"//omp:parallel for simd if(len(x) > 3) lastprivate(last) reduction(+: s)" + loop,
			"//omp:parallel if(len(x) > 3)\n{\n//omp:for simd lastprivate(last) reduction(+: s)" + loop + "\n}"},
		{"parallel loop",
			"//omp:parallel loop lastprivate(last) reduction(+: s)" + loop,
			"//omp:parallel\n{\n//omp:loop lastprivate(last) reduction(+: s)" + loop + "\n}"},
		{"for simd",
			"//omp:parallel\n{\n//omp:for simd schedule(static) lastprivate(last) reduction(+: s)" + loop + "\n}",
			"//omp:parallel\n{\n//omp:for schedule(static) lastprivate(last) reduction(+: s)" + loop + "\n}"},
		{"teams parallel",
			"//omp:teams parallel num_teams(1) reduction(+: s)\n{\n//omp:for lastprivate(last)" + loop + "\n}",
			"//omp:teams num_teams(1) reduction(+: s)\n{\n//omp:parallel reduction(+: s)\n{\n//omp:for lastprivate(last)" + loop + "\n}\n}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for n := range 70 {
				var results []string
				for _, body := range []string{c.combined, c.split} {
					results = append(results, runBody(t, body, n))
				}
				require.Equal(t, results[0], results[1], "%d elements\n%s\n%s", n, c.combined, c.split)
				require.Equal(t, meaning(n), results[0], "%d elements", n)
			}
		})
	}
}

// runBody runs a kernel with the body on a grid that n chooses and returns what it left.
func runBody(t *testing.T, body string, n int) string {
	key := body
	program := combinedPrograms[key]
	if program == nil {
		l, err := lowerText(t, "//omp:target device(acc)\n//omp:task inout(x, out)\nfunc K(x, out []int, lo int) {\nfirst, last, s := out[0], -1, 7\n"+
			body+"\nout[1], out[2] = last, s\n}", codegen.LowerOptions{})
		require.NoError(t, err, body)
		program, err = simt.New(l.Program)
		require.NoError(t, err)
		combinedPrograms[key] = program
	}
	x, out := make([]int, n), []int{11, 0, 0}
	for i := range x {
		x[i] = i * i
	}
	s := shapes[n%len(shapes)]
	err := runDevice(program, []any{x, out, 1}, simt.Config{Teams: s.teams, Threads: s.threads, Seed: uint64(n), Races: true})
	require.NoError(t, err, body)
	return fmt.Sprint(x, out)
}

var combinedPrograms = map[string]*simt.Program{}

func meaning(n int) string {
	x, last, s := make([]int, n), -1, 7
	for i := range x {
		x[i] = i * i
		if i >= 1 {
			x[i] = x[i]*3 + 11 + i
			last = x[i]
			s += x[i]
		}
	}
	return fmt.Sprint(x, []int{11, last, s})
}
