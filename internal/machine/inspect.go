package machine

// WaitsForMemory reports whether a working set waits until its device has room for it. An observer
// may ask at any time; the answer is "" where it does not, else what it waits for.
func (m *Machine) WaitsForMemory(ws *WorkingSet) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch ws.state {
	case waitingSet:
		return "memory of the device"
	case evictingSet:
		return "memory of the device, of which others are written back"
	}
	return ""
}
