package taskbench

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// A Suite is all measurements of a machine: every pattern, submitted and replayed; other widths,
// several submitters and, on request, METG of stencil1d. Each is measured with 1, 2, 4 workers and
// so on, up to Workers.
type Suite struct {
	Workers     int
	Tasks       int // approximate number of tasks of a run
	Repetitions int
	METG        bool
	Peers       []Peer // compared in the rows without replay and with one submitter
}

const (
	suiteWidth      = 8 // tasks of a step per worker
	suiteSubmitters = 4
)

// widths are the tasks of a step per worker in further rows.
var widths = []int{2, 32}

// A suiteRow is a row of the suite: its Options, and whether METG is measured.
type suiteRow struct {
	Options
	metg bool
}

// workers returns the powers of two below Workers, and Workers.
func (s *Suite) workers() []int {
	var out []int
	for n := 1; n < s.Workers; n *= 2 {
		out = append(out, n)
	}
	return append(out, s.Workers)
}

// rows returns the rows to measure.
func (s *Suite) rows() []suiteRow {
	var out []suiteRow
	for _, workers := range s.workers() {
		add := func(pattern string, width, submitters int, replay, metg bool) {
			o := Options{Pattern: pattern, Width: width * workers, Workers: workers, Submitters: submitters, Replay: replay, Repetitions: s.Repetitions}
			if pattern == "cholesky" { // a matrix of n by n tiles has about n³/6 tasks
				o.Width = max(2, int(math.Cbrt(6*float64(s.Tasks))))
			}
			o.Steps = max(1, s.Tasks/o.Width)
			out = append(out, suiteRow{o, metg && s.METG})
		}
		for _, pattern := range Patterns() {
			add(pattern, suiteWidth, 1, false, pattern == "stencil1d")
			add(pattern, suiteWidth, 1, true, pattern == "stencil1d")
		}
		for _, width := range widths {
			add("stencil1d", width, 1, false, false)
		}
		for _, pattern := range []string{"independent", "stencil1d"} {
			add(pattern, suiteWidth, suiteSubmitters, false, pattern == "stencil1d")
		}
	}
	return out
}

// Run measures the rows and calls report for each. A row whose tasks ran out of order is reported
// too, and Run then returns ErrOrder.
func (s *Suite) Run(report func(Result) error) error {
	var broken error
	for _, row := range s.rows() {
		r, err := s.measure(&row)
		if err != nil && !errors.Is(err, ErrOrder) {
			return err
		}
		broken = errors.Join(broken, err)
		if err := report(r); err != nil {
			return err
		}
	}
	return broken
}

func (s *Suite) measure(row *suiteRow) (Result, error) {
	r, err := Measure(row.Options)
	if err == nil && row.metg {
		r.METG, err = METG(row.Options)
	}
	if err != nil || row.Replay || row.Submitters > 1 || len(s.Peers) == 0 {
		return r, err
	}
	g, err := NewGraph(row.Pattern, row.Width, row.Steps)
	if err != nil {
		return r, err
	}
	r.Peers = map[string]float64{}
	for i := range s.Peers {
		if r.Peers[s.Peers[i].Name], err = s.Peers[i].run(g, &row.Options); err != nil {
			return r, err
		}
	}
	return r, nil
}

// PrintTable prints results as a Markdown table, with a column for each peer of a result.
func PrintTable(w io.Writer, results []Result) error {
	var peers []string
	for i := range results {
		for name := range results[i].Peers {
			if !slices.Contains(peers, name) {
				peers = append(peers, name)
			}
		}
	}
	slices.Sort(peers)
	head := []string{"workers", "pattern", "width", "submitters", "ns a task", "range", "processor ns", "submission ns", "METG us"}
	lines := [][]string{append(head, peers...), slices.Repeat([]string{"---"}, len(head)+len(peers))}
	for i := range results {
		lines = append(lines, results[i].cells(peers))
	}
	for _, line := range lines {
		if _, err := fmt.Fprintf(w, "| %s |\n", strings.Join(line, " | ")); err != nil {
			return err
		}
	}
	return nil
}

// cells returns the cells of r in a table.
func (r *Result) cells(peers []string) []string {
	number := func(format string, x float64) string {
		if x == 0 {
			return ""
		}
		return fmt.Sprintf(format, x)
	}
	pattern, submission := r.Pattern, number("%.0f", r.Submit)
	if r.Replay {
		pattern, submission = pattern+", replayed", ""
	}
	if r.Order != "ok" {
		pattern += ": " + r.Order
	}
	out := []string{
		fmt.Sprint(r.Workers), pattern, fmt.Sprint(r.Width), fmt.Sprint(r.Submitters), number("%.0f", r.PerTask),
		number("%.0f", r.Quickest) + " to " + number("%.0f", r.Slowest), number("%.0f", r.CPU), submission, number("%.2f", r.METG),
	}
	for _, p := range peers {
		out = append(out, number("%.0f", r.Peers[p]))
	}
	return out
}
