package export

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/run"
)

// CSV writes a line for each task, times in nanoseconds. The first line is a comment with what is
// missing.
func CSV(w io.Writer, r *run.Run) error {
	fmt.Fprintf(w, "# %s\n", title(r))
	c := csv.NewWriter(w)
	c.Write([]string{"task", "name", "kernel", "variant", "place", "worker", "submit_ns", "ready_ns", "choice_ns", "start_ns", "end_ns", "release_ns",
		"missing_bytes", "tokens", "short_of_tokens", "outcome", "last_predecessor", "predecessors", "error", "parent", "replay", "step", "steps"}) // csv.Writer keeps its error
	ns := func(d time.Duration) string { return strconv.FormatInt(int64(d), 10) }
	for i := range r.Len() {
		t := r.Task(i)
		var preds []string
		for _, p := range r.Predecessors(t.ID) {
			preds = append(preds, fmt.Sprint(p))
		}
		n := r.NestingOf(t.ID)
		c.Write([]string{fmt.Sprint(t.ID), run.Name(t), t.Kernel, t.Variant, r.PlaceName(t.Place), strconv.Itoa(int(t.Worker)), ns(t.Submit), ns(t.Ready),
			ns(t.Choice), ns(t.Start), ns(t.End), ns(t.Release), strconv.FormatInt(int64(t.Missing), 10), strconv.Itoa(int(t.Tokens)),
			strconv.FormatBool(t.Short), outcome(t), fmt.Sprint(t.Last), strings.Join(preds, " "), t.Err, fmt.Sprint(n.Parent), fmt.Sprint(n.Replay), fmt.Sprint(n.Step), fmt.Sprint(n.Steps)})
	}
	c.Flush()
	return c.Error()
}

// CopiesCSV writes a line for each copy.
func CopiesCSV(w io.Writer, r *run.Run) error {
	fmt.Fprintf(w, "# %s\n", title(r))
	c := csv.NewWriter(w)
	c.Write([]string{"from", "to", "begin_ns", "end_ns", "bytes", "buffer", "region", "error"})
	for i := range r.Points {
		p := &r.Points[i]
		if p.Kind != probe.Arrive {
			continue
		}
		text := ""
		if p.Err != nil {
			text = p.Err.Error()
		}
		c.Write([]string{p.From, p.To, strconv.FormatInt(int64(p.Begin), 10), strconv.FormatInt(int64(p.Time), 10), strconv.FormatInt(int64(p.Bytes), 10),
			fmt.Sprint(p.Region.Buffer), p.Region.String(), text})
	}
	c.Flush()
	return c.Error()
}
