package task

import (
	"fmt"
	"time"
	"unsafe"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/task/internal/engine"
	"github.com/gompss/gompss/task/internal/operator"
	"github.com/gompss/gompss/task/internal/values"
)

// An Option is a property of a task: an access, a label, a place. Options are values; making and
// passing them allocates nothing, but for Box and Reduce.
//
// It is four words, which the compiler keeps in registers: a larger one would be written to memory
// and copied for every access of every task. at and size are memory, at and n a text, n a number.
type Option struct {
	kind optionKind
	at   values.Pointer
	n    int64 // elements from at, or bytes of a text, or a number
	more int64 // elements that there is room for from at, or a number beside a text
}

// An optionKind is the kind of an option, and of an access also the mode and the size of an
// element.
type optionKind uint64

func accessKind(mode deps.Mode, elem deps.Bytes) optionKind {
	return accessOption | optionKind(mode)<<8 | optionKind(elem)<<16
}

func (o *Option) what() optionKind { return o.kind & 0xff }

func (o *Option) mode() deps.Mode { return deps.Mode(o.kind >> 8) }

// A special is an access that needs more than an Option has room for.
type special struct {
	memory  values.Range
	box     *box
	reducer *operator.Reducer
	weak    bool
}

// A box is a part of a row-major array: [lo, hi) of shape in each dimension.
type box struct {
	shape, lo, hi []int64
	err           error
}

// empty reports whether b has no element.
func (b *box) empty() bool {
	for i := range b.lo {
		if b.hi[i] <= b.lo[i] {
			return true
		}
	}
	return false
}

const (
	noOption optionKind = iota // the zero value: no option
	accessOption
	specialOption // at is a *special
	labelOption
	priorityOption
	placeOption
	tokenOption
	ifOption
	finalOption
	retryOption
	orderOnlyOption
	untiedOption
	costOption   // n is nanoseconds
	rankOption   // n is the rank
	originOption // n is where the function of the program begins
	earlyOption
	wrongOption // at is a *special: an option that was made weak and is no access
)

func access[T any](mode deps.Mode, x []T) Option { return accessTo(mode, values.MemoryOf(x)) }

// keepAccess is access in a mode in which a task reads and writes, so that Retry would have to put
// the elements back.
func keepAccess[T any](mode deps.Mode, m values.Range) Option {
	o := accessTo(mode, m)
	if values.HoldsPointers[T]() {
		o.kind |= pointerBit
	}
	return o
}

// pointerBit marks accesses to elements that hold Go pointers, where that matters.
const pointerBit optionKind = 1 << 63

func accessTo(mode deps.Mode, m values.Range) Option {
	return Option{kind: accessKind(mode, m.Elem), at: m.Base, n: m.Len, more: m.Cap}
}

// In declares that the task reads x.
func In[T any](x []T) Option { return access(deps.In, x) }

// Out declares that the task writes every element of x before anything else uses them; what it does
// not write is undefined afterwards.
func Out[T any](x []T) Option { return access(deps.Out, x) }

// InOut declares that the task reads and writes x. It is always safe.
func InOut[T any](x []T) Option { return keepAccess[T](deps.InOut, values.MemoryOf(x)) }

// Concurrent declares that the task updates x together with other Concurrent tasks, which may run
// at the same time and order themselves, by atomic operations or by touching different elements. On
// the CPU a kernel with atomics is alone, as neither its Go function nor its vector code makes
// them.
func Concurrent[T any](x []T) Option { return access(deps.Concurrent, x) }

// Commutative declares that the task updates x in any order with other Commutative tasks, but not
// at the same time as one of them. A task gets all its commutative accesses at once when it is
// ready, or waits without holding any.
func Commutative[T any](x []T) Option { return keepAccess[T](deps.Commutative, values.MemoryOf(x)) }

// Reduce declares that the task, of GoScope, reduces into x by op together with other Reduce tasks:
// each reduces into a private copy (Private) that begins with the neutral element. The copies are
// combined, and with what x was before, when another task accesses x otherwise, or a goroutine
// waits for x. Tasks with the same built-in operator, or the same *Operator, go together.
func Reduce[T any](x []T, op *Operator[T]) Option {
	return specialAccess(deps.Reduction, &special{memory: values.MemoryOf(x), reducer: operator.ReducerOf(op)})
}

// An Operator combines two values of a reduction into one. It must be associative and commutative
// up to what the program accepts as the same result, and must not keep its arguments.
type Operator[T any] = operator.Operator[T]

// NewOperator returns an operator of the user's: combine(neutral, x) is x. T must not hold
// pointers: a task that reduces with such an operator, or one without a function or a name, is
// refused.
func NewOperator[T any](name string, neutral T, combine func(a, b T) T) *Operator[T] {
	return operator.NewOperator(name, neutral, combine)
}

// Sum is +.
func Sum[T operator.Number]() *Operator[T] { return operator.Sum[T]() }

// Product is *.
func Product[T operator.Number]() *Operator[T] { return operator.Product[T]() }

// Min is Go's min.
func Min[T operator.Number]() *Operator[T] { return operator.Min[T]() }

// Max is Go's max.
func Max[T operator.Number]() *Operator[T] { return operator.Max[T]() }

// And is &.
func And[T operator.Integer]() *Operator[T] { return operator.And[T]() }

// Or is |.
func Or[T operator.Integer]() *Operator[T] { return operator.Or[T]() }

// Xor is ^.
func Xor[T operator.Integer]() *Operator[T] { return operator.Xor[T]() }

// One returns the variable that p points at as a slice of one element, for accesses: In(One(&x)).
// It is nil for nil.
func One[T any](p *T) []T {
	if p == nil {
		return nil
	}
	return unsafe.Slice(p, 1)
}

// Box narrows an access to the box [lo[i], hi[i]) in each dimension i of its slice, read as a
// row-major array of the given shape:
//
//	task.InOut(c).Box([]int{n, n}, []int{i, j}, []int{i + bs, j + bs})
func (o Option) Box(shape, lo, hi []int) Option {
	n := len(shape)
	b := &box{}
	switch {
	case !o.isAccess():
		b.err = fmt.Errorf("box of an option that is not an access")
	case n == 0 || n > deps.MaxDims || len(lo) != n || len(hi) != n:
		b.err = fmt.Errorf("box with shape of %d, low corner of %d and high corner of %d dimensions: all must be the same, 1 to %d",
			n, len(lo), len(hi), deps.MaxDims)
	default:
		all := make([]int64, 3*n)
		b.shape, b.lo, b.hi = all[:n], all[n:2*n], all[2*n:]
		for i := range n {
			b.shape[i], b.lo[i], b.hi[i] = int64(shape[i]), int64(lo[i]), int64(hi[i])
		}
	}
	s := special{box: b}
	if o.isAccess() {
		s.memory, s.reducer, s.weak = o.memory(), o.reducer(), o.weak()
	}
	made := specialAccess(o.mode(), &s)
	made.kind |= o.kind & pointerBit
	return made
}

// Weak makes an access one that the task, of GoScope, does not use itself: only the tasks that it
// submits do. The task starts without waiting for the access, and gets no data for it. Its
// children on these elements come after the tasks that the access comes after; later tasks that
// use the elements come after the children on them and the body, and need not wait for the rest
// of the task.
//
//	task.InOut(x[lo:hi]).Weak()
//
// Each weak access begins and ends as a whole: a program that wants parts of it to begin and end
// apart declares these. The access is In, Out or InOut, and overlaps no other access of the task,
// but for one that says as much; a task with weak accesses has no concurrent or commutative ones,
// which could keep from running what its children wait for. The body may use the elements after a
// Scope.WaitOn for them and until it submits the next task on them. A failure of an earlier task
// on the elements skips the children on them, not the task; a failure of a child on them skips
// the later tasks. Not in recordings, nor on several ranks.
//
// Source: Perez, Beltran, Labarta, Ayguade, Improving the Integration of Task Nesting and
// Dependencies in OpenMP, IPDPS 2017, section 4; differs: accesses are linked as a whole.
func (o Option) Weak() Option {
	if !o.isAccess() {
		return Option{kind: wrongOption}
	}
	made := specialAccess(o.mode(), &special{memory: o.memory(), box: o.box(), reducer: o.reducer(), weak: true})
	made.kind |= o.kind & pointerBit
	return made
}

func (o *Option) weak() bool {
	s := o.special()
	return s != nil && s.weak
}

// EarlyRelease leaves the accesses of a task, of GoScope, to later tasks one by one: an access ends
// when the body has returned, all events are fulfilled and the children on its elements have
// finished, even where other children have not. Without it, all end with the task. A task whose
// accesses are concurrent, commutative or reductions cannot have it.
//
// What has ended cannot be taken back: when the task fails by a child, only the later tasks on the
// elements of that child are skipped.
//
// Source: Perez, Beltran, Labarta, Ayguade, Improving the Integration of Task Nesting and
// Dependencies in OpenMP, IPDPS 2017, section 5.
func EarlyRelease() Option { return Option{kind: earlyOption} }

func (o *Option) isAccess() bool { return o.what() == accessOption || o.what() == specialOption }

// box returns the box of an access, nil where it has none.
func (o *Option) box() *box {
	if s := o.special(); s != nil {
		return s.box
	}
	return nil
}

func (o *Option) reducer() *operator.Reducer {
	if s := o.special(); s != nil {
		return s.reducer
	}
	return nil
}

// Label names the task in errors and traces.
func Label(text string) Option { return textOption(labelOption, text, 0) }

// Priority lets tasks of higher n run first, under the policies that look at it (priority,
// locality). On several ranks the messages that a task waits for have its priority.
func Priority(n int) Option { return Option{kind: priorityOption, n: int64(n)} }

// OnDevice restricts where the task may run: a kind of devices ("smp", "sim", "acc" for all
// accelerators) or one device by its name ("sim:2"). Several of them add up.
func OnDevice(device string) Option { return textOption(placeOption, device, 0) }

// Resources sets the number of a kind's tokens that the task holds while it runs there. It replaces
// the kernel's clause for the kind. The run need not have a device of the kind.
func Resources(kind devices.Kind, tokens int) Option {
	return textOption(tokenOption, string(kind), tokens)
}

// If with false makes the submitting goroutine wait until the task has finished, as in a call: it
// runs in its order, and where the body of a task submits it and nothing else is to come first, at
// once on the same goroutine. The error is the task's. A body submits such tasks to its Scope: at
// the Runtime they are ErrInsideTask there.
func If(condition bool) Option { return Option{kind: ifOption, n: engine.Bit(condition)} }

// Final with true does so for all tasks that the task submits, and those that they submit: for the
// depth from which on tasks are too small to be spread.
func Final(condition bool) Option { return Option{kind: finalOption, n: engine.Bit(condition)} }

// Untied permits the task to continue on another worker after a wait. Every task may do so; the
// option exists for ported programs.
func Untied() Option { return Option{kind: untiedOption} }

// Retry runs the task up to n more times if it fails, as long as no other task can observe that:
// data that the task only writes are written again, and data that it also reads are restored first:
// elements that hold no Go pointers. A task that has submitted others is not run again. Tasks with
// concurrent accesses cannot be retried. On an accelerator, what the task reads and writes is
// copied to the host first, where that does not have it; the next run is elsewhere, if the task may
// run elsewhere.
func Retry(n int) Option { return Option{kind: retryOption, n: int64(n)} }

// NoCopyDeps makes the accesses of the task order it without copying data to its device or marking
// them as written. On WaitOn it waits for the tasks and leaves the data where they are.
func NoCopyDeps() Option { return Option{kind: orderOnlyOption} }

// HostCost is the time that the task takes on a CPU worker in a virtual time (clock=virtual of the
// accelerators). Without it, their hostspeed and the memory that the task accesses determine the
// time; without hostspeed the task takes none. In real time it has no effect.
func HostCost(cost time.Duration) Option { return Option{kind: costOption, n: int64(cost)} }

// memory returns what an access is to.
func (o *Option) memory() values.Range {
	if s := o.special(); s != nil {
		return s.memory
	}
	return values.Range{Base: o.at, Len: o.n, Cap: o.more, Elem: deps.Bytes(o.kind &^ pointerBit >> 16)}
}

func specialAccess(mode deps.Mode, s *special) Option {
	return Option{kind: specialOption | optionKind(mode)<<8, at: values.Pointer(s)}
}

// special returns the rest of an access that has one, else nil.
func (o *Option) special() *special {
	if o.what() != specialOption {
		return nil
	}
	return (*special)(o.at)
}

// textOption makes an option of a text, which at points at as a string does, and a number.
func textOption(kind optionKind, text string, n int) Option {
	return Option{kind: kind, at: values.Pointer(unsafe.StringData(text)), n: int64(len(text)), more: int64(n)}
}

func (o *Option) text() string { return unsafe.String((*byte)(o.at), o.n) }
