package dist

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/deps"
)

// A log has the hash of each submission that it has kept, and at each interval, however many become part of it at once; those
// that are not part of it yet spoil none. Two logs of the same submissions have the same text, and the first difference is found.
func TestLog_HasTheSubmissions(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 4))
		n := r.IntN(3 * ring)
		differs := uint64(1 + r.IntN(n+1))
		var w, other World
		want := []uint64{0}
		for k, l := range []*submissionLog{&w.log, &other.log} {
			l.entries = make([]logEntry, ring)
			reported := uint64(0)
			flush := func() {
				sequence, hash, due := l.flush()
				require.Equal(t, due, l.sequence/interval > reported)
				if due {
					reported++
					require.Equal(t, reported*interval, sequence)
					require.Equal(t, l.entries[sequence%ring].hash, hash)
				}
			}
			for i := range uint64(n) {
				if l.recent.count == maxRecent || r.IntN(40) == 0 {
					flush()
				}
				h := i
				if k == 1 && i+1 == differs {
					h = 1 << 40
				}
				e := l.add(fmt.Sprint("task", i%5), int32(i%3), h)
				e.kind, e.other = otherEntry, &deps.Access{Region: deps.Interval(1, int64(i), int64(i+1))}
				if k == 0 {
					want = append(want, l.recent.hash)
				}
				if i%97 == 0 && l.sequence > 0 {
					for range 5 {
						at := 1 + r.Uint64N(l.sequence)
						hash, known, later := l.at(at)
						require.False(t, later)
						require.Equal(t, known, at+logged > l.sequence || at%interval == 0, "%d of %d", at, l.sequence)
						if known && (k == 0 || at < differs) {
							require.Equal(t, want[at], hash)
						}
					}
				}
			}
			flush()
		}
		e := w.compare(1, other.log.pack(nil))
		switch {
		case int(differs) > n:
			require.Nil(t, e)
			require.Equal(t, w.log.pack(nil), other.log.pack(nil))
		case int(differs)+logged <= n+1:
			require.Equal(t, uint64(0), e.Sequence)
		default:
			require.Equal(t, differs, e.Sequence)
			require.Contains(t, e.Mine, fmt.Sprintf("task%d #%d (in ", (differs-1)%5, differs))
		}
	}
}
