// Package all imports every plug-in of devices, for programs that take the specification of devices
// from their user.
package all

import (
	_ "github.com/gompss/gompss/devices/sim" // the simulated accelerator
	_ "github.com/gompss/gompss/devices/smp" // the CPU workers
)
