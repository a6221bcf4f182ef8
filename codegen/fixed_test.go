package codegen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
)

// TestEmptyTeamsLowers: a teams body without a statement made lowering look at its first one.
func TestEmptyTeamsLowers(t *testing.T) {
	const source = `package p

//omp:target
//omp:task inout(x)
func Empty(x []int) {
	//omp:teams
	{
	}
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		x[i]++
	}
}
`
	p, err := codegen.Load(codegen.File{Name: "empty.go", Text: source})
	require.NoError(t, err)
	k, err := p.Kernel("Empty")
	require.NoError(t, err)
	l, err := codegen.Lower(k, codegen.LowerOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, l.Program.Launches)
}
