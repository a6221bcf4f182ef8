package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/gompss/gompss/trace"
	"github.com/gompss/gompss/trace/export"
	"github.com/gompss/gompss/trace/record"
	runs "github.com/gompss/gompss/trace/run"
)

// traceCommand reads trace files: summary, export, critical, diff, merge, report.
func traceCommand(args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return usageError("want summary, export, critical, diff, merge or report")
	}
	switch verb, rest := args[0], args[1:]; verb {
	case "summary":
		return printTrace(verb, rest, stderr, func(r *runs.Run) error { return r.Summary().Write(stdout) })
	case "critical":
		return printTrace(verb, rest, stderr, func(r *runs.Run) error { return printCritical(stdout, r) })
	case "export":
		return exportTrace(rest, stdout, stderr)
	case "diff":
		return diffTraces(rest, stdout, stderr)
	case "merge":
		return mergeTraces(rest, stdout, stderr)
	case "report":
		return reportTrace(rest, stdout, stderr)
	default:
		return usageError("%s: want summary, export, critical, diff, merge or report", verb)
	}
}

func printTrace(verb string, args []string, stderr io.Writer, f func(r *runs.Run) error) error {
	flags := newTraceFlags(verb, 0)
	files, err := flags.parse(args, 1)
	if err != nil {
		return err
	}
	return flags.withRun(files[0], stderr, f)
}

// pageTasks is the default number of tasks of a page: more need gigabytes in a browser.
const pageTasks = 1_000_000

// A traceFlags is the flags of a command that reads trace files, and what they have in common.
type traceFlags struct {
	*flag.FlagSet
	last int
}

func newTraceFlags(verb string, last int) *traceFlags {
	f := &traceFlags{FlagSet: flag.NewFlagSet(verb, flag.ContinueOnError)}
	f.SetOutput(io.Discard) // status says what is wrong
	f.IntVar(&f.last, "last", last, "keep this many tasks, or up to twice as many: the last ones; 0 keeps all")
	return f
}

// parse parses flags before, between and after the files, of which it wants a number: -1 is any but
// none.
func (f *traceFlags) parse(args []string, want int) (files []string, err error) {
	for {
		if err := f.Parse(args); err != nil {
			return nil, usageError("%s: %v", f.Name(), err)
		}
		if f.NArg() == 0 {
			break
		}
		files, args = append(files, f.Arg(0)), f.Args()[1:]
	}
	if want < 0 && len(files) > 0 {
		want = len(files)
	}
	if len(files) != want {
		return nil, usageError("%s: %d files: want %s", f.Name(), len(files), []string{"none", "one", "two", "some"}[(want+4)%4])
	}
	if f.last < 0 {
		return nil, usageError("%s: last %d tasks: want 0 or more", f.Name(), f.last)
	}
	return files, nil
}

// tracesGarbage is how much memory garbage may take, in percent of what is in use: a run of a
// million tasks takes 150 MB, and is there from the beginning to the end.
const tracesGarbage = 25

// withRun reads a file. What is missing in it goes to stderr; f gets the readable part.
func (f *traceFlags) withRun(name string, stderr io.Writer, use func(r *runs.Run) error) error {
	debug.SetGCPercent(tracesGarbage)
	r, err := runs.ReadFileLast(name, f.last)
	if err != nil {
		return fmt.Errorf("gompss trace: %w", err)
	}
	if !r.Damage.Whole() {
		fmt.Fprintf(stderr, "gompss trace: %s: %s\n", name, r.Damage)
	}
	if r.Gone > 0 {
		fmt.Fprintf(stderr, "gompss trace: %s: what follows is of the last %d of %d tasks: -last 0 takes all\n", name, r.Len(), int64(r.Len())+r.Gone)
	}
	if r.EdgesGone > 0 {
		fmt.Fprintf(stderr, "gompss trace: %s: %d edges are left out, for what follows is to need little memory; the critical path is that of all: -last 0 takes all\n", name, r.EdgesGone)
	}
	return use(r)
}

func printCritical(w io.Writer, r *runs.Run) error {
	s, path := r.Summary(), r.Critical()
	fmt.Fprintf(w, "critical path: %d tasks, %v of %v elapsed; records dropped: %d\n", len(path.Tasks), runs.Round(path.Length), runs.Round(s.Elapsed), r.Dropped)
	for _, l := range s.Path {
		fmt.Fprintf(w, "  %s x %d  %v (%.0f %%)\n", l.Sort, l.Count, runs.Round(l.Time), 100*float64(l.Time)/float64(max(1, path.Length)))
	}
	c := s.Chain
	_, err := fmt.Fprintf(w, "the chain that the run took: %d tasks: running %v, waiting for data or the device %v, for a free worker or device %v (short of tokens %v), for the runtime to release the next task %v, submission %v\n",
		len(c.Tasks), runs.Round(c.Run), runs.Round(c.Fetch), runs.Round(c.Queue), runs.Round(c.Tokens), runs.Round(c.Tell), runs.Round(c.Submit))
	if c.Messages > 0 {
		_, err = fmt.Fprintf(w, "messages between ranks on it: %v\n", runs.Round(c.Messages))
	}
	return err
}

func exportTrace(args []string, stdout, stderr io.Writer) error {
	flags := newTraceFlags("export", 0)
	format := flags.String("format", "perfetto", strings.Join(export.Formats(), ", ")+" or paraver")
	out := flags.String("o", "", "file to write; standard output when empty; for paraver the name before .prv")
	files, err := flags.parse(args, 1)
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
	return flags.withRun(files[0], stderr, func(r *runs.Run) error {
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
	flags := newTraceFlags("diff", 0)
	files, err := flags.parse(args, 2)
	if err != nil {
		return err
	}
	var s [2]*runs.Summary
	for i, name := range files {
		if err := flags.withRun(name, stderr, func(r *runs.Run) error { s[i] = r.Summary(); return nil }); err != nil {
			return err
		}
	}
	return runs.Compare(stdout, s[0], s[1])
}

// mergeTraces writes the traces of the ranks of a program as one.
func mergeTraces(args []string, stdout, stderr io.Writer) error {
	flags := newTraceFlags("merge", 0)
	out := flags.String("o", "merged.gtrace", "the trace file to write")
	files, err := flags.parse(args, -1)
	if err != nil {
		return err
	}
	var ranks []*runs.Run
	for _, name := range files {
		if err := flags.withRun(name, stderr, func(r *runs.Run) error { ranks = append(ranks, r); return nil }); err != nil {
			return err
		}
	}
	merged, err := runs.Merge(ranks)
	if err != nil {
		return fmt.Errorf("gompss %w", err)
	}
	if missing := merged.Machine.Ranks - len(ranks); missing > 0 {
		fmt.Fprintf(stderr, "gompss trace: merge: the traces of %d ranks are missing: their messages have one end\n", missing)
	}
	if err := toFile(*out, files[0], func(w io.Writer) error { return runs.Write(merged, record.NewWriter(plainWriter{w})) }); err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, *out)
	return err
}

// A plainWriter hides that a file can be closed.
type plainWriter struct{ io.Writer }

func reportTrace(args []string, stdout, stderr io.Writer) error {
	flags := newTraceFlags("report", pageTasks)
	out := flags.String("o", "report.html", "the page to write")
	files, err := flags.parse(args, 1)
	if err != nil {
		return err
	}
	return flags.withRun(files[0], stderr, func(r *runs.Run) error {
		if err := toFile(*out, files[0], func(w io.Writer) error { return trace.Report(w, r) }); err != nil {
			return err
		}
		_, err := fmt.Fprintln(stdout, *out)
		return err
	})
}
