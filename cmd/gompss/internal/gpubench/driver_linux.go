//go:build amd64 || arm64

package gpubench

import (
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda"
	"github.com/gompss/gompss/internal/machine"
)

// driverRows measure copies, launches and compilation by the plug-in, without a runtime.
var driverRows = []measurement{
	{"copies", copyRows},
	{"pipeline", pipelineRow},
	{"launch and wait", launchRow},
	{"start-up", startRow},
}

// copyRows compares the rate of copies with the rate of the link. The former is measured with the
// host's clock, from the call until the caller knows that the copy has finished; the latter with
// events of the GPU.
func copyRows(b *bench) error {
	n := b.size(32<<20, 1<<16)
	a, err := put(b, make([]float64, n))
	if err != nil {
		return err
	}
	list := []struct {
		name     string
		from, to devices.SpaceID
		at       int
	}{{"host to device", devices.Host, b.space(0), 0}, {"device to host", b.space(0), devices.Host, 0}}
	if len(b.gpus) > 1 && b.gpus[1].Reaches(b.space(0)) {
		list = append(list, struct {
			name     string
			from, to devices.SpaceID
			at       int
		}{"peer copy", b.space(0), b.space(1), 1})
	}
	for _, c := range list {
		d, t := b.cuda[c.at], transfer(a, c.from, c.to)
		var times []time.Duration
		for range rounds {
			began := time.Now()
			if err := await(d.Copy(t, nil)); err != nil {
				return err
			}
			times = append(times, time.Since(began))
		}
		link, err := d.TimeCopy(t, rounds)
		if err != nil {
			return err
		}
		rate := func(took time.Duration) float64 { return float64(t.Size()) / took.Seconds() / 1e9 }
		row := Row{Row: fmt.Sprintf("%s %v", c.name, t.Size()), Devices: b.device(), Value: rate(median(times[2:])), Unit: "GB/s",
			Goal: "0.95", Verified: true}
		if err := b.print(row.against("the link, by events", rate(median(link)))); err != nil {
			return err
		}
	}
	return b.drop(a)
}

// pipelineRow processes tiles on the GPU: each tile is copied to the GPU, changed by a kernel and
// copied back. Only events order the operations.
func pipelineRow(b *bench) error {
	const tiles, times = 64, 8
	size := b.size(2<<20, 1<<12) // elements of a tile
	n := tiles * size
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = float64(i % 4096)
	}
	ax, err := put(b, x)
	if err != nil {
		return err
	}
	ay, err := put(b, y)
	if err != nil {
		return err
	}
	k, err := b.kernel("Stage")
	if err != nil {
		return err
	}
	d := b.gpus[0]
	if err := d.Prepare(k); err != nil {
		return err
	}
	part := func(a devices.Arg, i int) devices.Arg {
		a.Offset, a.Len, a.Cap = deps.Bytes(8*i*size), int64(size), int64(size)
		return a
	}
	copyTile := func(a devices.Arg, i int, from, to devices.SpaceID, after ...devices.Event) devices.Event {
		return d.Copy(devices.Transfer{Region: deps.Interval(a.Buffer, int64(i*size), int64((i+1)*size)), Elem: 8, From: from, To: to}, after)
	}
	run := func(up, launch, down bool) (time.Duration, error) {
		var last []devices.Event
		began := time.Now()
		for i := range tiles {
			var after []devices.Event
			if up {
				after = []devices.Event{copyTile(ax, i, devices.Host, b.space(0))}
			}
			if launch {
				args := &devices.Args{List: []devices.Arg{part(ax, i), part(ay, i), whole(times)}}
				after = []devices.Event{d.Launch(&devices.Launch{Kernel: k, Args: args, Label: "stage"}, after)}
			}
			if down {
				after = []devices.Event{copyTile(ay, i, b.space(0), devices.Host, after...)}
			}
			last = append(last, after...)
		}
		for _, e := range last {
			if err := await(e); err != nil {
				return 0, err
			}
		}
		return time.Since(began), nil
	}
	least := func(up, launch, down bool) (time.Duration, error) {
		var all []time.Duration
		for range 5 {
			took, err := run(up, launch, down)
			if err != nil {
				return 0, err
			}
			all = append(all, took)
		}
		return median(all), nil
	}
	both, err := least(true, false, true)
	if err != nil {
		return err
	}
	alone, err := least(false, true, false)
	if err != nil {
		return err
	}
	clear(y)
	took, err := least(true, true, true)
	if err != nil {
		return err
	}
	want := make([]float64, n)
	Stage(x, want, times)
	row := Row{Row: "h2d, kernel, d2h over 64 tiles", Devices: b.device(), Value: 16 * float64(n) / took.Seconds() / 1e9, Unit: "GB/s", Goal: "0.9"}
	if err := same(want, y); err != nil {
		row.Note = err.Error()
	} else {
		row.Verified = true
	}
	by, slower := "link, both ways", both
	if alone > both {
		by, slower = "kernel", alone
	}
	if err := b.print(row.against(by+" alone", 16*float64(n)/slower.Seconds()/1e9)); err != nil {
		return err
	}
	return b.drop(ax, ay)
}

// launchRow measures the time from a launch until the caller knows that the kernel has finished.
func launchRow(b *bench) error {
	x := make([]int64, 1)
	a, err := put(b, x)
	if err != nil {
		return err
	}
	k, err := b.kernel("Count")
	if err != nil {
		return err
	}
	d := b.gpus[0]
	if err := d.Prepare(k); err != nil {
		return err
	}
	var times []time.Duration
	const n = 1000
	for range n {
		began := time.Now()
		if err := await(d.Launch(&devices.Launch{Kernel: k, Args: &devices.Args{List: []devices.Arg{a}}}, nil)); err != nil {
			return err
		}
		times = append(times, time.Since(began))
	}
	if err := b.fetch(a); err != nil {
		return err
	}
	row := Row{Row: "launch and wait", Devices: b.device(), Value: median(times).Seconds() * 1e6, Unit: "us", Verified: x[0] == n}
	if err := b.tell(row); err != nil {
		return err
	}
	return b.drop(a)
}

// startRow measures how long it takes to open a GPU and to compile the kernels of nbody, with an
// empty and with a filled cache of compiled kernels.
func startRow(b *bench) error {
	dir, err := os.MkdirTemp("", "gompss-cache")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, c := range []struct{ name, goal string }{{"empty", "at most 0.4 s"}, {"warm", "at most 0.15 s"}} {
		took, cached, err := b.start(dir)
		if err != nil {
			return err
		}
		row := Row{Row: "start-up of nbody, cache " + c.name, Devices: b.device(), Value: took.Seconds(), Unit: "s", Goal: c.goal,
			Verified: cached == (c.name == "warm"), Note: "beyond the context's creation"}
		if err := b.print(row); err != nil {
			return err
		}
	}
	return nil
}

// start returns the time until a GPU is open and the kernels are compiled, without the creation of
// the context, and whether the kernels came from the cache.
func (b *bench) start(dir string) (took time.Duration, cached bool, err error) {
	began := time.Now()
	opened, err := cuda.Open(1, devices.SpaceID{Device: 1}, cuda.Options{CacheDir: dir, Memory: 64 << 20})
	if err != nil {
		return 0, false, err
	}
	d := opened[0]
	defer func() {
		if closed := d.Close(); err == nil {
			err = closed
		}
	}()
	cached = true
	for _, name := range []string{"Forces", "Move"} {
		k, err := b.kernel(name)
		if err != nil {
			return 0, false, err
		}
		if err := d.Prepare(k); err != nil {
			return 0, false, err
		}
		cached = cached && d.FromCache(k)
	}
	return time.Since(began) - d.ContextTime(), cached, nil
}

// runPrograms measures the rows of tasks and applications, on one, two and four GPUs, and on GPUs
// and CPU workers together.
func runPrograms(o Options) error {
	specs, err := o.specs()
	if err != nil {
		return err
	}
	return o.playAll(specs)
}

// specs returns the devices on which the programs run: the devices of the options, or else the GPUs
// of the machine.
func (o *Options) specs() ([]testbed, error) {
	if o.Devices != "" {
		return testbedsOf(o.Devices)
	}
	gpus, err := countGPUs()
	if err != nil {
		return nil, err
	}
	var out []testbed
	for _, n := range slices.Compact([]int{1, min(2, gpus), min(4, gpus)}) {
		out = append(out, testbed{fmt.Sprintf("cuda:%d", n), n})
	}
	n := min(4, gpus)
	return append(out, testbed{fmt.Sprintf("cuda:%d,smp:%d", n, cpuWorkers(n)), n}), nil
}

// countGPUs returns the number of GPUs. It opens all of them, and closes them again.
func countGPUs() (int, error) {
	m, err := machine.Open(string(cuda.Kind), machine.Options{})
	if err != nil {
		return 0, err
	}
	return len(m.Accelerators()), m.Close()
}
