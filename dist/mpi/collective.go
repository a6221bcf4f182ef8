//go:build linux && (amd64 || arm64)

package mpi

import "fmt"

// Collective operations are called by all ranks of a communicator, in the same order. The
// goroutine's thread is busy meanwhile.

// An Op joins the elements of several ranks.
type Op int

const (
	Sum Op = iota
	Min
	Max
)

// A Number is an element type of reductions.
type Number interface {
	float32 | float64 | int32 | int64 | uint64
}

// typeOf returns the handle of an element type.
func typeOf[T Number]() handle {
	var zero T
	switch any(zero).(type) {
	case float32:
		return typeFloat32
	case float64:
		return typeFloat64
	case int32:
		return typeInt32
	case int64:
		return typeInt64
	}
	return typeUint64
}

// Barrier waits until all ranks have called it.
func (c *Comm) Barrier() error {
	f := frames.Get().(*frame)
	defer frames.Put(f)
	f.args[0] = c.handle
	return c.m.check(fBarrier, c.m.call(fBarrier, f))
}

// Bcast copies the data of rank root to all others.
func (c *Comm) Bcast(data []byte, root int) error {
	f, err := c.begin(fBcast, data, uintptr(root), c.handle)
	if err != nil {
		return err
	}
	defer frames.Put(f)
	return c.m.check(fBcast, c.m.call(fBcast, f))
}

// Reduce joins in of all ranks, element by element, into out of rank root; out of the others may be
// nil.
func Reduce[T Number](c *Comm, in, out []T, op Op, root int) error {
	if c.rank == root && len(in) != len(out) {
		return fmt.Errorf("mpi: reduce: %d elements into %d", len(in), len(out))
	}
	f := frames.Get().(*frame)
	defer frames.Put(f)
	f.args[0], f.args[1], f.args[2] = address(bytesOf(in)), address(bytesOf(out)), uintptr(len(in))
	f.args[3], f.args[4], f.args[5], f.args[6] = c.m.value[typeOf[T]()], c.m.value[opSum+handle(op)], uintptr(root), c.handle
	return c.m.check(fReduce, c.m.call(fReduce, f))
}

// Allreduce joins in of all ranks, element by element, into out of all ranks.
func Allreduce[T Number](c *Comm, in, out []T, op Op) error {
	if len(in) != len(out) {
		return fmt.Errorf("mpi: allreduce: %d elements into %d", len(in), len(out))
	}
	f := frames.Get().(*frame)
	defer frames.Put(f)
	f.args[0], f.args[1], f.args[2] = address(bytesOf(in)), address(bytesOf(out)), uintptr(len(in))
	f.args[3], f.args[4], f.args[5] = c.m.value[typeOf[T]()], c.m.value[opSum+handle(op)], c.handle
	return c.m.check(fAllreduce, c.m.call(fAllreduce, f))
}

// Gather puts in of all ranks, of the same length, one after the other into out of rank root; out
// of the others may be nil.
func (c *Comm) Gather(in, out []byte, root int) error {
	if c.rank == root && len(out) != len(in)*c.size {
		return fmt.Errorf("mpi: gather: %d bytes of %d ranks into %d", len(in), c.size, len(out))
	}
	f, err := c.begin(fGather, in, 0, 0)
	if err != nil {
		return err
	}
	defer frames.Put(f)
	f.args[3], f.args[4], f.args[5], f.args[6], f.args[7] = address(out), uintptr(len(in)), c.m.value[typeByte], uintptr(root), c.handle
	return c.m.check(fGather, c.m.call(fGather, f))
}

// Allgather puts in of all ranks, of the same length, one after the other into out of all ranks.
func (c *Comm) Allgather(in, out []byte) error {
	if len(out) != len(in)*c.size {
		return fmt.Errorf("mpi: allgather: %d bytes of %d ranks into %d", len(in), c.size, len(out))
	}
	f, err := c.begin(fAllgather, in, 0, 0)
	if err != nil {
		return err
	}
	defer frames.Put(f)
	f.args[3], f.args[4], f.args[5], f.args[6] = address(out), uintptr(len(in)), c.m.value[typeByte], c.handle
	return c.m.check(fAllgather, c.m.call(fAllgather, f))
}
