package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
)

// profiles are the CPU, mutex and block profiles of a part of a run.
type profiles struct {
	dir string
	cpu *os.File
}

// The mutex profile samples one of mutexFraction events, the block profile one event per blockRate
// nanoseconds of waiting.
const (
	mutexFraction = 20
	blockRate     = 20_000
)

// startProfiles starts the profiles. stop writes them to dir, as cpu.pprof, mutex.pprof and
// block.pprof.
func startProfiles(dir string) (*profiles, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("bench tasks: profile: %w", err)
	}
	f, err := os.Create(filepath.Join(dir, "cpu.pprof"))
	if err != nil {
		return nil, fmt.Errorf("bench tasks: profile: %w", err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(fmt.Errorf("bench tasks: profile: %w", err), f.Close())
	}
	runtime.SetMutexProfileFraction(mutexFraction)
	runtime.SetBlockProfileRate(blockRate)
	return &profiles{dir, f}, nil
}

func (p *profiles) stop() error {
	pprof.StopCPUProfile()
	errs := []error{p.cpu.Close(), p.write("mutex"), p.write("block")}
	runtime.SetMutexProfileFraction(0)
	runtime.SetBlockProfileRate(0)
	return errors.Join(errs...)
}

func (p *profiles) write(name string) error {
	f, err := os.Create(filepath.Join(p.dir, name+".pprof"))
	if err != nil {
		return fmt.Errorf("bench tasks: profile: %w", err)
	}
	return errors.Join(pprof.Lookup(name).WriteTo(f, 0), f.Close())
}
