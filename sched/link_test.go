package sched

import (
	"testing"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/stretchr/testify/require"
)

// placeOverLink returns where policy puts an item that an accelerator runs in 1 ms, the host in 10
// ms, with 64 MiB to be moved to the accelerator over a link and back.
func placeOverLink(t *testing.T, policy string, link devices.Link) string {
	s, err := New(Options{Policy: policy, Places: []Place{{Name: "smp", Kind: "smp", Width: 1, Host: true}, {Name: "gpu:0", Kind: "gpu", Width: 1, Link: link}}})
	require.NoError(t, err)
	item := func(missing deps.Bytes) *Item {
		it := &Item{Version: "k", Work: 32 << 20, Missing: []deps.Bytes{0, missing}}
		require.NoError(t, s.Prepare(it, 3, nil))
		return it
	}
	for range settled + 1 {
		for p, took := range []time.Duration{10 * time.Millisecond, time.Millisecond} {
			it := item(0)
			s.Grant(it, PlaceID(p))
			it.Took = took
			s.Done(it)
		}
	}
	it := item(64 << 20)
	require.True(t, s.Push(it))
	return s.Places[it.at].Name
}

// TestLink_WeighsMoving: the link of a place says whether data are moved there, where it is known
// (issue 16, 19).
func TestLink_WeighsMoving(t *testing.T) {
	for _, policy := range []string{"locality", "versioning"} {
		t.Run(policy, func(t *testing.T) {
			require.Equal(t, "gpu:0", placeOverLink(t, policy, devices.Link{Rate: 50 << 30, Latency: 10 * time.Microsecond}))
			require.Equal(t, "smp", placeOverLink(t, policy, devices.Link{Rate: 1 << 30, Latency: 10 * time.Microsecond}))
			require.Equal(t, "gpu:0", placeOverLink(t, policy, devices.Link{}), "it may be a good one")
		})
	}
}

// TestLink_OfTheHostIsTheSlowest: what comes to the host comes over an accelerator's link; one that
// is not known makes the host's unknown.
func TestLink_OfTheHostIsTheSlowest(t *testing.T) {
	host, quick, slow := Place{Host: true}, Place{Link: devices.Link{Rate: 50}}, Place{Link: devices.Link{Rate: 2, Latency: 3}}
	require.Equal(t, slow.Link, linksOf([]Place{host, quick, slow})[0])
	require.Equal(t, slow.Link, linksOf([]Place{slow, quick, host})[2])
	require.False(t, linksOf([]Place{quick, {}, slow, host})[3].Known())
	require.False(t, linksOf([]Place{{}, quick, host})[2].Known())
	require.False(t, linksOf([]Place{host})[0].Known())
	s := State{links: linksOf([]Place{quick, {}})}
	require.Equal(t, 20*time.Second, s.moving(1000, 0))
	require.Equal(t, unknownLatency+time.Second, s.moving(unknownRate, 1))
}
