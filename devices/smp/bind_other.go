//go:build !linux

package smp

import "errors"

// systemTopology returns no nodes: this system does not say where they are.
func systemTopology() (Topology, error) { return Topology{}, nil }

func (n *memoryNode) bind() error { return errors.ErrUnsupported }
