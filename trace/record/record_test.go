package record

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A keeper is a sink that keeps everything.
type keeper struct {
	machine *probe.Machine
	all     Batch
	closed  int
	gate    chan struct{} // when not nil, Take waits for it
}

func (k *keeper) Open(m *probe.Machine) error { k.machine = m; return nil }
func (k *keeper) Close() error                { k.closed++; return nil }
func (k *keeper) Take(b *Batch) error {
	if k.gate != nil {
		<-k.gate
	}
	b = unpacked(b)
	k.all.Tasks = append(k.all.Tasks, b.Tasks...)
	k.all.Details = append(k.all.Details, b.Details...)
	k.all.Points = append(k.all.Points, b.Points...)
	k.all.Dropped = b.Dropped
	if b.Lost != nil {
		k.all.Lost = b.Lost
	}
	return nil
}

func machine() *probe.Machine {
	return &probe.Machine{Policy: "locality", Opened: time.Unix(1700000000, 5).UTC(), Places: []probe.Place{
		{Name: "smp", Kind: "smp", Workers: 4, Tokens: 100, Host: true},
		{Name: "sim:0", Kind: "sim", Workers: 1, Memory: 1 << 20, ClockError: 3},
	}}
}

func randomBatch(r *rand.Rand) *Batch {
	word := func() string { return []string{"", "Forces", "Move", "a label"}[r.IntN(4)] }
	at := func() time.Duration { return time.Duration(r.Int64N(1 << 40)) }
	b := &Batch{Dropped: r.Uint64N(10), Packed: randomPacked(r)}
	for range r.IntN(20) {
		b.Tasks = append(b.Tasks, probe.Task{ID: deps.TaskID(r.Uint64N(1000)), Last: deps.TaskID(r.Uint64N(100)), Submit: at(), Ready: at(), Choice: at(),
			Launch: at(), Start: at(), End: at(), Release: at(), Traffic: probe.Traffic{Missing: deps.Bytes(r.Int64N(1e9)), Bytes: deps.Bytes(r.Int64N(3) * 1e9)}, Kernel: word(), Label: word(), Variant: word(), Err: word(),
			Place: int16(r.IntN(5) - 1), Worker: int16(r.IntN(9)), Tokens: int32(r.IntN(100)), Short: r.IntN(2) == 0, Skipped: r.IntN(2) == 0})
	}
	for range r.IntN(20) {
		d := Detail{Task: deps.TaskID(r.Uint64N(1000)), What: DetailKind(1 + r.IntN(3)), Count: uint8(r.IntN(6)), Mode: deps.InOut, Place: int16(r.IntN(4))}
		for i := range d.Values {
			d.Values[i] = r.Int64() - 1<<62
		}
		b.Details = append(b.Details, d)
	}
	for range r.IntN(5) {
		p := probe.Point{Kind: probe.Arrive, Begin: at(), Time: at(), From: "host", To: word(), Device: word(), Kernel: word(), Bytes: 80, Hit: r.IntN(2) == 0,
			Region: deps.Interval(3, 5, 5+r.Int64N(9))}
		if r.IntN(2) == 0 {
			p.Err = errors.New("boom")
		}
		switch r.IntN(5) {
		case 0:
			p = probe.Point{Kind: probe.Explain, Kernel: word(), Label: "because\n" + word(), Begin: at(), Time: at()}
		case 1:
			p = probe.Point{Kind: probe.Learn, Kernel: word(), Device: "smp", Bytes: 1 << 20, Begin: at(), Time: at(), Learned: &probe.Learned{Samples: 7, Middle: at(), Least: 1, Most: at()}}
		case 2:
			p = probe.Point{Kind: probe.Phase, Label: probe.PhaseWait, Begin: at(), Time: at()}
		}
		b.Points = append(b.Points, p)
	}
	return b
}

// randomPacked is like what comes of briefs.
func randomPacked(r *rand.Rand) (p Packed) {
	p = NewPacked(0, int16(r.IntN(3)))
	for range r.IntN(20) {
		far := int64(1) << (10 + 30*r.IntN(2)) // near ones are written in another form
		at := func() time.Duration { return time.Duration(r.Int64N(far)) }
		b := &probe.Brief{ID: deps.TaskID(1<<20 + r.Uint64N(90)*(1+20*r.Uint64N(2))), Last: deps.TaskID(r.Uint64N(100)), Submit: at(), Worker: int16(r.IntN(9) - 1)}
		b.Ready = b.Submit + at()
		b.Start = b.Ready + at()
		b.End = b.Start + at() - time.Duration(r.IntN(2)*r.IntN(2))*at()
		var accesses []deps.Access
		for range r.IntN(4) {
			from := r.Int64N(1 << (10 + 20*r.IntN(2)))
			accesses = append(accesses, deps.Access{Region: deps.Interval(deps.BufferID(r.IntN(9000)), from, from+1+r.Int64N(1<<31)), Mode: deps.Mode(r.IntN(6))})
		}
		var preds []deps.TaskID
		for range r.IntN(8) {
			preds = append(preds, b.ID-1-deps.TaskID(r.Uint64N(1<<19)))
		}
		b.Pack(accesses, preds)
		p.Add(b)
	}
	return p
}

// blocks returns batches of which each is one block.
func blocks(b *Batch) []*Batch {
	plain, packed := *b, &Batch{Packed: b.Packed, Dropped: b.Dropped}
	if plain.Packed = (Packed{}); packed.Len() == 0 {
		return []*Batch{&plain}
	}
	return []*Batch{&plain, packed}
}

// unpacked returns a copy of b in which nothing is packed.
func unpacked(b *Batch) *Batch {
	b = b.Clone()
	b.Unpack()
	return b
}

func written(t testing.TB, batches ...*Batch) []byte {
	var out bytes.Buffer
	w := NewWriter(&out)
	require.NoError(t, w.Open(machine()))
	for _, b := range batches {
		require.NoError(t, w.Take(b))
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var want Batch
		var batches []*Batch
		for range r.IntN(4) {
			b := randomBatch(r)
			batches = append(batches, b)
			b = unpacked(b)
			want.Tasks, want.Details, want.Points = append(want.Tasks, b.Tasks...), append(want.Details, b.Details...), append(want.Points, b.Points...)
			want.Dropped = b.Dropped
		}
		got := &keeper{}
		damage, err := Read(bytes.NewReader(written(t, batches...)), got)
		require.NoError(t, err)
		require.True(t, damage.Whole(), damage)
		require.Equal(t, want, got.all)
		require.Equal(t, machine(), got.machine)
	}
}

// Files of older versions are read as they were.
func TestOlderVersionsAreRead(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	b := randomBatch(r)
	b.Packed = Packed{}
	for version := range byte(Version) {
		file := written(t, b)
		file[len(magic)] = version
		got := &keeper{}
		damage, err := Read(bytes.NewReader(file), got)
		require.NoError(t, err)
		require.True(t, damage.Whole(), damage)
		require.Equal(t, *b, got.all)
	}
	file := written(t, b)
	file[len(magic)] = Version + 1
	_, err := Read(bytes.NewReader(file), &keeper{})
	require.ErrorContains(t, err, fmt.Sprintf("the file has version %d of the format, this program reads up to %d", Version+1, Version))
}

// Cut off anywhere, the file gives the batches that are whole, and says that the end is missing.
func TestCutOffFiles(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	batches := slices.Concat(blocks(randomBatch(r)), blocks(randomBatch(r)), blocks(randomBatch(r)))
	whole := written(t, batches...)
	var out bytes.Buffer
	var ends []int // where each batch is complete
	w := NewWriter(&out)
	require.NoError(t, w.Open(machine()))
	for _, b := range batches {
		require.NoError(t, w.Take(b))
		ends = append(ends, out.Len())
	}
	for n := range whole {
		got := &keeper{}
		damage, err := Read(bytes.NewReader(whole[:n]), got)
		if err != nil {
			require.ErrorIs(t, err, ErrNotTrace)
			continue
		}
		require.True(t, damage.Open, "%d bytes", n)
		want := 0
		for i, b := range batches {
			if n >= ends[i] {
				want += len(unpacked(b).Tasks)
			}
		}
		require.Len(t, got.all.Tasks, want, "%d bytes", n)
	}
}

// A wrong byte costs one block, and is reported.
func TestDamagedFiles(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	batches := slices.Concat(blocks(randomBatch(r)), blocks(randomBatch(r)), blocks(randomBatch(r)), blocks(randomBatch(r)))
	all := 0
	most := 0
	for _, b := range batches {
		n := len(unpacked(b).Tasks)
		all, most = all+n, max(most, n)
	}
	whole := written(t, batches...)
	for i := range whole {
		bad := bytes.Clone(whole)
		bad[i] ^= 0x41
		got := &keeper{}
		damage, err := Read(bytes.NewReader(bad), got)
		if i == 8 || i == 9 { // the version
			require.Error(t, err)
			continue
		}
		require.NoError(t, err)
		require.False(t, damage.Whole(), "byte %d", i)
		require.NotEmpty(t, damage.String())
		require.GreaterOrEqual(t, len(got.all.Tasks), all-most, "byte %d", i)
	}
}

// Bytes that are wrong, missing or too many, at several places: what is read was written, and the
// rest is reported.
func TestRandomDamage(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 2000 {
		batches := []*Batch{randomBatch(r), randomBatch(r), randomBatch(r)}
		all := map[deps.TaskID][]probe.Task{}
		for _, b := range batches {
			for _, x := range unpacked(b).Tasks {
				all[x.ID] = append(all[x.ID], x)
			}
		}
		file := written(t, batches...)
		for range 1 + r.IntN(4) {
			at := 10 + r.IntN(len(file)-10)
			switch n := min(r.IntN(30), len(file)-at); r.IntN(3) {
			case 0:
				file = append(file[:at:at], file[at+n:]...)
			case 1:
				file = append(append(file[:at:at], bytes.Repeat([]byte{0xf5}, n)...), file[at:]...)
			default:
				for i := range n {
					file[at+i] ^= byte(r.IntN(256))
				}
			}
		}
		got := &keeper{}
		damage, err := Read(bytes.NewReader(file), got)
		if err != nil {
			require.ErrorIs(t, err, ErrNotTrace)
			continue
		}
		for _, x := range got.all.Tasks {
			require.Contains(t, all[x.ID], x)
		}
		if !bytes.Equal(file, written(t, batches...)) {
			require.False(t, damage.Whole())
		}
	}
}

func FuzzRead(f *testing.F) {
	r := rand.New(rand.NewPCG(7, 8))
	f.Add(written(f, randomBatch(r), randomBatch(r)))
	f.Add([]byte(magic))
	f.Add(appendPacked(nil, &Batch{Packed: randomPacked(r)}))
	f.Fuzz(func(t *testing.T, file []byte) {
		_, err := Read(bytes.NewReader(file), &keeper{})
		_ = err // any error will do; what must not happen is a panic or a hang
		var d decoder
		var b, again Batch
		if d.decode(&b, file, map[string]string{}) == nil && len(b.Tasks) > 0 {
			require.NoError(t, d.decode(&again, (&encoder{}).encode(&b), map[string]string{}))
			require.Equal(t, b.Tasks, again.Tasks)
		}
		b.reset()
		again.reset()
		if d.decodePacked(&b, file) == nil {
			require.NoError(t, d.decodePacked(&again, appendPacked(nil, &b)))
			require.Equal(t, b.Packed.words, again.Packed.words)
			b.Unpack()
		}
	})
}

func TestRecorderLosesNothing(t *testing.T) {
	k := &keeper{}
	r := New(Options{Sinks: []Sink{k}, Slots: 1 << 12})
	r.Open(machine())
	const each, writers = 500, 8 // less than a ring, so nothing may be dropped however slow the collector is
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				id := deps.TaskID(w*each + i + 1)
				r.Submitted(id, nil, []deps.TaskID{1, 2, 3, 4, 5, 6, 7})
				r.Ended(&probe.Task{ID: id, Worker: int16(w % 4)})
			}
		})
	}
	all.Wait()
	require.NoError(t, r.Close())
	seen := map[deps.TaskID]bool{}
	for _, x := range k.all.Tasks {
		require.False(t, seen[x.ID])
		seen[x.ID] = true
	}
	require.Len(t, seen, each*writers)
	preds := 0
	for _, d := range k.all.Details {
		preds += int(d.Count)
	}
	require.Equal(t, each*writers*7, preds)
	require.Zero(t, r.Dropped())
	require.Equal(t, 1, k.closed)
}

// A sink that is stalled costs records, which are counted, and never time.
func TestADeadSinkDropsAndCounts(t *testing.T) {
	k := &keeper{gate: make(chan struct{})}
	r := New(Options{Sinks: []Sink{k}, Slots: 64})
	r.Open(machine())
	const n = 10000
	for i := range n {
		r.Ended(&probe.Task{ID: deps.TaskID(i + 1)})
	}
	require.Greater(t, r.Dropped(), uint64(n-64*(4+2+spare)*4))
	close(k.gate)
	require.NoError(t, r.Close())
	require.Equal(t, uint64(n), uint64(len(k.all.Tasks))+k.all.Dropped)
	require.Equal(t, k.all.Dropped, k.all.Lost.Records())
}

// What is dropped is counted by kernel, place and outcome, by link, and as details: records and
// losses together are all that happened (issue 16, point 5). A file says the same.
func TestLosses_CountWhatIsDropped(t *testing.T) {
	k := &keeper{gate: make(chan struct{})}
	var file bytes.Buffer
	r := New(Options{Sinks: []Sink{k, NewWriter(&file)}, Slots: 64})
	r.Open(machine())
	const n = 20000
	want := map[string]int64{}
	for i := range n {
		x := &probe.Task{ID: deps.TaskID(i + 1), Kernel: []string{"A", "B", ""}[i%3], Label: []string{"x", "y"}[i%2], Start: 10, End: 10 + time.Duration(1+i%7)}
		switch i % 5 {
		case 3:
			x.Err = "boom"
		case 4:
			x.Err, x.Skipped, x.Start, x.Place = "skipped", true, 0, -1
		}
		want[x.Err]++
		r.Ended(x)
		r.Submitted(x.ID, nil, []deps.TaskID{1, 2})
		r.Observe(probe.Point{Kind: probe.Arrive, From: "host", To: "sim:0", Bytes: 8})
		r.Observe(probe.Point{Kind: probe.Alloc, Device: "sim:0", Bytes: 8})
	}
	close(k.gate)
	require.NoError(t, r.Close())
	check := func(all *Batch) {
		all.Unpack()
		sum := all.Lost.Sum()
		require.NotZero(t, sum.Count)
		got := map[string]int64{"": sum.Count - sum.Failed - sum.Skipped, "boom": sum.Failed, "skipped": sum.Skipped}
		for i := range all.Tasks {
			got[all.Tasks[i].Err]++
		}
		require.Equal(t, want, got)
		copies, others := all.Lost.Copies[0].Copies, int64(all.Lost.Points)
		for i := range all.Points {
			if all.Points[i].Kind == probe.Arrive {
				copies++
			} else {
				others++
			}
		}
		require.EqualValues(t, n, copies)
		require.EqualValues(t, n, others)
		require.EqualValues(t, 8*all.Lost.Copies[0].Copies, all.Lost.Copies[0].Bytes)
		require.EqualValues(t, all.Dropped, all.Lost.Records())
		for _, row := range all.Lost.Tasks {
			require.Equal(t, row.Kernel == "", row.Label != "", "%+v", row)
			if row.Ran > 0 {
				require.GreaterOrEqual(t, row.Least, time.Duration(1))
				require.LessOrEqual(t, row.Most, time.Duration(7))
				require.GreaterOrEqual(t, row.Running, time.Duration(row.Ran)*row.Least)
				require.LessOrEqual(t, row.Running, time.Duration(row.Ran)*row.Most)
			}
		}
	}
	check(&k.all)
	again := &keeper{}
	damage, err := Read(&file, again)
	require.NoError(t, err)
	require.True(t, damage.Whole(), damage.String())
	check(&again.all)
}

// The rows of losses are bounded, and so is the memory they take, however many labels there are.
func TestLosses_ManyLabelsShareARow(t *testing.T) {
	l := make([]losses, 1)
	for i := range 10 * mostLostKinds {
		l[0].task(&probe.Task{Label: fmt.Sprint(i)})
	}
	all := lossesOf(l)
	require.Len(t, all.Tasks, mostLostKinds+1)
	require.EqualValues(t, 10*mostLostKinds, all.Sum().Count)
}

// A recorder that waits drops nothing, whatever its sinks need, and Close ends all waiting.
func TestWaitingRecorder_DropsNothing(t *testing.T) {
	k := &keeper{gate: make(chan struct{})}
	r := New(Options{Sinks: []Sink{k}, Slots: 64, Wait: true})
	r.Open(machine())
	const n = 10000
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := range n {
				id := deps.TaskID(w*n + i + 1)
				r.Submitted(id, nil, []deps.TaskID{1, 2})
				r.Ended(&probe.Task{ID: id, Worker: int16(w % 2)})
				r.Observe(probe.Point{Kind: probe.Arrive})
			}
		})
	}
	time.AfterFunc(5*time.Millisecond, func() { close(k.gate) })
	writers.Wait()
	require.NoError(t, r.Close())
	require.Len(t, k.all.Tasks, 4*n)
	require.Len(t, k.all.Points, 4*n)
	require.Zero(t, r.Dropped())
	require.Nil(t, k.all.Lost)
}

type failing struct{ keeper }

func (f *failing) Take(*Batch) error { return errors.New("disk full") }

func TestASinkThatFailsIsToldInTheEndAndHarmsNoOther(t *testing.T) {
	good := &keeper{}
	r := New(Options{Sinks: []Sink{&failing{}, good}})
	r.Open(machine())
	r.Ended(&probe.Task{ID: 1})
	require.ErrorContains(t, r.Close(), "disk full")
	require.Len(t, good.all.Tasks, 1)
}

func TestRecordingAllocatesNothing(t *testing.T) {
	r := New(Options{Slots: 1 << 12, Every: time.Hour})
	r.Open(machine())
	defer r.Close()
	x := &probe.Task{ID: 1, Kernel: "Forces"}
	access := []deps.Access{{Region: deps.Interval(1, 2, 3), Mode: deps.In}}
	preds := []deps.TaskID{1, 2}
	require.Zero(t, testing.AllocsPerRun(500, func() {
		r.Submitted(1, access, preds)
		r.Ended(x)
	}))
}

func BenchmarkEnded(b *testing.B) {
	r := New(Options{})
	r.Open(machine())
	defer r.Close()
	x := &probe.Task{ID: 1, Kernel: "Forces"}
	b.ReportAllocs()
	for b.Loop() {
		r.Ended(x)
	}
	b.ReportMetric(float64(r.Dropped())/float64(b.N), "dropped/op")
}

func BenchmarkWrite(b *testing.B) {
	var batch Batch
	for i := range 4096 {
		at := time.Duration(i) * 1000
		batch.Tasks = append(batch.Tasks, probe.Task{ID: deps.TaskID(i + 1), Last: deps.TaskID(i), Submit: at, Ready: at + 100, Choice: at + 300, Start: at + 300, End: at + 1300, Release: at + 1300, Kernel: "Forces"})
	}
	var e encoder
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n = len(e.encode(&batch))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4096, "ns/task")
	b.ReportMetric(float64(n)/4096, "B/task")
}

func BenchmarkWritePacked(b *testing.B) {
	batch := Batch{Packed: NewPacked(0, 0)}
	accesses := []deps.Access{{Region: deps.Interval(1, 2, 3), Mode: deps.In}, {Region: deps.Interval(1, 3, 4), Mode: deps.InOut}}
	for i := range 1024 {
		at := time.Duration(i) * 1000
		x := &probe.Brief{ID: deps.TaskID(i + 1), Last: deps.TaskID(i), Submit: at, Ready: at + 100, Start: at + 300, End: at + 1300}
		x.Pack(accesses, []deps.TaskID{deps.TaskID(i)})
		batch.Packed.Add(x)
	}
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		out = appendPacked(out[:0], &batch)
	}
	n := len(out)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1024, "ns/task")
	b.ReportMetric(float64(n)/1024, "B/task")
}

func ExampleDamage() {
	fmt.Println(Damage{Open: true, Skipped: 12})
	// Output: the end is missing: the run was not closed or the file is cut off, 12 bytes are unreadable
}

// Read ends with the error of its sink, whatever it has decoded by then, and gives it nothing more.
func TestRead_SinkFails(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var batches []*Batch
	for range 20 {
		batches = append(batches, randomBatch(r))
	}
	file := written(t, batches...)
	for n := range 20 {
		s := &filling{after: n}
		_, err := Read(bytes.NewReader(file), s)
		require.ErrorIs(t, err, errFull, "after %d batches", n)
		require.Equal(t, n+1, s.taken)
	}
}

var errFull = errors.New("full")

// A filling sink has an error once it was given so many batches.
type filling struct {
	keeper
	after, taken int
}

func (f *filling) Take(b *Batch) error {
	if f.taken++; f.taken > f.after {
		return errFull
	}
	return f.keeper.Take(b)
}
