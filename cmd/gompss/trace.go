package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
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
		return withRun(verb, rest, stderr, func(r *runs.Run) error { return r.Summary().Write(stdout) })
	case "critical":
		return withRun(verb, rest, stderr, func(r *runs.Run) error { return printCritical(stdout, r) })
	case "export":
		return exportTrace(rest, stdout, stderr)
	case "diff":
		return diffTraces(rest, stdout, stderr)
	case "report":
		return reportTrace(rest, stdout, stderr)
	default:
		return usageError("%s: want summary, export, critical, diff or report", verb)
	}
}

// withRun reads the one file that args name. What is wrong with it goes to stderr; f gets what is there.
func withRun(verb string, args []string, stderr io.Writer, f func(r *runs.Run) error) error {
	if len(args) != 1 {
		return usageError("%s: %d files: want one", verb, len(args))
	}
	r, err := readRun(args[0], stderr)
	if err != nil {
		return err
	}
	return f(r)
}

// readRun reads a trace file; what is wrong with it goes to stderr.
func readRun(name string, stderr io.Writer) (*runs.Run, error) {
	r, err := runs.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("gompss trace: %w", err)
	}
	if !r.Damage.Whole() {
		fmt.Fprintf(stderr, "gompss trace: %s: %s\n", name, r.Damage)
	}
	return r, nil
}

// parseAnywhere parses flags before, between and after other arguments, which it returns.
func parseAnywhere(flags *flag.FlagSet, args []string) (others []string, err error) {
	for {
		if err := flags.Parse(args); err != nil {
			return nil, usageError("%v", err)
		}
		if flags.NArg() == 0 {
			return others, nil
		}
		others, args = append(others, flags.Arg(0)), flags.Args()[1:]
	}
}

func printCritical(w io.Writer, r *runs.Run) error {
	s, path := r.Summary(), r.Critical()
	fmt.Fprintf(w, "critical path: %d tasks, %v of %v elapsed; records dropped: %d\n", len(path.Tasks), runs.Round(path.Length), runs.Round(s.Elapsed), r.Dropped)
	for _, l := range s.Path {
		fmt.Fprintf(w, "  %s x %d  %v (%.0f %%)\n", l.Sort, l.Count, runs.Round(l.Time), 100*float64(l.Time)/float64(max(1, path.Length)))
	}
	c := s.Chain
	_, err := fmt.Fprintf(w, "the chain that the run took: %d tasks: running %v, waiting for data or the device %v, for a place %v (short of tokens %v), being told %v, submission %v\n",
		len(c.Tasks), runs.Round(c.Run), runs.Round(c.Fetch), runs.Round(c.Queue), runs.Round(c.Tokens), runs.Round(c.Tell), runs.Round(c.Submit))
	return err
}

// newFlags makes a set whose errors are told by status alone.
func newFlags(name string) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	return f
}

func exportTrace(args []string, stdout, stderr io.Writer) error {
	flags := newFlags("trace export")
	format := flags.String("format", "perfetto", strings.Join(export.Formats(), ", ")+" or paraver")
	out := flags.String("o", "", "file to write; standard output when empty; for paraver the name before .prv")
	files, err := parseAnywhere(flags, args)
	switch {
	case err != nil:
		return err
	case *format != "paraver" && !slices.Contains(export.Formats(), *format):
		return usageError("export: format %q: the formats are %s and paraver", *format, strings.Join(export.Formats(), ", "))
	case *format == "paraver" && *out == "":
		return usageError("export: paraver is three files: say -o NAME")
	case *format == "perfetto" && *out == "" && isTerminal(stdout):
		return usageError("export: perfetto is no text: say -o FILE, or redirect the output")
	}
	return withRun("export", files, stderr, func(r *runs.Run) error {
		switch {
		case *format == "paraver":
			return export.Paraver(*out, r)
		case *out == "":
			return export.Write(stdout, *format, r)
		}
		return toFile(*out, files[0], func(w io.Writer) error { return export.Write(w, *format, r) })
	})
}

// isTerminal reports whether people will read what is written to w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	to, err := f.Stat()
	null, errNull := os.Stat(os.DevNull)
	return err == nil && to.Mode()&os.ModeCharDevice != 0 && (errNull != nil || !os.SameFile(to, null))
}

// toFile writes a file that is not the one that was read; where that fails, none is left.
func toFile(name, source string, write func(w io.Writer) error) error {
	from, err := os.Stat(source)
	if to, errTo := os.Stat(name); err == nil && errTo == nil && os.SameFile(from, to) {
		return fmt.Errorf("gompss trace: %s: it is the trace file itself: say another name", name)
	}
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("gompss trace: %w", err)
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return nil
}

func diffTraces(args []string, stdout, stderr io.Writer) error {
	if len(args) != 2 {
		return usageError("diff: %d files: want two", len(args))
	}
	var s [2]*runs.Summary
	for i, name := range args {
		r, err := readRun(name, stderr)
		if err != nil {
			return err
		}
		s[i] = r.Summary()
	}
	return runs.Compare(stdout, s[0], s[1])
}

func reportTrace(args []string, stdout, stderr io.Writer) error {
	flags := newFlags("trace report")
	out := flags.String("o", "report.html", "the page to write")
	files, err := parseAnywhere(flags, args)
	if err != nil {
		return err
	}
	return withRun("report", files, stderr, func(r *runs.Run) error {
		if err := toFile(*out, files[0], func(w io.Writer) error { return trace.Report(w, r) }); err != nil {
			return err
		}
		_, err := fmt.Fprintln(stdout, *out)
		return err
	})
}
