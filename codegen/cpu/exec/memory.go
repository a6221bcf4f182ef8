package exec

// A Memory is the way to allocate executable memory. The zero value asks the system; tests refuse.
type Memory struct {
	File    func(name string, flags int) (fd int, err error) // memfd_create
	Protect func(b []byte, prot int) error                   // mprotect
}

// NewArena maps an arena, or says why this system has no executable memory.
func NewArena() (*Arena, error) { return Memory{}.NewArena() }
