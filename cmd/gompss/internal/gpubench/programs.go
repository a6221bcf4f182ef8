package gpubench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/machine"
	"github.com/gompss/gompss/task"
)

// A budget is the maximum number of bytes that a program may copy. With accelerators only, it is
// the number of bytes for the placement that the comment of the program describes. This assumes
// that the accelerators are about equally fast: if one is delayed while others are idle, as
// simulated ones are on a busy machine, the others take tasks from it and copy their data. CPU
// workers take any waiting task and move its data. With CPU workers the budget is therefore the
// number of bytes that the tasks read and write: no data are copied twice for one task.
type budget struct {
	toDevice, toHost, between deps.Bytes
	into                      deps.Bytes // toDevice and between together
}

// A program is an application on a runtime. It is built once, runs one or more times, and is
// checked at the end.
type program struct {
	unit    string
	work    float64      // of one run, in unit times one second
	prepare func() error // submits the tasks that create the data before each run; may be nil
	submit  func() error
	check   func() error // runs after the last run, with all data valid on the host
	budget  budget       // of all runs on accelerators only, until all data are valid on the host
	// reads and writes are the bytes that the tasks of one run read and write.
	reads, writes deps.Bytes
}

// An application builds programs. parts is the number of accelerators that share the work, and runs
// the number of runs.
type application struct {
	name  string
	goal  string // for several devices compared with one
	build func(rt *task.Runtime, quick bool, parts, runs int) (*program, error)
	trial bool // a variant of another application, measured only for trials
}

var applications = []application{
	{"stream triad", "3.95 times one on 4", buildStream, false},
	{"nbody", "3.9 times one on 4", buildNBody, false},
	{"matmul tiled", "", buildMatMul, false},
	{"cholesky", "", buildCholesky, false},
	{"cholesky, panels first", "", buildCholeskyPanelsFirst, true},
	{"jacobi halo", "", buildJacobi, false},
}

func kernels(functions ...any) ([]*task.Kernel, error) {
	var out []*task.Kernel
	for _, f := range functions {
		k, err := task.NewKernel(f, task.SourceFile{Name: "kernels.go", Text: kernelSource})
		if err != nil {
			return nil, err
		}
		out = append(out, k)
	}
	return out, nil
}

// allocate allocates n slices from the runtime.
func allocate[T any](rt *task.Runtime, n, length int) ([][]T, error) {
	out := make([][]T, n)
	for i := range out {
		var err error
		if out[i], err = task.Alloc[T](rt, length); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// calls returns the kernels of functions, for the tasks of an application. If there are CPU
// workers, a task holds 40 of the 100 tokens of the CPU, or 1 of the 100 tokens of the
// accelerators: at most two tasks run on CPU workers.
func calls(rt *task.Runtime, functions ...any) ([]task.Call, error) {
	list, err := kernels(functions...)
	if err != nil {
		return nil, err
	}
	return callsWith(rt, list), nil
}

// callsWith is calls for existing kernels, with further options.
func callsWith(rt *task.Runtime, list []*task.Kernel, options ...task.Option) []task.Call {
	if _, workers := rt.Stats().ByDevice["smp"]; workers {
		options = append(options, task.Resources(devices.SMP, 40), task.Resources(devices.Acc, 1))
	}
	var out []task.Call
	for _, k := range list {
		out = append(out, k.With(options...))
	}
	return out
}

// pick returns full, or small for a quick run.
func pick(quick bool, full, small int) int {
	if quick {
		return small
	}
	return full
}

// buildStream runs triads on blocks, 4 per part, which stay on their devices. Only the first run
// copies data.
func buildStream(rt *task.Runtime, quick bool, parts, runs int) (*program, error) {
	k, err := calls(rt, Triad)
	if err != nil {
		return nil, err
	}
	const blocks, times = 4, 8 // a run is several triads on the same blocks, since one takes less than a millisecond
	n := pick(quick, 1<<27, 1<<12) * parts
	x, err := allocate[float64](rt, 3, n)
	if err != nil {
		return nil, err
	}
	for i := range n {
		x[1][i], x[2][i] = float64(i%1000)/7, float64(i%777)
	}
	size := n / (blocks * parts)
	p := &program{unit: "GB/s", work: times * 24 * float64(n) / 1e9, budget: budget{toDevice: deps.Bytes(16 * n), toHost: deps.Bytes(8 * n), into: deps.Bytes(16 * n)},
		reads: deps.Bytes(times * 16 * n), writes: deps.Bytes(times * 8 * n)}
	p.submit = func() error {
		for i := range times * n / size {
			lo := i * size % n
			if _, err := k[0].Submit(rt, x[0][lo:lo+size], x[1][lo:lo+size], x[2][lo:lo+size], 3.0); err != nil {
				return err
			}
		}
		return nil
	}
	p.check = func() error {
		for i := range n {
			if want := x[1][i] + float64(3*x[2][i]); x[0][i] != want {
				return fmt.Errorf("element %d: want %v, got %v", i, want, x[0][i])
			}
		}
		return nil
	}
	return p, nil
}

// buildNBody simulates bodies in blocks: one block per part, or four if CPU workers, which are
// slower, share the work. In every step each block needs the positions of all other blocks.
func buildNBody(rt *task.Runtime, quick bool, parts, runs int) (*program, error) {
	k, err := calls(rt, Move, Forces) // the first Move, which needs only its block, places the block
	if err != nil {
		return nil, err
	}
	n := pick(quick, 524288, 512)
	x, err := allocate[float32](rt, 6, n)
	if err != nil {
		return nil, err
	}
	start, _ := bodiesOf(n)
	for c := range start {
		copy(x[c], start[c])
	}
	const dt = float32(1e-4)
	if _, workers := rt.Stats().ByDevice["smp"]; workers {
		parts *= 4
	}
	size := n / parts &^ 1
	const steps = 3 // time steps of a run: a simulation does not wait after each step
	p := &program{unit: "TFLOP/s", work: steps * 20 * float64(n) * float64(n) / 1e12}
	all := deps.Bytes(12 * n) // positions, or velocities
	between := deps.Bytes((parts - 1) * (steps*runs + 1))
	p.budget = budget{toDevice: all*deps.Bytes(parts) + all, toHost: 2*all + all*deps.Bytes(runs), between: all * between, into: all * (2 + between)}
	p.reads, p.writes = steps*all*deps.Bytes(2+parts+1), steps*2*all
	step := func() error {
		for _, kernel := range k {
			for i := range parts {
				lo, hi := i*size, (i+1)*size
				if i == parts-1 {
					hi = n
				}
				if _, err := kernel.Submit(rt, lo, hi, dt, x[0], x[1], x[2], x[3], x[4], x[5]); err != nil {
					return err
				}
			}
		}
		return nil
	}
	p.submit = func() error {
		for range steps {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	}
	p.check = func() error {
		if !quick { // forces are equal and opposite: the total momentum stays zero
			return stillAtRest(x[3:])
		}
		want := make([][]float32, 6)
		for c := range want {
			want[c] = make([]float32, n)
		}
		for c := range start {
			copy(want[c], start[c])
		}
		for range steps * runs {
			Move(0, n, dt, want[0], want[1], want[2], want[3], want[4], want[5])
			Forces(0, n, dt, want[0], want[1], want[2], want[3], want[4], want[5])
		}
		for c := range want {
			if err := closeTo(want[c], x[c], 1e-4); err != nil {
				return err
			}
		}
		return nil
	}
	return p, nil
}

func bodiesOf(n int) (p, v [3][]float32) {
	r := rand.New(rand.NewPCG(1, 2))
	for c := range p {
		p[c], v[c] = make([]float32, n), make([]float32, n)
		for i := range p[c] {
			p[c][i] = r.Float32()
		}
	}
	return p, v
}

// stillAtRest checks that the sum of the velocities is small compared with the sum of their
// absolute values, and that these are not all zero.
func stillAtRest(v [][]float32) error {
	for c := range v {
		sum, size := 0.0, 0.0
		for _, u := range v[c] {
			sum += float64(u)
			size += math.Abs(float64(u))
		}
		if size == 0 || math.Abs(sum) > 1e-3*size {
			return fmt.Errorf("coordinate %d: the velocities add up to %g, their sizes to %g", c, sum, size)
		}
	}
	return nil
}

func closeTo[T float32 | float64](want, got []T, tolerance float64) error {
	largest := 0.0
	for _, v := range want {
		largest = max(largest, math.Abs(float64(v)))
	}
	for i := range want {
		if d := math.Abs(float64(want[i]) - float64(got[i])); !(d <= tolerance*largest) {
			return fmt.Errorf("element %d: want %v, got %v", i, want[i], got[i])
		}
	}
	return nil
}

// tiles allocates a matrix of side x side tiles of bs x bs elements.
func tiles(rt *task.Runtime, side, bs int) ([][]float64, error) {
	return allocate[float64](rt, side*side, bs*bs)
}

// buildMatMul multiplies tiled matrices. Every tile may have to be copied to every device once.
func buildMatMul(rt *task.Runtime, quick bool, parts, runs int) (*program, error) {
	k, err := calls(rt, Tile)
	if err != nil {
		return nil, err
	}
	side, bs := pick(quick, 8, 4), pick(quick, 1024, 16)
	var m [3][][]float64
	for i := range m {
		if m[i], err = tiles(rt, side, bs); err != nil {
			return nil, err
		}
	}
	r := rand.New(rand.NewPCG(9, 1))
	for _, t := range append(m[1], m[2]...) {
		for i := range t {
			t[i] = float64(r.IntN(8))
		}
	}
	one := deps.Bytes(8*bs*bs) * deps.Bytes(side*side)
	p := &program{unit: "TFLOP/s", work: 2 * math.Pow(float64(side*bs), 3) / 1e12,
		budget: budget{toDevice: deps.Bytes(1+2*parts) * one, toHost: one, between: deps.Bytes(2*parts+1) * one, into: deps.Bytes(4+2*parts) * one},
		reads:  3 * one * deps.Bytes(side), writes: one * deps.Bytes(side)}
	p.submit = func() error {
		for i := range side {
			for j := range side {
				for l := range side {
					if _, err := k[0].Submit(rt, bs, m[0][i*side+j], m[1][i*side+l], m[2][l*side+j]); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}
	p.check = func() error {
		n := side * bs
		at := func(t [][]float64, i, j int) float64 { return t[i/bs*side+j/bs][i%bs*bs+j%bs] }
		for e := 0; e < n*n; e += max(1, n*n/997) {
			s := 0.0
			for l := range n {
				s += at(m[1], e/n, l) * at(m[2], l, e%n)
			}
			if got := at(m[0], e/n, e%n); got != float64(runs)*s { // small whole numbers: exact
				return fmt.Errorf("element %d,%d: want %v, got %v", e/n, e%n, float64(runs)*s, got)
			}
		}
		return nil
	}
	return p, nil
}

// buildCholesky factors a tiled matrix, which tasks create again on the devices before each run.
func buildCholesky(rt *task.Runtime, quick bool, parts, runs int) (*program, error) {
	return buildFactor(rt, quick, parts, runs, false)
}

// buildCholeskyPanelsFirst is buildCholesky with priorities: tasks that the next columns wait for
// run before updates that no other task needs yet.
func buildCholeskyPanelsFirst(rt *task.Runtime, quick bool, parts, runs int) (*program, error) {
	return buildFactor(rt, quick, parts, runs, true)
}

func buildFactor(rt *task.Runtime, quick bool, parts, runs int, priorities bool) (*program, error) {
	list, err := kernels(Potrf, Trsm, Update, UpdateDiagonal, Fill)
	if err != nil {
		return nil, err
	}
	var soon [4][]task.Call // indexed by priority: how soon the next columns need the result
	for n := range soon {
		if soon[n] = callsWith(rt, list); priorities {
			soon[n] = callsWith(rt, list, task.Priority(n))
		}
	}
	side, bs := pick(quick, 16, 5), pick(quick, 512, 12)
	n := side * bs
	t, err := tiles(rt, side, bs)
	if err != nil {
		return nil, err
	}
	value := func(i, j int) float64 { // what Fill makes
		if i == j {
			return float64(n)
		}
		return 1 / float64(1+(i+j)%7)
	}
	lower := deps.Bytes(side*(side+1)/2) * deps.Bytes(8*bs*bs)
	p := &program{unit: "TFLOP/s", work: float64(n) * float64(n) * float64(n) / 3 / 1e12}
	// Every tile of the factor may have to be copied to every device, and once more to the device
	// that updates it.
	all := lower * deps.Bytes(parts*runs)
	p.budget = budget{toDevice: all, toHost: lower, between: all, into: all + lower}
	p.reads, p.writes = lower*deps.Bytes(3*side), lower*deps.Bytes(side+1)
	p.prepare = func() error {
		for i := range side {
			for j := range i + 1 {
				if _, err := soon[0][4].Submit(rt, i, j, bs, n, t[i*side+j]); err != nil {
					return err
				}
			}
		}
		return nil
	}
	p.submit = func() error {
		tile := func(i, j int) []float64 { return t[i*side+j] }
		next := func(i, c int) int { // 1 if i is the column after c
			if i == c+1 {
				return 1
			}
			return 0
		}
		for c := range side {
			if _, err := soon[3][0].Submit(rt, bs, tile(c, c)); err != nil {
				return err
			}
			for i := c + 1; i < side; i++ {
				if _, err := soon[1+next(i, c)][1].Submit(rt, bs, tile(c, c), tile(i, c)); err != nil {
					return err
				}
			}
			for i := c + 1; i < side; i++ {
				for j := c + 1; j < i; j++ {
					if _, err := soon[next(j, c)][2].Submit(rt, bs, tile(i, c), tile(j, c), tile(i, j)); err != nil {
						return err
					}
				}
				if _, err := soon[2*next(i, c)][3].Submit(rt, bs, tile(i, c), tile(i, i)); err != nil {
					return err
				}
			}
		}
		return nil
	}
	p.check = func() error {
		l := func(i, j int) float64 {
			if j > i {
				return 0
			}
			return t[i/bs*side+j/bs][i%bs*bs+j%bs]
		}
		for e := 0; e < n*n; e += max(1, n*n/997) {
			i, j, s := e/n, e%n, 0.0
			for c := range min(i, j) + 1 {
				s += l(i, c) * l(j, c)
			}
			if math.Abs(s-value(i, j)) > 1e-9*float64(n) {
				return fmt.Errorf("element %d,%d of the product: want %v, got %v", i, j, value(i, j), s)
			}
		}
		return nil
	}
	return p, nil
}

// sweeps is the number of Jacobi sweeps of a run. It is even, so that the result is in the array
// with the initial values.
const sweeps = 10

// buildJacobi smooths a matrix in blocks of rows, 2 per part. Only rows at the edges of blocks are
// copied between devices.
func buildJacobi(rt *task.Runtime, quick bool, parts, runs int) (*program, error) {
	k, err := calls(rt, Jacobi)
	if err != nil {
		return nil, err
	}
	m := pick(quick, 16384, 64)
	blocks := 2 * parts
	n := pick(quick, 4096, 16)*blocks + 2
	x, err := allocate[float64](rt, 2, n*m)
	if err != nil {
		return nil, err
	}
	start := make([]float64, n*m)
	for i := range start {
		start[i] = float64(i % 1013)
	}
	copy(x[0], start)
	copy(x[1], start) // the border stays
	size := (n - 2) / blocks
	one, row := deps.Bytes(8*n*m), deps.Bytes(8*m)
	p := &program{unit: "GB/s", work: sweeps * 16 * float64(n-2) * float64(m-2) / 1e9}
	edges := deps.Bytes(2*(blocks-1)*sweeps*runs) * row
	p.budget = budget{toDevice: 2*one + edges, toHost: 2 * one, between: edges, into: 2*one + edges}
	p.reads, p.writes = 3*one*sweeps, one*sweeps
	p.submit = func() error {
		for s := range sweeps {
			for lo := 1; lo < n-1; lo += size {
				if _, err := k[0].Submit(rt, lo, lo+size, m, x[1-s%2], x[s%2]); err != nil {
					return err
				}
			}
		}
		return nil
	}
	p.check = func() error {
		if !quick && n > 10000 {
			return checkSmooth(x[0], start, n, m)
		}
		want := [2][]float64{append([]float64(nil), start...), append([]float64(nil), start...)}
		for s := range sweeps * runs {
			Jacobi(1, n-1, m, want[1-s%2], want[s%2])
		}
		for i := range want[0] {
			if want[0][i] != x[0][i] {
				return fmt.Errorf("element %d,%d: want %v, got %v", i/m, i%m, want[0][i], x[0][i])
			}
		}
		return nil
	}
	return p, nil
}

// checkSmooth checks the invariants of all sweeps: the border is unchanged, and all values are in
// the range of the initial values.
func checkSmooth(x, start []float64, n, m int) error {
	for i, v := range x {
		if r, c := i/m, i%m; (r == 0 || r == n-1 || c == 0 || c == m-1) && v != start[i] || v < 0 || v > 1012 {
			return fmt.Errorf("element %d,%d: %v", i/m, i%m, v)
		}
	}
	return nil
}

// An outcome is the result of measuring an application.
type outcome struct {
	seconds float64 // of the fastest run after the first
	moved   machine.Counters
	budget  budget
	most    budget // limit for any placement: the bytes that the tasks read and write
	value   float64
	unit    string
}

// play runs an application on devices and checks its result and its budget. The first run only
// warms up.
func play(a application, spec string, quick bool, parts, runs int) (*outcome, error) {
	rt, err := task.New(task.Options{Devices: spec, Window: -1})
	if err != nil {
		return nil, err
	}
	found, err := playOn(rt, a, quick, parts, runs)
	return found, errors.Join(err, rt.Close())
}

// ready creates the data of a run.
func (p *program) ready(rt *task.Runtime) error {
	if p.prepare == nil {
		return nil
	}
	return errors.Join(p.prepare(), rt.Wait(context.Background(), task.KeepOnDevice()))
}

// pinningTime is the pause after the first run of a program. Host memory that this run has only
// written is still being pinned in the background, for up to 0.4 s per GiB, and the driver delays
// the calls for that GPU meanwhile.
const pinningTime = 2 * time.Second

// playOn is play on an open runtime. It returns an outcome even if the result is wrong.
func playOn(rt *task.Runtime, a application, quick bool, parts, runs int) (*outcome, error) {
	p, err := a.build(rt, quick, parts, runs)
	if err != nil {
		return nil, err
	}
	reads, writes := p.reads*deps.Bytes(runs), p.writes*deps.Bytes(runs)
	o := &outcome{unit: p.unit, budget: p.budget, most: budget{toDevice: reads, toHost: reads + writes, between: reads, into: reads}}
	if _, workers := rt.Stats().ByDevice["smp"]; workers {
		o.budget = o.most
	}
	for run := range runs {
		if err := p.ready(rt); err != nil {
			return nil, err
		}
		began := time.Now()
		if err := p.submit(); err != nil {
			return nil, err
		}
		if err := rt.Wait(context.Background(), task.KeepOnDevice()); err != nil {
			return nil, err
		}
		if took := time.Since(began).Seconds(); run > 0 && (o.seconds == 0 || took < o.seconds) || runs == 1 {
			o.seconds = took
		}
		if run == 0 && runs > 1 && !quick {
			time.Sleep(pinningTime)
		}
	}
	o.value = p.work / o.seconds
	if err := rt.Wait(context.Background()); err != nil {
		return nil, err
	}
	o.moved = rt.Machine().Counters()
	if err := p.check(); err != nil {
		return o, fmt.Errorf("the result is wrong: %w", err)
	}
	return o, o.within(o.budget)
}

// errBudget is the cause when a program moves more than its budget.
var errBudget = errors.New("over budget")

// within returns an error if the program copied more than b.
func (o *outcome) within(b budget) error {
	for _, c := range []struct {
		what       string
		moved, may deps.Bytes
	}{{"to devices and between them", o.moved.HostToDevice + o.moved.DeviceToDevice, b.into}, {"to devices", o.moved.HostToDevice, b.toDevice}, {"to the host", o.moved.DeviceToHost, b.toHost},
		{"between devices", o.moved.DeviceToDevice, b.between}} {
		if c.moved > c.may {
			return fmt.Errorf("%w: %v went %s: the budget is %v", errBudget, c.moved, c.what, c.may)
		}
	}
	return nil
}

// links describes the bytes that were copied over each link.
func (o *outcome) links() string {
	text := fmt.Sprintf("moved h2d %v of %v, d2h %v of %v, d2d %v of %v:", o.moved.HostToDevice, o.budget.toDevice, o.moved.DeviceToHost,
		o.budget.toHost, o.moved.DeviceToDevice, o.budget.between)
	for _, l := range o.moved.Links {
		text += fmt.Sprintf(" %d>%d %v", l.From.Device, l.To.Device, l.Bytes)
	}
	return text
}
