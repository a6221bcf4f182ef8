package dist

import "container/heap"

// A sendQueue has messages that wait to be sent: those of higher priority first, of equal priority
// in the order in which they came.
type sendQueue[T any] struct {
	list byPriority[T]
	next uint64
}

// A queued message, and its number.
type queued[T any] struct {
	priority int
	number   uint64
	message  T
}

type byPriority[T any] []queued[T]

func (q *sendQueue[T]) length() int { return len(q.list) }

func (q *sendQueue[T]) push(priority int, message T) {
	q.list = append(q.list, queued[T]{priority, q.next, message})
	q.next++
	heap.Fix(&q.list, len(q.list)-1)
}

// pop returns the next message. Requires: there is one.
func (q *sendQueue[T]) pop() T {
	last := len(q.list) - 1
	message := q.list[0].message
	q.list[0] = q.list[last]
	q.list[last] = queued[T]{}
	if q.list = q.list[:last]; last > 0 {
		heap.Fix(&q.list, 0)
	}
	return message
}

func (l byPriority[T]) Len() int      { return len(l) }
func (l byPriority[T]) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l byPriority[T]) Less(i, j int) bool {
	if l[i].priority != l[j].priority {
		return l[i].priority > l[j].priority
	}
	return l[i].number < l[j].number
}

// Push and Pop are of heap.Interface; a sendQueue calls neither.
func (l *byPriority[T]) Push(any) { panic("gompss: bug: push of a sendQueue") }
func (l *byPriority[T]) Pop() any { panic("gompss: bug: pop of a sendQueue") }
