// Package operator has the operators of reductions, with the types of their elements and without.
//
// A private copy of a reduction is memory of the size of its buffer, seen here as elements of the
// type that the reduction was declared with.
package operator

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"unsafe"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/task/internal/values"
)

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
	} else if err := values.CheckNoPointers(reflect.TypeFor[T]()); err != nil { // private copies lie where the collector does not look
		op.wrong = fmt.Errorf("operator %s: %w", name, err)
	}
	return op
}

// An Integer is a type whose values have bits to combine.
type Integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// A Number is a type whose values can be added.
type Number interface {
	Integer | ~float32 | ~float64
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
func Sum[T Number]() *Operator[T] {
	return builtin(ir.Add, "+", 0, func(a, b T) T { return a + b })
}

// Product is *.
func Product[T Number]() *Operator[T] {
	return builtin(ir.Mul, "*", 1, func(a, b T) T { return a * b })
}

// Min is Go's min.
func Min[T Number]() *Operator[T] {
	return builtin(ir.Min, "min", limit[T](false), func(a, b T) T { return min(a, b) })
}

// Max is Go's max.
func Max[T Number]() *Operator[T] {
	return builtin(ir.Max, "max", limit[T](true), func(a, b T) T { return max(a, b) })
}

// And is &.
func And[T Integer]() *Operator[T] {
	return builtin(ir.And, "&", ^T(0), func(a, b T) T { return a & b })
}

// Or is |.
func Or[T Integer]() *Operator[T] {
	return builtin(ir.Or, "|", 0, func(a, b T) T { return a | b })
}

// Xor is ^.
func Xor[T Integer]() *Operator[T] {
	return builtin(ir.Xor, "^", 0, func(a, b T) T { return a ^ b })
}

// limit returns the smallest value of T, or the largest.
func limit[T Number](smallest bool) T {
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

// A Reducer is an Operator without its type.
type Reducer struct {
	Name string
	Key  any
	elem deps.Bytes
	fill func(base unsafe.Pointer, lo, hi int64)     // elements [lo, hi)
	fold func(dst, src unsafe.Pointer, lo, hi int64) // the same

	Wrong error
}

// Fill sets the elements of a region to the neutral element.
func (r *Reducer) Fill(base unsafe.Pointer, region deps.Region) {
	for lo, hi := range region.Runs() {
		r.fill(base, lo, hi)
	}
}

// Fold combines the elements of a region of dst with those of src.
func (r *Reducer) Fold(dst, src unsafe.Pointer, region deps.Region) {
	for lo, hi := range region.Runs() {
		r.fold(dst, src, lo, hi)
	}
}

// An arrayKey names an operator on arrays, which combines them element by element.
type arrayKey struct {
	of  any
	len int64
}

// array returns the operator for arrays of n elements.
func (r *Reducer) array(n int64) *Reducer {
	return &Reducer{
		Name: r.Name, Key: arrayKey{r.Key, n}, elem: r.elem * deps.Bytes(n), Wrong: r.Wrong,
		fill: func(base unsafe.Pointer, lo, hi int64) { r.fill(base, lo*n, hi*n) },
		fold: func(dst, src unsafe.Pointer, lo, hi int64) { r.fold(dst, src, lo*n, hi*n) },
	}
}

var errNoOperator = errors.New("operator: nil, or made without NewOperator")

// ReducerOf returns op without its type.
func ReducerOf[T any](op *Operator[T]) *Reducer {
	if op == nil || op.key == nil {
		return &Reducer{Wrong: errNoOperator}
	}
	return &Reducer{
		Wrong: op.wrong, Name: op.name, Key: op.key, elem: deps.Bytes(unsafe.Sizeof(op.neutral)),
		fill: func(base unsafe.Pointer, lo, hi int64) {
			x := Elements[T](base, lo, hi)
			for i := range x {
				x[i] = op.neutral
			}
		},
		fold: func(dst, src unsafe.Pointer, lo, hi int64) {
			x, y := Elements[T](dst, lo, hi), Elements[T](src, lo, hi)
			for i := range x {
				x[i] = op.combine(x[i], y[i])
			}
		},
	}
}

// Elements returns elements [lo, hi) of a buffer of T at base, which has them.
func Elements[T any](base unsafe.Pointer, lo, hi int64) []T {
	var zero T
	return unsafe.Slice((*T)(unsafe.Add(base, lo*int64(unsafe.Sizeof(zero)))), hi-lo)
}

// OfKernel returns the operator that a reduction clause of a kernel names.
func OfKernel(op ir.Op, t *ir.Type) (*Reducer, error) {
	var r *Reducer
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
	case ir.Array: // element by element
		of, err := OfKernel(op, t.Elem)
		if err != nil {
			return nil, err
		}
		return of.array(t.Len), nil
	}
	if r == nil {
		return nil, fmt.Errorf("reduction with operator %v of elements of type %s: the operators of tasks are + * min max, and of integers & | ^", op, values.TypeText(t))
	}
	return r, nil
}

func integerReducer[T Integer](op ir.Op) *Reducer {
	switch op {
	case ir.And:
		return ReducerOf(And[T]())
	case ir.Or:
		return ReducerOf(Or[T]())
	case ir.Xor:
		return ReducerOf(Xor[T]())
	}
	return numberReducer[T](op)
}

func numberReducer[T Number](op ir.Op) *Reducer {
	switch op {
	case ir.Add:
		return ReducerOf(Sum[T]())
	case ir.Mul:
		return ReducerOf(Product[T]())
	case ir.Min:
		return ReducerOf(Min[T]())
	case ir.Max:
		return ReducerOf(Max[T]())
	}
	return nil
}
