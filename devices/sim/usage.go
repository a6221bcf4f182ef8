package sim

import (
	"slices"
	"sync"
	"time"

	"github.com/gompss/gompss/deps"
)

// A usage is that something reads or writes a region, until a moment of virtual time.
type usage struct {
	region deps.Region
	write  bool
	at     time.Duration
}

// A usageTable is what was used of the buffers of one address space, and until when. What is put behind work that the host knows to be done
// has no event to start after: in virtual time it starts after what it conflicts with all the same.
type usageTable struct {
	mu sync.Mutex
	of map[deps.BufferID][]usage
}

// since returns from when on u may start.
func (t *usageTable) since(u usage) (at time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, v := range t.of[u.region.Buffer] {
		if v.at > at && (u.write || v.write) && v.region.Overlaps(u.region) {
			at = v.at
		}
	}
	return at
}

// note adds u, and drops what it makes needless: nothing starts after that and before u.
func (t *usageTable) note(u usage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := slices.DeleteFunc(t.of[u.region.Buffer], func(v usage) bool {
		return v.at <= u.at && (u.write || !v.write) && u.region.Contains(v.region)
	})
	if t.of == nil {
		t.of = map[deps.BufferID][]usage{}
	}
	t.of[u.region.Buffer] = append(kept, u)
}

// drop forgets a buffer.
func (t *usageTable) drop(b deps.BufferID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.of, b)
}

// A touch is a usage that an operation makes in an address space.
type touch struct {
	table *usageTable
	usage
}
