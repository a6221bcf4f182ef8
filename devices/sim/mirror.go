package sim

import (
	"encoding/binary"
	"fmt"
	"os"
	"unsafe"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// Poison is what fresh memory of a device is filled with, four bytes at a time: a NaN as a float32,
// and twice in a row as a float64.
const Poison uint32 = 0xfffa5a5a

// A mirror is the address range of one buffer on one device. Where granules are whole pages, only
// the backed ones can be touched.
type mirror struct {
	buffer  devices.Buffer
	memory  []byte // of the buffer's size, rounded up to whole granules
	backed  []bool // by granule
	granule deps.Bytes
	guarded bool
}

func newMirror(b devices.Buffer, granule deps.Bytes) (*mirror, error) {
	n := (b.Size + granule - 1) / granule
	m := &mirror{buffer: b, granule: granule, backed: make([]bool, n)}
	m.guarded = canGuard && int(granule)%os.Getpagesize() == 0
	var err error
	m.memory, err = reserve(int(n*granule), m.guarded)
	return m, err
}

// base returns the address of byte 0.
func (m *mirror) base() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(m.memory)) }

// mapRange backs [lo, hi), which must be whole granules (or the end of the buffer) that are not
// backed.
func (m *mirror) mapRange(lo, hi deps.Bytes) error {
	part, err := m.flip(lo, hi, true)
	if err != nil {
		return err
	}
	if m.guarded {
		if err := open(part); err != nil {
			return err
		}
	}
	fill(part)
	return nil
}

// unmapRange takes the backing of [lo, hi) away.
func (m *mirror) unmapRange(lo, hi deps.Bytes) error {
	part, err := m.flip(lo, hi, false)
	if err != nil {
		return err
	}
	if m.guarded {
		return shut(part)
	}
	fill(part)
	return nil
}

// flip marks the granules of [lo, hi) as backed or not and returns their memory.
//
// Errors: what the contract of devices.Memory forbids; they are bugs of the caller, which a real
// driver would refuse too.
func (m *mirror) flip(lo, hi deps.Bytes, backed bool) ([]byte, error) {
	if lo%m.granule != 0 || hi%m.granule != 0 && hi != m.buffer.Size || lo < 0 || hi <= lo || hi > m.buffer.Size {
		return nil, fmt.Errorf("bytes [%d,%d) of buffer %d: not whole granules of %v", lo, hi, m.buffer.ID, m.granule)
	}
	first, last := int(lo/m.granule), int((hi+m.granule-1)/m.granule)
	for i := first; i < last; i++ {
		if m.backed[i] == backed {
			return nil, fmt.Errorf("granule %d of buffer %d: backed is %t already", i, m.buffer.ID, backed)
		}
	}
	for i := first; i < last; i++ {
		m.backed[i] = backed
	}
	return m.memory[first*int(m.granule) : last*int(m.granule)], nil
}

// covers reports whether all of [lo, hi) is backed.
func (m *mirror) covers(lo, hi deps.Bytes) bool {
	for i := lo / m.granule; i*m.granule < hi; i++ {
		if !m.backed[i] {
			return false
		}
	}
	return true
}

// granules returns how many are backed.
func (m *mirror) granules() int {
	n := 0
	for _, b := range m.backed {
		if b {
			n++
		}
	}
	return n
}

func fill(part []byte) {
	if len(part) < 4 {
		return
	}
	binary.LittleEndian.PutUint32(part, Poison)
	for n := 4; n < len(part); n *= 2 {
		devices.CopyBytes(part[n:], part[:n])
	}
}
