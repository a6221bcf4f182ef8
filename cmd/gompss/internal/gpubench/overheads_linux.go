//go:build amd64 || arm64

package gpubench

import (
	_ "embed"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/devices"
)

//go:embed overheads.cu
var overheadsReference string

// overheadModes are the execution modes of a team.
var overheadModes = []string{"spmd", "broadcast", "control_loop", "warp_specialized"}

// overheadsIn returns the source text of the kernels in one mode.
func overheadsIn(mode string) string {
	return strings.ReplaceAll(overheadsSource, "mode(auto)", "mode("+mode+")")
}

// An overhead is a construct, and a hand-written kernel with the same barriers.
type overhead struct {
	construct string
	kernel    func(turns int, out []int32)
	hand      string
	each      int // constructs per turn
}

var overheads = []overhead{
	{"parallel for", EachParallel, "barriers", 2},
	{"for", EachFor, "barriers", 2},
	{"barrier", EachBarrier, "barriers", 2},
	{"single, and a for", EachSingle, "single", 1},
	{"parallel for with a reduction", EachReduction, "reduction", 1},
	{"parallel for of atomics", EachCritical, "critical", 1},
}

func (c *overhead) name() string {
	full := runtime.FuncForPC(reflect.ValueOf(c.kernel).Pointer()).Name()
	return full[strings.LastIndex(full, ".")+1:]
}

// leagues are the sizes of leagues to measure, in teams per multiprocessor of the device. They go
// beyond the number of teams that run at once. A league of one team is measured first.
var leagues = []int{1, 8, 64, 512}

// An overheadBench times the constructs in each mode.
type overheadBench struct {
	*bench
	kernels map[string]*devices.Kernel // by mode and name
}

// runOverheads prints the cost of each construct in every execution mode of a team: the time of a
// turn with the construct, after the time of a launch without turns has been subtracted. A
// hand-written kernel with the same work and the same barriers is the reference.
//
// Source: Bull, Measuring synchronisation and scheduling overheads in OpenMP, 1999; differs: the
// reference is the same work with the necessary barriers, and not the work alone.
func runOverheads(o Options) error {
	base, err := openBench(o)
	if err != nil {
		return err
	}
	b := &overheadBench{bench: base, kernels: map[string]*devices.Kernel{}}
	b.hand = compileReference(o, overheadsReference, nil)
	for _, mode := range overheadModes {
		if b.pkg, err = codegen.Load(codegen.File{Name: "overheads_kernels.go", Text: overheadsIn(mode)}); err != nil {
			return errors.Join(err, b.close())
		}
		for _, c := range append([]overhead{{kernel: EachStart}}, overheads...) {
			if b.kernels[mode+c.name()], _, err = b.suiteKernel(c.name()); err != nil {
				return errors.Join(err, b.close())
			}
		}
	}
	fmt.Fprintf(o.Stdout, "%s, teams of 256 threads, by hand: %s\n", b.device(), b.hand.by)
	return errors.Join(b.constructs(), b.starts(), b.close())
}

func (b *overheadBench) heading(first string) {
	fmt.Fprintf(b.Stdout, "%-30s %6s %9s", first, "teams", "by hand")
	for _, mode := range overheadModes {
		fmt.Fprintf(b.Stdout, " %18s", mode)
	}
	fmt.Fprintln(b.Stdout)
}

// constructs prints the nanoseconds of each construct, with one team and with one team per
// multiprocessor.
func (b *overheadBench) constructs() error {
	b.heading("a construct, ns, and by hand over it")
	turns := b.size(2000, 20)
	for _, c := range overheads {
		if !b.wants(c.construct) {
			continue
		}
		for _, teams := range []int{1, b.gpus[0].Multiprocessors()} {
			if err := b.row(&c, teams, turns); err != nil {
				return fmt.Errorf("%s: %w", c.construct, err)
			}
		}
	}
	return nil
}

// row prints the times of one construct.
func (b *overheadBench) row(c *overhead, teams, turns int) error {
	host := make([]int32, teams)
	out, err := put(b.bench, host)
	if err != nil {
		return err
	}
	hand := b.nativeKernel(reference{entry: c.hand, items: [3]int64{int64(teams) * 256}, team: [3]int64{256}}, overheadsReference)
	nanoseconds := func(k *devices.Kernel) (float64, error) {
		none, err := b.time(k, repeats, whole(0), out)
		if err != nil {
			return 0, err
		}
		all, err := b.time(k, repeats, whole(turns), out)
		return (all - none) * 1e9 / float64(turns*c.each), err
	}
	byHand, err := nanoseconds(hand)
	if err != nil {
		return err
	}
	fmt.Fprintf(b.Stdout, "%-30s %6d %9.1f", c.construct, teams, byHand)
	for _, mode := range overheadModes {
		k := b.kernels[mode+c.name()]
		ours, err := nanoseconds(k)
		if err != nil {
			return err
		}
		note := ""
		if err := b.asFunction(c, k, out, host); err != nil {
			note = "!"
			fmt.Fprintf(b.Stderr, "%s, %s: %v\n", c.construct, mode, err)
		}
		fmt.Fprintf(b.Stdout, " %10.1f %6.2f%1s", ours, byHand/ours, note)
	}
	fmt.Fprintln(b.Stdout)
	return b.drop(out)
}

// asFunction compares the result of k with that of the Go function.
func (b *overheadBench) asFunction(c *overhead, k *devices.Kernel, out devices.Arg, host []int32) error {
	const turns = 7
	want := make([]int32, len(host))
	c.kernel(turns, want)
	if err := await(b.gpus[0].Launch(&devices.Launch{Kernel: k, Args: &devices.Args{List: []devices.Arg{whole(turns), out}}}, nil)); err != nil {
		return err
	}
	if err := b.fetch(out); err != nil {
		return err
	}
	return alike(want, host, 0)
}

// starts prints the microseconds of a launch of leagues of several sizes with one parallel region
// in each team, with those of the same kernel by hand and of an empty kernel.
func (b *overheadBench) starts() error {
	if !b.wants("start") {
		return nil
	}
	b.heading("start of a league, us")
	c := overhead{construct: "start", kernel: EachStart}
	sizes := []int{1}
	for _, each := range leagues {
		sizes = append(sizes, each*b.gpus[0].Multiprocessors())
	}
	for _, teams := range sizes {
		out, err := put(b.bench, make([]int32, teams))
		if err != nil {
			return err
		}
		by := func(entry string) (float64, error) {
			return b.time(b.nativeKernel(reference{entry: entry, items: [3]int64{int64(teams) * 256}, team: [3]int64{256}}, overheadsReference), b.size(20, 2), whole(1), out)
		}
		nothing, err := by("nothing")
		if err != nil {
			return err
		}
		hand, err := by("start")
		if err != nil {
			return err
		}
		fmt.Fprintf(b.Stdout, "%-30s %6d %9.2f", fmt.Sprintf("an empty kernel %.2f", nothing*1e6), teams, hand*1e6)
		for _, mode := range overheadModes {
			ours, err := b.time(b.kernels[mode+c.name()], b.size(20, 2), whole(1), out)
			if err != nil {
				return err
			}
			fmt.Fprintf(b.Stdout, " %10.2f %6.2f ", ours*1e6, hand/ours)
		}
		fmt.Fprintln(b.Stdout)
		if err := b.drop(out); err != nil {
			return err
		}
	}
	return nil
}
