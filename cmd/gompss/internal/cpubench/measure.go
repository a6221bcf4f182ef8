package cpubench

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"time"
	"unsafe"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
)

// Options choose the rows to measure, and the time for them.
type Options struct {
	Quick bool
	JSON  bool
	Calls bool   // measures the fixed cost per call or row and the cost per KiB, instead of the rows
	Only  string // measures only rows whose name contains this text
	Stdout,
	Stderr io.Writer
}

// A Row is one line of the table.
type Row struct {
	Kernel   string  `json:"kernel"`
	Type     string  `json:"type"`
	Size     string  `json:"size"`
	Width    int     `json:"width"` // of vectors, in bits; 0 for the Go function
	Value    float64 `json:"value"`
	Unit     string  `json:"unit"` // GB/s, GFLOP/s, or ns an element
	Fast     float64 `json:"gcc_fastmath_ratio,omitempty"`
	Plain    float64 `json:"gcc_ratio,omitempty"`
	Clang    float64 `json:"clang_ratio,omitempty"`
	Best     float64 `json:"best_ratio,omitempty"` // best round of gcc -ffast-math / our best: least disturbed by other processes
	Verified bool    `json:"verified"`
	Note     string  `json:"note,omitempty"`
}

// A pace limits the time of a row.
type pace struct {
	round, row time.Duration // of one variant in one round; of all rounds
	least      int           // the minimum number of rounds
}

func (o Options) pace() pace {
	if o.Quick {
		return pace{round: 3 * time.Millisecond, row: 150 * time.Millisecond, least: 3}
	}
	return pace{round: 20 * time.Millisecond, row: 3 * time.Second, least: 7}
}

// Run measures all rows and prints them.
func Run(o Options) error {
	options, err := cpu.Detect()
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	dir, err := os.MkdirTemp("", "gompss-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	t := newTable(o, options)
	t.head()
	if o.Calls {
		return errors.Join(callsOf[float32](o, options, dir, "float32", "float"), callsOf[float64](o, options, dir, "float64", "double"))
	}
	err = errors.Join(rowsOf[float32](o, options, dir, "float32", "float", t), rowsOf[float64](o, options, dir, "float64", "double", t))
	t.foot()
	return err
}

// rowsOf measures the rows of one type.
func rowsOf[T float32 | float64](o Options, options cpu.Options, dir, typ, ctype string, t *table) error {
	var list []spec
	for _, s := range specs(thisMachine(), int(unsafe.Sizeof(T(0)))) {
		if o.wants(s) {
			list = append(list, s)
		}
	}
	return measureType(options, dir, typ, ctype, list, func(us *ours[T], refs []*reference, s spec) error {
		row, err := us.measure(s, refs, o.pace())
		if err == nil {
			t.row(row)
		}
		return err
	})
}

// measureType calls each for every spec in list, with our variants and the waiting C programs. The
// memory suffices for the largest spec.
func measureType[T float32 | float64](options cpu.Options, dir, typ, ctype string, list []spec, each func(us *ours[T], refs []*reference, s spec) error) (err error) {
	size := int(unsafe.Sizeof(T(0)))
	pkg, err := codegen.Load(codegen.File{Name: "kernels.go", Text: kernelText})
	if err != nil {
		return err
	}
	arena, err := cpu.NewArena()
	if err != nil {
		return err
	}
	bytes := poolSize(list, size)
	bytes = (bytes + hugePage - 1) / hugePage * hugePage
	whole, err := mapPool(bytes + hugePage)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unmapPool(whole), arena.Close()) }()
	mem := fromHugePage(whole, bytes)
	wishHugePages(mem)
	var refs []*reference
	defer func() {
		for _, r := range refs {
			err = errors.Join(err, r.close())
		}
	}()
	for _, c := range compilers() {
		r, err := c.start(dir, ctype, bytes)
		if err != nil {
			return err
		}
		refs = append(refs, r)
	}
	us := &ours[T]{pkg: pkg, arena: arena, options: options, pool: &pool{mem: mem}, typ: typ}
	for _, s := range list {
		if err := each(us, refs, s); err != nil {
			return fmt.Errorf("bench: %s %s %s: %w", s.name, typ, s.size, err)
		}
		if err := clearPool(mem); err != nil {
			return err
		}
	}
	return nil
}

const hugePage = 2 << 20

// fromHugePage returns the part of mem that begins at a multiple of the huge page size and has the
// given length. Small pages map to random sets of the second-level cache; the times of rows that
// fit into this cache then differ by half from run to run.
func fromHugePage(mem []byte, bytes int) []byte {
	past := int(uintptr(unsafe.Pointer(unsafe.SliceData(mem))) % hugePage)
	if past > 0 {
		mem = mem[hugePage-past:]
	}
	return mem[:bytes]
}

// measure verifies a row and measures all its variants in turn.
func (o *ours[T]) measure(s spec, refs []*reference, p pace) (*Row, error) {
	v, err := o.variant(s.fn)
	if err != nil {
		return nil, err
	}
	if err := o.verify(v, s); err != nil {
		return nil, err
	}
	c, times, err := o.times(v, s, refs, p)
	if err != nil {
		return nil, err
	}
	row := &Row{Kernel: s.name, Type: o.typ, Size: s.size, Width: c.width(), Unit: s.unit, Verified: true}
	if v.refused != nil {
		row.Note = "runs as Go: " + v.refused.Error()
	}
	row.fill(s, times, refs)
	if row.Fast > 0 && row.Fast < least && row.Note == "" {
		row.Note, err = o.reason(v, s, times, refs, row.Best)
	}
	return row, err
}

// times returns the nanoseconds of one run, indexed by variant (ours first) and round.
func (o *ours[T]) times(v *variant, s spec, refs []*reference, p pace) (c *call, times [][]float64, err error) {
	args := arguments[T](o.pool, s)
	c = v.bind(args)
	turns := []turn{c.run}
	for _, r := range refs {
		if err := r.setup(s); err != nil {
			return nil, nil, err
		}
		turns = append(turns, r.run)
	}
	first, err := sameSums(s, c, args, refs, bound[T]())
	if err != nil {
		return nil, nil, err
	}
	if times, err = rounds(turns, first, p); err != nil {
		return nil, nil, err
	}
	for _, r := range refs {
		if err := r.release(); err != nil {
			return nil, nil, err
		}
	}
	return c, times, nil
}

// sameSums runs every variant and compares the checksums of the results. It returns the time of
// each variant after its memory has been allocated.
func sameSums(s spec, c *call, args []any, refs []*reference, bound float64) (first []time.Duration, err error) {
	d, err := c.run(1)
	if err != nil {
		return nil, err
	}
	ours := s.sum(args)
	if d, err = again(c.run, d); err != nil {
		return nil, err
	}
	first = append(first, d)
	for _, r := range refs {
		if d, err = r.run(1); err != nil {
			return nil, err
		}
		theirs, err := r.sum()
		if err != nil {
			return nil, err
		}
		if math.Abs(ours-theirs) > 5*bound*math.Max(math.Abs(theirs), float64(s.n)) {
			return nil, fmt.Errorf("bench: %s: the sum is %v, that of %s %v: %w", s.name, ours, r.compiler.name, theirs, errDiffers)
		}
		if d, err = again(r.run, d); err != nil {
			return nil, err
		}
		first = append(first, d)
	}
	return first, nil
}

// again runs a variant once more, unless this takes long.
func again(t turn, before time.Duration) (time.Duration, error) {
	if before > 100*time.Millisecond {
		return before, nil
	}
	return t(1)
}

// A turn runs one variant reps times.
type turn func(reps int) (time.Duration, error)

// rounds runs the variants in turn until the time of the row is used, and returns the nanoseconds
// of one run, indexed by variant and round. first has the time of the first run of each variant. If
// this is much longer than the time of the row, the variant is not run again.
func rounds(turns []turn, first []time.Duration, p pace) ([][]float64, error) {
	times := make([][]float64, len(turns))
	began := time.Now()
	for n := 0; n < p.least || time.Since(began) < p.row && n < 101; n++ {
		for i, t := range turns {
			if first[i] > 5*p.row {
				times[i] = append(times[i], float64(first[i]))
				continue
			}
			reps := max(1, int(p.round/max(first[i], 1)))
			if first[i] < p.row/5 { // a warm-up run: caches hold data, partly dirty, of other variants
				if _, err := t(1); err != nil {
					return nil, err
				}
			}
			d, err := t(reps)
			if err != nil {
				return nil, err
			}
			times[i] = append(times[i], float64(d)/float64(reps))
		}
	}
	return times, nil
}

// fill sets the medians of the row.
func (row *Row) fill(s spec, times [][]float64, refs []*reference) {
	ns := median(times[0])
	row.Value = s.work / (ns / 1e9)
	if s.unit == "ns" {
		row.Value = ns / s.work
	}
	for i, r := range refs {
		ratio := make([]float64, len(times[0]))
		for n := range ratio {
			ratio[n] = times[i+1][n] / times[0][n]
		}
		switch m := median(ratio); r.compiler.name {
		case "gcc -ffast-math":
			row.Fast, row.Best = m, slices.Min(times[i+1])/slices.Min(times[0])
		case "gcc":
			row.Plain = m
		default:
			row.Clang = m
		}
	}
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	n := len(x)
	return (x[(n-1)/2] + x[n/2]) / 2
}
