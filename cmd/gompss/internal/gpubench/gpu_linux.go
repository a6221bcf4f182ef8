//go:build amd64 || arm64

package gpubench

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda"
)

//go:embed reference.cu
var referenceSource string

// rounds is the number of times that a kernel is measured after warming up; the median counts.
const rounds = 12

// A bench is the GPUs that are measured, without a runtime around them, and buffers on them.
type bench struct {
	Options
	gpus     []gpu
	cuda     []*cuda.Device // the same, where they are those of kind cuda
	lower    codegen.LowerOptions
	host     *hostCode       // in place of lower, where the kernels run on the processor
	told     func(Row) error // takes the rows, which have no reference then; nil prints them
	next     deps.BufferID
	keep     []any // host memory of the buffers
	pkg      *codegen.Package
	hand     handWritten
	handText string      // of the suite
	exact    handWritten // as exact as the Go kernel
	space    func(i int) devices.SpaceID
}

// A gpu is what the rows of kernels need of an accelerator.
type gpu interface {
	devices.Accelerator
	// Model is what the device is called.
	Model() string
	// Multiprocessors counts its units.
	Multiprocessors() int
	// Time returns how long repeat launches took, of one, in each of some rounds.
	Time(l *devices.Launch, repeat, rounds int) ([]time.Duration, error)
}

// handWritten is how the reference kernels are compiled.
type handWritten struct {
	by      string // nvcc or NVRTC
	options []string
	binary  []byte // nvcc's
}

// fastOptions lets the compiler of a reference do what it likes with floats; exactOptions asks for
// the bits that Go gives.
var (
	fastOptions  = []string{"--use_fast_math"}
	exactOptions = []string{"-fmad=false", "-ftz=false", "-prec-div=true", "-prec-sqrt=true"}
)

func openBench(o Options) (*bench, error) {
	gpus, err := cuda.Open(0, devices.SpaceID{Device: 1}, cuda.Options{})
	if err != nil {
		return nil, err
	}
	b := &bench{Options: o, cuda: gpus, space: spaceOf}
	for _, d := range gpus {
		b.gpus = append(b.gpus, d)
	}
	b.pkg, err = codegen.Load(codegen.File{Name: "kernels.go", Text: kernelSource})
	if err != nil {
		return nil, err
	}
	b.hand, b.exact = compileReference(o, referenceSource, fastOptions), compileReference(o, referenceSource, exactOptions)
	return b, nil
}

func spaceOf(i int) devices.SpaceID { return devices.SpaceID{Device: uint16(i + 1)} }

// close frees the buffers and the GPUs.
func (b *bench) close() (err error) {
	for _, d := range b.gpus {
		if closed := d.Close(); err == nil {
			err = closed
		}
	}
	return err
}

// compileReference compiles kernels by hand with nvcc where it is, else leaves them to NVRTC.
func compileReference(o Options, text string, options []string) handWritten {
	nvcc, err := exec.LookPath("nvcc")
	if err != nil {
		nvcc = "/usr/local/cuda/bin/nvcc"
	}
	dir, err := os.MkdirTemp("", "gompss-bench")
	if err != nil {
		return handWritten{by: "NVRTC", options: options}
	}
	defer os.RemoveAll(dir)
	source, out := filepath.Join(dir, "reference.cu"), filepath.Join(dir, "reference.cubin")
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		return handWritten{by: "NVRTC", options: options}
	}
	cmd := exec.Command(nvcc, append([]string{"-O3", "-std=c++17", "-arch=native", "-cubin", "-o", out, source}, options...)...)
	if said, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(o.Stderr, "the references are compiled by NVRTC: nvcc: %v %s\n", err, said)
		return handWritten{by: "NVRTC", options: options}
	}
	code, err := os.ReadFile(out)
	if err != nil {
		return handWritten{by: "NVRTC", options: options}
	}
	return handWritten{by: "nvcc", options: options, binary: code}
}

// kernel returns a kernel of kernels.go.
func (b *bench) kernel(name string) (*devices.Kernel, error) {
	k, err := b.pkg.Kernel(name)
	if err != nil {
		return nil, err
	}
	if b.host != nil {
		return b.host.kernel(k)
	}
	lowered, err := codegen.Lower(k, b.lower)
	if err != nil {
		return nil, err
	}
	return &devices.Kernel{Name: name, Pos: k.At, Program: lowered.Program}, nil
}

// An element is what buffers of the measurements hold.
type element interface {
	float32 | float64 | int8 | uint8 | int32 | uint32 | int64
}

func typeOf[T element]() *ir.Type {
	var zero T
	switch any(zero).(type) {
	case float32:
		return ir.Float32Type
	case float64:
		return ir.Float64Type
	case int8:
		return ir.Int8Type
	case uint8:
		return ir.Uint8Type
	case int32:
		return ir.Int32Type
	case uint32:
		return ir.Uint32Type
	}
	return ir.Int64Type
}

func sizeOf[T element]() deps.Bytes {
	var zero T
	return deps.Bytes(unsafe.Sizeof(zero))
}

// put makes x a buffer with a mirror on every GPU, sends it to the first and returns it as an
// argument.
func put[T element](b *bench, x []T) (devices.Arg, error) {
	id, n := b.next, deps.Bytes(len(x))*sizeOf[T]()
	b.next++
	b.keep = append(b.keep, x)
	for _, d := range b.gpus {
		if err := d.Reserve(devices.Buffer{ID: id, Host: devices.NewHostMemory(unsafe.Pointer(unsafe.SliceData(x))), Size: n, Elem: sizeOf[T]()}); err != nil {
			return devices.Arg{}, err
		}
		if err := d.Map(id, 0, n); err != nil {
			return devices.Arg{}, err
		}
	}
	a := devices.Arg{Type: ir.SliceOf(typeOf[T]()), Buffer: id, Len: int64(len(x)), Cap: int64(len(x))}
	return a, b.move(a, devices.Host, b.space(0))
}

// drop frees the buffers of arguments on all GPUs.
func (b *bench) drop(args ...devices.Arg) error {
	for _, a := range args {
		if a.Type.Kind != ir.Slice {
			continue
		}
		for _, d := range b.gpus {
			if err := d.Release(a.Buffer); err != nil {
				return err
			}
		}
	}
	return nil
}

func transfer(a devices.Arg, from, to devices.SpaceID) devices.Transfer {
	return devices.Transfer{Region: deps.Interval(a.Buffer, 0, a.Len), Elem: a.Type.Elem.Size, From: from, To: to}
}

// move copies a whole buffer and waits.
func (b *bench) move(a devices.Arg, from, to devices.SpaceID) error {
	end := to
	if end == devices.Host {
		end = from
	}
	return await(b.gpus[end.Device-1].Copy(transfer(a, from, to), nil))
}

// fetch brings a buffer back from the first GPU.
func (b *bench) fetch(a devices.Arg) error { return b.move(a, b.space(0), devices.Host) }

func await(e devices.Event) error {
	done := make(chan error, 1)
	e.Then(func(err error) { done <- err })
	return <-done
}

func whole(n int) devices.Arg { return devices.Arg{Type: ir.IntType, Bits: uint64(n)} }

// time returns the median seconds of a launch.
func (b *bench) time(k *devices.Kernel, repeat int, args ...devices.Arg) (float64, error) {
	l := &devices.Launch{Kernel: k, Args: &devices.Args{List: args}, Label: k.Name}
	if _, err := b.gpus[0].Time(l, repeat, 2); err != nil { // warm
		return 0, err
	}
	each, err := b.gpus[0].Time(l, repeat, rounds)
	return median(each).Seconds(), err
}

func median(each []time.Duration) time.Duration {
	if len(each) == 0 {
		return 0
	}
	slices.Sort(each)
	return each[len(each)/2]
}

// A reference is a hand-written kernel and the shape of its launch.
type reference struct {
	entry       string
	items, team [3]int64
	extra       []devices.Arg // behind the arguments of the Go kernel
	exact       bool          // compiled to give the bits that Go gives
}

// referenceKernel returns a reference as a kernel.
func (b *bench) referenceKernel(r reference) *devices.Kernel {
	return b.nativeKernel(r, referenceSource)
}

// nativeKernel is referenceKernel for a kernel of text.
func (b *bench) nativeKernel(r reference, text string) *devices.Kernel {
	hand := b.hand
	if r.exact {
		hand = b.exact
	}
	n := devices.Native{Kind: cuda.Kind, Entry: r.entry, Source: text, Binary: hand.binary,
		Options: append([]string{"--std=c++17"}, hand.options...),
		Shape:   func(*devices.Args) devices.NDRange { return devices.NDRange{Items: r.items, Team: r.team} }}
	return &devices.Kernel{Name: r.entry, Natives: []devices.Native{n}}
}

// best returns the quickest of references on the same arguments, and its name.
func (b *bench) best(repeat int, args []devices.Arg, list []reference) (seconds float64, by string, err error) {
	for _, r := range list {
		s, err := b.time(b.referenceKernel(r), repeat, slices.Concat(args, r.extra)...)
		if err != nil {
			return 0, "", err
		}
		if seconds == 0 || s < seconds {
			seconds, by = s, fmt.Sprintf("%s, %s", r.entry, b.hand.by)
			if r.exact {
				by += " " + strings.Join(b.exact.options, " ")
			}
		}
	}
	return seconds, by, nil
}
