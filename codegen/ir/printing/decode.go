package printing

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gompss/gompss/codegen/ir"
)

// A Line is the output of one print statement in one iteration.
type Line struct {
	Kernel *ir.Kernel
	Site   *ir.PrintSite
	Mark   string // "Scale i=3 (kernels.go:14)"
	Text   string // ends with a new line
}

// A record is one that has been read.
type record struct {
	kernel *ir.Kernel
	site   *ir.PrintSite
	task   uint64
	loops  []uint64
	args   []uint64
}

// Decode returns the lines of the records in a buffer, and how many words did not fit. The lines of
// a task follow those of tasks with smaller numbers; those of one task are in the order in which
// the Go function prints them, but that all iterations of a loop that does not count, such as one
// until convergence, are in the order of the buffer. kernel returns the kernel of a hash.
func Decode(buffer []uint64, kernel func(hash uint32) *ir.Kernel) (lines []Line, lost uint64) {
	if len(buffer) <= First {
		return nil, 0
	}
	end := buffer[0]
	if end > uint64(len(buffer)) {
		lost = end - uint64(len(buffer))
	}
	var records []record
	for at := uint64(First); at+headWords <= min(end, uint64(len(buffer))); {
		r, words := read(buffer[at:], kernel)
		if words == 0 { // the record did not fit into the buffer
			break
		}
		records = append(records, r)
		at += words
	}
	slices.SortStableFunc(records, compare)
	for i := range records {
		lines = append(lines, records[i].line())
	}
	return lines, lost
}

func read(words []uint64, kernel func(hash uint32) *ir.Kernel) (r record, n uint64) {
	head := words[0]
	n = head & 0xffff
	k := kernel(uint32(head >> 32))
	i := int(head >> 16 & 0xffff)
	if k == nil || n < headWords || n > uint64(len(words)) || i >= len(k.Prints) {
		return r, 0
	}
	r = record{kernel: k, site: &k.Prints[i], task: words[1]}
	r.loops = words[headWords : headWords+len(r.site.Loops)]
	r.args = words[headWords+len(r.site.Loops) : n]
	return r, n
}

// compare orders records by task, and then along the statements that hold both.
func compare(a, b record) int {
	if c := cmp.Compare(a.task, b.task); c != 0 {
		return c
	}
	for i := range min(len(a.site.Path), len(b.site.Path)) {
		x, y := a.site.Path[i], b.site.Path[i]
		if c := cmp.Compare(x.Ordinal, y.Ordinal); c != 0 {
			return c
		}
		if x.Loop < 0 {
			continue
		}
		c := compareValues(a.site.Loops[x.Loop].Type, a.loops[x.Loop], b.loops[y.Loop])
		if x.Down {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

func compareValues(t *ir.Type, a, b uint64) int {
	if t.IsSigned() {
		return cmp.Compare(int64(a), int64(b))
	}
	return cmp.Compare(a, b)
}

func (r *record) line() Line {
	var mark strings.Builder
	mark.WriteString(r.kernel.Name)
	for i, v := range r.site.Loops {
		fmt.Fprintf(&mark, " %s=%v", v.Name, value(v.Type, r.loops[i]))
	}
	fmt.Fprintf(&mark, " (%s:%d)", r.site.At.File, r.site.At.Line)
	return Line{Kernel: r.kernel, Site: r.site, Mark: mark.String(), Text: r.text()}
}

// text returns the output of the statement in Go.
func (r *record) text() string {
	var args []any
	next := 0
	for _, a := range r.site.Args {
		if a.Type == nil {
			args = append(args, a.Text)
			continue
		}
		args = append(args, value(a.Type, r.args[next]))
		next++
	}
	switch r.site.Func {
	case "fmt.Printf":
		text := fmt.Sprintf(r.site.Format, args...)
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		return text
	case "fmt.Println":
		return fmt.Sprintln(args...)
	}
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = builtin(a)
	}
	return strings.Join(words, " ") + "\n"
}

// builtin returns a value as the builtin function println writes it.
func builtin(a any) string {
	switch a := a.(type) {
	case float32:
		return builtinFloat(float64(a))
	case float64:
		return builtinFloat(a)
	}
	return fmt.Sprint(a)
}

func builtinFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "+Inf"
	case math.IsInf(f, -1):
		return "-Inf"
	}
	text := strconv.FormatFloat(f, 'e', 6, 64)
	if !strings.HasPrefix(text, "-") {
		text = "+" + text
	}
	if e := strings.IndexByte(text, 'e'); len(text)-e < 5 { // the exponent has three digits
		text = text[:e+2] + "0" + text[e+2:]
	}
	return text
}

// value returns the Go value of a word.
func value(t *ir.Type, w uint64) any {
	switch t.Kind {
	case ir.Bool:
		return w != 0
	case ir.Float32:
		return float32(math.Float64frombits(w))
	case ir.Float64:
		return math.Float64frombits(w)
	case ir.Int8:
		return int8(w)
	case ir.Int16:
		return int16(w)
	case ir.Int32:
		return int32(w)
	case ir.Int64:
		return int64(w)
	case ir.Uint8:
		return uint8(w)
	case ir.Uint16:
		return uint16(w)
	case ir.Uint32:
		return uint32(w)
	}
	return w
}
