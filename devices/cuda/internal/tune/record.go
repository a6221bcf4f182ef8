package tune

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// A Key says what an outcome is valid for. Kernel is the hash of the code that the model chose, and
// Compiler the version of the compiler of the device; both change when ours does.
type Key struct {
	Kernel   string
	Class    string
	Device   string
	Compiler string
}

// String is the same for equal keys alone.
func (k Key) String() string {
	return fmt.Sprintf("%q %q %q %q", k.Kernel, k.Class, k.Device, k.Compiler)
}

// A Record is the outcome of a race, as it is stored.
type Record struct {
	Key     Key
	Name    string // of the kernel
	Winner  string
	Median  time.Duration
	Results []Result
}

// Encode returns r as text.
func (r *Record) Encode() ([]byte, error) { return json.Marshal(r) }

// Decode reads what Encode has made. An error means that text is nothing that it makes.
func Decode(text []byte) (Record, error) {
	var r Record
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return Record{}, fmt.Errorf("tune: record: %w", err)
	}
	won := slices.IndexFunc(r.Results, func(o Result) bool { return o.Name == r.Winner && !o.Out })
	if won < 0 || r.Median <= 0 || r.Results[won].Median != r.Median {
		return Record{}, fmt.Errorf("tune: record: winner %q of %d candidates in %v", r.Winner, len(r.Results), r.Median)
	}
	return r, nil
}

// Gain is how many times faster the winner is than the first candidate.
func (r *Record) Gain() float64 {
	if len(r.Results) == 0 || r.Results[0].Median == 0 {
		return 1
	}
	return float64(r.Results[0].Median) / float64(r.Median)
}
