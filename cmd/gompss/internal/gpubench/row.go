package gpubench

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// A Row is one line of the table.
type Row struct {
	Row       string  `json:"row"`
	Devices   string  `json:"devices"`
	Value     float64 `json:"value"`
	Unit      string  `json:"unit"`
	Reference float64 `json:"reference,omitempty"` // in the same unit, measured in the same run
	By        string  `json:"reference_by,omitempty"`
	Ratio     float64 `json:"ratio,omitempty"` // of value and reference
	Goal      string  `json:"goal,omitempty"`
	Verified  bool    `json:"verified"`
	Note      string  `json:"note,omitempty"`
}

// against sets what r is compared with.
func (r Row) against(by string, reference float64) Row {
	r.By, r.Reference = by, reference
	if reference > 0 {
		r.Ratio = r.Value / reference
	}
	return r
}

// Options of a run.
type Options struct {
	Stdout, Stderr io.Writer
	JSON           bool
	Only           string // rows whose name contains one of these words, separated by commas
	Quick          bool   // small sizes: to see that it works, not how fast it is
	Trials         bool   // beside some rows what is off until it is measured, in turn
	Suite          Suite  // kernels of many fields beside CUDA by hand, instead of the rows
	Devices        string // of the programs, instead of the GPUs of the machine
	OpenCL         string // a platform whose first device is measured beside the same GPU by CUDA, instead of the rows
}

// A Suite names a part of the kernels of many fields, one of SuiteParts, all of them, or none.
type Suite string

const (
	NoSuite     Suite = ""          // the rows instead
	WholeSuite  Suite = "all"       // all parts but NestedLoops and Overheads
	NestedLoops Suite = "nested"    // nested loops on graphs
	Overheads   Suite = "overheads" // what the constructs in a team cost
)

// SuiteParts are the parts of the suite.
var SuiteParts = []Suite{"kernels", "fields", "others", "fresh", "survey", NestedLoops, Overheads}

// wants reports whether a row is requested.
func (o *Options) wants(name string) bool {
	if o.Only == "" {
		return true
	}
	for word := range strings.SplitSeq(o.Only, ",") {
		if strings.Contains(strings.ToLower(name), strings.ToLower(strings.TrimSpace(word))) {
			return true
		}
	}
	return false
}

// print writes a row.
func (o *Options) print(r Row) error {
	if o.JSON {
		line, err := json.Marshal(r)
		if err == nil {
			_, err = fmt.Fprintln(o.Stdout, string(line))
		}
		return err
	}
	line := fmt.Sprintf("%-44s %-14s %11.3f %-9s", r.Row, r.Devices, r.Value, r.Unit)
	if r.Reference > 0 {
		line += fmt.Sprintf(" %11.3f %-26s %6.3f", r.Reference, r.By, r.Ratio)
	} else {
		line += strings.Repeat(" ", 46)
	}
	if r.Goal != "" {
		line += "  goal " + r.Goal
	}
	if !r.Verified {
		line += "  NOT VERIFIED"
	}
	if r.Note != "" {
		line += "  " + r.Note
	}
	_, err := fmt.Fprintln(o.Stdout, line)
	return err
}
