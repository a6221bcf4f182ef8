//go:build amd64 || arm64

package gpubench

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda"
	"github.com/gompss/gompss/devices/opencl"
)

// A wall is a device whose launches are timed by the host's clock: from the first call until the
// caller knows that the last launch has finished. So different plug-ins can be compared.
type wall struct {
	devices.Accelerator
	model string
	units int
}

// Model implements gpu.
func (w *wall) Model() string { return w.model }

// Multiprocessors implements gpu.
func (w *wall) Multiprocessors() int { return w.units }

// Time implements gpu. Each launch waits for the previous one.
func (w *wall) Time(l *devices.Launch, repeat, rounds int) (each []time.Duration, err error) {
	for range rounds {
		began := time.Now()
		var after []devices.Event
		for range repeat {
			after = []devices.Event{w.Launch(l, after)}
		}
		if err := await(after[0]); err != nil {
			return nil, err
		}
		each = append(each, time.Since(began)/time.Duration(repeat))
	}
	return each, nil
}

// A plugin is one of the compared kinds of devices.
type plugin struct {
	name string
	open func(cache string) (*wall, error)
	opt  codegen.LowerOptions
}

// pluginsOf returns the reference, and opencl on a platform. The reference is cuda, or vector code
// if the device of the platform is a CPU.
func pluginsOf(platform string) [2]plugin {
	first := spaceOf(0)
	out := [2]plugin{{"cuda", func(cache string) (*wall, error) {
		list, err := cuda.Open(1, first, cuda.Options{CacheDir: cache})
		if err != nil {
			return nil, err
		}
		return &wall{list[0], list[0].Model(), list[0].Multiprocessors()}, nil
	}, codegen.LowerOptions{}}, {"opencl", func(cache string) (*wall, error) {
		list, err := opencl.Open(1, first, opencl.Options{CacheDir: cache, Platform: platform})
		if err != nil {
			return nil, err
		}
		return &wall{list[0], list[0].Info().Name, list[0].Info().Units}, nil
	}, codegen.LowerOptions{Target: "opencl", NoShuffles: true, TeamUnit: 32}}}
	wanted := opencl.Options{Platform: platform}
	list, err := opencl.Devices()
	if first := slices.IndexFunc(list, wanted.Wants); err == nil && first >= 0 {
		switch i := &list[first]; {
		case i.Type == "cpu":
			out[0], out[1].opt = plugin{name: onHost, open: openHost}, codegen.LowerOptions{Target: "opencl", NoShuffles: true}
		case wanted.TeamForm(i) == devices.SubgroupTeams:
			out[1].opt = codegen.LowerOptions{Target: "opencl", TeamUnit: 32}
		}
		out[1].opt.Device = list[first].Target
	}
	return out
}

// onHost is the name of the reference that runs vector code.
const onHost = "vector code, one thread"

// besideRows are the rows that compare plug-ins, in addition to the rows of kernels.
var besideRows = []measurement{
	{"copies host to device, device to host", wallCopies},
	{"chain of kernels", wallChain},
	{"launch and wait", launchRow},
	{"start-up", nil},
}

// runBesideOpenCL measures each row with the reference plug-in and with the plug-in for OpenCL, in
// turn. If the reference cannot be opened, the rows have no reference.
func runBesideOpenCL(o Options) error {
	var errs []error
	var benches []*bench
	pkg, err := codegen.Load(codegen.File{Name: "kernels.go", Text: kernelSource})
	if err != nil {
		return err
	}
	values := map[string]float64{}
	plugins := pluginsOf(o.OpenCL)
	for i, p := range plugins {
		d, err := p.open("off")
		if err != nil {
			if i == 0 {
				fmt.Fprintf(o.Stderr, "no reference: %v\n", err)
				continue
			}
			return err
		}
		b := &bench{Options: o, gpus: []gpu{d}, pkg: pkg, lower: p.opt, space: spaceOf}
		if p.name == onHost {
			if b.host, err = newHostCode(); err != nil {
				return err
			}
		}
		b.told = func(r Row) error {
			if i == 0 {
				values[r.Row] = r.Value
				if r.Verified {
					return nil
				}
			}
			if r.Devices = p.name; plugins[0].name == onHost {
				r.Goal = "" // the goals are for GPUs
			}
			return o.print(r.against(plugins[0].name, values[r.Row]))
		}
		benches = append(benches, b)
	}
	for _, m := range append(append([]measurement{}, kernelRows...), besideRows...) {
		if !o.wants(m.name) {
			continue
		}
		if m.run == nil {
			errs = append(errs, wallStart(benches, plugins))
			continue
		}
		for _, b := range benches {
			err := m.run(b)
			if refusal := new(cpu.Refusal); b.host != nil && errors.As(err, &refusal) {
				fmt.Fprintf(o.Stderr, "%s: no reference: %v\n", m.name, err)
				err = nil
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("bench gpu: %s: %w", m.name, err))
			}
			b.keep = nil
			runtime.GC()
		}
	}
	for _, b := range benches {
		errs = append(errs, b.close())
	}
	return errors.Join(errs...)
}

// wallCopies measures copies from the host to the device and back.
func wallCopies(b *bench) error {
	x := make([]float64, b.size(32<<20, 1<<16))
	a, err := put(b, x)
	if err != nil {
		return err
	}
	for _, c := range []struct {
		name     string
		from, to devices.SpaceID
	}{{"host to device", devices.Host, b.space(0)}, {"device to host", b.space(0), devices.Host}} {
		var times []time.Duration
		for range rounds {
			began := time.Now()
			if err := b.move(a, c.from, c.to); err != nil {
				return err
			}
			times = append(times, time.Since(began))
		}
		t := transfer(a, c.from, c.to)
		row := Row{Row: fmt.Sprintf("%s %v", c.name, t.Size()), Value: float64(t.Size()) / median(times[2:]).Seconds() / 1e9, Unit: "GB/s", Verified: true, Goal: "0.95"}
		if err := b.told(row); err != nil {
			return err
		}
	}
	return b.drop(a)
}

// wallChain measures a chain of small kernels, each of which waits for the previous one.
func wallChain(b *bench) error {
	const n = 1000
	x := make([]int64, 1)
	a, err := put(b, x)
	if err != nil {
		return err
	}
	k, err := b.kernel("Count")
	if err != nil {
		return err
	}
	took, err := b.time(k, n, a)
	if err != nil {
		return err
	}
	if err := b.fetch(a); err != nil {
		return err
	}
	if err := b.told(Row{Row: "chain of kernels, each", Value: took * 1e6, Unit: "us", Verified: x[0] == n*(rounds+2), Goal: "at most 1.5"}); err != nil {
		return err
	}
	return b.drop(a)
}

// wallStart measures how long it takes to open a device and to compile two kernels, with an empty
// and with a filled cache. The driver is already loaded.
func wallStart(benches []*bench, plugins [2]plugin) error {
	for _, b := range benches {
		if b.host != nil {
			continue // the host needs no start-up
		}
		p := plugins[0]
		if b.lower.Target != "" {
			p = plugins[1]
		}
		dir, err := os.MkdirTemp("", "gompss-cache")
		if err != nil {
			return err
		}
		for _, cache := range []string{"empty", "warm"} {
			began := time.Now()
			d, err := p.open(dir)
			if err != nil {
				return err
			}
			for _, name := range []string{"Forces", "Move"} {
				k, err := b.kernel(name)
				if err == nil {
					err = d.Prepare(k)
				}
				if err != nil {
					return errors.Join(err, d.Close())
				}
			}
			took := time.Since(began)
			if err := d.Close(); err != nil {
				return err
			}
			if err := b.told(Row{Row: "start-up of two kernels, cache " + cache, Value: took.Seconds(), Unit: "s", Verified: true, Goal: "at most 2"}); err != nil {
				return err
			}
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return nil
}
