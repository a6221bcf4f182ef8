package devices

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gompss/gompss/deps"
)

// MaxAccelerators is the most accelerators of one machine: sets of places have 64 bits, one of them
// for the CPU workers.
const MaxAccelerators = 63

const maxWorkers = 1024 // smp.MaxWorkers

// Auto in place of a kind stands for all devices of the machine: the CPU workers, and the devices
// of every plug-in of RegisterAutomatic that open.
const Auto Kind = "auto"

// ParseSpec reads a device specification: kinds with counts and parameters, as in
// "smp:2,sim:3(memory=64MiB,peer=off)". A question mark after a kind makes it optional, as in
// "smp,cuda?"; "auto" is the CPU workers and the optional real accelerators of all imported
// plug-ins, without those that the specification names itself.
//
// Errors carry the column.
func ParseSpec(spec string) ([]Config, error) {
	p := &specParser{text: spec}
	var out []Config
	for {
		c, err := p.item()
		if err != nil {
			return nil, err
		}
		out = append(out, c)
		if p.skip(); p.at == len(p.text) {
			return expandAuto(out), nil
		}
		if !p.take(',') {
			return nil, specError(p.at+1, "found %q: want a comma before the next kind", p.text[p.at:])
		}
	}
}

// expandAuto puts what Auto stands for in its place.
func expandAuto(list []Config) []Config {
	named := func(k Kind) bool { return slices.ContainsFunc(list, func(c Config) bool { return c.Kind == k }) }
	var out []Config
	for _, c := range list {
		if c.Kind != Auto {
			out = append(out, c)
			continue
		}
		for _, kind := range append([]Kind{SMP}, automatic()...) {
			if !named(kind) {
				out = append(out, Config{Kind: kind, Optional: kind != SMP})
			}
		}
	}
	return out
}

type specParser struct {
	text string
	at   int
}

func (p *specParser) item() (Config, error) {
	var c Config
	column := p.column()
	word := p.word()
	if word == "" {
		return c, specError(column, "want a kind of devices, as in smp:2,sim:4; known are %s", list(Kinds()))
	}
	c.Kind = Kind(word)
	if name, optional := strings.CutSuffix(word, "?"); optional {
		word, c.Kind, c.Optional = name, Kind(name), true
	}
	if c.Kind == Auto {
		if p.skip(); c.Optional || p.at < len(p.text) && p.text[p.at] != ',' {
			return c, specError(column, "auto takes no count and no options: name the kind, as in auto,cuda?(memory=8GiB)")
		}
		return c, nil
	}
	if p.take(':') {
		column = p.column()
		digits := p.word()
		most := MaxAccelerators
		if c.Kind == SMP {
			most = maxWorkers
		}
		n, err := strconv.Atoi(digits)
		if err != nil || n <= 0 || n > most {
			return c, specError(column, "%s: count %q: want a number from 1 to %d", word, digits, most)
		}
		c.Count = n
	}
	if !p.take('(') {
		return c, nil
	}
	var err error
	c.Params, err = p.params(word)
	return c, err
}

func (p *specParser) params(kind string) ([]Param, error) {
	var out []Param
	for {
		column := p.column()
		key := p.word()
		if key == "" || !p.take('=') {
			return nil, specError(column, "%s: want key=value", kind)
		}
		value := p.word()
		if value == "" {
			return nil, specError(p.column(), "%s: %s: want a value", kind, key)
		}
		if i := slices.IndexFunc(out, func(q Param) bool { return q.Key == key }); i >= 0 {
			return nil, specError(column, "%s: %s is given twice, first in column %d", kind, key, out[i].Column)
		}
		out = append(out, Param{Key: key, Value: value, Column: column})
		if p.take(')') {
			return out, nil
		}
		if !p.take(',') {
			return nil, specError(p.column(), "%s: want a comma or the closing parenthesis", kind)
		}
	}
}

// word takes what stands before the next mark.
func (p *specParser) word() string {
	p.skip()
	start := p.at
	for p.at < len(p.text) && !strings.ContainsRune(" \t,:()=", rune(p.text[p.at])) {
		p.at++
	}
	return p.text[start:p.at]
}

func (p *specParser) take(mark byte) bool {
	p.skip()
	if p.at < len(p.text) && p.text[p.at] == mark {
		p.at++
		return true
	}
	return false
}

func (p *specParser) skip() {
	for p.at < len(p.text) && (p.text[p.at] == ' ' || p.text[p.at] == '\t') {
		p.at++
	}
}

func (p *specParser) column() int {
	p.skip()
	return p.at + 1
}

func specError(column int, format string, args ...any) error {
	return fmt.Errorf("devices: column %d: "+format, append([]any{column}, args...)...)
}

// sizeUnits are the suffixes of ParseBytes, the longer ones first.
var sizeUnits = []struct {
	suffix string
	size   float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

// ParseBytes reads a size such as "64MiB", "1.5GiB", "2GB" or "4096".
func ParseBytes(s string) (deps.Bytes, error) {
	number, unit := s, 1.0
	for _, u := range sizeUnits {
		if rest, ok := strings.CutSuffix(s, u.suffix); ok {
			number, unit = rest, u.size
			break
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if size := v * unit; err == nil && size >= 0 && size < 1<<62 && size == float64(int64(size)) {
		return deps.Bytes(size), nil
	}
	return 0, fmt.Errorf("size %q: want whole bytes, as in 64MiB, 2GB or 4096", s)
}

// ParseDuration reads a time of zero or more, such as "10us" or "1.5s".
func ParseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("time %q: want zero or more with its unit, as in 10us, 5ms or 1.5s", s)
	}
	return d, nil
}

// ParseRate reads bytes per second, such as "50GB/s".
func ParseRate(s string) (deps.Bytes, error) {
	return ParseBytes(strings.TrimSuffix(s, "/s"))
}
