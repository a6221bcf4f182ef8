package devicetest

import (
	"errors"
	"fmt"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// Launch runs k once on the only accelerator of a machine: it copies buffers there as wholes, and
// those that an argument of list is in back. It waits for the end.
//
// Errors: the first of any step; of the launch with the name of the kernel.
func Launch(d devices.Accelerator, k *devices.Kernel, list []devices.Arg, buffers []devices.Buffer) (err error) {
	here := devices.SpaceID{Device: 1}
	used := map[deps.BufferID]bool{}
	for _, x := range list {
		used[x.Buffer] = true
	}
	var events []devices.Event
	for _, b := range buffers {
		if err := d.Reserve(b); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, d.Release(b.ID)) }()
		if b.Size == 0 {
			continue
		}
		if err := d.Map(b.ID, 0, b.Size); err != nil {
			return err
		}
		events = append(events, d.Copy(Whole(b, devices.Host, here), nil))
	}
	events = []devices.Event{d.Launch(&devices.Launch{Kernel: k, Args: &devices.Args{List: list}, Label: k.Name}, events)}
	for _, b := range buffers {
		if b.Size > 0 && used[b.ID] {
			events = append(events, d.Copy(Whole(b, here, devices.Host), events[:1]))
		}
	}
	for _, e := range events {
		done := make(chan error, 1)
		e.Then(func(err error) { done <- err })
		if err := <-done; err != nil {
			return fmt.Errorf("%s: %w", k.Name, err)
		}
	}
	return nil
}

// Whole is the copy of all of b, between the host and a device.
func Whole(b devices.Buffer, from, to devices.SpaceID) devices.Transfer {
	return devices.Transfer{Region: deps.Interval(b.ID, 0, int64(b.Size)), Elem: 1, From: from, To: to}
}
