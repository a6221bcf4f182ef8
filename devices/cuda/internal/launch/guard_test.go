package launch

import (
	"testing"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cuda"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/devices"
	"github.com/stretchr/testify/require"
)

func TestWhatDoesNotFit32BitsIsFound(t *testing.T) {
	prog, vars := packed()
	src, err := cuda.Print(prog, cuda.Options{Index32: true})
	require.NoError(t, err)
	env := func(n, length int64) ir.Values {
		e := ir.Values{}
		for _, v := range vars {
			e[v] = ir.Value{Len: length, Cap: length}
		}
		e[vars[2]] = ir.Value{Bits: ir.Bits(n)}
		return e
	}
	require.True(t, Fits32(src, env(cuda.Limit, cuda.Limit)))
	require.True(t, Fits32(src, env(-cuda.Limit, 0)))
	require.False(t, Fits32(src, env(cuda.Limit+1, 0)))
	require.False(t, Fits32(src, env(0, cuda.Limit+1)))
}

// TestLargeSlicesAreIndexedIn64Bits: what the host has proved of an index says that it lies in its
// slice, so that 32 bits of it do where that is no longer than Limit: n*m of 70000 each was an
// element in the front of a matrix.
func TestLargeSlicesAreIndexedIn64Bits(t *testing.T) {
	const text = `package k

//omp:target device(acc)
//omp:task inout(x)
func One(n, m int, x []int8) {
	x[n*m-1] = 1
}

//omp:target device(acc)
//omp:task inout(x)
func Rows(n, m int, x []int8) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		for j := 0; j < m; j++ {
			x[i*m+j] = 1
		}
	}
}

//omp:target device(acc)
//omp:task inout(x)
func Row(n, m int, x []int8) { // however long x is
	//omp:teams distribute parallel for
	for j := 0; j < n; j++ {
		x[j] = 1
	}
}
`
	pkg, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
	require.NoError(t, err)
	for _, kernel := range []string{"One", "Rows", "Row"} {
		k, err := pkg.Kernel(kernel)
		require.NoError(t, err)
		lowered, err := codegen.Lower(k, codegen.LowerOptions{})
		require.NoError(t, err)
		contract := codegen.NewContract(k)
		free, err := codegen.Lower(contract.Unchecked(k), codegen.LowerOptions{})
		require.NoError(t, err)
		g := GuardOf(&devices.Kernel{Program: lowered.Program, Unchecked: free.Program, Proves: func(args []devices.Arg) bool {
			var proof codegen.Proof
			proof.Load(k, contract, &Binding{Params: k.Params, Args: args})
			return proof.Proves()
		}})
		src, err := cuda.Print(g.Program, cuda.Options{Index32: true})
		require.NoError(t, err)
		for _, n := range []int64{100, 70000} {
			p := free.Program.Params
			env := ir.Values{p[0]: {Bits: ir.Bits(n)}, p[1]: {Bits: ir.Bits(n)}, p[2]: {Len: n * n, Cap: n * n}}
			args := []devices.Arg{{Bits: uint64(n)}, {Bits: uint64(n)}, {Len: n * n, Cap: n * n}}
			require.True(t, g.Holds(&Binding{Args: args}))
			args[2].Len = n - 1
			require.False(t, g.Holds(&Binding{Args: args}))
			require.Equal(t, n == 100 || kernel == "Row", Fits32(src, env), "%s: %s", kernel, src.Text)
		}
	}
}
