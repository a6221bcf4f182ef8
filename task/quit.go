package task

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/gompss/gompss/internal/quit"
)

// openRuntimes is the runtimes of the process that are not closed, for the signal that prints what
// they do.
var openRuntimes runtimeRegistry

type runtimeRegistry struct {
	mu   sync.Mutex
	open map[*Runtime]int // and when it was opened, by number
	made int
	stop func() // of the signal; nil while none is open
}

func (g *runtimeRegistry) add(rt *Runtime) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open == nil {
		g.open = map[*Runtime]int{}
	}
	g.made++
	g.open[rt] = g.made
	if g.stop == nil {
		g.stop = quit.On(g.dump)
	}
}

func (g *runtimeRegistry) remove(rt *Runtime) {
	g.mu.Lock()
	delete(g.open, rt)
	stop := g.stop
	if len(g.open) > 0 {
		stop = nil
	} else {
		g.stop = nil
	}
	g.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// dump writes the tasks in flight of all runtimes.
func (g *runtimeRegistry) dump(w io.Writer) {
	g.mu.Lock()
	open := maps.Clone(g.open)
	g.mu.Unlock()
	list := slices.SortedFunc(maps.Keys(open), func(a, b *Runtime) int { return open[a] - open[b] })
	for _, rt := range list {
		fmt.Fprintf(w, "gompss: runtime %d\n", open[rt])
		if err := rt.status(dumpTasks, 0).Write(w); err != nil {
			return
		}
		fmt.Fprintln(w)
	}
}
