//go:build amd64 || arm64

package dist_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/dist"
	"github.com/gompss/gompss/dist/internal/ranktest"
	"github.com/gompss/gompss/task"
)

func init() {
	limitMPI = func() { dist.LimitMPI(1000, 2, 24) }
	rankPrograms["level"] = func(rt *task.Runtime, w *dist.World, argument string) error {
		fmt.Printf("rank %d has level %s\n", w.Rank(), dist.LevelOf(w))
		return rt.Wait(context.Background())
	}
}

// One thread at a time calls the library, so the level Serialized is enough; and a message that is
// longer than the limit arrives whole, in parts, the last one shorter.
func TestRanks_SerializedAndInParts(t *testing.T) {
	for _, family := range ranktest.Families {
		t.Run(family, func(t *testing.T) {
			out, err := launch(t, family, 2, "limited level")
			require.NoError(t, err, out)
			require.Equal(t, 2, strings.Count(out, "has level serialized"), out)
			n := *processPrograms // most of their messages are large ones here
			if testing.Short() {
				n = 10
			}
			out, err = launch(t, family, 4, fmt.Sprintf("limited random:%d,%d", *firstSeed, n))
			require.NoError(t, err, out)
			require.Equal(t, 4, strings.Count(out, fmt.Sprintf("of 4 has run %d programs", n)), out)
			out, err = launch(t, family, 3, "limited large:10001")
			require.NoError(t, err, out)
			require.Equal(t, 3, strings.Count(out, "has all"), out)
			out, err = launch(t, family, 2, "limited many:40") // there are two tags
			require.NoError(t, err, out)
			require.Contains(t, out, "rank 1 has read 40 blocks")
		})
	}
}
