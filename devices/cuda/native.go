//go:build linux && (amd64 || arm64)

package cuda

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
	"github.com/gompss/gompss/devices/cuda/internal/launch"
)

// A native is a hand-written kernel, in CUDA C++ or as a cubin, that this device has loaded.
type native struct {
	of     *devices.Native
	once   sync.Once
	err    error
	module uintptr
	entry  entry
	cached bool       // the cubin was in the cache
	shared deps.Bytes // the maximum dynamic shared memory permitted so far; guarded by submitter.mu
}

var errNoShape = errors.New("it has no Shape")

// loadNative compiles and loads n, once.
func (t *moduleTable) loadNative(k *devices.Kernel, n *native) error {
	n.once.Do(func() { n.err = t.buildNative(k, n) })
	return n.err
}

func (t *moduleTable) buildNative(k *devices.Kernel, n *native) error {
	if n.of.Shape == nil {
		return errNoShape
	}
	name := n.of.Entry
	if name == "" {
		name = k.Name
	}
	code := n.of.Binary
	if code == nil {
		sum := sha256.Sum256([]byte("native\x00" + n.of.Source + "\x00" + strings.Join(n.of.Options, "\x00")))
		var err error
		if code, n.cached, err = t.platform.compile(k.Name, n.of.Source, fmt.Sprintf("%x", sum), t.gpu.chip.arch(), n.of.Options); err != nil {
			return err
		}
	}
	if len(code) == 0 {
		return errors.New("its binary is empty")
	}
	t.gpu.enter()
	defer t.gpu.leave()
	module, entries, err := t.gpu.loadModule(code, []string{name})
	if err != nil {
		return fmt.Errorf("function %s: %w", name, err)
	}
	n.module, n.entry = module, entries[0]
	return nil
}

// A nativeRun is one launch of a native kernel.
type nativeRun struct {
	device      *Device
	native      *native
	teams, team [3]int64
	shared      deps.Bytes
	args        []devices.Arg
}

// prepare determines the shape of a launch on d.
func (n *native) prepare(d *Device, l *devices.Launch) (*nativeRun, error) {
	if err := d.modules.loadNative(l.Kernel, n); err != nil {
		return nil, err
	}
	shape := n.of.Shape(l.Args)
	r := &nativeRun{device: d, native: n, shared: shape.Shared, args: l.Args.List[:len(l.Args.List)-l.Kernel.Hidden]}
	var err error
	if r.teams, r.team, err = shape.Teams(); err != nil {
		return nil, err
	}
	if threads := r.team[0] * r.team[1] * r.team[2]; threads > int64(n.entry.fit.MaxThreads) {
		return nil, fmt.Errorf("teams of %v threads: the function allows %d", r.team, n.entry.fit.MaxThreads)
	}
	return r, nil
}

// allowShared permits the function to use more dynamic shared memory than the default limit.
// Requires: submitter.mu held, and the context is current.
func (r *nativeRun) allowShared() error {
	const usual, maxDynamicShared = 48 << 10, 8
	n := r.native
	if r.shared <= max(usual, n.shared) {
		return nil
	}
	if err := r.device.gpu.driver.Do(driver.CuFuncSetAttribute, n.entry.function, maxDynamicShared, uintptr(r.shared)); err != nil {
		return fmt.Errorf("shared memory of %v: %w", r.shared, err)
	}
	n.shared = r.shared
	return nil
}

// start enqueues the launch on the stream of op.
// Requires: the context is current.
func (r *nativeRun) start(op *operation) error {
	if err := r.allowShared(); err != nil {
		return err
	}
	params, err := r.pack()
	if err != nil {
		return err
	}
	b := driver.NewBlock()
	defer b.Free()
	b.Words[sizeWord] = uint64(len(params))
	b.Words[extraWord], b.Words[extraWord+1] = 1, uint64(uintptr(unsafe.Pointer(unsafe.SliceData(params))))
	b.Words[extraWord+2], b.Words[extraWord+3], b.Words[extraWord+4] = 2, uint64(b.At(sizeWord)), 0
	n := func(x int64) uintptr { return uintptr(x) }
	err = r.device.gpu.driver.Do(driver.CuLaunchKernel, r.native.entry.function, n(r.teams[0]), n(r.teams[1]), n(r.teams[2]),
		n(r.team[0]), n(r.team[1]), n(r.team[2]), uintptr(r.shared), op.stream.cu, 0, b.At(extraWord))
	runtime.KeepAlive(params)
	if err != nil {
		return fmt.Errorf("grid of %v teams of %v threads, %v shared: %w", r.teams, r.team, r.shared, err)
	}
	return nil
}

// pack encodes the arguments, each at a multiple of its alignment.
func (r *nativeRun) pack() ([]byte, error) {
	out := make([]byte, 0, 8*len(r.args)+8)
	for i := range r.args {
		a := &r.args[i]
		t := a.Type
		size, align := t.Size, t.Align
		if t.Kind == ir.Slice || t.Kind == ir.Pointer {
			size, align = 8, 8
		}
		at := int(launch.AlignUp(deps.Bytes(len(out)), max(align, 1)))
		out = append(out, make([]byte, at-len(out)+int(size))...)
		to := out[at : at+int(size)]
		switch {
		case t.Kind == ir.Slice || t.Kind == ir.Pointer:
			address, err := launch.AddressOf(a, r.device.mirrors.addressOf)
			if err != nil {
				return nil, err
			}
			binary.LittleEndian.PutUint64(to, address)
		case t.IsScalar():
			for k := range to {
				to[k] = byte(a.Bits >> (8 * k))
			}
		case len(a.Blob) != len(to):
			return nil, fmt.Errorf("argument %d: %d bytes for a %s of %d", i+1, len(a.Blob), t, len(to))
		default:
			copy(to, a.Blob)
		}
	}
	return out, nil
}
