package devices

import (
	"bytes"
	"fmt"
	"path"
	"runtime"
	"strconv"
	"strings"

	"github.com/gompss/gompss/codegen/ir"
)

// A PanicError is a panic in a kernel's Go function or in the body of a task. What Go itself panics
// with is ir.ErrBounds, ir.ErrDivide, ir.ErrShift or ir.ErrNil for errors.Is, as the failed checks
// of accelerators are.
type PanicError struct {
	Value any
	Stack []byte
	// At is the line that panicked, or, in a kernel, the innermost one of its files where Go's run
	// time panicked; the zero Pos if the stack does not name it. It has no column.
	At ir.Pos
	// Check is the check that failed, where Go's run time panicked in a kernel; else nil.
	Check *ir.CheckError
}

// Error returns the text of Check, which is that of every other device, or else what the function
// panicked with.
func (e *PanicError) Error() string {
	if e.Check != nil {
		return e.Check.Error()
	}
	if e.At.File != "" {
		return fmt.Sprintf("%s:%d: panic: %v", e.At.File, e.At.Line, e.Value)
	}
	return fmt.Sprintf("panic: %v", e.Value)
}

// Unwrap returns the value when it is an error, Check, and the sentinel of what Go panicked with.
func (e *PanicError) Unwrap() []error {
	err, ok := e.Value.(error)
	if !ok {
		return nil
	}
	if e.Check != nil {
		return []error{err, e.Check}
	}
	if check := goCheck(err); check != nil {
		return []error{err, check.Unwrap()}
	}
	return []error{err}
}

// Panicked returns the error of the Go function of k, which panicked with value on a stack as
// debug.Stack prints it.
func (k *Kernel) Panicked(value any, stack []byte) *PanicError {
	e := &PanicError{Value: value, Stack: stack}
	if err, ours := value.(runtime.Error); ours {
		e.At = k.lineIn(stack)
		e.Check = goCheck(err)
	}
	if e.At.File == "" {
		e.Check = nil
	} else if e.Check != nil {
		e.Check.Kernel, e.Check.At = k.Name, e.At
	}
	return e
}

// lineIn returns the innermost line on the stack that stands in a file of the kernel.
func (k *Kernel) lineIn(stack []byte) ir.Pos {
	files := map[string]bool{k.Pos.File: true}
	if loop := k.loop(); loop != nil {
		for _, f := range loop.Funcs {
			files[f.At.File] = true
		}
	}
	function := ""
	for line := range bytes.Lines(stack) {
		at := placeIn(line)
		switch {
		case line[0] != '\t':
			function, _, _ = strings.Cut(string(line), "(")
		case files[at.File] && k.MovedLine != nil:
			at.Line = k.MovedLine(function, at.Line)
			return at
		case files[at.File]:
			return at
		}
	}
	return ir.Pos{}
}

// placeIn returns the file and line that a line of a stack names, the zero Pos if it names none.
func placeIn(line []byte) ir.Pos {
	place, isPlace := strings.CutPrefix(strings.TrimRight(string(line), "\n"), "\t")
	place, _, _ = strings.Cut(place, " +0x")
	colon := strings.LastIndexByte(place, ':')
	if !isPlace || colon < 0 {
		return ir.Pos{}
	}
	n, err := strconv.Atoi(place[colon+1:])
	if err != nil {
		return ir.Pos{}
	}
	return ir.Pos{File: path.Base(place[:colon]), Line: n}
}

// Panicked returns the error of a function that is no kernel and panicked with value on a stack as
// debug.Stack prints it.
func Panicked(value any, stack []byte) *PanicError {
	return &PanicError{Value: value, Stack: stack, At: raised(stack)}
}

// runtimeOf and engineOf begin the names of functions of the runtime's, and workersOf those of what
// calls bodies in the end.
const (
	runtimeOf = "github.com/gompss/gompss/task."
	engineOf  = "github.com/gompss/gompss/task/internal/"
	workersOf = "github.com/gompss/gompss/devices/smp."
)

// raised returns the line that panicked: the innermost one below the call of panic that belongs
// neither to Go's run time nor, as long as there is another in the body, to ours.
func raised(stack []byte) (at ir.Pos) {
	const (
		above = iota
		passed
		ours
		theirs
	)
	state := above
	for line := range bytes.Lines(stack) {
		name, place := string(line), line[0] == '\t'
		switch {
		case place && state == ours && at.File == "":
			at = placeIn(line)
		case place && state == theirs:
			return placeIn(line)
		case place:
		case state == above && !strings.HasPrefix(name, "panic("):
		case strings.HasPrefix(name, "panic("), strings.HasPrefix(name, "runtime."):
			state = passed
		case strings.HasPrefix(name, runtimeOf), strings.HasPrefix(name, engineOf):
			state = ours
		case strings.HasPrefix(name, workersOf), strings.HasPrefix(name, "created by "):
			return at
		default:
			state = theirs
		}
	}
	return at
}
