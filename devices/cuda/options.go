//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
	"github.com/gompss/gompss/devices/cuda/internal/tune"
	"github.com/gompss/gompss/devices/cuda/internal/tuner"
)

// Defaults of a device.
const (
	DefaultGranule    deps.Bytes = 2 << 20
	DefaultStreams               = 4
	DefaultCacheLimit deps.Bytes = 256 << 20
)

// Options are those of all GPUs opened together. The zero value works.
//
// In a device specification: memory=4GiB, granule=2MiB, streams=4, timelimit=10s, peer=on|off,
// pin=on|off, early=on|off, helper=contended|always|never, tune=auto|off|full, sizes=auto|off,
// cache=/path, cachelimit=256MiB.
type Options struct {
	Memory    deps.Bytes    // of each GPU to be used; 0: 95 parts of 100 of what is free when it is opened
	Granule   deps.Bytes    // a multiple of what the GPU can map, 2 MiB
	Streams   int           // for kernels, of each GPU
	TimeLimit time.Duration // of a kernel or copy from when it was enqueued; after that the GPU is out of service. 0: none
	NoPeer    bool          // GPUs do not copy from each other: what goes between them goes through the host
	NoPin     bool          // host memory is not pinned: copies are slower and wait for the host
	NoEarly   bool          // no kernel is set up while the one before it still runs; see early.go
	// LaunchThread selects the goroutine that launches dependent tasks; see launchThread.
	LaunchThread LaunchThreadMode
	// Tune says how much is tried to find out which candidate of a kernel is fastest; 0 is Auto, or
	// what the environment variable GOMPSS_TUNE says.
	Tune Tuning
	// Sizes says whether kernels get code for the sizes that they are launched with; "" is
	// SizesAuto, or what the environment variable GOMPSS_SIZES says.
	Sizes Sizes

	CacheDir   string // of compiled kernels; "": gompss/cuda in the user's cache folder; "off": none
	CacheLimit deps.Bytes
}

func (o *Options) fill() error {
	if o.Granule == 0 {
		o.Granule = DefaultGranule
	}
	if o.Streams == 0 {
		o.Streams = DefaultStreams
	}
	if o.CacheLimit == 0 {
		o.CacheLimit = DefaultCacheLimit
	}
	switch {
	case o.Granule < 0 || o.Granule&(o.Granule-1) != 0:
		return fmt.Errorf("cuda: granule of %d bytes: want a power of two", int64(o.Granule))
	case o.Memory < 0 || o.Memory > 0 && o.Memory < o.Granule:
		return fmt.Errorf("cuda: memory of %v: less than one granule of %v", o.Memory, o.Granule)
	case o.Streams < 0 || o.Streams > 128:
		return fmt.Errorf("cuda: %d streams: want 1 to 128", o.Streams)
	case o.TimeLimit < 0 || o.CacheLimit < 0:
		return fmt.Errorf("cuda: a negative limit: time %v, cache %v", o.TimeLimit, o.CacheLimit)
	}
	_, tuning := o.Tune.mode()
	_, sizes := o.Sizes.made()
	return errors.Join(tuning, sizes)
}

// cache returns where compiled kernels are kept, nil for nowhere.
func (o *Options) cache() *driver.Cache {
	dir := o.CacheDir
	if dir == "off" {
		return nil
	}
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return nil // no home folder, as in a container: there is no place to keep anything
		}
		dir = filepath.Join(base, "gompss", "cuda")
	}
	return &driver.Cache{Dir: dir, Limit: o.CacheLimit}
}

// setters are the parameters of a device specification.
func (o *Options) setters() map[string]func(string) error {
	return map[string]func(string) error{
		"memory":     size(&o.Memory),
		"granule":    size(&o.Granule),
		"cachelimit": size(&o.CacheLimit),
		"cache":      func(s string) error { o.CacheDir = s; return nil },
		"streams":    func(s string) (err error) { o.Streams, err = strconv.Atoi(s); return },
		"timelimit":  func(s string) (err error) { o.TimeLimit, err = devices.ParseDuration(s); return },
		"peer":       off(&o.NoPeer),
		"pin":        off(&o.NoPin),
		"early":      off(&o.NoEarly),
		"tune":       func(s string) error { return o.Tune.set(s) },
		"sizes":      func(s string) error { return o.Sizes.set(s) },
		"helper": func(s string) error {
			when, ok := launchThreadModes[s]
			if !ok {
				return fmt.Errorf("want contended, always or never")
			}
			o.LaunchThread = when
			return nil
		},
	}
}

// off sets to for the word off and clears it for the word on.
func off(to *bool) func(string) error {
	return func(s string) error {
		if s != "on" && s != "off" {
			return fmt.Errorf("want on or off")
		}
		*to = s == "off"
		return nil
	}
}

// Tuning says how much is tried to find out which candidate of a kernel is fastest.
type Tuning string

// The words of Tuning: within a part of the time of the launches, nothing, or in every launch until
// it is known.
const (
	TuneAuto Tuning = "auto"
	TuneOff  Tuning = "off"
	TuneFull Tuning = "full"
)

// tuneVariable is the environment variable that decides where Options.Tune does not.
const tuneVariable = "GOMPSS_TUNE"

func (t *Tuning) set(word string) error {
	if _, err := tune.ParseMode(word); err != nil {
		return err
	}
	*t = Tuning(word)
	return nil
}

// mode returns the mode of t, or of the environment.
func (t Tuning) mode() (tune.Mode, error) {
	where := "tune"
	if t == "" {
		where, t = tuneVariable, Tuning(os.Getenv(tuneVariable))
	}
	if t == "" {
		t = TuneAuto
	}
	m, err := tune.ParseMode(string(t))
	if err != nil {
		err = fmt.Errorf("cuda: %s=%s: %w", where, string(t), err)
	}
	return m, err
}

// Sizes says whether kernels get code in which the sizes of a launch are constants.
type Sizes string

// The words of Sizes: for the sizes of the first launches and those that come again, or never.
const (
	SizesAuto Sizes = "auto"
	SizesOff  Sizes = "off"
)

// sizesVariable is the environment variable that decides where Options.Sizes does not.
const sizesVariable = "GOMPSS_SIZES"

func (s *Sizes) set(word string) error {
	if w := Sizes(word); w != SizesAuto && w != SizesOff {
		return errors.New("want auto or off")
	}
	*s = Sizes(word)
	return nil
}

// made reports whether there is such code.
func (s Sizes) made() (bool, error) {
	where := "sizes"
	if s == "" {
		where, s = sizesVariable, Sizes(os.Getenv(sizesVariable))
	}
	if s == "" {
		s = SizesAuto
	}
	if err := s.set(string(s)); err != nil {
		return false, fmt.Errorf("cuda: %s=%s: %w", where, string(s), err)
	}
	return s == SizesAuto, nil
}

func size(to *deps.Bytes) func(string) error {
	return func(s string) (err error) { *to, err = devices.ParseBytes(s); return }
}

// An Outcome is which candidate of a kernel was found to be the fastest, as it is kept on disk.
type Outcome = tune.Record

// Outcomes returns all that are kept in a cache folder, by the names of kernels; "" is the
// user's.
func Outcomes(dir string) []Outcome {
	o := Options{CacheDir: dir, CacheLimit: DefaultCacheLimit}
	if c := o.cache(); c != nil {
		return tuner.Stored(c)
	}
	return nil
}
