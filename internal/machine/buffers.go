package machine

import (
	"fmt"
	"sync/atomic"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// A buffer is what the machine knows of a buffer besides the directory.
type buffer struct {
	devices.Buffer
	// offHost reports whether an accelerator may have, or be getting, some of the buffer. While it
	// is false, everything is valid on the host and nowhere else, and the directory need not be
	// asked.
	offHost atomic.Bool
	// exclusiveSpace is 1 + the space that alone has the whole buffer, since a task there wrote all
	// of it; 0 after anything else. It is written under Machine.mu; readers without the lock get a
	// recent value.
	exclusiveSpace atomic.Int32
	// knownAt has a bit for each space whose device knows the buffer. It is read without a lock,
	// and bits are never cleared.
	knownAt atomic.Uint64
}

// isKnownAt reports whether the device of a space knows b.
func (b *buffer) isKnownAt(s devices.SpaceID) bool { return b.knownAt.Load()>>s.Device&1 != 0 }

// A bufferTable has the buffers of a machine by their ids. It is read without a lock and written
// under Machine.mu.
type bufferTable struct {
	table atomic.Pointer[[]atomic.Pointer[buffer]]
}

// get returns a buffer, and panics for one that was not added.
func (t *bufferTable) get(b deps.BufferID) *buffer {
	if known := t.find(b); known != nil {
		return known
	}
	panic(fmt.Sprintf("gompss: bug: devices: buffer %d was not added", b))
}

// find returns a buffer, nil for one that was not added.
func (t *bufferTable) find(b deps.BufferID) *buffer {
	if table := *t.table.Load(); int(b) < len(table) {
		return table[b].Load()
	}
	return nil
}

// set sets or clears the entry of a buffer. The table doubles when it is full, and grows further
// where ids are not dense. Requires: Machine.mu held, and the buffer unused.
func (t *bufferTable) set(b deps.BufferID, v *buffer) {
	table := *t.table.Load()
	if int(b) >= len(table) {
		more := make([]atomic.Pointer[buffer], max(int(b)+1, 2*len(table), 16))
		for i := range table {
			more[i].Store(table[i].Load())
		}
		table = more
		t.table.Store(&table)
	}
	table[b].Store(v)
}

// clearExclusive sets exclusiveSpace of all buffers to 0.
func (t *bufferTable) clearExclusive() {
	table := *t.table.Load()
	for i := range table {
		if b := table[i].Load(); b != nil {
			b.exclusiveSpace.Store(0)
		}
	}
}
