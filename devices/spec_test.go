package devices_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/sim"
	"github.com/gompss/gompss/internal/machine"
)

func TestSpecificationsAreRead(t *testing.T) {
	got, err := devices.ParseSpec("smp:2, sim:3(memory=64MiB, peer=off),cuda")
	require.NoError(t, err)
	require.Equal(t, []devices.Config{
		{Kind: "smp", Count: 2},
		{Kind: "sim", Count: 3, Params: []devices.Param{{Key: "memory", Value: "64MiB", Column: 14}, {Key: "peer", Value: "off", Column: 28}}},
		{Kind: "cuda"},
	}, got)
}

func TestSpec_OptionalKinds(t *testing.T) {
	got, err := devices.ParseSpec("smp, cuda?:2(memory=1GiB)")
	require.NoError(t, err)
	require.Equal(t, []devices.Config{{Kind: "smp"}, {Kind: "cuda", Count: 2, Optional: true, Params: []devices.Param{{Key: "memory", Value: "1GiB", Column: 14}}}}, got)
}

// hardware is the plug-in of a kind that Auto takes. Its Opener is what a test says.
var hardware devices.Opener

func init() {
	devices.RegisterAutomatic("widget", func(c devices.Config) ([]devices.Device, error) { return hardware(c) })
}

func widget(n string) devices.Device {
	return fake{devices.Properties{Name: n, Kind: "widget", Workers: 1}}
}

type fake struct{ p devices.Properties }

func (f fake) Properties() devices.Properties { return f.p }
func (f fake) Prepare(*devices.Kernel) error  { return nil }
func (f fake) Close() error                   { return nil }

func names(m *machine.Machine) (out []string) {
	for _, d := range m.Devices() {
		out = append(out, d.Properties().Name)
	}
	return out
}

func TestAuto_TakesWhatIsThere(t *testing.T) {
	broken := errors.New("its fan is stuck")
	for _, c := range []struct {
		spec   string
		there  []string // widgets
		opens  []string
		absent []string
	}{
		{"auto", nil, []string{"smp"}, []string{"widget: no widget"}},
		{"auto", []string{"widget:0", "widget:1"}, []string{"smp", "widget:0"}, []string{"widget:1: its fan is stuck"}},
		{"auto,sim:2", nil, []string{"smp", "sim:0", "sim:1"}, []string{"widget: no widget"}},
		{"auto,smp:1", []string{"widget:0"}, []string{"widget:0", "smp"}, nil},
		{"smp,cuda?", nil, []string{"smp"}, []string{"cuda: devices: cuda: the program imports no plug-in of this kind, or there is none for this system"}},
	} {
		hardware = func(open devices.Config) (out []devices.Device, err error) {
			if !open.Optional || len(c.there) == 0 {
				return nil, &devices.MissingError{Err: errors.New("no widget")}
			}
			for _, n := range c.there {
				if n == "widget:1" {
					open.Absent(n, broken)
					continue
				}
				out = append(out, widget(n))
			}
			return out, nil
		}
		m, err := machine.Open(c.spec, machine.Options{})
		require.NoError(t, err, c.spec)
		require.Equal(t, c.opens, names(m), c.spec)
		var absent []string
		for _, a := range m.Absent() {
			absent = append(absent, fmt.Sprintf("%s: %v", a.Device, a.Why))
		}
		require.Equal(t, c.absent, absent, c.spec)
		require.NoError(t, m.Close())
	}
}

func TestAuto_Errors(t *testing.T) {
	hardware = func(devices.Config) ([]devices.Device, error) {
		return nil, &devices.MissingError{Err: errors.New("no widget")}
	}
	for spec, want := range map[string]string{
		"auto:2":        "devices: column 1: auto takes no count and no options: name the kind, as in auto,cuda?(memory=8GiB)",
		"smp,auto(x=1)": "devices: column 5: auto takes no count and no options: name the kind, as in auto,cuda?(memory=8GiB)",
		"widget":        "devices: open widget: no widget",
		"widget?":       "devices: widget?: none is there: widget: no widget",
		"smp,gpu?":      `devices: unknown kind "gpu": known are sim, smp, widget`,
		"sim?(x=1)":     "devices: open sim: devices: column 6: sim: unknown parameter \"x\": known are bandwidth, clock, exec, granule, helper, hostspeed, latency, memory, peer, peerbw, races, speed, submit",
	} {
		_, err := machine.Open(spec, machine.Options{})
		require.EqualError(t, err, want, "%q", spec)
	}
	hardware = func(devices.Config) ([]devices.Device, error) { return nil, errors.New("wrong option") }
	_, err := machine.Open("smp,widget?", machine.Options{})
	require.EqualError(t, err, "devices: open widget: wrong option", "an optional kind forgives absence alone")
}

func TestSpecificationErrorsSayWhere(t *testing.T) {
	for spec, want := range map[string]string{
		"":                              `devices: column 1: want a kind of devices, as in smp:2,sim:4; known are sim, smp, widget`,
		"smp,":                          `devices: column 5: want a kind of devices, as in smp:2,sim:4; known are sim, smp, widget`,
		"smp:0":                         `devices: column 5: smp: count "0": want a number from 1 to 1024`,
		"smp:1025":                      `devices: column 5: smp: count "1025": want a number from 1 to 1024`,
		"sim:64":                        `devices: column 5: sim: count "64": want a number from 1 to 63`,
		"sim(memory=0)":                 `devices: open sim: devices: column 5: sim: memory=0: want more than 0 bytes`,
		"sim(granule=0KiB)":             `devices: open sim: devices: column 5: sim: granule=0KiB: want more than 0 bytes`,
		"sim:x":                         `devices: column 5: sim: count "x": want a number from 1 to 63`,
		"sim:1000000":                   `devices: column 5: sim: count "1000000": want a number from 1 to 63`,
		"smp;sim":                       `devices: unknown kind "smp;sim": known are sim, smp, widget`,
		"smp:2 sim":                     `devices: column 7: found "sim": want a comma before the next kind`,
		"gpu:2":                         `devices: unknown kind "gpu": known are sim, smp, widget`,
		"opencl:1":                      `devices: unknown kind "opencl": known are sim, smp, widget: import _ "github.com/gompss/gompss/devices/opencl", or devices/all, in the program`,
		"sim:1,sim:2":                   `devices: kind "sim" is there twice: write one part with the count`,
		"sim(":                          `devices: column 5: sim: want key=value`,
		"sim(memory":                    `devices: column 5: sim: want key=value`,
		"sim(memory=)":                  `devices: column 12: sim: memory: want a value`,
		"sim(memory=1MiB":               `devices: column 16: sim: want a comma or the closing parenthesis`,
		"smp,sim(speed=x)":              `devices: open sim: devices: column 9: sim: speed=x: size "x": want whole bytes, as in 64MiB, 2GB or 4096`,
		"sim(colour=red)":               `devices: open sim: devices: column 5: sim: unknown parameter "colour": known are bandwidth, clock, exec, granule, helper, hostspeed, latency, memory, peer, peerbw, races, speed, submit`,
		"smp(races=on)":                 `devices: open smp: devices: column 5: smp: unknown parameter "races": known are bind: races are reported by the interpreter, sim(exec=simt,races=on)`,
		"smp(x=1)":                      `devices: open smp: devices: column 5: smp: unknown parameter "x": known are bind`,
		"sim(exec=gpu)":                 `devices: open sim: devices: column 5: sim: exec=gpu: want cpu or simt`,
		"sim(peer=yes)":                 `devices: open sim: devices: column 5: sim: peer=yes: want off or on`,
		"sim(clock=no)":                 `devices: open sim: devices: column 5: sim: clock=no: want real or virtual`,
		"sim(peer=off,peer=on)":         `devices: column 14: sim: peer is given twice, first in column 5`,
		"sim(latency=-5s)":              `devices: open sim: devices: column 5: sim: latency=-5s: time "-5s": want zero or more with its unit, as in 10us, 5ms or 1.5s`,
		"sim(latency=5)":                `devices: open sim: devices: column 5: sim: latency=5: time "5": want zero or more with its unit, as in 10us, 5ms or 1.5s`,
		"sim(speed=-1GB/s)":             `devices: open sim: devices: column 5: sim: speed=-1GB/s: size "-1GB": want whole bytes, as in 64MiB, 2GB or 4096`,
		"sim(granule=3KiB)":             `devices: open sim: sim: granule of 3072 bytes: want a power of two`,
		"sim(races=on)":                 `devices: open sim: sim: races=on needs exec=simt`,
		"sim(memory=1KiB,granule=4KiB)": `devices: open sim: sim: memory of 1.0 KiB: less than one granule of 4.0 KiB`,
	} {
		_, err := machine.Open(spec, machine.Options{})
		require.EqualError(t, err, want, "%q", spec)
	}
}

func TestSimOptions_NegativeNumbersAreRefused(t *testing.T) {
	for _, o := range []sim.Options{{Latency: -1}, {Bandwidth: -1}, {PeerBandwidth: -1}, {Speed: -1}, {Faults: sim.Faults{Launch: -1}}} {
		_, err := machine.Open("sim", machine.Options{ByKind: map[devices.Kind]any{"sim": o}})
		require.ErrorContains(t, err, "negative")
	}
}

func TestWrongOptionsAreRefused(t *testing.T) {
	_, err := machine.Open("sim", machine.Options{ByKind: map[devices.Kind]any{"sim": 5}})
	require.EqualError(t, err, "devices: open sim: sim: options of type int: want sim.Options")
}

func TestSizesAreRead(t *testing.T) {
	for text, want := range map[string]deps.Bytes{"0": 0, "4096": 4096, "1B": 1, "1.5KiB": 1536, "2MiB": 2 << 20, "3GB": 3e9, "1TiB": 1 << 40} {
		got, err := devices.ParseBytes(text)
		require.NoError(t, err)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "-1", "1.5", "1XB", "NaN", "1e40", "KiB"} {
		_, err := devices.ParseBytes(text)
		require.Error(t, err, text)
	}
	got, err := devices.ParseRate("50GB/s")
	require.NoError(t, err)
	require.Equal(t, deps.Bytes(50e9), got)
}

func TestWhatIsOpenIsDescribed(t *testing.T) {
	m, err := machine.Open("smp:3,sim:2(memory=64MiB,granule=4KiB,peer=off,clock=virtual)", machine.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, m.Close()) }()
	require.Len(t, m.Devices(), 3)
	require.Len(t, m.Accelerators(), 2)
	require.Equal(t, devices.Host, m.SpaceOf(m.Devices()[0]))
	require.Equal(t, devices.SpaceID{Device: 2}, m.SpaceOf(m.Devices()[2]))
	p := m.Devices()[2].Properties()
	require.Equal(t, "sim:1", p.Name)
	require.Equal(t, "simulated accelerator, 64.0 MiB in granules of 4.0 KiB, exec=cpu, virtual clock, no peer copies", p.Description)
	require.Equal(t, 3, m.Devices()[0].Properties().Workers)
}

func TestAKindIsRegisteredOnce(t *testing.T) {
	require.Panics(t, func() { devices.Register(sim.Kind, func(devices.Config) ([]devices.Device, error) { return nil, nil }) })
	require.Panics(t, func() { devices.Register("new", nil) })
}
