// Package session records one run as its user asked: a summary at the end, a trace file, a live
// page, or several of them.
//
// It is what task.Options.Trace and Dash, and the variables GOMPSS_TRACE and GOMPSS_DASH, stand
// for. The page is in package trace, which brings a web server with it: a program that wants one
// imports that package, which registers itself here.
package session

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/record"
	"github.com/gompss/gompss/trace/run"
)

// SummaryTasks is the number of tasks that a summary at the end keeps: of a longer run it covers
// the last ones, with a note.
const SummaryTasks = 1 << 18

// A Page shows a run while it continues.
type Page interface {
	record.Sink
	// URL is where it can be seen.
	URL() string
}

// pages is the registry: one function that serves a page at an address.
var pages struct {
	sync.Mutex
	open func(addr string) (Page, error)
}

// taken is the number of times that each file and each address of a page was asked for in this
// program: a variable of the environment applies to every runtime of the program, and none may
// write over the file of another.
var taken struct {
	sync.Mutex
	times map[string]int
}

// ask returns how often a name was asked for, with this time.
func ask(name string) int {
	taken.Lock()
	defer taken.Unlock()
	if taken.times == nil {
		taken.times = map[string]int{}
	}
	taken.times[name]++
	return taken.times[name]
}

// RegisterPage makes Open able to serve pages.
func RegisterPage(open func(addr string) (Page, error)) {
	pages.Lock()
	defer pages.Unlock()
	pages.open = open
}

func timesAsked(name string) int {
	taken.Lock()
	defer taken.Unlock()
	return taken.times[name]
}

// A Session records a run. A nil Session records nothing.
type Session struct {
	Recorder *record.Recorder
	out      io.Writer
	summary  *run.Run
	page     Page
	// Profile says that CPU profiles should have the tasks' names as labels, and execution traces
	// of Go regions of tasks.
	Profile bool
	wait    bool // writers wait for room in the rings: no record is dropped
}

// Open starts what trace ("", "off", "summary", "file:PATH", "profile", "wait", separated by
// commas) and dash ("" or an address) ask for; messages to people go to out. It returns nil
// when nothing is requested. The second run of a program that asks for the same file gets PATH with
// -2 before its ending, and one whose page would be where another one's is gets a free port.
//
// With "wait" a task waits where its record would be dropped: records are complete, and the run
// takes as long as its file needs.
//
// Errors: an unknown word, a word given twice, "wait" without a summary, file or page, a file that
// cannot be made, an address that cannot be served.
func Open(trace, dash string, out io.Writer) (*Session, error) {
	s := &Session{out: out}
	sinks, err := s.sinks(trace)
	if err == nil && dash != "" {
		if err = s.serve(dash); err == nil {
			sinks = append(sinks, s.page)
		}
	}
	if err != nil {
		for _, k := range sinks {
			err = errors.Join(err, k.Close())
		}
		return nil, err
	}
	if s.wait && len(sinks) == 0 {
		return nil, errors.New("trace: wait: nothing is recorded: add summary, file:PATH or a page")
	}
	if len(sinks) == 0 && !s.Profile {
		return nil, nil
	}
	if len(sinks) == 0 {
		return s, nil
	}
	s.Recorder = record.New(record.Options{Sinks: sinks, Wait: s.wait})
	return s, nil
}

// OfRank returns the words of a trace and the address of a page for one rank of several: a file has
// the rank before its ending, and the ranks behind the first have pages on free ports.
func OfRank(trace, dash string, rank int) (ofTrace, ofDash string) {
	words := strings.Split(trace, ",")
	for i, word := range words {
		if name, isFile := strings.CutPrefix(word, "file:"); isFile && name != "" {
			ending := filepath.Ext(name)
			words[i] = fmt.Sprintf("file:%s-rank-%d%s", strings.TrimSuffix(name, ending), rank, ending)
		}
	}
	if host, _, err := net.SplitHostPort(dash); err == nil && rank > 0 {
		dash = net.JoinHostPort(host, "0")
	}
	return strings.Join(words, ","), dash
}

func (s *Session) sinks(spec string) (sinks []record.Sink, err error) {
	words := strings.Split(spec, ",")
	for i, word := range words {
		if word != "" && slices.Contains(words[:i], word) {
			return nil, fmt.Errorf("trace: %q is given twice", word)
		}
	}
	for _, word := range words {
		switch name, isFile := strings.CutPrefix(word, "file:"); {
		case word == "" || word == "off":
		case word == "profile":
			s.Profile = true
		case word == "wait":
			s.wait = true
		case word == "summary":
			s.summary = run.New(SummaryTasks)
			sinks = append(sinks, s.summary)
		case isFile && name != "":
			f, err := s.create(name)
			if err != nil {
				return sinks, fmt.Errorf("trace: %w", err)
			}
			sinks = append(sinks, record.NewWriter(f))
		default:
			return sinks, fmt.Errorf("trace: %q: want summary, file:PATH, wait, profile or off, separated by commas", word)
		}
	}
	return sinks, nil
}

// create makes the trace file of a name, or the n-th of this program with a number before its
// ending.
func (s *Session) create(name string) (*os.File, error) {
	full, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	n := ask(full)
	if n > 1 {
		ending := filepath.Ext(name)
		name = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ending), n, ending)
		fmt.Fprintf(s.out, "gompss: run %d of this program is recorded in %s\n", n, name)
	}
	return createFile(name)
}

// errSymlink means that a trace file is not written through a symbolic link.
var errSymlink = errors.New("a symbolic link: give the path of the file itself")

// ErrNoPage means that the program has no page to serve.
var ErrNoPage = errors.New("this program has no page: it must import github.com/gompss/gompss/trace")

func (s *Session) serve(addr string) error {
	pages.Lock()
	open := pages.open
	pages.Unlock()
	if open == nil {
		return fmt.Errorf("trace: dash %s: %w", addr, ErrNoPage)
	}
	var err error
	s.page, err = open(addr)
	if host, _, bad := net.SplitHostPort(addr); err != nil && bad == nil && timesAsked(addr) > 0 { // another run of this program uses the address
		s.page, err = open(net.JoinHostPort(host, "0"))
	}
	if err != nil {
		return err
	}
	ask(addr)
	fmt.Fprintf(s.out, "gompss: page at %s\n", s.page.URL())
	return nil
}

// ShowStatus shows the tasks in flight on the page, if there is a page that can.
func (s *Session) ShowStatus(status func() *probe.Status) {
	if s == nil {
		return
	}
	if p, ok := s.page.(interface {
		ShowStatus(func() *probe.Status)
	}); ok {
		p.ShowStatus(status)
	}
}

// Close ends the recording and prints the summary, if one was asked for. The page is shown no more.
func (s *Session) Close() error {
	if s == nil || s.Recorder == nil {
		return nil
	}
	err := s.Recorder.Close()
	if s.summary != nil && s.summary.Machine.Places != nil {
		s.summary.Dropped, s.summary.Lost = s.Recorder.Dropped(), *s.Recorder.Losses()
		var text bytes.Buffer // written at once: runs may end together
		err = errors.Join(err, s.summary.Summary().Write(&text))
		_, bad := s.out.Write(text.Bytes())
		err = errors.Join(err, bad)
	}
	return err
}
