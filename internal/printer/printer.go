// Package printer collects what the kernels of one runtime print, and writes it in order.
//
// All printing kernels share one buffer, which each accesses inout: they run one after the other,
// in the order of their submission. The lines are written when the program waits for its data.
package printer

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/printing"
)

// Variable is the environment variable that makes kernels print: 1, or the bytes of the buffer.
const Variable = "GOMPSS_PRINT"

// usual is the size of the buffer where the variable gives none: 16,000 lines of one number.
const usual = 1 << 20

// Size returns the bytes of the buffer by the environment, 0 where kernels do not print.
//
// Errors: the variable is neither off nor a number of bytes.
func Size() (int, error) {
	switch text := os.Getenv(Variable); text {
	case "", "0", "off":
		return 0, nil
	case "1", "on":
		return usual, nil
	default:
		n, err := strconv.Atoi(text)
		if err != nil || n < 1<<10 || n > 1<<30 {
			return 0, fmt.Errorf("%s=%s: want 1, off, or the bytes of the buffer from 1024 to 1073741824", Variable, text)
		}
		return n, nil
	}
}

// A Printer is the buffer of one runtime. The zero Printer has none until it is used.
type Printer struct {
	mu      sync.Mutex
	words   []uint64
	kernels map[uint32]*ir.Kernel
	tasks   atomic.Uint64
	// Out gets the lines of package fmt, Err those of println; nil are the outputs of the process.
	Out, Err io.Writer
}

// Bind returns the buffer for a task of k, and the number of the task.
func (p *Printer) Bind(k *ir.Kernel) (words []uint64, task uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.words == nil {
		size, err := Size()
		if err != nil || size == 0 { // changed since the kernel was made
			size = usual
		}
		p.words = make([]uint64, size/8)
		p.words[0] = printing.First
		p.kernels = map[uint32]*ir.Kernel{}
	}
	p.kernels[printing.Hash(k)] = k
	return p.words, p.tasks.Add(1)
}

// Flush writes what the tasks have printed, and empties the buffer. Requires: the buffer is valid
// on the host, and no task uses it.
func (p *Printer) Flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.words) == 0 || p.words[0] == printing.First {
		return
	}
	lines, lost := printing.Decode(p.words, func(hash uint32) *ir.Kernel { return p.kernels[hash] })
	out, errs := output(p.Out, os.Stdout), output(p.Err, os.Stderr)
	for _, l := range lines {
		to := out
		if l.Site.Func == "println" {
			to = errs
		}
		fmt.Fprintf(to, "%s: %s", l.Mark, l.Text)
	}
	if lost > 0 {
		fmt.Fprintf(errs, "gompss: kernels printed %d bytes more than the buffer holds: set %s=%d\n", 8*lost, Variable, 8*(len(p.words)+int(lost)))
	}
	p.words[0] = printing.First
}

func output(w io.Writer, usual *os.File) io.Writer {
	if w == nil {
		return usual
	}
	return w
}
