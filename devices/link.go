package devices

import (
	"fmt"
	"math"
	"time"

	"github.com/gompss/gompss/deps"
)

// A Link is what joins the memory of a device to the host's: Rate in bytes per second, each way, 0
// where it is not known, and Latency of every copy.
type Link struct {
	Rate    deps.Bytes
	Latency time.Duration
}

// Linked is what an Accelerator also implements that knows its link to the host.
type Linked interface {
	// Link returns the link as it was when the device was opened.
	Link() Link
}

// LinkOf returns the link of d to the host: the zero Link where d does not know it.
func LinkOf(d Device) Link {
	if l, ok := d.(Linked); ok {
		return l.Link()
	}
	return Link{}
}

// Known reports whether the rate is known.
func (l Link) Known() bool { return l.Rate > 0 }

// During returns how long a copy of n bytes takes, where the rate is known.
func (l Link) During(n deps.Bytes) time.Duration {
	return l.Latency + time.Duration(min(float64(n)/float64(l.Rate)*float64(time.Second), math.MaxInt64/2))
}

func (l Link) String() string {
	if !l.Known() {
		return "link not known"
	}
	return fmt.Sprintf("link of %.3g GB/s, %v", float64(l.Rate)/1e9, l.Latency)
}
