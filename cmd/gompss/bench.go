package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/gompss/gompss/cmd/gompss/internal/taskbench"
)

// bench measures one part of what there is.
func bench(args []string, stdout, stderr io.Writer) error {
	switch {
	case len(args) > 0 && args[0] == "tasks":
		return benchTasks(args[1:], stdout, stderr)
	case len(args) > 0 && args[0] == "cpu":
		return benchCPU(args[1:], stdout, stderr)
	case len(args) > 0 && args[0] == "gpu":
		return benchGPU(args[1:], stdout, stderr)
	}
	return usageError("what can be measured is tasks, cpu and gpu")
}

// benchTasks measures the runtime itself.
func benchTasks(args []string, stdout, stderr io.Writer) error {
	var o taskbench.Options
	flags := flag.NewFlagSet("bench tasks", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.Pattern, "pattern", "stencil1d", fmt.Sprintf("one of %v", taskbench.Patterns()))
	flags.IntVar(&o.Width, "width", 16, "tasks in a step")
	flags.IntVar(&o.Steps, "steps", 1000, "steps")
	flags.IntVar(&o.Grain, "grain", 0, "steps of the arithmetic loop in a task; 0: empty tasks")
	flags.IntVar(&o.Workers, "workers", runtime.GOMAXPROCS(0), "CPU workers")
	flags.IntVar(&o.Submitters, "submitters", 1, "goroutines that submit at once")
	flags.IntVar(&o.Repetitions, "repetitions", 5, "runs, of which the median counts")
	flags.StringVar(&o.Policy, "policy", "", "scheduling policy")
	flags.BoolVar(&o.Replay, "replay", false, "record the graph once and replay it")
	metg := flags.Bool("metg", false, "find the grain at which half of the workers' time goes into the tasks' own work")
	suite := flags.Bool("suite", false, "all patterns, replays, several submitters and, with -metg, METG, with 1, 2, 4 workers and so on up to -workers, and OpenMP beside it where there is a compiler")
	asJSON := flags.Bool("json", false, "print one JSON line")
	peers := flags.String("peers", "", "with -suite: folder of programs peer-NAME that were built elsewhere from taskbench/testdata/peer.c")
	profiles := flags.String("profile", "", "directory for CPU, mutex and block profiles of the measured runs")
	if err := flags.Parse(args); err != nil {
		return usageError("%v", err)
	}
	if flags.NArg() > 0 || min(o.Width, o.Steps, o.Workers, o.Submitters, o.Repetitions) < 1 || o.Grain < 0 {
		return usageError("arguments %v: want none, and positive numbers", flags.Args())
	}
	if *suite {
		return benchSuite(&o, *peers, *metg, *asJSON, stdout, stderr)
	}
	r, err := measureTasks(o, *profiles)
	if err == nil && *metg {
		r.METG, err = taskbench.METG(o)
	}
	if err != nil && !errors.Is(err, taskbench.ErrOrder) {
		return err
	}
	return errors.Join(printTasks(stdout, &r, *asJSON), err)
}

// measureTasks is taskbench.Measure, which it profiles where dir is not empty.
func measureTasks(o taskbench.Options, dir string) (r taskbench.Result, err error) {
	if dir == "" {
		return taskbench.Measure(o)
	}
	p, err := startProfiles(dir)
	if err != nil {
		return r, err
	}
	r, err = taskbench.Measure(o)
	return r, errors.Join(err, p.stop())
}

// benchSuite runs the suite with at most o.Workers workers and about o.Width times o.Steps tasks in
// a run.
func benchSuite(o *taskbench.Options, peersIn string, metg, asJSON bool, stdout, stderr io.Writer) error {
	dir, err := os.MkdirTemp("", "gompss-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	peers, err := suitePeers(dir, peersIn, stderr)
	if err != nil {
		return err
	}
	s := taskbench.Suite{Workers: o.Workers, Tasks: o.Width * o.Steps, Repetitions: o.Repetitions, METG: metg, Peers: peers}
	var results []taskbench.Result
	err = s.Run(func(r taskbench.Result) error {
		results = append(results, r)
		if asJSON {
			return printTasks(stdout, &r, true)
		}
		return nil
	})
	if asJSON || err != nil && !errors.Is(err, taskbench.ErrOrder) {
		return err
	}
	return errors.Join(taskbench.PrintTable(stdout, results), err)
}

// suitePeers returns the peers in a folder, or those that can be built in dir where none is named.
func suitePeers(dir, built string, stderr io.Writer) ([]taskbench.Peer, error) {
	if built != "" {
		return taskbench.FindPeers(built)
	}
	peers, missing, err := taskbench.BuildPeers(dir)
	for _, m := range missing {
		fmt.Fprintln(stderr, "not measured:", m)
	}
	return peers, err
}

func printTasks(w io.Writer, r *taskbench.Result, asJSON bool) error {
	if asJSON {
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(w, string(line))
		return err
	}
	fmt.Fprintf(w, "%s%s, width %d, %d steps: %d tasks, %d edges, %d workers, %d submitters, grain %d\n", r.Pattern, map[bool]string{true: ", replayed"}[r.Replay], r.Width, r.Steps, r.Tasks, r.Edges, r.Workers, r.Submitters, r.Grain)
	fmt.Fprintf(w, "a task               %.0f ns (%.0f to %.0f), %.0f ns of processor time, %.3f allocations\n", r.PerTask, r.Quickest, r.Slowest, r.CPU, r.Allocs)
	fmt.Fprintf(w, "submission alone     %.1f ns\n", r.Submit)
	fmt.Fprintf(w, "a pending task       %.0f bytes\n", r.Pending)
	if r.METG > 0 {
		fmt.Fprintf(w, "METG(50%%)            %.2f us\n", r.METG)
	}
	_, err := fmt.Fprintf(w, "order                %s\n", r.Order)
	return err
}
