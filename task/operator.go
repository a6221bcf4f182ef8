package task

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"unsafe"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// This file and memory.go are the ones that import unsafe: a private copy is memory of the size of
// its buffer, seen here as elements of the type that the reduction was declared with.

// An Operator combines two values of a reduction into one. It must be associative and commutative
// up to what the program accepts as the same result, and must not keep its arguments.
type Operator[T any] struct {
	name    string
	neutral T
	combine func(a, b T) T
	key     any   // operators with equal keys go together
	wrong   error // why it cannot be used
}

// NewOperator returns an operator of the user's: combine(neutral, x) is x. T must not hold
// pointers: a task that reduces with such an operator, or one without a function or a name, is
// refused.
func NewOperator[T any](name string, neutral T, combine func(a, b T) T) *Operator[T] {
	op := &Operator[T]{name: name, neutral: neutral, combine: combine}
	op.key = op
	if name == "" {
		op.wrong = errors.New("operator without a name: errors, traces and recordings call it by that")
	} else if combine == nil {
		op.wrong = fmt.Errorf("operator %s: its function is nil", name)
	} else if err := checkNoPointers(reflect.TypeFor[T]()); err != nil { // private copies lie where the collector does not look
		op.wrong = fmt.Errorf("operator %s: %w", name, err)
	}
	return op
}

type integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

type number interface {
	integer | ~float32 | ~float64
}

// A builtinKey names an operator of the kernel language on one kind of elements, so that kernels
// and Go tasks go together.
type builtinKey struct {
	op   ir.Op
	kind reflect.Kind
}

func builtin[T any](op ir.Op, name string, neutral T, combine func(a, b T) T) *Operator[T] {
	return &Operator[T]{name: name, neutral: neutral, combine: combine, key: builtinKey{op, canonical(reflect.TypeFor[T]().Kind())}}
}

// canonical makes the two names of one representation one.
func canonical(k reflect.Kind) reflect.Kind {
	switch {
	case k == reflect.Int && unsafe.Sizeof(0) == 8:
		return reflect.Int64
	case k == reflect.Uint && unsafe.Sizeof(0) == 8:
		return reflect.Uint64
	}
	return k
}

// Sum is +.
func Sum[T number]() *Operator[T] {
	return builtin(ir.Add, "+", 0, func(a, b T) T { return a + b })
}

// Product is *.
func Product[T number]() *Operator[T] {
	return builtin(ir.Mul, "*", 1, func(a, b T) T { return a * b })
}

// Min is Go's min.
func Min[T number]() *Operator[T] {
	return builtin(ir.Min, "min", limit[T](false), func(a, b T) T { return min(a, b) })
}

// Max is Go's max.
func Max[T number]() *Operator[T] {
	return builtin(ir.Max, "max", limit[T](true), func(a, b T) T { return max(a, b) })
}

// And is &.
func And[T integer]() *Operator[T] {
	return builtin(ir.And, "&", ^T(0), func(a, b T) T { return a & b })
}

// Or is |.
func Or[T integer]() *Operator[T] {
	return builtin(ir.Or, "|", 0, func(a, b T) T { return a | b })
}

// Xor is ^.
func Xor[T integer]() *Operator[T] {
	return builtin(ir.Xor, "^", 0, func(a, b T) T { return a ^ b })
}

// limit returns the smallest value of T, or the largest.
func limit[T number](smallest bool) T {
	var x T
	v := reflect.ValueOf(&x).Elem()
	bits := 8 * uint(unsafe.Sizeof(x))
	switch {
	case v.CanFloat() && smallest:
		v.SetFloat(math.Inf(-1))
	case v.CanFloat():
		v.SetFloat(math.Inf(1))
	case v.CanInt() && smallest:
		v.SetInt(-1 << (bits - 1))
	case v.CanInt():
		v.SetInt(1<<(bits-1) - 1)
	case !smallest:
		v.SetUint(math.MaxUint64 >> (64 - bits))
	}
	return x
}

// A reducer is an Operator without its type.
type reducer struct {
	name string
	key  any
	elem deps.Bytes
	fill func(base unsafe.Pointer, r deps.Region)     // with the neutral element
	fold func(dst, src unsafe.Pointer, r deps.Region) // dst = combine(dst, src)

	wrong error
}

var errNoOperator = errors.New("operator: nil, or made without NewOperator")

func (op *Operator[T]) reducer() *reducer {
	if op == nil || op.key == nil {
		return &reducer{wrong: errNoOperator}
	}
	return &reducer{
		wrong: op.wrong, name: op.name, key: op.key, elem: deps.Bytes(unsafe.Sizeof(op.neutral)),
		fill: func(base unsafe.Pointer, r deps.Region) {
			for lo, hi := range r.Runs() {
				for i := range elements[T](base, lo, hi) {
					elements[T](base, lo, hi)[i] = op.neutral
				}
			}
		},
		fold: func(dst, src unsafe.Pointer, r deps.Region) {
			for lo, hi := range r.Runs() {
				x, y := elements[T](dst, lo, hi), elements[T](src, lo, hi)
				for i := range x {
					x[i] = op.combine(x[i], y[i])
				}
			}
		},
	}
}

// elements returns elements [lo, hi) of a buffer of T at base, which has them.
func elements[T any](base unsafe.Pointer, lo, hi int64) []T {
	var zero T
	return unsafe.Slice((*T)(unsafe.Add(base, lo*int64(unsafe.Sizeof(zero)))), hi-lo)
}

// kernelReducer returns the operator that a reduction clause of a kernel names.
func kernelReducer(op ir.Op, t *ir.Type) (*reducer, error) {
	var r *reducer
	switch t.Kind {
	case ir.Int8:
		r = integerReducer[int8](op)
	case ir.Int16:
		r = integerReducer[int16](op)
	case ir.Int32:
		r = integerReducer[int32](op)
	case ir.Int64:
		r = integerReducer[int64](op)
	case ir.Uint8:
		r = integerReducer[uint8](op)
	case ir.Uint16:
		r = integerReducer[uint16](op)
	case ir.Uint32:
		r = integerReducer[uint32](op)
	case ir.Uint64:
		r = integerReducer[uint64](op)
	case ir.Float32:
		r = numberReducer[float32](op)
	case ir.Float64:
		r = numberReducer[float64](op)
	}
	if r == nil {
		return nil, fmt.Errorf("reduction with operator %v of elements of type %s: the operators of tasks are + * min max, and of integers & | ^", op, typeText(t))
	}
	return r, nil
}

func integerReducer[T integer](op ir.Op) *reducer {
	switch op {
	case ir.And:
		return And[T]().reducer()
	case ir.Or:
		return Or[T]().reducer()
	case ir.Xor:
		return Xor[T]().reducer()
	}
	return numberReducer[T](op)
}

func numberReducer[T number](op ir.Op) *reducer {
	switch op {
	case ir.Add:
		return Sum[T]().reducer()
	case ir.Mul:
		return Product[T]().reducer()
	case ir.Min:
		return Min[T]().reducer()
	case ir.Max:
		return Max[T]().reducer()
	}
	return nil
}

// bytesAt returns the bytes of elements [lo, hi) of b.
func bytesAt(b *buffer, lo, hi int64) []byte {
	size := int64(b.elem)
	return unsafe.Slice((*byte)(unsafe.Add(b.host.At(), lo*size)), (hi-lo)*size)
}

// copyOut returns a copy of the bytes of a region of b.
func copyOut(b *buffer, r deps.Region) []byte {
	out := make([]byte, r.Len()*int64(b.elem))
	rest := out
	for lo, hi := range r.Runs() {
		rest = rest[devices.CopyBytes(rest, bytesAt(b, lo, hi)):]
	}
	return out
}

// copyIn puts back what copyOut has returned.
func copyIn(b *buffer, r deps.Region, from []byte) {
	for lo, hi := range r.Runs() {
		n := devices.CopyBytes(bytesAt(b, lo, hi), from)
		from = from[n:]
	}
}
