package codegen_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// known are the programs that the corpus has to hold, by what a practitioner calls them.
var known = map[string][]any{
	"STREAM": {StreamCopy, StreamScale, StreamAdd, StreamTriad}, "saxpy": {Saxpy}, "dot": {Dot}, "N-body": {NBodyForces, AllPairs, TeamPairs},
	"Jacobi 2-D": {Jacobi2D, JacobiRows, JacobiColumns}, "3-D stencils": {Jacobi3D}, "matrix multiply": {MatMul, MatMulTiled},
	"2mm": {TwoMM}, "3mm": {ThreeMM}, "atax": {Atax}, "bicg": {Bicg}, "mvt": {Mvt}, "gemver": {Gemver}, "syrk": {Syrk, SyrkTriangle},
	"correlation": {Correlation}, "gramschmidt": {GramSchmidtStep}, "fdtd-2d": {FDTD2D}, "LU": {LUStep, LUFactor}, "Floyd-Warshall": {FloydStep},
	"histogram": {Histogram, HistogramTeams}, "prefix steps": {PrefixStep, ScanBlocks}, "k-means": {KMeans},
	"SpMV": {SpMV, SpMVTeams, SpMVLoop, SpMVELL}, "BFS": {BFSLevel}, "Mandelbrot": {Mandelbrot}, "Black-Scholes": {BlackScholes},
	"Monte-Carlo": {MonteCarloPi}, "EP": {EP}, "CG": {CGProduct, CGStep}, "LavaMD": {CellLists}, "heartwall": {Tracks},
	"discontinuous Galerkin": {DG},
}

// TestCorpusHoldsWhatIsKnown looks for the named programs among the cases that run as Go, on every device shape and as vector
// code, with sizes that are empty, odd and random.
func TestCorpusHoldsWhatIsKnown(t *testing.T) {
	for called, kernels := range known {
		for _, k := range kernels {
			require.True(t, slices.ContainsFunc(corpus, func(c corpusCase) bool { return name(c.kernel) == name(k) }), "%s: no case of %s", called, name(k))
		}
	}
	require.GreaterOrEqual(t, len(corpus), 100)
}
