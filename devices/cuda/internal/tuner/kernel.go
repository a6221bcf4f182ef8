//go:build linux && (amd64 || arm64)

package tuner

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/gompss/gompss/devices/cuda/internal/driver"
	"github.com/gompss/gompss/devices/cuda/internal/tune"
)

// A Maker is what a Kernel needs of the kernel itself.
type Maker struct {
	Name string
	// First returns the hash of the code of the first candidate and the version of its compiler.
	First func() (hash, compiler string)
	// Quick are the names of the other candidates that need no code of their own.
	Quick []string
	// Others makes the rest, once, and returns their names; fewer where the device is about to end.
	Others func(ending func() bool) []string
}

// A Kernel has the races of a kernel, one for each size class.
type Kernel struct {
	tuner *Tuner
	maker Maker
	once  sync.Once
	names []string // of the candidates that take code of their own, by once

	mu      sync.Mutex
	classes map[tune.Class]*contest
}

// mostClasses is how many size classes of a kernel have a race; others run the first candidate.
const mostClasses = 32

// first is the name of the model's choice.
const first = "as the model chose"

// A contest is the race of a class. All of it is guarded by Kernel.mu.
type contest struct {
	kernel *Kernel
	class  tune.Class
	race   *tune.Race
	phase  phase
}

// A phase is what the goroutines of a contest do.
type phase uint8

const (
	loading phase = iota // looking for a stored outcome
	ready
	making // the other candidates
	stored // the outcome, or about to be
)

// NewKernel returns the races of a kernel; nil where nothing is tried.
func (t *Tuner) NewKernel(m Maker) *Kernel {
	if t.mode == tune.Off {
		return nil
	}
	return &Kernel{tuner: t, maker: m, classes: map[tune.Class]*contest{}}
}

// A Turn is what to launch: a candidate, 0 being the first, and where the launch is to be timed a
// Sample.
type Turn struct {
	Candidate int
	Sample    *Sample
	contest   *contest
}

// Next returns the turn of a launch of a class.
func (k *Kernel) Next(class tune.Class) Turn {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.classes[class]
	if c == nil {
		if len(k.classes) >= mostClasses {
			return Turn{}
		}
		c = &contest{kernel: k, class: class, race: tune.NewRace(k.tuner.mode, first)}
		k.classes[class] = c
		k.tuner.job(c.load)
	}
	if c.phase == loading {
		return Turn{}
	}
	i, timed := c.race.Next()
	if c.phase == ready && c.race.Wants() {
		c.phase = making
		c.race.Start(k.maker.Quick, true)
		k.tuner.job(c.make)
	}
	turn := Turn{Candidate: i, contest: c}
	if timed {
		turn.Sample = &Sample{contest: c}
	}
	return turn
}

// Settled returns the turn of a launch of a class that is no part of a race: the winner's, or the
// first candidate's where none is known.
func (k *Kernel) Settled(class tune.Class) Turn {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.classes[class]
	if c == nil || c.race.State() != tune.Decided {
		return Turn{}
	}
	i, _ := c.race.Winner()
	return Turn{Candidate: i, contest: c}
}

// Drop takes the candidate of a turn out of the race, as it cannot run or is the same as the first.
func (t Turn) Drop() {
	if c := t.contest; c != nil {
		c.kernel.mu.Lock()
		c.race.Drop(t.Candidate)
		c.after()
		c.kernel.mu.Unlock()
	}
}

// others makes the candidates that take code of their own, once.
func (k *Kernel) others() []string {
	k.once.Do(func() { k.names = k.maker.Others(k.tuner.closing.Load) })
	return k.names
}

// load looks for a stored outcome, on a goroutine.
func (c *contest) load() {
	k := c.kernel
	record, ok := tune.Record{}, false
	if cache := k.tuner.cache; cache != nil {
		record, ok = read(cache, c.key())
	}
	var names []string
	if ok && !c.race.FirstOnly(record) {
		names = k.others()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	c.phase = ready
	if ok {
		c.race.Take(record, slices.Concat(k.maker.Quick, names))
	}
}

// make makes the candidates that take code of their own, on a goroutine.
func (c *contest) make() {
	names := c.kernel.others()
	c.kernel.mu.Lock()
	defer c.kernel.mu.Unlock()
	c.phase = ready
	c.race.Join(names)
	c.after()
}

// after stores the outcome when there is one. Requires: Kernel.mu held.
func (c *contest) after() {
	record, ok := c.race.Record()
	if !ok || c.phase != ready {
		return
	}
	c.phase = stored
	c.kernel.tuner.job(func() { c.write(record) })
}

// key returns what the outcome is valid for.
func (c *contest) key() tune.Key {
	hash, compiler := c.kernel.maker.First()
	return tune.Key{Kernel: hash, Class: c.class.String(), Device: c.kernel.tuner.device, Compiler: compiler}
}

// place returns where an outcome is stored.
func place(k tune.Key) driver.CubinKey {
	return driver.CubinKey{Hash: k.String(), Arch: strings.Fields(k.Device + " any")[0], Kind: Extension}
}

// Extension is that of the files of outcomes.
const Extension = "tune"

// version of what is stored; the cache does not give back what another one wrote.
const version = "1"

// read returns the stored outcome of a key. One that is damaged, or is that of something else,
// counts as absent.
func read(cache *driver.Cache, key tune.Key) (tune.Record, bool) {
	text, ok := cache.Load(place(key), version)
	if !ok {
		return tune.Record{}, false
	}
	r, err := tune.Decode(text)
	return r, err == nil && r.Key == key
}

// write stores an outcome. One that cannot be stored is found again by the next process.
func (c *contest) write(r tune.Record) {
	cache := c.kernel.tuner.cache
	if cache == nil {
		return
	}
	r.Key, r.Name = c.key(), c.kernel.maker.Name
	if text, err := r.Encode(); err == nil {
		_ = cache.Store(place(r.Key), version, text)
	}
}

// Stored returns all outcomes that are kept, by the names of kernels.
func Stored(cache *driver.Cache) (out []tune.Record) {
	for _, text := range cache.Kept(Extension) {
		r, err := tune.Decode(text)
		if err != nil {
			continue
		}
		if r, ok := read(cache, r.Key); ok {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b tune.Record) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Key.String(), b.Key.String()))
	})
	return out
}
