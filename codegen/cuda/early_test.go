package cuda_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/cuda"
)

// With Early every kernel of the corpus waits before it does anything else, where an argument says
// so, and no load may be moved in front of that; NVRTC takes it for generations that know the wait
// and for those that do not. Without, nothing of it is printed.
func TestEarlyKernelsWaitFirst(t *testing.T) {
	var sources []nvrtcSource
	for i, c := range corpus(t) {
		plain := c.print(t, cuda.Options{Index32: true, Lines: true})
		require.NotContains(t, plain.Text, "griddepcontrol")
		early := c.print(t, cuda.Options{Index32: true, Lines: true, Early: true})
		require.NotContains(t, early.Text, "__restrict__", c.name)
		require.NotEqual(t, plain.Hash, early.Hash, c.name)
		for _, e := range early.Entries {
			_, body, ok := strings.Cut(early.Text[strings.Index(early.Text, "\n"+e.Name+"("):], "\n{\n")
			require.True(t, ok)
			require.True(t, strings.HasPrefix(body, "\tif (early)\n\t\tgompss_early();\n"), "%s: %.60s", e.Name, body)
			last, args := e.Args[len(e.Args)-1], make([]byte, e.ArgsSize)
			require.Equal(t, cuda.Argument{Kind: cuda.Early, Offset: last.Offset, Size: 4}, last)
			e.Wait(args, true)
			require.EqualValues(t, 1, args[last.Offset])
			e.Wait(args, false)
			require.Zero(t, args[last.Offset])
		}
		if i%4 == 0 {
			s := source(c.name, early)
			s.Archs = []string{[]string{"sm_90", "sm_75"}[i/4%2]}
			sources = append(sources, s)
		}
	}
	if testing.Short() {
		return
	}
	for _, r := range compile(t, nil, sources).Results {
		require.True(t, r.OK, "%s for %s:\n%s", r.Name, r.Arch, r.Log)
		require.Empty(t, r.Log, "%s for %s", r.Name, r.Arch)
	}
}
