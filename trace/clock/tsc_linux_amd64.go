package clock

import (
	"bytes"
	"os"
	"sync"
)

// ticks reads the counter of the processor, which may do so before instructions that come earlier
// have finished.
func ticks() uint64

// ordered reads it after them.
func ordered() uint64

// trusted reports whether the kernel keeps its own time by the counter: it checks that it runs at
// one rate, also while processors sleep, and that it is the same on all of them, and leaves it when
// it is not.
var trusted = sync.OnceValue(func() bool {
	name, err := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	return err == nil && string(bytes.TrimSpace(name)) == "tsc"
})
