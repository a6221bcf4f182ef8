package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/gompss/gompss/trace"
	"github.com/gompss/gompss/trace/export"
	runs "github.com/gompss/gompss/trace/run"
)

// traceCommand reads trace files: summary, export, critical, diff, report.
func traceCommand(args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return usageError("want summary, export, critical, diff or report")
	}
	switch verb, rest := args[0], args[1:]; verb {
	case "summary":
		return withRun(rest, stderr, func(r *runs.Run) error { return r.Summary().Write(stdout) })
	case "critical":
		return withRun(rest, stderr, func(r *runs.Run) error { return printCritical(stdout, r) })
	case "export":
		return exportTrace(rest, stdout, stderr)
	case "diff":
		return diffTraces(rest, stdout)
	case "report":
		return reportTrace(rest, stdout, stderr)
	default:
		return usageError("trace %s: want summary, export, critical, diff or report", verb)
	}
}

// withRun reads the one file that args name. What is wrong with it goes to stderr; f gets what is there.
func withRun(args []string, stderr io.Writer, f func(r *runs.Run) error) error {
	if len(args) != 1 {
		return usageError("%d files: want one", len(args))
	}
	r, err := runs.ReadFile(args[0])
	if err != nil {
		return err
	}
	if !r.Damage.Whole() {
		fmt.Fprintf(stderr, "gompss trace: %s: %s\n", args[0], r.Damage)
	}
	return f(r)
}

func printCritical(w io.Writer, r *runs.Run) error {
	s, path := r.Summary(), r.Critical()
	fmt.Fprintf(w, "critical path: %d tasks, %v of %v elapsed; records dropped: %d\n", len(path.Tasks), path.Length, s.Elapsed, r.Dropped)
	for _, l := range s.Path {
		fmt.Fprintf(w, "  %s x %d  %v (%.0f %%)\n", l.Sort, l.Count, l.Time, 100*float64(l.Time)/float64(max(1, path.Length)))
	}
	c := s.Chain
	_, err := fmt.Fprintf(w, "the chain that the run took: %d tasks: running %v, waiting for data or the device %v, for a place %v (short of tokens %v), being told %v, submission %v\n",
		len(c.Tasks), c.Run, c.Fetch, c.Queue, c.Tokens, c.Tell, c.Submit)
	return err
}

func newFlags(name string, stderr io.Writer) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(stderr)
	return f
}

func exportTrace(args []string, stdout, stderr io.Writer) error {
	flags := newFlags("trace export", stderr)
	format := flags.String("format", "perfetto", strings.Join(export.Formats(), ", ")+" or paraver")
	out := flags.String("o", "", "file to write; standard output when empty; for paraver the name before .prv")
	if err := flags.Parse(args); err != nil {
		return usageError("trace export: %v", err)
	}
	return withRun(flags.Args(), stderr, func(r *runs.Run) error {
		switch {
		case *format == "paraver" && *out == "":
			return usageError("trace export: paraver is three files: say -o NAME")
		case *format == "paraver":
			return export.Paraver(*out, r)
		case *out == "":
			return export.Write(stdout, *format, r)
		}
		return toFile(*out, func(w io.Writer) error { return export.Write(w, *format, r) })
	})
}

func toFile(name string, write func(w io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func diffTraces(args []string, stdout io.Writer) error {
	if len(args) != 2 {
		return usageError("trace diff: %d files: want two", len(args))
	}
	var s [2]*runs.Summary
	for i, name := range args {
		r, err := runs.ReadFile(name)
		if err != nil {
			return err
		}
		s[i] = r.Summary()
	}
	return runs.Compare(stdout, s[0], s[1])
}

func reportTrace(args []string, stdout, stderr io.Writer) error {
	flags := newFlags("trace report", stderr)
	out := flags.String("o", "report.html", "the page to write")
	if err := flags.Parse(args); err != nil {
		return usageError("trace report: %v", err)
	}
	return withRun(flags.Args(), stderr, func(r *runs.Run) error {
		if err := toFile(*out, func(w io.Writer) error { return trace.Report(w, r) }); err != nil {
			return err
		}
		_, err := fmt.Fprintln(stdout, *out)
		return err
	})
}
