//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"testing"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
	"github.com/stretchr/testify/require"
)

// Vector code of loops with 2^63 iterations and more, whose bounds the host does not know, fails as
// Go does: with an index out of range in one of the first iterations.
func TestCounter_SpansOfHalfTheNumbersAndMore(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	f := newFlowRunner(t)
	defer f.close()
	const least, most = math.MinInt64, math.MaxInt64
	signed := [][2]int64{{least, 3}, {least + 4, most}, {least, most}, {-2, most}, {-1, most}, {0, most}}
	unsigned := [][2]uint64{{0, math.MaxUint64}, {0, 1 << 63}, {3, 1<<63 + 3}, {3, 1<<63 + 2}, {1, math.MaxUint64}, {0, math.MaxInt64}}
	heads := []string{"for i := lo; i < hi; i++", "for i := lo; i <= hi-1; i++", "for i := lo; i < hi; i += 2",
		"for i := lo; i < hi; i += step", "for i := hi; i > lo; i--", "for i := hi; i >= lo+1; i -= 1"}
	for _, directive := range []string{"//omp:teams distribute parallel for", "//omp:parallel for", "//omp:simd", "//omp:loop",
		"//omp:teams distribute parallel for reduction(+: n)"} {
		for h, head := range heads {
			for _, kind := range []string{"int64", "uint64"} {
				if kind == "uint64" && h > 3 || directive == "//omp:loop" && h == 3 { // has no vector code
					continue
				}
				body := "n += x[i]\n}\no[0] += n\n}\n"
				if directive[len(directive)-1] != ')' {
					body = "o[i] += x[i]\n}\n}\n"
				}
				text := "//omp:target device(acc, smp)\n//omp:task in(b, x) inout(o)\nfunc K(step " + kind + ", b []" + kind +
					", x, o []int64) {\nlo, hi, n := b[0], b[1], int64(0)\n_ = n\n" + directive + "\n" + head + " {\n" + body
				t.Run(fmt.Sprintf("%s, %s, %s", directive, kind, head), func(t *testing.T) {
					p, err := codegen.Load(codegen.File{Name: "k.go", Text: "package k\n\n" + text})
					require.NoError(t, err)
					kernel, err := p.Kernel("K")
					require.NoError(t, err)
					oracle, err := interpret("package k\n\n" + text)
					require.NoError(t, err)
					arena, err := cpu.NewArena()
					require.NoError(t, err)
					defer arena.Close()
					list, err := f.vectorTargets(codegen.ForCPU(kernel), arena)
					require.NoError(t, err)
					require.NotEmpty(t, list)
					for i := range signed {
						x := numbersTo(300, func(i int) int64 { return int64(i) })
						begin := []any{int64(1), []int64{signed[i][0], signed[i][1]}, x, make([]int64, 300)}
						if kind == "uint64" {
							begin[0], begin[1] = uint64(1), []uint64{unsigned[i][0], unsigned[i][1]}
						}
						want := copyArgs(begin)
						run := oracle.call("K", flowSteps, want)
						require.NotEmpty(t, run.panicked)
						for _, x := range list {
							require.NoError(t, f.run(x, rand.New(rand.NewPCG(1, 2)), begin, want, run), "%s, %v", x.name, begin[1])
						}
					}
				})
			}
		}
	}
}
