package devices

import (
	"errors"
	"fmt"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
)

// The errors that callers branch on.
var (
	// ErrNoMemory means that a device could not back memory.
	ErrNoMemory = errors.New("out of memory")
	// ErrRetired means that a device is out of service: everything asked of it fails.
	ErrRetired = errors.New("device is out of service")
	// ErrLost means that the newest value of some data was on a device that failed.
	ErrLost = errors.New("lost with its device")
	// ErrClosed means that the machine was closed.
	ErrClosed = errors.New("machine is closed")
	// ErrUnknownBuffer means that a buffer was never added, or was dropped.
	ErrUnknownBuffer = errors.New("unknown buffer")
)

// A MissingError means that a machine has no devices of a kind, or not what they need: no driver,
// no GPU, one that cannot be used. Plug-ins return it from their Opener; where the part of the
// specification is optional, it is no error.
type MissingError struct {
	Err error
}

func (e *MissingError) Error() string { return e.Err.Error() }
func (e *MissingError) Unwrap() error { return e.Err }

// A NoSpaceError means that a working set can never be in a device's memory at once.
type NoSpaceError struct {
	Device  string
	Label   string // of the task; "" before there is a task
	Pos     ir.Pos
	Need    deps.Bytes // granules that the accesses touch, together
	Memory  deps.Bytes // what the device has
	Granule deps.Bytes
	Largest deps.Region // the access that touches most
	Size    deps.Bytes  // and how much
	Name    string      // of what it accesses in the source, where that is known: "d"
}

func (e *NoSpaceError) Error() string {
	where, largest := "devices: "+e.Device, e.Largest.String()
	if e.Label != "" {
		where += ": " + who(e.Label, e.Pos)
	}
	if e.Name != "" {
		largest = "of " + e.Name
	}
	return fmt.Sprintf("%s: working set never fits: need %v in granules of %v, memory %v; the largest access, %s, needs %v",
		where, e.Need, e.Granule, e.Memory, largest, e.Size)
}

// Is makes errors.Is(err, ErrNoMemory) true.
func (e *NoSpaceError) Is(target error) bool { return target == ErrNoMemory }

// A LostError means that data are gone: no address space holds their newest value since Device
// failed with Cause.
type LostError struct {
	Device string
	Region deps.Region
	Cause  error
}

func (e *LostError) Error() string {
	return fmt.Sprintf("devices: %s: %v: lost with its device: %v", e.Device, e.Region, e.Cause)
}

// Is makes errors.Is(err, ErrLost) true.
func (e *LostError) Is(target error) bool { return target == ErrLost }

func (e *LostError) Unwrap() error { return e.Cause }

// A DeviceError is the failure of something that a device was asked to do.
type DeviceError struct {
	Device string
	What   string // "launch Forces", "copy", "map"
	Pos    ir.Pos
	Err    error
	// Fatal says that the device is of no more use; the machine retires it.
	Fatal bool
}

func (e *DeviceError) Error() string {
	return fmt.Sprintf("devices: %s: %s: %v", e.Device, who(e.What, e.Pos), e.Err)
}

func (e *DeviceError) Unwrap() error { return e.Err }

func who(label string, pos ir.Pos) string {
	if pos.File == "" {
		return label
	}
	return fmt.Sprintf("%s (%s:%d)", label, pos.File, pos.Line)
}
