package codegen

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/internal/contract"
	"github.com/gompss/gompss/codegen/ir"
)

const tileText = `package p

//omp:target
//omp:task inout(a[r:r+b][c:c+b])
//omp:shape a [n][n]
func Tile(n, r, c, b, m int, a []int) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < m; i++ {
		for j := 0; j < m; j++ {
			a[(r+i)*n+c+j] = 1
		}
	}
}

//omp:target
//omp:task inout(a[0:n][0:c])
//omp:shape a [n][n]
func Odd(n, r, c, b, m int, a []int) {
	//omp:teams distribute parallel for
	for i := 0; i < n*n/2; i++ {
		a[2*i+b] = 1
	}
}
`

// proofOf proves a launch of a kernel of tileText with n, r, c, b, m and n*n elements.
func proofOf(t testing.TB, name string, n, r, c, b, m int64) (p *Proof, prove func() error) {
	pkg, err := Load(File{Name: "k.go", Text: tileText})
	require.NoError(t, err)
	k, err := pkg.Kernel(name)
	require.NoError(t, err)
	env := ir.Values{k.Params[5]: {Len: n * n, Cap: n * n}}
	for i, v := range []int64{n, r, c, b, m} {
		env[k.Params[i]] = ir.Value{Bits: ir.Bits(v)}
	}
	p, contract := &Proof{}, NewContract(k)
	var boxes [][]Box
	for _, a := range Accesses(k) {
		box, err := EvalRegion(a.Region, n*n, env)
		require.NoError(t, err)
		boxes = append(boxes, box)
	}
	return p, func() error {
		p.Load(k, contract, env)
		return p.Inside(boxes)
	}
}

// TestProofIsCheap counts the steps of proofs: one where a region holds all between the ends, many where the index
// steps over what it does not hold, but then not again for the same launch.
func TestProofIsCheap(t *testing.T) {
	p, prove := proofOf(t, "Tile", 4096, 256, 512, 128, 128)
	require.NoError(t, prove())
	require.Equal(t, 1, p.Steps)
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = prove() }))

	p, prove = proofOf(t, "Odd", 256, 0, 255, 0, 0) // the last element of each row is odd
	require.NoError(t, prove())
	require.Greater(t, p.Steps, contract.ManySteps)
	require.NoError(t, prove())
	require.LessOrEqual(t, p.Steps, contract.ManySteps+1)
	_, prove = proofOf(t, "Odd", 256, 0, 255, 1, 0)
	require.ErrorContains(t, prove(), "touches elements 1 to 65535 (i = 32767) of a, outside its region a[0:n][0:c]")
}

// BenchmarkProof proves a launch on a tile.
func BenchmarkProof(b *testing.B) {
	_, prove := proofOf(b, "Tile", 4096, 256, 512, 128, 128)
	b.ReportAllocs()
	for b.Loop() {
		if err := prove(); err != nil {
			b.Fatal(err)
		}
	}
}
