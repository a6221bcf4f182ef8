package cpubench

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/gompss/gompss/codegen/cpu"
)

func (o Options) wants(s spec) bool { return strings.Contains(s.name+" "+s.size, o.Only) }

// A table prints each row as soon as it is measured.
type table struct {
	Options
	vectors cpu.Options
	began   time.Time
	rows    []*Row
}

func newTable(o Options, vectors cpu.Options) *table {
	return &table{Options: o, vectors: vectors, began: time.Now()}
}

func (t *table) head() {
	w := t.Stderr // with -json, standard output has only rows
	if !t.JSON {
		w = t.Stdout
	}
	fmt.Fprintf(w, "machine: %s; vectors: %s; one thread\n", thisMachine(), t.vectors.Name())
	for _, c := range compilers() {
		fmt.Fprintf(w, "%s: %s, %s\n", c.name, c.version(), strings.Join(c.flags, " "))
	}
	if len(compilers()) == 0 {
		fmt.Fprintln(w, "no gcc and no clang: values without ratios")
	}
	if !t.JSON {
		fmt.Fprint(w, "ratios: their time / our time, median of interleaved rounds\n\n",
			"| kernel | type | size | vectors | value | gcc -ffast-math | gcc | clang -ffast-math | note |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	}
}

func (t *table) row(r *Row) {
	t.rows = append(t.rows, r)
	if t.JSON {
		line, err := json.Marshal(r)
		if err != nil {
			panic("gompss: bug: bench: " + err.Error())
		}
		fmt.Fprintf(t.Stdout, "%s\n", line)
		return
	}
	vectors := "Go"
	if r.Width > 0 {
		vectors = fmt.Sprint(r.Width)
	}
	fmt.Fprintf(t.Stdout, "| %s | %s | %s | %s | %.4g %s | %s | %s | %s | %s |\n", r.Kernel, r.Type, r.Size, vectors, r.Value, r.Unit,
		ratio(r.Fast), ratio(r.Plain), ratio(r.Clang), r.Note)
}

func ratio(x float64) string {
	if x == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", x)
}

// foot prints the geometric mean of the ratios, and the rows below the goal.
func (t *table) foot() {
	w := t.Stderr
	if !t.JSON {
		w = t.Stdout
	}
	logs, n := 0.0, 0
	var below []string
	for _, r := range t.rows {
		if r.Fast == 0 {
			continue
		}
		logs += math.Log(r.Fast)
		n++
		if r.Fast < least {
			below = append(below, fmt.Sprintf("%s %s %s (%.2f)", r.Kernel, r.Type, r.Size, r.Fast))
		}
	}
	if n > 0 {
		fmt.Fprintf(w, "\ngeometric mean over gcc -ffast-math: %.2f; below %.2f: %d of %d: %s\n", math.Exp(logs/float64(n)), least, len(below), n, strings.Join(below, ", "))
	}
	fmt.Fprintf(w, "%d rows verified in %.0f s\n", len(t.rows), time.Since(t.began).Seconds())
}
