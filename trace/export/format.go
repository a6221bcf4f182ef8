package export

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/gompss/gompss/trace/run"
)

// formats are the exports that are one file.
var formats = map[string]func(w io.Writer, r *run.Run) error{
	"perfetto":  Perfetto,
	"chrome":    Chrome,
	"dot":       func(w io.Writer, r *run.Run) error { return DOT(w, r, DotOptions{}) },
	"dot-sorts": func(w io.Writer, r *run.Run) error { return DOT(w, r, DotOptions{Collapse: true}) },
	"csv":       CSV,
	"csv-moves": CopiesCSV,
}

// Formats returns the names that Write knows.
func Formats() []string { return slices.Sorted(maps.Keys(formats)) }

// Write writes a run in a format that is one file. Errors: an unknown format, with those known;
// those of w.
func Write(w io.Writer, format string, r *run.Run) error {
	f := formats[format]
	if f == nil {
		return fmt.Errorf("trace: export: format %q: the formats are %s and paraver", format, strings.Join(Formats(), ", "))
	}
	if err := f(w, r); err != nil {
		return fmt.Errorf("trace: export %s: %w", format, err)
	}
	return nil
}

// title describes a run, with its missing records.
func title(r *run.Run) string {
	text := fmt.Sprintf("gompss, dropped %d", r.Dropped)
	if r.Gone > 0 {
		text += fmt.Sprintf(", %d older tasks left out", r.Gone)
	}
	if r.EdgesGone > 0 {
		text += fmt.Sprintf(", %d edges left out", r.EdgesGone)
	}
	if !r.Damage.Whole() {
		text += ", " + r.Damage.String()
	}
	return text
}
