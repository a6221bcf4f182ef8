package codegen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
)

// Parallel bodies that run on fewer threads than their team has, as TestRandomTeams found them wrong once, in a distributed
// loop over r with the variables of the random kernels.
var fewThreads = []struct{ name, mode, body string }{
	{"slots for a team of whole warps", "", `
		//omp:parallel num_threads(int(a&31)+1)
		{
			//omp:for
			for i := 0; i < 8; i++ {
				t[i] ^= a
			}
		}
		//omp:parallel num_threads(5)
		{
			//omp:for
			for i := 0; i < 8; i++ {
				t[i] += a
			}
		}
		//omp:parallel for reduction(+: a)
		for i := 0; i < n; i++ {
			a += x[r*n+i]
		}`},
	{"a known number that is less than a wide warp", " mode(warp_specialized)", `
		//omp:parallel reduction(+: a) num_threads(40)
		{
			//omp:for
			for i := 0; i < n; i++ {
				a += x[r*n+i]
			}
		}`},
	{"the body writes what num_threads reads, with a leader", " mode(control_loop)", `
		//omp:parallel reduction(+: c) num_threads(int(a&31)+1)
		{
			//omp:for reduction(^: a)
			for i := 0; i < 9; i++ {
				a ^= int32(i)
			}
			//omp:for
			for i := 0; i < n; i++ {
				c += x[r*n+i]
			}
		}`},
	{"threads that take no part need what a loop inside reduced", " mode(broadcast)", `
		for j := int32(0); j < 3; j++ {
			a += j
			//omp:parallel reduction(+: c, t) num_threads(int(a&31)+1)
			{
				//omp:for reduction(^: a)
				for i := 0; i < 9; i++ {
					a ^= int32(i)
				}
				//omp:for
				for i := 0; i < n; i++ {
					c += x[r*n+i]
					t[i%3+2] += int32(i)
				}
			}
		}
		//omp:parallel for reduction(|: c) num_threads(int(a&31)+1)
		for i := 0; i < n; i++ {
			c |= x[r*n+i] * int32(i)
		}`},
	{"the loop writes what num_threads reads", "", `
		//omp:parallel for num_threads(int(x[r*n]&7)+1)
		for i := 0; i < n; i++ {
			x[r*n+i] += 5 + y[r*n+i]
		}`},
	{"the loop writes what if reads", "", `
		//omp:parallel for if(x[r*n] > 3)
		for i := 0; i < n; i++ {
			x[r*n+i] -= 5 + y[r*n+i]
		}`},
}

func TestFewThreads(t *testing.T) {
	for _, c := range fewThreads {
		t.Run(c.name, func(t *testing.T) {
			text := "package k\n\n//omp:target device(acc)\n//omp:task inout(x, y, s)\nfunc K(x, y, s []int32, n int) {\n" +
				"\t//omp:teams distribute" + c.mode + "\n\tfor r := 0; r < len(s); r++ {\n\t\tvar t [8]int32\n" +
				"\t\ta, b, c := int32(1), s[r], int32(r)" + c.body + "\n\t\ts[r] += a + b + c + t[0]\n\t}\n}\n"
			compareText(t, text)
		})
	}
}

// A mode that needs nothing must not leave the bounds of the threads for later: the first reduction would rest on whole warps.
func TestFewThreadsWithoutALeader(t *testing.T) {
	compareText(t, `package k

//omp:target device(acc)
//omp:task inout(x, y, s)
func K(x, y, s []int32, n int) {
	//omp:teams num_teams(1) mode(warp_specialized)
	{
		var a int32
		//omp:parallel for reduction(+: a)
		for i := 0; i < n; i++ {
			a += x[i]
		}
		//omp:parallel num_threads(5)
		{
			//omp:for reduction(+: a)
			for i := 0; i < n; i++ {
				a += y[i]
			}
			//omp:for
			for i := 0; i < n; i++ {
				x[i] += a
			}
		}
	}
}
`)
}

// compareText runs kernel K of text in all shapes, with shuffles and without.
func compareText(t *testing.T, text string) {
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
	require.NoError(t, err)
	k, err := p.Kernel("K")
	require.NoError(t, err)
	for _, opt := range []codegen.LowerOptions{{}, {NoShuffles: true}} {
		l, err := codegen.Lower(k, opt)
		require.NoError(t, err)
		compareShapes(t, l, text)
	}
}
