package specialise_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/specialise"
	"github.com/gompss/gompss/codegen/ir/verify"
)

const source = `package k

//omp:target device(acc)
//omp:task inout(out)
func Turns(turns int, out []int32) {
	//omp:teams distribute thread_limit(256) mode(spmd)
	for t := 0; t < len(out); t++ {
		var a [256]int32
		var b [300]int32
		//omp:parallel
		{
			for r := 0; r < turns; r++ {
				//omp:for
				for i := 0; i < 256; i++ {
					if a[i] > 9 {
						continue
					}
					a[i] += b[i]
				}
				//omp:for
				for i := 0; i < 300; i++ {
					b[i]++
				}
				//omp:for
				for i := 0; i < 40; i++ {
					b[i] += a[i]
				}
			}
		}
		out[t] = a[0]
	}
}

//omp:target device(acc)
//omp:task inout(out)
func Plain(out []int32) {
	//omp:teams distribute parallel for
	for i := range out {
		out[i]++
	}
}
`

func lowered(t *testing.T, kernel string) *ir.Program {
	t.Helper()
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: source})
	require.NoError(t, err)
	k, err := p.Kernel(kernel)
	require.NoError(t, err)
	l, err := codegen.Lower(k, codegen.LowerOptions{})
	require.NoError(t, err)
	return l.Program
}

// Loops that give each thread at most one iteration are none, with a test where some have none; the
// others step by the size of the team. The program itself stays as it is.
func TestTeams_LoopsOfOneIteration(t *testing.T) {
	p := lowered(t, "Turns")
	before := p.String()
	exact, ok := specialise.Teams(p, 32)
	require.True(t, ok)
	require.Equal(t, before, p.String())
	require.NoError(t, verify.Program(exact))
	text := exact.String()
	require.Contains(t, text, "threads = 256")
	require.NotContains(t, text, "NumThreads()")
	require.NotContains(t, text, "i < 256", "every thread has an iteration")
	require.Contains(t, text, "for ; i < 300; i = i + stride")
	require.Regexp(t, `if i < 40 \{`, text)
	require.NotContains(t, text, "continue")
	_, again := specialise.Teams(exact, 32)
	require.False(t, again)
}

// Teams whose size is open have no other form.
func TestTeams_OpenSize(t *testing.T) {
	p := lowered(t, "Plain")
	same, ok := specialise.Teams(p, 32)
	require.False(t, ok)
	require.Equal(t, p.String(), same.String())
}
