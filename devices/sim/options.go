package sim

import (
	"fmt"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// Defaults of a device.
const (
	DefaultMemory  deps.Bytes = 1 << 30
	DefaultGranule deps.Bytes = 64 << 10
)

// An Exec says how a device runs kernels.
type Exec uint8

const (
	// CPU runs the kernel's Go function over the device's own mirrors.
	CPU Exec = iota
	// SIMT interprets the kernel's lowered program, thread by thread. A kernel without one is
	// refused.
	SIMT
)

func (e Exec) String() string { return [...]string{"cpu", "simt"}[e] }

// Options are those of all devices opened together. The zero value is a device of DefaultMemory
// that runs Go functions and is as fast as the machine.
//
// In a device specification: memory=64MiB, granule=4KiB, exec=cpu|simt, bandwidth=50GB/s,
// latency=10us, peer=on|off, races=on|off, helper=on|off, speed=100GB/s, clock=real|virtual,
// hostspeed=10GB/s, submit=1us.
type Options struct {
	Memory  deps.Bytes
	Granule deps.Bytes
	Exec    Exec
	Races   bool // exec=simt reports data races between threads
	Clock   Clock

	Bandwidth     deps.Bytes    // of the link to the host, each way, in bytes per second; 0: no time
	PeerBandwidth deps.Bytes    // between two devices; Bandwidth when 0
	Latency       time.Duration // of every copy and launch
	Speed         deps.Bytes    // bytes of slice arguments that a kernel works through in a second; 0: no time
	LaunchHelper  bool          // a launch helper (devices.LaunchHelper) that sleeps and wakes at random
	NoPeer        bool          // devices cannot copy from each other: what goes between them goes through the host

	// HostSpeed and Submit are of clock=virtual: bytes of slices that a CPU worker works through in
	// a second (0: no time), and how long the program takes to submit a task.
	HostSpeed deps.Bytes
	Submit    time.Duration

	Faults Faults
	// Cost, when set, is the time that a launch takes, in place of Latency and Speed.
	Cost func(l *devices.Launch) time.Duration
}

// Faults make the n-th operation of a sort fail, counted from 1 over all devices opened together; 0
// means never.
type Faults struct {
	Alloc    int64 // Map
	Transfer int64 // Copy
	Launch   int64
	// Late lets the launch that fails run first: what it wrote is there, and means nothing.
	Late bool
	// Lose takes the device out of service at that fault: what it holds is gone.
	Lose bool
	// LoseAt is when each device goes out of service, with clock=virtual; 0, and what is not there,
	// is never.
	LoseAt []time.Duration
}

func (o *Options) fill() error {
	if o.Memory == 0 {
		o.Memory = DefaultMemory
	}
	if o.Granule == 0 {
		o.Granule = min(DefaultGranule, o.Memory)
	}
	if o.PeerBandwidth == 0 {
		o.PeerBandwidth = o.Bandwidth
	}
	switch {
	case o.Granule < 0 || o.Granule&(o.Granule-1) != 0:
		return fmt.Errorf("sim: granule of %d bytes: want a power of two", int64(o.Granule))
	case o.Memory < o.Granule:
		return fmt.Errorf("sim: memory of %v: less than one granule of %v", o.Memory, o.Granule)
	case o.Latency < 0 || o.Bandwidth < 0 || o.PeerBandwidth < 0 || o.Speed < 0:
		return fmt.Errorf("sim: a negative time or rate: latency %v, bandwidth %d B/s, peerbw %d B/s, speed %d B/s",
			o.Latency, int64(o.Bandwidth), int64(o.PeerBandwidth), int64(o.Speed))
	case o.HostSpeed < 0 || o.Submit < 0:
		return fmt.Errorf("sim: a negative time or rate: hostspeed %d B/s, submit %v", int64(o.HostSpeed), o.Submit)
	case o.Clock != Virtual && (o.HostSpeed != 0 || o.Submit != 0 || len(o.Faults.LoseAt) > 0):
		return fmt.Errorf("sim: hostspeed, submit and Faults.LoseAt are of a virtual time: they need clock=virtual")
	case o.Clock == Virtual && o.LaunchHelper:
		return fmt.Errorf("sim: helper=on: the launch helper sleeps and wakes in real time, which clock=virtual does not have")
	case o.Faults.Alloc < 0 || o.Faults.Transfer < 0 || o.Faults.Launch < 0:
		return fmt.Errorf("sim: a fault with a negative number: %+v", o.Faults)
	case o.Races && o.Exec != SIMT:
		return fmt.Errorf("sim: races=on needs exec=simt")
	}
	return nil
}

// setters are the parameters of a device specification.
func (o *Options) setters() map[string]func(string) error {
	return map[string]func(string) error{
		"memory":    size(&o.Memory),
		"granule":   size(&o.Granule),
		"bandwidth": rate(&o.Bandwidth),
		"peerbw":    rate(&o.PeerBandwidth),
		"speed":     rate(&o.Speed),
		"hostspeed": rate(&o.HostSpeed),
		"submit":    func(s string) (err error) { o.Submit, err = devices.ParseDuration(s); return },
		"latency":   func(s string) (err error) { o.Latency, err = devices.ParseDuration(s); return },
		"clock":     func(s string) (err error) { o.Clock, err = parseClock(s); return },
		"peer":      flag(&o.NoPeer, "off", "on"),
		"races":     flag(&o.Races, "on", "off"),
		"helper":    flag(&o.LaunchHelper, "on", "off"),
		"exec":      o.setExec,
	}
}

func (o *Options) setExec(s string) error {
	switch s {
	case "cpu":
		o.Exec = CPU
	case "simt":
		o.Exec = SIMT
	default:
		return fmt.Errorf("want cpu or simt")
	}
	return nil
}

// flag sets to for the word yes and clears it for the word no.
func flag(to *bool, yes, no string) func(string) error {
	return func(s string) error {
		if s != yes && s != no {
			return fmt.Errorf("want %s or %s", yes, no)
		}
		*to = s == yes
		return nil
	}
}

func size(to *deps.Bytes) func(string) error {
	return func(s string) (err error) {
		if *to, err = devices.ParseBytes(s); err == nil && *to == 0 {
			err = fmt.Errorf("want more than 0 bytes")
		}
		return err
	}
}

func rate(to *deps.Bytes) func(string) error {
	return func(s string) (err error) { *to, err = devices.ParseRate(s); return }
}

// during returns how long size takes at rate, after the latency.
func (o *Options) during(size, rate deps.Bytes) time.Duration {
	d := o.Latency
	if rate > 0 {
		d += time.Duration(float64(size) / float64(rate) * float64(time.Second))
	}
	return d
}
