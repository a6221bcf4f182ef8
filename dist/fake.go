package dist

import "fmt"

// FakeRank returns the world of one rank of many that are not there: tasks are submitted, and
// neither run nor send anything. It shows what submission costs a rank, in time and memory, before
// there is such a machine.
//
// Errors: a rank that is not one of ranks.
func FakeRank(rank, ranks int) (*World, error) {
	if rank < 0 || rank >= ranks {
		return nil, fmt.Errorf("dist: fake rank %d of %d", rank, ranks)
	}
	w, err := NewWorld(fakeTransport{rank, ranks}, Options{Silence: -1})
	if err != nil {
		return nil, err
	}
	w.fake = true
	w.exit = exitProcess
	return w, nil
}

// A fakeTransport has no other ranks.
type fakeTransport struct{ rank, size int }

func (t fakeTransport) Rank() int         { return t.rank }
func (t fakeTransport) Size() int         { return t.size }
func (fakeTransport) Start(Handler) error { return nil }
func (fakeTransport) Send(int, Key, int, []byte, func(error)) {
	panic("gompss: bug: a fake rank sends")
}
func (fakeTransport) Recv(int, Key, []byte, func(error)) { panic("gompss: bug: a fake rank receives") }
func (fakeTransport) Control(int, []byte, func())        {}
func (fakeTransport) Close(error) error                  { return nil }
