//go:build amd64 || arm64

package gpubench

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/simt"
)

// Every construct whose cost is measured does in every mode what the Go function does.
func TestOverheads_ModesEqualGo(t *testing.T) {
	for _, mode := range overheadModes {
		pkg, err := codegen.Load(codegen.File{Name: "overheads_kernels.go", Text: overheadsIn(mode)})
		require.NoError(t, err)
		for _, c := range append([]overhead{{kernel: EachStart}}, overheads...) {
			k, err := pkg.Kernel(c.name())
			require.NoError(t, err)
			lowered, err := codegen.Lower(k, codegen.LowerOptions{})
			require.NoError(t, err)
			program, err := simt.New(lowered.Program)
			require.NoError(t, err)
			want, got := make([]int32, 3), make([]int32, 3)
			c.kernel(4, want)
			_, err = program.Run([]simt.Arg{simtArg(4), simtArg(got)}, simt.Config{Teams: 2, Threads: 256, Races: true})
			require.NoError(t, err, "%s, %s", c.name(), mode)
			require.Equal(t, want, got, "%s, %s", c.name(), mode)
		}
	}
}
