package task

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gompss/gompss/devices"
)

// This file tells a kind of devices that this run has none of, which is no error, from one that
// no plug-in has, which is a misspelt one: a program written for GPUs runs on a laptop.

// ownKinds are the kinds that have a name without a plug-in: those of the kernel language and the
// simulated one.
var ownKinds = []devices.Kind{devices.Acc, devices.SMP, "cuda", "opencl", "sim"}

// checkKind returns an error for a kind that neither this module nor a plug-in that the program
// imports has.
func checkKind(what string, kind devices.Kind) error {
	if slices.Contains(ownKinds, kind) {
		return nil
	}
	known := append(devices.Kinds(), ownKinds...)
	if slices.Contains(known, kind) {
		return nil
	}
	slices.Sort(known)
	var names []string
	for _, k := range slices.Compact(known) {
		names = append(names, string(k))
	}
	return fmt.Errorf("%s: no kind of devices is called %q: known are %s, and those of the plug-ins that the program imports", what, kind, strings.Join(names, ", "))
}

// checkKinds checks the kinds that options name.
func (o *Options) checkKinds() error {
	for _, kind := range slices.Sorted(maps.Keys(o.Tokens)) {
		if err := checkKind("options: tokens", kind); err != nil {
			return err
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(o.Machine.ByKind)) {
		if err := checkKind("options: machine", kind); err != nil {
			return err
		}
	}
	return nil
}
