package codegen_test

import (
	"hash/maphash"
	"iter"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// seedsOf gives the seeds of random programs: least of them from 1 on, or, where the environment
// variable holds a duration, all that fit in it from a seed of the process's own on.
// GOMPSS_RANDOM_SEED=N begins at N. The first seed and the number of programs are logged.
func seedsOf(t *testing.T, variable string, least uint64) iter.Seq[uint64] {
	first, until := uint64(1), time.Now()
	if text := os.Getenv(variable); text != "" {
		d, err := time.ParseDuration(text)
		require.NoError(t, err)
		until, least = until.Add(d), 1
		first = maphash.Bytes(maphash.MakeSeed(), nil) >> 12
	}
	if text := os.Getenv("GOMPSS_RANDOM_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
		first = n
	}
	t.Log("first seed", first)
	return func(yield func(uint64) bool) {
		n := uint64(0)
		defer func() { t.Logf("%d programs from seed %d on", n, first) }()
		for ; n < least || time.Now().Before(until); n++ {
			if !yield(first + n) {
				n++
				return
			}
		}
	}
}
