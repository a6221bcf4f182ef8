package sched

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestScripts runs the stories in testdata: commands, a line "----", what they print.
//
//	open policy=P places=smp:2,sim:1,sim:1 [tokens=smp:100,sim:50]   places are named after their kind and number
//	push NAME on=smp,sim#0 [missing=0,8,8] [work=8] [needs=acc:1,smp:40] [priority=3]
//	pop PLACE [NAME, which it has just made ready] | done NAME | retire PLACE
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			story, want, _ := strings.Cut(string(raw), "----\n")
			got := runScript(t, story)
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(story+"----\n"+got), 0o644))
				return
			}
			require.Equal(t, want, got)
		})
	}
}

type script struct {
	s     *Scheduler
	items map[string]*Item
	out   strings.Builder
}

func runScript(t *testing.T, story string) string {
	x := &script{items: map[string]*Item{}}
	for line := range strings.Lines(story) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.Fields(line)
		fmt.Fprintf(&x.out, "%s: %s\n", line, x.run(t, words[0], words[1:]))
	}
	return x.out.String()
}

func (x *script) run(t *testing.T, command string, words []string) string {
	switch command {
	case "open":
		return x.open(t, fields(words))
	case "push":
		return x.push(t, words[0], fields(words[1:]))
	case "pop":
		var made *Item
		if len(words) > 1 {
			made = x.items[words[1]]
		}
		if it := x.s.PopAfter(x.place(t, words[0]), made); it != nil {
			return it.Name
		}
		return "nothing"
	case "done":
		x.s.Done(x.items[words[0]])
		return fmt.Sprintf("%d tokens free", x.s.Free(x.items[words[0]].Place()))
	case "retire":
		var names []string
		for _, it := range x.s.Retire(x.place(t, words[0])) {
			names = append(names, it.Name)
		}
		return fmt.Sprintf("orphans %v", names)
	}
	t.Fatalf("unknown command %q", command)
	return ""
}

func fields(words []string) map[string]string {
	out := map[string]string{}
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		out[name] = value
	}
	return out
}

func (x *script) open(t *testing.T, f map[string]string) string {
	count := map[string]int{}
	var places []Place
	for _, text := range strings.Split(f["places"], ",") {
		kind, width, _ := strings.Cut(text, ":")
		w, err := strconv.Atoi(width)
		require.NoError(t, err)
		places = append(places, Place{Name: fmt.Sprintf("%s#%d", kind, count[kind]), Kind: devices.Kind(kind), Width: w, Host: kind == "smp"})
		count[kind]++
	}
	limits := map[devices.Kind]int{}
	for _, tk := range parseTokens(t, f["tokens"]) {
		limits[tk.Kind] = tk.Count
	}
	var err error
	if x.s, err = New(Options{Policy: f["policy"], Places: places, Tokens: limits}); err != nil {
		return err.Error()
	}
	return "ok"
}

func (x *script) push(t *testing.T, name string, f map[string]string) string {
	it := &Item{Name: name}
	x.items[name] = it
	it.Priority, _ = strconv.Atoi(f["priority"])
	work, _ := strconv.Atoi(f["work"])
	it.Work = deps.Bytes(work)
	if text := f["missing"]; text != "" {
		for _, n := range strings.Split(text, ",") {
			b, err := strconv.Atoi(n)
			require.NoError(t, err)
			it.Missing = append(it.Missing, deps.Bytes(b))
		}
	}
	var allowed PlaceSet
	for _, name := range strings.Split(f["on"], ",") {
		for p, place := range x.s.Places {
			if place.Name == name || string(place.Kind) == name {
				allowed = allowed.With(PlaceID(p))
			}
		}
	}
	if err := x.s.Prepare(it, allowed, parseTokens(t, f["needs"])); err != nil {
		return err.Error()
	}
	if !x.s.Push(it) {
		return "no place left"
	}
	return "ok"
}

func (x *script) place(t *testing.T, name string) PlaceID {
	for p, place := range x.s.Places {
		if place.Name == name {
			return PlaceID(p)
		}
	}
	t.Fatalf("no place %q", name)
	return 0
}

func parseTokens(t *testing.T, text string) []Tokens {
	var out []Tokens
	if text == "" {
		return nil
	}
	for _, word := range strings.Split(text, ",") {
		kind, count, _ := strings.Cut(word, ":")
		n, err := strconv.Atoi(count)
		require.NoError(t, err)
		out = append(out, Tokens{devices.Kind(kind), n})
	}
	return out
}
