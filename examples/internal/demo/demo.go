// Package demo is what the demonstration programs share: flags, the progress line, the summary
// table and the JSON line.
package demo

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/dist"
	"github.com/gompss/gompss/task"
	_ "github.com/gompss/gompss/trace" // GOMPSS_DASH shows the page
)

// Flags are the flags of every demo.
type Flags struct {
	N       int
	Rounds  int // steps, or repetitions
	Block   int
	Devices string
	Policy  string
	Check   bool
	JSON    bool
	Ranks   int
	World   *dist.World // nil where this is no rank of several
}

// Parse reads the command line; rounds is the name of the flag for the number of rounds. It ends
// the program on bad flags, with status 2.
func Parse(f Flags, rounds string) Flags {
	flag.IntVar(&f.N, "n", f.N, "elements of each array")
	flag.IntVar(&f.Rounds, rounds, f.Rounds, "number of "+rounds)
	flag.IntVar(&f.Block, "block", f.Block, "elements that one task works on")
	flag.StringVar(&f.Devices, "devices", f.Devices, "devices, such as smp:2,sim:2 or sim:4(exec=simt); auto: the CPU workers and all GPUs; empty: $GOMPSS_DEVICES, else auto")
	flag.StringVar(&f.Policy, "policy", f.Policy, "scheduling policy")
	flag.BoolVar(&f.Check, "check", f.Check, "compare with the plain sequential Go run; exit with 1 when they differ")
	flag.BoolVar(&f.JSON, "json", f.JSON, "print one JSON object as the last line, and nothing else")
	flag.IntVar(&f.Ranks, "ranks", 1, "processes that share the work; mpirun, srun and gompss run start them, too")
	flag.Parse()
	switch {
	case f.Ranks < 1:
		usage("-ranks %d: want at least 1", f.Ranks)
	case flag.NArg() > 0:
		usage("unexpected argument %q", flag.Arg(0))
	case f.N <= 0 || f.Rounds < 0 || f.Block <= 0:
		usage("-n %d -%s %d -block %d: want positive numbers", f.N, rounds, f.Rounds, f.Block)
	}
	f.join()
	return f
}

func usage(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	flag.Usage()
	os.Exit(2)
}

// Blocks returns the cuts of n elements into blocks: [0, block, 2*block, ..., n].
func Blocks(n, block int) []int {
	cuts := []int{0}
	for lo := block; lo < n; lo += block {
		cuts = append(cuts, lo)
	}
	return append(cuts, n)
}

// A Result is what a run reports; the JSON object of -json.
type Result struct {
	Example       string           `json:"example"`
	N             int              `json:"n"`
	Devices       string           `json:"devices"`
	Tasks         int64            `json:"tasks"`
	TasksByDevice map[string]int64 `json:"tasks_by_device"`
	BytesMoved    Moved            `json:"bytes_moved"`
	Seconds       float64          `json:"seconds"`
	Gflops        float64          `json:"gflops,omitempty"`
	Gbps          float64          `json:"gbps,omitempty"`
	Check         string           `json:"check"` // ok, failed or off
	Error         float64          `json:"max_relative_error,omitempty"`
	CPUCode       string           `json:"cpu_code,omitempty"` // what ran on the CPU workers
}

// Moved is the bytes that went between address spaces.
type Moved struct {
	HostToDevice   deps.Bytes `json:"h2d"`
	DeviceToHost   deps.Bytes `json:"d2h"`
	DeviceToDevice deps.Bytes `json:"d2d"`
}

// Count fills in what the runtime counted.
func (r *Result) Count(rt *task.Runtime, elapsed time.Duration) {
	s := rt.Stats()
	r.TasksByDevice = s.ByDevice
	if _, workers := s.ByDevice["smp"]; !workers {
		r.CPUCode = ""
	}
	r.Tasks = 0
	for _, n := range s.ByDevice {
		r.Tasks += n
	}
	r.BytesMoved = Moved{s.HostToDevice, s.DeviceToHost, s.DeviceToDevice}
	r.Seconds = elapsed.Seconds()
}

// Judge notes the outcome of the check: the largest relative error against the bound.
func (r *Result) Judge(worst, bound float64) {
	r.Check, r.Error = "ok", worst
	if !(worst <= bound) { // a NaN fails
		r.Check = "failed"
	}
}

// Print writes the result as the flags say and returns the exit status.
func (r *Result) Print(w io.Writer, asJSON bool) int {
	if asJSON {
		line, err := json.Marshal(r)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Fprintln(w, string(line))
	} else {
		r.table(w)
	}
	if r.Check == "failed" {
		return 1
	}
	return 0
}

func (r *Result) table(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t, "time\t%.3f s\n", r.Seconds)
	if r.Gflops > 0 {
		fmt.Fprintf(t, "speed\t%.2f GFLOP/s\n", r.Gflops)
	}
	if r.Gbps > 0 {
		fmt.Fprintf(t, "speed\t%.2f GB/s\n", r.Gbps)
	}
	fmt.Fprintf(t, "tasks\t%d\n", r.Tasks)
	names := make([]string, 0, len(r.TasksByDevice))
	for name := range r.TasksByDevice {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(t, "  %s\t%d\n", name, r.TasksByDevice[name])
	}
	fmt.Fprintf(t, "moved\thost to device %v, device to host %v, device to device %v\n",
		r.BytesMoved.HostToDevice, r.BytesMoved.DeviceToHost, r.BytesMoved.DeviceToDevice)
	if r.CPUCode != "" {
		fmt.Fprintf(t, "CPU\t%s\n", r.CPUCode)
	}
	fmt.Fprintf(t, "check\t%s\n", r.checkText())
	t.Flush()
}

func (r *Result) checkText() string {
	switch r.Check {
	case "off":
		return "off (-check compares with the sequential Go run)"
	case "ok":
		return fmt.Sprintf("ok, largest relative error %.2g", r.Error)
	}
	return fmt.Sprintf("FAILED, largest relative error %.2g", r.Error)
}

// Progress prints a line that overwrites itself; quiet with -json.
type Progress struct {
	quiet bool
	what  string
	total int
}

// NewProgress starts a progress line.
func NewProgress(f Flags, what string) *Progress {
	return &Progress{quiet: f.JSON || f.World != nil && f.World.Rank() != 0, what: what, total: f.Rounds}
}

// Step shows that round i is submitted.
func (p *Progress) Step(i int) {
	if p.quiet {
		return
	}
	done := 30 * (i + 1) / max(1, p.total)
	fmt.Fprintf(os.Stderr, "\r%s %d/%d [%s%s]", p.what, i+1, p.total, strings.Repeat("#", done), strings.Repeat(".", 30-done))
	if i+1 == p.total {
		fmt.Fprintln(os.Stderr)
	}
}

// Fail ends the program with an error.
func Fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
