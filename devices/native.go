package devices

import (
	"fmt"

	"github.com/gompss/gompss/deps"
)

// A Native is a variant of a kernel that the user has written for one kind of device, in its own
// language. It takes the parameters of the Go function, in order, in the C types of the same size
// and layout: scalars, structs and arrays by value, slices and pointers as the address of the first
// element, without a length; a struct that holds some as its leaves (ir.Leaves). Nothing checks
// what it does; what it reads and writes is what the task directive of the Go function says.
type Native struct {
	Kind  Kind   // "cuda"
	Entry string // the function; "" is the name of the kernel
	// Source is the text in the language of the kind (CUDA C++, with extern "C" before the function),
	// Options what its compiler is to be told. Binary is what a compiler has made of it (a cubin for
	// the device in use) and replaces both.
	Source  string
	Options []string
	Binary  []byte
	// Shape chooses the grid from the arguments.
	Shape func(a *Args) NDRange
}

// An NDRange is the shape of a launch: work items in up to three dimensions, and how many of them
// make a team (0 counts as 1). Each dimension has as many whole teams as cover its items.
type NDRange struct {
	Items, Team [3]int64
	Shared      deps.Bytes // dynamic shared memory of a team
}

// Teams returns the number of teams in each dimension and of threads in a team.
//
// Errors: dimensions below 0, or a grid without items.
func (r *NDRange) Teams() (teams, team [3]int64, err error) {
	for i := range teams {
		team[i] = max(r.Team[i], 1)
		items := r.Items[i]
		if items == 0 && i > 0 {
			items = 1
		}
		if items < 0 || r.Team[i] < 0 || r.Shared < 0 || items == 0 {
			return teams, team, fmt.Errorf("shape of %v items in teams of %v with %d bytes shared: want positive sizes", r.Items, r.Team, int64(r.Shared))
		}
		teams[i] = (items + team[i] - 1) / team[i]
	}
	return teams, team, nil
}

// NativeFor returns the variant of k for a kind, nil if there is none.
func (k *Kernel) NativeFor(kind Kind) *Native {
	for i := range k.Natives {
		if k.Natives[i].Kind == kind {
			return &k.Natives[i]
		}
	}
	return nil
}
