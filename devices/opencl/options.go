//go:build linux && (amd64 || arm64)

package opencl

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// Defaults of a device.
const (
	DefaultGranule    deps.Bytes = 2 << 20
	DefaultCacheLimit deps.Bytes = 256 << 20
)

// The values of Options.Teams.
const (
	teamsWhole     = "whole"
	teamsAny       = "any"
	teamsSubgroups = "subgroups"
)

// Options are those of all devices opened together. The zero value works.
//
// In a device specification: platform=pocl, type=gpu|cpu|accelerator, memory=4GiB, granule=2MiB,
// timelimit=10s, teams=subgroups|whole|any, pin=on|off, cache=/path, cachelimit=256MiB.
type Options struct {
	Platform  string        // a part of the name or version of the platform, in any case; "" for all
	Type      string        // "gpu", "cpu", "accelerator" or, for all, ""
	Memory    deps.Bytes    // of each device to be used; 0: 80 parts of 100
	Granule   deps.Bytes    // in which memory is counted, a power of two; a buffer is allocated whole
	TimeLimit time.Duration // of a kernel or copy from when it was enqueued; after that the device is out of service. 0: none
	Teams     string        // "subgroups", "whole" groups of 32 threads, or "any" number; "" as the device does best
	NoPin     bool          // host memory is not pinned: copies are slower
	Timed     bool          // events say when their work ran on the device

	CacheDir   string // of compiled kernels; "": gompss/opencl in the user's cache folder; "off": none
	CacheLimit deps.Bytes
}

func (o *Options) fill() error {
	if o.Granule == 0 {
		o.Granule = DefaultGranule
	}
	if o.CacheLimit == 0 {
		o.CacheLimit = DefaultCacheLimit
	}
	switch {
	case o.Granule < 0 || o.Granule&(o.Granule-1) != 0:
		return fmt.Errorf("opencl: granule of %d bytes: want a power of two", int64(o.Granule))
	case o.Memory < 0 || o.Memory > 0 && o.Memory < o.Granule:
		return fmt.Errorf("opencl: memory of %v: less than one granule of %v", o.Memory, o.Granule)
	case o.TimeLimit < 0 || o.CacheLimit < 0:
		return fmt.Errorf("opencl: a negative limit: time %v, cache %v", o.TimeLimit, o.CacheLimit)
	case o.Teams != "" && o.Teams != teamsWhole && o.Teams != teamsAny && o.Teams != teamsSubgroups:
		return fmt.Errorf("opencl: teams %q: want %s, %s or %s", o.Teams, teamsWhole, teamsAny, teamsSubgroups)
	case o.Type != "" && o.Type != "gpu" && o.Type != "cpu" && o.Type != "accelerator":
		return fmt.Errorf("opencl: type %q: want gpu, cpu or accelerator", o.Type)
	}
	return nil
}

// cacheDir returns where compiled kernels are kept, "" for nowhere.
func (o *Options) cacheDir() string {
	switch o.CacheDir {
	case "off":
		return ""
	case "":
		base, err := os.UserCacheDir()
		if err != nil {
			return "" // no home folder, as in a container: there is no place to keep anything
		}
		return filepath.Join(base, "gompss", "opencl")
	}
	return o.CacheDir
}

// setters are the parameters of a device specification.
func (o *Options) setters() map[string]func(string) error {
	return map[string]func(string) error{
		"platform":   func(s string) error { o.Platform = s; return nil },
		"type":       func(s string) error { o.Type = s; return nil },
		"pin":        func(s string) (err error) { o.NoPin, err = s == "off", onOff(s); return },
		"teams":      func(s string) error { o.Teams = s; return nil },
		"memory":     size(&o.Memory),
		"granule":    size(&o.Granule),
		"cachelimit": size(&o.CacheLimit),
		"cache":      func(s string) error { o.CacheDir = s; return nil },
		"timelimit":  func(s string) (err error) { o.TimeLimit, err = devices.ParseDuration(s); return },
	}
}

func onOff(s string) error {
	if s != "on" && s != "off" {
		return fmt.Errorf("%q: want on or off", s)
	}
	return nil
}

func size(to *deps.Bytes) func(string) error {
	return func(s string) (err error) { *to, err = devices.ParseBytes(s); return }
}
