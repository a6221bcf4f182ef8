//go:build linux && (amd64 || arm64)

package opencl

import (
	"sync"
)

// contexts are those of a driver that devices use, one for each of the driver's devices: a driver
// takes long to make one, and what several have on the same device need not be apart.
//
// Source: docs/results/h200.md, a C program on NVIDIA's driver.
type contexts struct {
	mu sync.Mutex
	of map[uintptr]*sharedContext // by cl_device_id
}

// A sharedContext is a cl_context and the number of its users.
type sharedContext struct {
	cl    uintptr
	id    uintptr // of the device
	users int     // guarded by contexts.mu
}

// take returns the context of a device, which the caller gives back.
func (c *contexts) take(d *driver, i *Info) (*sharedContext, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.of[i.id]; s != nil {
		s.users++
		return s, nil
	}
	b := newBlock()
	defer b.free()
	const contextPlatform = 0x1084
	b.words[0], b.words[1], b.words[2], b.words[3] = contextPlatform, uint64(i.platform), 0, uint64(i.id)
	cl, err := d.create(clCreateContext, b.at(0), 1, b.at(3), 0, 0)
	if err != nil {
		return nil, err
	}
	s := &sharedContext{cl: cl, id: i.id, users: 1}
	if c.of == nil {
		c.of = map[uintptr]*sharedContext{}
	}
	c.of[i.id] = s
	return s, nil
}

// abandon has the next user of the device get another context: something in this one has failed.
func (c *contexts) abandon(s *sharedContext) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(s)
}

// remove takes s out of the table. Requires: c.mu held.
func (c *contexts) remove(s *sharedContext) {
	if c.of[s.id] == s {
		delete(c.of, s.id)
	}
}

// give gives a context back. The last user releases it.
func (c *contexts) give(d *driver, s *sharedContext) error {
	c.mu.Lock()
	s.users--
	last := s.users == 0
	if last {
		c.remove(s)
	}
	c.mu.Unlock()
	if !last {
		return nil
	}
	return d.do(clReleaseContext, s.cl)
}
