package smp

import (
	"fmt"
	"runtime"

	"github.com/gompss/gompss/devices"
)

func init() { devices.Register(devices.SMP, open) }

// A Device is the processors of this machine: one device with the requested number of workers,
// GOMAXPROCS by default. It has no memory of its own; the engine starts its Workers.
type Device struct {
	properties devices.Properties
	bind       bool
}

// Start starts the workers of the device on a source.
func (d *Device) Start(source Source) (*Workers, error) {
	return startWorkers(d.properties.Workers, source, d.bind)
}

// New returns the device with n workers.
func New(n int) (*Device, error) {
	if n <= 0 || n > MaxWorkers {
		return nil, fmt.Errorf("smp: %d workers: between 1 and %d are possible", n, MaxWorkers)
	}
	plural := "s"
	if n == 1 {
		plural = ""
	}
	return &Device{properties: devices.Properties{
		Name:        "smp",
		Kind:        devices.SMP,
		Description: fmt.Sprintf("CPU (%s), %d worker%s", runtime.GOARCH, n, plural),
		Workers:     n,
		Depth:       n,
	}}, nil
}

func open(c devices.Config) ([]devices.Device, error) {
	bind := false
	err := c.Scan(map[string]func(string) error{"bind": func(s string) error {
		if bind = s == "node"; s != "node" && s != "off" {
			return fmt.Errorf("want node or off")
		}
		return nil
	}})
	if err != nil {
		return nil, err
	}
	n := c.Count
	if n == 0 {
		n = min(runtime.GOMAXPROCS(0), MaxWorkers)
	}
	d, err := New(n)
	if err != nil {
		return nil, err
	}
	d.bind = bind
	return []devices.Device{d}, nil
}

// Properties describes the device.
func (d *Device) Properties() devices.Properties { return d.properties }

// Prepare finds the Go function of a kernel, which is always there.
func (d *Device) Prepare(k *devices.Kernel) error {
	if k.Go == nil {
		return &devices.DeviceError{Device: d.properties.Name, What: "kernel " + k.Name, Pos: k.Pos, Err: errNoGo}
	}
	return nil
}

var errNoGo = fmt.Errorf("it has no Go function")

// Close does nothing: the workers belong to the engine that started them.
func (d *Device) Close() error { return nil }
