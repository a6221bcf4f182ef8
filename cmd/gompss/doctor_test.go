package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/machine"
)

// sick is a machine with a GPU and no driver, no cache folder, a slow clock and misspelt variables.
func sick(t *testing.T) *patient {
	p := thisMachine()
	p.root = fstest.MapFS{
		"sys/bus/pci/devices/0000:01:00.0/vendor":                         {Data: []byte("0x10de\n")},
		"sys/bus/pci/devices/0000:01:00.0/class":                          {Data: []byte("0x030200\n")},
		"sys/bus/pci/devices/0000:01:00.1/vendor":                         {Data: []byte("0x10de\n")},
		"sys/bus/pci/devices/0000:01:00.1/class":                          {Data: []byte("0x040300\n")}, // its sound
		"sys/devices/system/clocksource/clocksource0/current_clocksource": {Data: []byte("hpet\n")},
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor":            {Data: []byte("powersave\n")},
		"etc/OpenCL/vendors/pocl.icd":                                     {Data: []byte("libpocl.so\n")},
	}
	p.kinds = []devices.Kind{"cuda", "sim", "smp"}
	p.environ = []string{"GOMPSS" + "_DEVICE=smp", "GOMPSS_DEVICES=smp,gpu"}
	p.open = func(spec string) (*machine.Machine, error) {
		if spec == "cuda?" {
			return nil, errors.New("devices: cuda?: none is there: cuda: libcuda.so.1: not found")
		}
		return machine.Open(spec, machine.Options{})
	}
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	p.cache = func() (string, error) { return file, nil }
	p.look = func(program string) (string, error) { return "/bin/" + program, nil }
	p.run = func(string, ...string) (string, error) { return "cannot open libmpi.so", errors.New("exit status 1") }
	return p
}

func TestDoctor_NamesFaultsAndWhatMendsThem(t *testing.T) {
	var out bytes.Buffer
	err := printFindings(&out, sick(t).examine())
	require.EqualError(t, err, "gompss: doctor: 4 things wrong")
	text := out.String()
	for _, line := range []string{
		`WRONG  cuda +1 device of NVIDIA on the PCI bus, but libcuda.so.1: not found\n +-> install NVIDIA's driver`,
		`slow   cache folder +.*not a directory: every run compiles its kernels again\n +-> export XDG_CACHE_HOME=`,
		`slow   clock +hpet`, `slow   frequency +governor powersave`,
		`WRONG  MPI +/bin/mpirun --version: exit status 1: cannot open libmpi.so`,
		`ok     OpenCL +platforms: libpocl.so`,
		`WRONG  environment +GOMPSS` + `_DEVICE: unknown variable, which has no effect \(GOMPSS_DEVICES is one\)`,
		`WRONG  GOMPSS_DEVICES +smp,gpu: devices: unknown kind "gpu"`,
	} {
		require.Regexp(t, line, text)
	}
}

// A machine without GPUs and MPI has no fault.
func TestDoctor_WhatIsNotThereIsNoFault(t *testing.T) {
	p := thisMachine()
	p.root, p.environ, p.kinds = fstest.MapFS{}, nil, []devices.Kind{"cuda", "smp"}
	p.open = func(string) (*machine.Machine, error) {
		return nil, errors.New("devices: cuda?: none is there: cuda: no driver")
	}
	p.look = func(string) (string, error) { return "", errors.New("none") }
	dir := t.TempDir()
	p.cache = func() (string, error) { return dir, nil }
	var out bytes.Buffer
	require.NoError(t, printFindings(&out, p.examine()), out.String())
	require.Regexp(t, `-      cuda +no driver`, out.String())
	require.Regexp(t, `-      MPI +no mpirun`, out.String())
}

// Simulated accelerators stand for several GPUs that cannot copy from each other.
func TestDoctor_Peers(t *testing.T) {
	for spec, want := range map[string]string{"sim:2": "ok", "sim:2(peer=off)": "slow"} {
		m, err := machine.Open(spec, machine.Options{})
		require.NoError(t, err)
		found := peers("sim", m)
		require.Len(t, found, 1)
		require.Equal(t, findingKind(want), found[0].kind)
		require.NoError(t, m.Close())
	}
}

// Every flag that a command takes is in what help says of it, and is completed.
func TestHelp_DescribesEveryFlag(t *testing.T) {
	declared := regexp.MustCompile(`flags\.(?:String|Bool|Int)(?:Var)?\((?:&[^,]+, )?"(\w+)"`)
	for name, file := range map[string]string{"gen": "gen", "explain": "explain", "dash": "dash", "trace": "trace", "bench": "bench", "bench cpu": "bench_cpu", "bench gpu": "bench_gpu"} {
		text, err := os.ReadFile(file + ".go")
		require.NoError(t, err)
		word, _, _ := strings.Cut(name, " ")
		about := find(word).about
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			require.Contains(t, about, "-"+m[1]+" ", "%s: the flag is described nowhere", name)
		}
	}
	for _, c := range commands() {
		require.NotEmpty(t, c.about, c.name)
		var out bytes.Buffer
		require.NoError(t, help([]string{c.name}, &out, nil))
		require.Contains(t, out.String(), "usage: gompss "+c.name)
	}
}

func TestCompletion_HasAllCommandsAndFlags(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		var out bytes.Buffer
		require.NoError(t, completion([]string{shell}, &out, nil))
		for _, c := range commands() {
			require.Contains(t, out.String(), c.name)
			for _, f := range c.flags() {
				require.Contains(t, out.String(), strings.TrimPrefix(f, "-"), shell)
			}
		}
	}
	require.ErrorIs(t, completion([]string{"csh"}, &bytes.Buffer{}, nil), errUsage)
}

func TestVersion_NamesTheCommit(t *testing.T) {
	b := &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: "v0.1.0"}}
	require.Equal(t, "v0.1.0, go1.26.8", versionOf(b))
	for key, value := range map[string]string{"vcs.revision": "0123456789abcdef", "vcs.time": "2026-01-02T03:04:05Z", "vcs.modified": "true"} {
		b.Settings = append(b.Settings, debug.BuildSetting{Key: key, Value: value})
	}
	require.Equal(t, "v0.1.0, commit 0123456789ab with changes of 2026-01-02T03:04:05Z, go1.26.8", versionOf(b))
}
