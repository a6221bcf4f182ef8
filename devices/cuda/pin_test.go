//go:build linux && (amd64 || arm64)

package cuda

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/devicetest"
)

const register, unregister = "cuMemHostRegister_v2", "cuMemHostUnregister"

// A second is one more buffer of a subject, of as many elements.
type second struct {
	s    *subject
	id   deps.BufferID
	host []int64
}

// reserve makes another buffer, with mirrors on devices, while registering does not end.
func (s *subject) reserve(id deps.BufferID, on ...*Device) *second {
	s.t.Helper()
	b := &second{s: s, id: id, host: make([]int64, len(s.host))}
	for i := range b.host {
		b.host[i] = int64(id) << 32
	}
	for _, d := range on {
		require.NoError(s.t, d.Reserve(b.buffer()))
		require.NoError(s.t, d.Map(id, 0, b.buffer().Size))
	}
	return b
}

func (b *second) buffer() devices.Buffer {
	return devices.Buffer{ID: b.id, Host: devices.NewHostMemory(unsafe.Pointer(&b.host[0])), Size: deps.Bytes(len(b.host)) * 8, Elem: 8}
}

func (b *second) copy(d *Device, from, to devices.SpaceID, after ...devices.Event) devices.Event {
	return d.Copy(devices.Transfer{Region: deps.Interval(b.id, 0, int64(len(b.host))), Elem: 8, From: from, To: to}, after)
}

func (b *second) up(d *Device) devices.Event { return b.copy(d, devices.Host, d.gpu.space) }

// holdPins lets registering begin and not end until it is called back.
func (s *subject) holdPins() (unref func()) {
	s.settled()
	fakeCall(s.t, "fakeHoldPins", 1)
	s.t.Cleanup(func() { fakeCall(s.t, "fakeHoldPins", 0) })
	return func() { fakeCall(s.t, "fakeHoldPins", 0) }
}

// settled waits until nothing is to be registered.
func (s *subject) settled() {
	for _, d := range s.list {
		d.platform.pins.waitIdle(d)
	}
}

// underWay waits until registering has been called n times since before.
func (s *subject) underWay(before, n int) {
	for calls(s.t, register) < before+n {
		runtime.Gosched()
	}
}

// TestRegisteringHoldsUpNobodyElse has a buffer that is registered without end: copies of other
// buffers continue, and so do kernels on this one and copies of it between GPUs; those of its
// memory wait, on both GPUs, and it is registered once.
func TestRegisteringHoldsUpNobodyElse(t *testing.T) {
	s := newSubject(t, Options{})
	unref := s.holdPins()
	before := calls(t, register)
	b := s.reserve(1, s.list...)
	s.underWay(before, 1)
	waiting := []devices.Event{b.up(s.d), b.up(s.list[1])}
	for _, d := range s.list {
		require.NoError(t, waitFor(s.copy(d, devices.Host, d.gpu.space)))
	}
	args := *s.args
	args.List = []devices.Arg{args.List[0], args.List[1]}
	args.List[1].Buffer = 1 // what it writes
	run := s.d.Launch(&devices.Launch{Kernel: devicetest.Twice(), Args: &args}, nil)
	across := b.copy(s.list[1], s.d.gpu.space, s.list[1].gpu.space, run)
	require.NoError(t, waitFor(across))
	require.NoError(t, waitFor(s.copy(s.d, s.d.gpu.space, devices.Host)))
	down := b.copy(s.list[1], s.list[1].gpu.space, devices.Host, across, waiting[1])
	for _, e := range append(waiting, down) {
		require.False(t, e.Done(), "it was enqueued before the memory was registered")
	}
	require.False(t, s.d.platform.pins.has(1))
	unref()
	for _, e := range append(waiting, down) {
		require.NoError(t, waitFor(e))
	}
	for i := range b.host {
		require.EqualValues(t, 1<<32, b.host[i])
	}
	require.True(t, s.d.platform.pins.has(1))
	require.Equal(t, before+1, calls(t, register))
	require.Equal(t, 2, live(t, "pin"))
	s.close()
}

// TestWhatCopiesWaitForIsRegisteredFirst has a buffer that is registered without end, one that
// no copy is behind it, and one behind that which is to be copied.
func TestWhatCopiesWaitForIsRegisteredFirst(t *testing.T) {
	s := newSubject(t, Options{})
	unref := s.holdPins()
	before := calls(t, register)
	s.reserve(1, s.d)
	s.underWay(before, 1)
	s.reserve(2, s.d)
	b := s.reserve(3, s.d)
	wanted := b.up(s.d)
	p := &s.d.platform.pins
	p.mu.Lock()
	require.Len(t, p.queue, 2)
	p.mu.Unlock()
	require.Eventually(t, func() bool { p.mu.Lock(); defer p.mu.Unlock(); return p.of[3].awaited }, time.Second, time.Millisecond)
	e, _ := p.next()
	require.EqualValues(t, 3, e.buffer.ID)
	p.mu.Lock() // as it was
	e.state, p.queue, p.in = awaiting, append(p.queue, e), s.d
	p.mu.Unlock()
	unref()
	require.NoError(t, waitFor(wanted))
	s.settled()
	for id := range 3 {
		require.True(t, p.has(deps.BufferID(id+1)))
	}
	s.close()
}

// TestWhatHasWaitedIsCopiedAsPinnedMemory: a copy that waited for registering goes to its stream
// while the kernel before it still runs, as those do that find their memory registered; one of
// memory that was refused does when that has finished.
func TestWhatHasWaitedIsCopiedAsPinnedMemory(t *testing.T) {
	const enqueue = "cuMemcpyHtoDAsync_v2"
	for _, refuse := range []bool{false, true} {
		t.Run(fmt.Sprint(refuse), func(t *testing.T) {
			s := newSubject(t, Options{})
			k := benchKernel(t, "Triad") // one that cannot fail alone
			require.NoError(t, s.d.Prepare(k))
			unref := s.holdPins()
			if refuse {
				failNext(t, register, 1, 1)
			}
			b := s.reserve(1, s.d)
			fakeCall(t, "fakeHold", 1)
			defer fakeCall(t, "fakeHold", 0)
			run := s.d.Launch(triad(t, "before", k), nil)
			before := calls(t, enqueue)
			up := b.copy(s.d, devices.Host, s.d.gpu.space, run)
			unref()
			s.settled()
			if refuse {
				for range 1000 { // the engine would have enqueued it
					runtime.Gosched()
					require.Equal(t, before, calls(t, enqueue))
				}
				fakeCall(t, "fakeHold", 0)
				require.NoError(t, waitFor(run))
			}
			require.Eventually(t, func() bool { return calls(t, enqueue) == before+1 }, 10*time.Second, 100*time.Microsecond)
			require.Equal(t, refuse, run.Done())
			fakeCall(t, "fakeHold", 0)
			require.NoError(t, waitFor(up))
			s.close()
		})
	}
}

// TestReleaseWhileRegisteringIsUnderWay: the last to release waits and has the driver forget it;
// another does not wait.
func TestReleaseWhileRegisteringIsUnderWay(t *testing.T) {
	s := newSubject(t, Options{})
	unref := s.holdPins()
	before, undone := calls(t, register), calls(t, unregister)
	b := s.reserve(1, s.list...)
	s.underWay(before, 1)
	require.NoError(t, s.d.Release(1))
	released := make(chan error)
	go func() { released <- s.list[1].Release(1) }()
	awaited := s.reserve(2, s.list...)
	for _, d := range s.list {
		require.NoError(t, d.Release(2), "that has not begun, and never does")
	}
	select {
	case <-released:
		t.Error("released while it was being registered")
	default:
	}
	unref()
	require.NoError(t, <-released)
	require.Equal(t, 1, live(t, "pin"))
	require.Equal(t, before+1, calls(t, register))
	require.Equal(t, undone+1, calls(t, unregister))
	runtime.KeepAlive(b)
	runtime.KeepAlive(awaited)
	s.close()
}

// TestCloseWhileRegisteringIsUnderWay closes the device in whose context it is first, and last.
func TestCloseWhileRegisteringIsUnderWay(t *testing.T) {
	for first := range 2 {
		t.Run(fmt.Sprint(first), func(t *testing.T) {
			s := newSubject(t, Options{})
			unref := s.holdPins()
			before := calls(t, register)
			kept := []*second{s.reserve(1, s.list...), s.reserve(2, s.d), s.reserve(3, s.list[1])}
			s.underWay(before, 1)
			var closing sync.WaitGroup
			closing.Go(func() {
				for i := range 2 {
					if err := s.list[(first+i)%2].Close(); err != nil {
						t.Error(err)
					}
				}
			})
			p := &s.d.platform.pins
			for left := false; !left; runtime.Gosched() {
				p.mu.Lock()
				left = !slices.Contains(p.of[1].users, s.list[first])
				p.mu.Unlock()
			}
			for range 1000 { // a device that did not wait would be closed
				runtime.Gosched()
			}
			unref()
			closing.Wait()
			noneLive(t)
			runtime.KeepAlive(kept)
		})
	}
}

// TestRegisteringMayFail: a waiting copy fails with its error, on both GPUs, else the one that
// comes first, else the release of the buffer; then it is tried again.
func TestRegisteringMayFail(t *testing.T) {
	right := func(t *testing.T, err error) {
		t.Helper()
		var failed *devices.DeviceError
		require.ErrorAs(t, err, &failed)
		require.Equal(t, "cuda:0", failed.Device)
		require.Equal(t, "pin", failed.What)
		require.False(t, failed.Fatal)
		require.ErrorContains(t, err, register)
	}
	t.Run("those who wait", func(t *testing.T) {
		s := newSubject(t, Options{})
		unref := s.holdPins()
		failNext(t, register, 2, 304)
		before := calls(t, register)
		first, b := s.reserve(1, s.d), s.reserve(2, s.list...)
		s.underWay(before, 1)
		waiting := []devices.Event{b.up(s.d), b.up(s.list[1])}
		behind := b.copy(s.list[1], s.d.gpu.space, s.list[1].gpu.space, waiting[0])
		unref()
		for _, e := range append(waiting, behind) {
			right(t, waitFor(e))
		}
		require.NoError(t, waitFor(first.up(s.d)))
		require.NoError(t, waitFor(b.up(s.list[1])), "it is tried again")
		require.True(t, s.d.platform.pins.has(2))
		s.close()
	})
	t.Run("who comes later", func(t *testing.T) {
		s := newSubject(t, Options{})
		s.settled()
		failNext(t, register, 1, 304)
		b := s.reserve(1, s.d)
		s.settled()
		right(t, waitFor(b.up(s.d)))
		require.NoError(t, waitFor(b.up(s.d)), "it is tried again")
		s.close()
	})
	t.Run("who releases", func(t *testing.T) {
		s := newSubject(t, Options{})
		s.settled()
		failNext(t, register, 1, 304)
		b := s.reserve(1, s.list...)
		s.settled()
		require.NoError(t, s.d.Release(1))
		right(t, s.list[1].Release(1))
		runtime.KeepAlive(b)
		s.close()
	})
	t.Run("refused", func(t *testing.T) {
		s := newSubject(t, Options{})
		unref := s.holdPins()
		failNext(t, register, 2, 1)
		before := calls(t, register)
		first, b := s.reserve(1, s.d), s.reserve(2, s.list...)
		s.underWay(before, 1) // what a copy waits for would go first
		up := b.up(s.d)
		unref()
		require.NoError(t, waitFor(up))
		require.False(t, s.d.platform.pins.has(2))
		op, over := s.d.copyOperation(devices.Transfer{Region: deps.Interval(2, 0, 1), Elem: 8, To: s.d.gpu.space})
		require.Nil(t, over)
		require.True(t, op.host, "it goes by way of the driver's own memory")
		require.NoError(t, waitFor(b.up(s.list[1])))
		runtime.KeepAlive(first)
		s.close()
	})
}

// TestRegisteringOutlivesItsDevice: the GPU in whose context memory is being registered comes to
// its end by that, and the other registers it.
func TestRegisteringOutlivesItsDevice(t *testing.T) {
	s := newSubject(t, Options{})
	unref := s.holdPins()
	failNext(t, register, 2, 214) // an error of the hardware
	before := calls(t, register)
	kept, b := s.reserve(1, s.list[1]), s.reserve(2, s.list...)
	s.underWay(before, 1)
	dead, fine := b.up(s.d), b.up(s.list[1])
	unref()
	require.NoError(t, waitFor(fine))
	var fatal *devices.DeviceError
	require.ErrorAs(t, waitFor(dead), &fatal)
	require.True(t, fatal.Fatal)
	require.Equal(t, "cuda:0", fatal.Device)
	require.NoError(t, s.list[1].gpu.alive())
	require.True(t, s.d.platform.pins.has(2))
	runtime.KeepAlive(kept)
	s.close()
}

// TestManyPinAndRelease has both GPUs reserve, copy and release the same buffers again and again,
// in any order.
func TestManyPinAndRelease(t *testing.T) {
	s := newSubject(t, Options{})
	fakeCall(t, "fakeSlowPins", 200)
	defer fakeCall(t, "fakeSlowPins", 0)
	var buffers []*second
	for id := range 4 {
		buffers = append(buffers, s.reserve(deps.BufferID(id+1)))
	}
	var all sync.WaitGroup
	for i, d := range s.list {
		all.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			for range 100 {
				b := buffers[r.IntN(len(buffers))]
				if err := d.Reserve(b.buffer()); err != nil {
					t.Error(err)
					return
				}
				if r.IntN(3) > 0 {
					if err := d.Map(b.id, 0, b.buffer().Size); err != nil {
						t.Error(err)
					}
					if err := waitFor(b.up(d)); err != nil {
						t.Error(err)
					}
				}
				if err := d.Release(b.id); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	require.Equal(t, 1, live(t, "pin"))
	s.close()
}

// mappedPages returns n untouched bytes, in small pages, with a page around them.
func mappedPages(t *testing.T, n, protection int) (memory, around []byte) {
	t.Helper()
	page := unix.Getpagesize()
	around, err := unix.Mmap(-1, 0, n+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	require.NoError(t, err)
	require.NoError(t, unix.Madvise(around, unix.MADV_NOHUGEPAGE))
	require.NoError(t, unix.Mprotect(around, protection))
	t.Cleanup(func() { require.NoError(t, unix.Munmap(around)) })
	return around[page : page+n], around
}

// resident returns which pages the system has given.
func resident(t *testing.T, pages []byte) (given []byte, n int) {
	t.Helper()
	given = make([]byte, len(pages)/unix.Getpagesize())
	_, _, code := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&pages[0])), uintptr(len(pages)), uintptr(unsafe.Pointer(&given[0])))
	require.Zero(t, code)
	for i := range given {
		given[i] &= 1
		n += int(given[i])
	}
	return given, n
}

// TestPopulateGivesWholePages populates memory of which some was written, and that begins and ends
// within pages: all its whole pages are there, none beside them, and it holds what it held.
func TestPopulateGivesWholePages(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	page := unix.Getpagesize()
	_, around := mappedPages(t, page, unix.PROT_READ|unix.PROT_WRITE)
	if unix.Madvise(around, unix.MADV_POPULATE_WRITE) != nil {
		t.Skip("the system populates nothing: it is older than Linux 5.14")
	}
	if _, n := resident(t, around); n < len(around)/page {
		t.Skip("the system populates nothing, and says that it does: qemu-user")
	}
	for _, n := range []int{populateFrom + 2*page, populateFrom + 3*populatePiece + 5*page} {
		memory, around := mappedPages(t, n, unix.PROT_READ|unix.PROT_WRITE)
		for i := page; i < n; i += 7 * page {
			memory[i] = byte(i >> 12)
		}
		populate(memory[100 : n-100]) // the first and the last page are not its own alone
		given, count := resident(t, around)
		require.Equal(t, n/page-2, count)
		require.Equal(t, []byte{0, 0, 1}, given[:3])
		require.Equal(t, []byte{1, 0, 0}, given[len(given)-3:])
		for i := range memory {
			want := byte(0)
			if i%(7*page) == page {
				want = byte(i >> 12)
			}
			if memory[i] != want {
				t.Fatalf("byte %d of %d is %d", i, n, memory[i])
			}
		}
	}
	small, around := mappedPages(t, populateFrom-page, unix.PROT_READ|unix.PROT_WRITE)
	populate(small)
	_, count := resident(t, around)
	require.Zero(t, count, "small memory is left to the driver")
	for _, n := range []int{0, 1, page} {
		require.Empty(t, wholePages(small[1:1+n]))
	}
	require.Len(t, wholePages(small[:page]), page)
}

// TestPopulateBesideWriters populates memory that others write meanwhile.
func TestPopulateBesideWriters(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	x := make([]int64, (populateFrom+populatePiece)/8)
	b := devices.Buffer{Host: devices.NewHostMemory(unsafe.Pointer(&x[0])), Size: deps.Bytes(len(x)) * 8, Elem: 8}
	var over atomic.Bool
	var all sync.WaitGroup
	for w := range 2 {
		all.Go(func() {
			for i := w; i < len(x); i += 2 {
				x[i] = int64(i)
			}
			over.Store(true)
		})
	}
	for again := true; again; again = !over.Load() {
		populate(bytesOf(b))
	}
	all.Wait()
	for i := range x {
		if x[i] != int64(i) {
			t.Fatalf("element %d is %d", i, x[i])
		}
	}
}

// TestMemoryThatNobodyMayWriteIsPinnedOrNot registers memory that can only be read, where the
// driver takes it and where it refuses it: the copy brings what it holds.
func TestMemoryThatNobodyMayWriteIsPinnedOrNot(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	for _, refuse := range []bool{false, true} {
		t.Run(fmt.Sprint(refuse), func(t *testing.T) {
			s := newSubject(t, Options{})
			s.settled()
			const n = populateFrom // zeros, as it was never written
			require.NoError(t, s.d.Unmap(0, 0, s.buffer().Size))
			memory, around := mappedPages(t, n, unix.PROT_READ)
			b := devices.Buffer{ID: 1, Host: devices.NewHostMemory(unsafe.Pointer(&memory[0])), Size: n, Elem: 8}
			if refuse {
				failNext(t, register, 1, 1)
			}
			require.NoError(t, s.d.Reserve(b))
			s.settled()
			require.Equal(t, !refuse, s.d.platform.pins.has(1))
			_, count := resident(t, around)
			require.Zero(t, count, "nothing was written")
			const part = 1 << 20
			require.NoError(t, s.d.Map(1, 0, 8*part))
			require.NoError(t, waitFor(s.d.Copy(devices.Transfer{Region: deps.Interval(1, 0, part), Elem: 8, To: s.d.gpu.space}, nil)))
			s.close()
		})
	}
}

// TestPins_MemoryThatWasFreed: what lies where memory was that the collector has freed, and that is
// still registered, is neither registered nor copied before the driver has forgotten that: the
// system may have given its pages to others (issue 16, 18).
func TestPins_MemoryThatWasFreed(t *testing.T) {
	for _, n := range []int{20000, 1000} { // registered, and too small for it
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s := newSubject(t, Options{})
			finish := func() {
				require.NoError(t, s.d.Unmap(0, 0, s.buffer().Size))
				for _, d := range s.list[1:] {
					require.NoError(t, d.Unmap(0, 0, s.buffer().Size))
				}
				for _, d := range s.list {
					require.NoError(t, d.Release(0))
				}
				s.close()
			}
			host := devices.NewHostMemory(unsafe.Pointer(&make([]int64, 20000)[0]))
			require.True(t, devices.Collectable(host, func(int) {}, 0))
			require.NoError(t, s.d.Reserve(devices.Buffer{ID: 1, Host: host, Size: 160000, Elem: 8}))
			s.settled()
			require.True(t, s.d.platform.pins.has(1))
			host.Weaken()
			for host.At() != nil {
				runtime.GC()
			}
			var x []int64
			for tries := 0; x == nil || uintptr(unsafe.Pointer(&x[0])) != host.Address(); tries++ {
				if x = make([]int64, 20000); tries > 10000 {
					require.NoError(t, s.d.Release(1))
					finish()
					t.Skip("the Go runtime does not use the address again")
				}
			}
			size := deps.Bytes(n) * 8
			require.NoError(t, s.d.Reserve(devices.Buffer{ID: 2, Host: devices.NewHostMemory(unsafe.Pointer(&x[0])), Size: size, Elem: 8}))
			require.NoError(t, s.d.Map(2, 0, size))
			copied := s.d.Copy(devices.Transfer{Region: deps.Interval(2, 0, int64(n)), Elem: 8, To: s.d.gpu.space}, nil)
			s.settled()
			require.False(t, copied.Done())
			require.False(t, s.d.platform.pins.has(2))
			require.NoError(t, s.d.Release(1))
			require.NoError(t, waitFor(copied))
			require.Equal(t, n == 20000, s.d.platform.pins.has(2))
			require.NoError(t, s.d.Unmap(2, 0, size))
			require.NoError(t, s.d.Release(2))
			finish()
		})
	}
}
