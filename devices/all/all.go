// Package all imports every device plug-in, for programs in which the user chooses the devices.
package all

import (
	_ "github.com/gompss/gompss/devices/sim" // the simulated accelerator
	_ "github.com/gompss/gompss/devices/smp" // the CPU workers
)
