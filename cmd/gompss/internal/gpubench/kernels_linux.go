//go:build amd64 || arm64

package gpubench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/devices"
)

// A measurement produces rows. The name of each row contains a part of its name.
type measurement struct {
	name string
	run  func(b *bench) error
}

var kernelRows = []measurement{
	{"STREAM copy, scale, add, triad", streamRows},
	{"N-Body", forcesRows},
	{"Jacobi 2-D", jacobiRow},
	{"reduction", sumRow},
	{"histogram", histogramRow},
	{"SpMV", spmvRow},
	{"matrix multiply", matmulRow},
	{"Potrf, Trsm and Update of a tile", tileRows},
}

// size returns n, or quick for a quick run.
func (o *Options) size(n, quick int) int {
	if o.Quick {
		return quick
	}
	return n
}

func (b *bench) device() string { return "1 " + b.gpus[0].Model() }

// A kernelRow is the measurement of one kernel and its references.
type kernelRow struct {
	name, unit, goal string
	amount           float64 // work of a launch, in the row's unit times one second
	repeat           int
	kernel           string
	args             []devices.Arg
	references       []reference
	verify           func() error // after at least one launch
}

// measure times the kernel and its references and prints the row.
func (b *bench) measure(r kernelRow) error {
	k, err := b.kernel(r.kernel)
	if err != nil {
		return err
	}
	l := &devices.Launch{Kernel: k, Args: &devices.Args{List: r.args}, Label: r.name}
	if err := b.gpus[0].Prepare(k); err != nil {
		return err
	}
	if err := await(b.gpus[0].Launch(l, nil)); err != nil {
		return err
	}
	row := Row{Row: r.name, Devices: b.device(), Unit: r.unit, Goal: r.goal}
	if err := r.verify(); err != nil {
		row.Note = err.Error()
	} else {
		row.Verified = true
	}
	seconds, err := b.time(k, r.repeat, r.args...)
	if err != nil {
		return err
	}
	row.Value = r.amount / seconds
	if b.told != nil {
		return b.told(row)
	}
	if len(r.references) > 0 {
		seconds, by, err := b.best(r.repeat, r.args, r.references)
		if err != nil {
			return err
		}
		row = row.against(by, r.amount/seconds)
	}
	return b.print(row)
}

// tell passes a row to told, or prints it if told is nil.
func (b *bench) tell(r Row) error {
	if b.told != nil {
		return b.told(r)
	}
	return b.print(r)
}

func float(x float64) devices.Arg {
	return devices.Arg{Type: ir.Float64Type, Bits: math.Float64bits(x)}
}

// same returns an error for the first element that differs.
func same[T comparable](want, got []T) error {
	for i := range want {
		if want[i] != got[i] {
			return fmt.Errorf("element %d: want %v, got %v", i, want[i], got[i])
		}
	}
	return nil
}

// near returns an error for the first element that differs by more than tolerance times the largest
// element.
func near[T float32 | float64](want, got []T, tolerance float64) error {
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

func streamRows(b *bench) error {
	n := b.size(1<<27, 1<<16)
	x, y, z := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range x {
		x[i], y[i] = float64(i%1000)/7, float64(i%777)
	}
	ax, err := put(b, x)
	if err != nil {
		return err
	}
	ay, err := put(b, y)
	if err != nil {
		return err
	}
	az, err := put(b, z)
	if err != nil {
		return err
	}
	check := func(f func(want []float64)) func() error {
		return func() error {
			want := make([]float64, n)
			f(want)
			if err := b.fetch(az); err != nil {
				return err
			}
			return same(want, z)
		}
	}
	items := int64(n)
	refs := func(name string) []reference {
		return []reference{
			{name + "1", [3]int64{items}, [3]int64{128}, []devices.Arg{whole(n)}, false},
			{name + "2", [3]int64{items / 2}, [3]int64{128}, []devices.Arg{whole(n)}, false},
		}
	}
	bytes := 8 * float64(n) / 1e9
	for _, r := range []kernelRow{
		{name: "STREAM copy float64", kernel: "Copy", amount: 2 * bytes, args: []devices.Arg{az, ax}, references: refs("copy"),
			goal: "0.99", verify: check(func(want []float64) { Copy(want, x) })},
		{name: "STREAM scale float64", kernel: "Scale", amount: 2 * bytes, args: []devices.Arg{az, ax, float(3)}, references: refs("scale"),
			goal: "0.99", verify: check(func(want []float64) { Scale(want, x, 3) })},
		{name: "STREAM add float64", kernel: "Add", amount: 3 * bytes, args: []devices.Arg{az, ax, ay}, references: refs("add"),
			goal: "0.99", verify: check(func(want []float64) { Add(want, x, y) })},
		{name: "STREAM triad float64", kernel: "Triad", amount: 3 * bytes, args: []devices.Arg{az, ax, ay, float(3)}, references: refs("triad"),
			goal: "0.99 and 4350 GB/s", verify: check(func(want []float64) { Triad(want, x, y, 3) })},
	} {
		r.unit, r.repeat = "GB/s", 20
		if err := b.measure(r); err != nil {
			return err
		}
	}
	return b.drop(ax, ay, az)
}

// bodies returns random positions p of n bodies, the same in each call, and velocities v of 0.
func bodies(n int) (p, v [3][]float32) {
	r := rand.New(rand.NewPCG(1, 2))
	for c := range p {
		p[c], v[c] = make([]float32, n), make([]float32, n)
		for i := range p[c] {
			p[c][i] = r.Float32()
		}
	}
	return p, v
}

const timeStep = 0.01

func forcesRows(b *bench) error {
	n := b.size(131072, 2048)
	p, v := bodies(n)
	args := []devices.Arg{whole(0), whole(n), {Type: ir.Float32Type, Bits: uint64(math.Float32bits(timeStep))}}
	for _, x := range append(p[:], v[:]...) {
		a, err := put(b, x)
		if err != nil {
			return err
		}
		args = append(args, a)
	}
	for _, f := range []struct {
		kernel, what string
		exact        bool // the references are compiled with exact arithmetic
	}{
		{"Forces", "plain Go loop", false},
		{"Forces", "plain Go loop, references as exact as Go", true},
		{"ForcesFast", "with fastmath", false},
	} {
		for c := range v { // velocities of 0
			clear(v[c])
			if err := b.move(args[6+c], devices.Host, b.space(0)); err != nil {
				return err
			}
		}
		r := kernelRow{name: fmt.Sprintf("N-Body float32 n=%d %s", n, f.what),
			kernel: f.kernel, unit: "TFLOP/s", goal: "1.0", repeat: 2, amount: 20 * float64(n) * float64(n) / 1e12, args: args,
			references: []reference{
				{"forces_tiles", [3]int64{int64(n)}, [3]int64{256}, nil, f.exact},
				{"forces_pairs", [3]int64{int64(n) / 2}, [3]int64{256}, nil, f.exact},
				{"forces1", [3]int64{int64(n)}, [3]int64{256}, nil, f.exact},
			},
			verify: func() error {
				for c := range v {
					if err := b.fetch(args[6+c]); err != nil {
						return err
					}
				}
				return checkForces(p, v)
			}}
		if err := b.measure(r); err != nil {
			return err
		}
	}
	return b.drop(args...)
}

// checkForces compares some velocities after one step from rest with a computation in float64.
func checkForces(p, v [3][]float32) error {
	n := len(p[0])
	for i := 0; i < n; i += max(1, n/32) {
		var f [3]float64
		for j := range n {
			dx, dy, dz := float64(p[0][j])-float64(p[0][i]), float64(p[1][j])-float64(p[1][i]), float64(p[2][j])-float64(p[2][i])
			inv := 1 / math.Sqrt(dx*dx+dy*dy+dz*dz+1e-3)
			inv3 := inv * inv * inv
			f[0], f[1], f[2] = f[0]+dx*inv3, f[1]+dy*inv3, f[2]+dz*inv3
		}
		for c := range f {
			if math.Abs(timeStep*f[c]-float64(v[c][i])) > 1e-4*timeStep*float64(n) {
				return fmt.Errorf("body %d: want %v, got %v", i, timeStep*f[c], v[c][i])
			}
		}
	}
	return nil
}

func jacobiRow(b *bench) error {
	n := b.size(16384, 258)
	x, y := make([]float64, n*n), make([]float64, n*n)
	for i := range x {
		x[i] = float64(i%1013) / 3
	}
	ax, err := put(b, x)
	if err != nil {
		return err
	}
	ay, err := put(b, y)
	if err != nil {
		return err
	}
	r := kernelRow{name: fmt.Sprintf("Jacobi 2-D float64 %d x %d", n, n), kernel: "Jacobi", unit: "GB/s", goal: "0.95", repeat: 10,
		amount: 16 * float64(n-2) * float64(n-2) / 1e9, args: []devices.Arg{whole(1), whole(n - 1), whole(n), ay, ax},
		references: []reference{{"jacobi", [3]int64{int64(n - 2), int64(n - 2)}, [3]int64{32, 8}, nil, false}},
		verify: func() error {
			want := make([]float64, n*n)
			Jacobi(1, n-1, n, want, x)
			if err := b.fetch(ay); err != nil {
				return err
			}
			return same(want, y)
		}}
	if err := b.measure(r); err != nil {
		return err
	}
	return b.drop(ax, ay)
}

func sumRow(b *bench) error {
	n := b.size(1<<28, 1<<16)
	x, out := make([]float64, n), make([]float64, 1)
	want := 0.0
	for i := range x {
		x[i] = float64(i % 1024)
		want += x[i]
	}
	ax, err := put(b, x)
	if err != nil {
		return err
	}
	aout, err := put(b, out)
	if err != nil {
		return err
	}
	r := kernelRow{name: "reduction float64", kernel: "Sum", unit: "GB/s", goal: "0.95", repeat: 10, amount: 8 * float64(n) / 1e9,
		args: []devices.Arg{ax, aout},
		references: []reference{{"sum", [3]int64{int64(b.gpus[0].Multiprocessors()) * 8 * 256}, [3]int64{256}, []devices.Arg{whole(n)}, false},
			{"sum", [3]int64{int64(b.gpus[0].Multiprocessors()) * 32 * 256}, [3]int64{256}, []devices.Arg{whole(n)}, false}},
		verify: func() error {
			if err := b.fetch(aout); err != nil {
				return err
			}
			return near([]float64{want}, out, 1e-12)
		}}
	if err := b.measure(r); err != nil {
		return err
	}
	return b.drop(ax, aout)
}

func histogramRow(b *bench) error {
	n := b.size(1<<28, 1<<16)
	x, hist, want := make([]int32, n), make([]int32, 256), make([]int32, 256)
	r := rand.New(rand.NewPCG(3, 4))
	for i := range x {
		x[i] = int32(r.Uint32() >> 1)
		want[x[i]&255]++
	}
	ax, err := put(b, x)
	if err != nil {
		return err
	}
	ahist, err := put(b, hist)
	if err != nil {
		return err
	}
	sms := int64(b.gpus[0].Multiprocessors())
	row := kernelRow{name: "histogram int32, 256 bins", kernel: "Histogram", unit: "GB/s", goal: "0.95", repeat: 5, amount: 4 * float64(n) / 1e9,
		args: []devices.Arg{ax, ahist},
		references: []reference{{"histogram", [3]int64{sms * 4 * 512}, [3]int64{512}, []devices.Arg{whole(n)}, false},
			{"histogram", [3]int64{sms * 8 * 256}, [3]int64{256}, []devices.Arg{whole(n)}, false}},
		verify: func() error {
			if err := b.fetch(ahist); err != nil {
				return err
			}
			return same(want, hist)
		}}
	if err := b.measure(row); err != nil {
		return err
	}
	return b.drop(ax, ahist)
}

// irregular creates a sparse matrix whose rows have 1 to 128 elements; most rows have at most 16.
func irregular(rows int) (start, col []int32, val []float64) {
	r := rand.New(rand.NewPCG(5, 6))
	start = make([]int32, rows+1)
	for i := range rows {
		k := 1 + r.IntN(16)
		if r.IntN(16) == 0 {
			k = 1 + r.IntN(128)
		}
		at := r.IntN(rows)
		for range k {
			col = append(col, int32((at+r.IntN(4096))%rows))
			val = append(val, r.Float64())
		}
		start[i+1] = int32(len(col))
	}
	return start, col, val
}

func spmvRow(b *bench) error {
	rows := b.size(1<<22, 1<<10)
	start, col, val := irregular(rows)
	x, y, want := make([]float64, rows), make([]float64, rows), make([]float64, rows)
	for i := range x {
		x[i] = float64(i%97) / 9
	}
	SpMV(start, col, val, x, want)
	var args []devices.Arg
	for _, s := range [][]int32{start, col} {
		a, err := put(b, s)
		if err != nil {
			return err
		}
		args = append(args, a)
	}
	for _, s := range [][]float64{val, x, y} {
		a, err := put(b, s)
		if err != nil {
			return err
		}
		args = append(args, a)
	}
	n := []devices.Arg{whole(rows)}
	r := kernelRow{name: "SpMV CSR float64, irregular", kernel: "SpMV", unit: "GFLOP/s", goal: "0.95", repeat: 10, amount: 2 * float64(len(val)) / 1e9,
		args: args, references: []reference{{"spmv8", [3]int64{int64(rows) * 8}, [3]int64{256}, n, false}, {"spmv32", [3]int64{int64(rows) * 32}, [3]int64{256}, n, false}},
		verify: func() error {
			if err := b.fetch(args[4]); err != nil {
				return err
			}
			return near(want, y, 1e-12)
		}}
	if err := b.measure(r); err != nil {
		return err
	}
	return b.drop(args...)
}

// tileRows measures the kernels of one tile of Cholesky. It only runs for trials.
func tileRows(b *bench) error {
	if !b.Trials {
		return nil
	}
	bs := b.size(512, 24)
	tile := func(diagonal float64) []float64 {
		x := make([]float64, bs*bs)
		for i := range x {
			x[i] = 1 / float64(1+i%7)
		}
		for i := 0; i < len(x); i += bs + 1 {
			x[i] += diagonal
		}
		return x
	}
	var args []devices.Arg
	tiles := [][]float64{tile(float64(bs)), tile(float64(bs)), tile(0)}
	for _, x := range tiles {
		a, err := put(b, x)
		if err != nil {
			return err
		}
		args = append(args, a)
	}
	for _, c := range []struct {
		kernel string
		run    func(x [][]float64)
		args   []int // indices of tiles; the kernel changes the last one
	}{
		{"Potrf", func(x [][]float64) { Potrf(bs, x[0]) }, []int{2}},
		{"Trsm", func(x [][]float64) { Trsm(bs, x[0], x[1]) }, []int{0, 2}},
		{"Update", func(x [][]float64) { Update(bs, x[0], x[1], x[2]) }, []int{0, 1, 2}},
	} {
		copy(tiles[2], tile(float64(bs)))
		if err := b.move(args[2], devices.Host, b.space(0)); err != nil {
			return err
		}
		list := []devices.Arg{{Type: ir.IntType, Bits: uint64(bs)}}
		var want [][]float64
		for _, i := range c.args {
			list, want = append(list, args[i]), append(want, slices.Clone(tiles[i]))
		}
		c.run(want)
		r := kernelRow{name: fmt.Sprintf("%s of a tile of %d", c.kernel, bs), kernel: c.kernel, unit: "tiles/ms", amount: 1e-3,
			repeat: 3, args: list, verify: func() error {
				if err := b.fetch(args[2]); err != nil {
					return err
				}
				return near(want[len(want)-1], tiles[2], 1e-9)
			}}
		if err := b.measure(r); err != nil {
			return err
		}
	}
	return b.drop(args...)
}

func matmulRow(b *bench) error {
	n := b.size(4096, 96)
	var m [3][]float32
	r := rand.New(rand.NewPCG(7, 8))
	var args []devices.Arg
	for c := range m {
		m[c] = make([]float32, n*n)
		for i := range m[c] {
			if c > 0 {
				m[c][i] = r.Float32() - 0.5
			}
		}
		a, err := put(b, m[c])
		if err != nil {
			return err
		}
		args = append(args, a)
	}
	side := int64(n)
	row := kernelRow{name: fmt.Sprintf("matrix multiply float32 %d, naive loop", n), kernel: "MatMul", unit: "TFLOP/s", goal: "0.95", repeat: 1,
		amount: 2 * float64(n) * float64(n) * float64(n) / 1e12, args: slices.Concat([]devices.Arg{whole(n)}, args),
		references: []reference{{"matmul", [3]int64{side, side}, [3]int64{32, 8}, nil, false}, {"matmul", [3]int64{side, side}, [3]int64{32, 32}, nil, false},
			{"matmul", [3]int64{side, side}, [3]int64{128, 2}, nil, false}},
		verify: func() error {
			if err := b.fetch(args[0]); err != nil {
				return err
			}
			return checkProduct(n, m[0], m[1], m[2])
		}}
	if err := b.measure(row); err != nil {
		return err
	}
	return b.drop(args...)
}

// checkProduct compares some elements of c = a * b with a computation in float64.
func checkProduct(n int, c, a, b []float32) error {
	for at := 0; at < n*n; at += max(1, n*n/509) {
		i, j, s := at/n, at%n, 0.0
		for k := range n {
			s += float64(a[i*n+k]) * float64(b[k*n+j])
		}
		if math.Abs(s-float64(c[at])) > 1e-5*float64(n) {
			return fmt.Errorf("element %d: want %v, got %v", at, s, c[at])
		}
	}
	return nil
}
