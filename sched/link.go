package sched

import (
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// linksOf returns the link of each place to the host. Data reach the host over the links of
// accelerators, of which the slowest counts.
func linksOf(places []Place) []devices.Link {
	links, slowest, found := make([]devices.Link, len(places)), devices.Link{}, false
	for p := range places {
		links[p] = places[p].Link
		if at := places[p].Link; !places[p].Host && (!found || !at.Known() || slowest.Known() && at.Rate < slowest.Rate) {
			slowest, found = at, true
		}
	}
	for p := range places {
		if places[p].Host {
			links[p] = slowest
		}
	}
	return links
}

// linkOf returns the link of p, which may be unknown.
func (s *State) linkOf(p PlaceID) devices.Link {
	if len(s.links) == 0 {
		return devices.Link{}
	}
	return s.links[p]
}

// moving returns the transfer time of n bytes on the link of p.
func (s *State) moving(n deps.Bytes, p PlaceID) time.Duration {
	l := s.linkOf(p)
	if !l.Known() {
		l.Rate, l.Latency = unknownRate, max(l.Latency, unknownLatency)
	}
	return l.During(n)
}

// visibleWait returns the part of a wait for transfers to p that counts: an unknown link may be a
// good one.
func (s *State) visibleWait(wait time.Duration, p PlaceID) time.Duration {
	if s.linkOf(p).Known() {
		return wait
	}
	return wait / unknownGain
}
