package devices

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// An Opener opens devices of one kind: Config.Count of them, or as many as there are when Count is
// 0.
type Opener func(Config) ([]Device, error)

// registry is the only package-level state: the plug-ins that the program has imported, as in
// database/sql.
var registry struct {
	mu        sync.Mutex
	open      map[Kind]Opener
	automatic []Kind // part of Auto
}

// Register makes a kind of devices known to Open. Plug-ins call it from init; a kind registered
// twice is a bug.
func Register(kind Kind, open Opener) {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	if open == nil || registry.open[kind] != nil {
		panic(fmt.Sprintf("gompss: bug: devices: kind %q is registered twice or without an opener", kind))
	}
	if registry.open == nil {
		registry.open = make(map[Kind]Opener)
	}
	registry.open[kind] = open
}

// RegisterAutomatic is Register for devices that Auto takes where they exist: real ones, of which
// no other kind has the same.
func RegisterAutomatic(kind Kind, open Opener) {
	Register(kind, open)
	registry.mu.Lock()
	defer registry.mu.Unlock()
	registry.automatic = append(registry.automatic, kind)
	slices.Sort(registry.automatic)
}

// automatic returns the accelerators of Auto, sorted.
func automatic() []Kind {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	return slices.Clone(registry.automatic)
}

// Kinds returns the registered kinds, sorted.
func Kinds() []Kind {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	return slices.Sorted(maps.Keys(registry.open))
}

// plugins are the kinds that this module has plug-ins of: an optional one that the program does not
// import is no misspelt one.
var plugins = []Kind{"cuda", "opencl", "sim"}

// OpenKind opens the devices of one kind.
//
// Errors: an unknown kind, with those known; what the plug-in says.
func OpenKind(c Config) ([]Device, error) {
	registry.mu.Lock()
	open := registry.open[c.Kind]
	registry.mu.Unlock()
	if open == nil && c.Optional && slices.Contains(plugins, c.Kind) {
		return nil, &MissingError{Err: fmt.Errorf("devices: %s: the program imports no plug-in of this kind, or there is none for this system", c.Kind)}
	}
	if open == nil && slices.Contains(plugins, c.Kind) {
		return nil, fmt.Errorf("devices: unknown kind %q: known are %s: import _ %q, or devices/all, in the program", c.Kind, list(Kinds()), "github.com/gompss/gompss/devices/"+string(c.Kind))
	}
	if open == nil {
		return nil, fmt.Errorf("devices: unknown kind %q: known are %s", c.Kind, list(Kinds()))
	}
	opened, err := open(c)
	if err != nil {
		return nil, fmt.Errorf("devices: open %s: %w", c.Kind, err)
	}
	return opened, nil
}

// A Config is what a plug-in is asked to open: one part of a device specification.
type Config struct {
	Kind  Kind
	Count int // 0: not said
	// Optional says that a machine without such devices is no error: "cuda?", or Auto. The plug-in
	// opens those that it can, and Count is then the most.
	Optional bool
	Params   []Param
	Options  any // the plug-in's own options, from Options.ByKind; may be nil
	// Absent, where it is not nil, gets each device that an Optional part leaves out beside
	// those that it opens, and why.
	Absent func(device string, why error)
	// First is the address space of the first accelerator that is opened; those after it count up.
	// CPU workers share the host's.
	First SpaceID
	// Timed says that events should tell when their work ran, where that costs something: see
	// Timed.
	Timed bool
}

// A Param is one "key=value" of a device specification.
type Param struct {
	Key, Value string
	Column     int // in the specification, from 1
}

// Scan gives every parameter to the setter of its key.
//
// Errors: an unknown key, with those known; what the setter says; both with the column.
func (c Config) Scan(set map[string]func(string) error) error {
	for _, p := range c.Params {
		f, ok := set[p.Key]
		if !ok {
			known, hint := slices.Sorted(maps.Keys(set)), ""
			if p.Key == "races" && c.Kind != "sim" {
				hint = ": races are reported by the interpreter, sim(exec=simt,races=on)"
			}
			return specError(p.Column, "%s: unknown parameter %q: known are %s%s", c.Kind, p.Key, list(known), hint)
		}
		if err := f(p.Value); err != nil {
			return specError(p.Column, "%s: %s=%s: %w", c.Kind, p.Key, p.Value, err)
		}
	}
	return nil
}

func list[S ~string](names []S) string {
	if len(names) == 0 {
		return "none"
	}
	words := make([]string, len(names))
	for i, n := range names {
		words[i] = string(n)
	}
	return strings.Join(words, ", ")
}
