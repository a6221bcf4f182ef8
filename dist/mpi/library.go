//go:build linux && (amd64 || arm64)

package mpi

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/ebitengine/purego"
)

// LibraryVariable is the environment variable that names the library file to open.
const LibraryVariable = "GOMPSS_MPI_LIB"

// A library is an opened MPI library: addresses of functions, values of handles.
type library struct {
	table
	path  string
	fns   [functions]uintptr
	value [handles]uintptr
	exit  uintptr // of libc
	// queryCUDA says whether messages may be in memory of GPUs; 0 where the library has no such
	// function.
	queryCUDA uintptr
}

// Library files, by family, those of this machine's package manager first.
var (
	openMPIFiles  = []string{"libmpi.so.40", "libmpi.so.80"}
	mpichFiles    = []string{"libmpich.so.12", "libmpi.so.12", "libmpi_cray.so.12"}
	standardFiles = []string{"libmpi_abi.so.1", "libmpi_abi.so.0"}
)

// A family is the maker of a launcher or a library.
type family string

const (
	anyFamily     family = ""
	familyOpenMPI family = "Open MPI"
	familyMPICH   family = "MPICH"
)

// launcher returns the family of the launcher that started this process, as its environment says,
// and the number of ranks that it started, 0 where it does not say.
//
// Hydra and its descendants set PMI_SIZE, as does Slurm with PMI; the OMPI_ variables are of Open
// MPI alone.
func launcher(getenv func(string) string) (family, int) {
	number := func(names ...string) int {
		for _, n := range names {
			if v, err := strconv.Atoi(getenv(n)); err == nil {
				return v
			}
		}
		return 0
	}
	if n := number("OMPI_COMM_WORLD_SIZE"); n > 0 {
		return familyOpenMPI, n
	}
	slurm := number("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS")
	if n := number("PMI_SIZE", "MPI_LOCALNRANKS"); n > 0 {
		if slurm > 0 && getenv("HYDI_CONTROL_FD") == "" && getenv("PMI_FD") == "" {
			return anyFamily, max(n, slurm)
		}
		return familyMPICH, n
	}
	if getenv("PMIX_RANK") != "" && slurm == 0 {
		return familyOpenMPI, 0
	}
	return anyFamily, slurm
}

// Launched reports whether a launcher of MPI jobs started this process as one of several ranks or
// says that it is a rank.
func Launched() bool {
	f, n := launcher(os.Getenv)
	return f != anyFamily || n > 1
}

// candidates returns the files to try, in order.
func candidates(of family, named string) []string {
	join := func(lists ...[]string) (out []string) {
		for _, l := range lists {
			out = append(out, l...)
		}
		return out
	}
	switch {
	case named != "":
		return []string{named}
	case of == familyOpenMPI:
		return join(openMPIFiles, standardFiles)
	case of == familyMPICH:
		return join(mpichFiles, standardFiles)
	}
	return join(standardFiles, openMPIFiles, mpichFiles)
}

// open opens the first library that there is and that belongs to the launcher.
//
// Errors: none of the files can be opened; a library of another family than the launcher's; a
// function that is missing.
func open() (*library, error) {
	from, _ := launcher(os.Getenv)
	var errs []error
	for _, file := range candidates(from, os.Getenv(LibraryVariable)) {
		l, err := load(file)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if made := l.family(); from != anyFamily && made != anyFamily && made != from {
			errs = append(errs, fmt.Errorf("%s: the library is %s, and the launcher is that of %s", file, made, from))
			continue
		}
		return l, nil
	}
	return nil, fmt.Errorf("mpi: open: no usable library (%s names one): %w", LibraryVariable, errors.Join(errs...))
}

// load opens one file. Global symbols: plug-ins of older libraries look for those of the library.
func load(file string) (*library, error) {
	runtime.LockOSThread() // the loader keeps its message for the thread that has called it
	defer runtime.UnlockOSThread()
	lib, err := purego.Dlopen(file, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return nil, err
	}
	l := &library{path: file}
	_, foreign := purego.Dlsym(lib, openMPI.symbols[commWorld])
	switch {
	case strings.Contains(filepath.Base(file), "mpi_abi"):
		l.table = standard
	case foreign == nil:
		l.table = openMPI
	default:
		l.table = mpich
	}
	for f, name := range names {
		if l.fns[f], err = purego.Dlsym(lib, name); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	for h, v := range l.handles {
		l.value[h] = v
	}
	for h, name := range l.symbols {
		if l.value[h], err = purego.Dlsym(lib, name); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	l.queryCUDA, _ = purego.Dlsym(lib, "MPIX_Query_cuda_support") // an extension
	if l.exit, err = purego.Dlsym(purego.RTLD_DEFAULT, "exit"); err != nil {
		return nil, fmt.Errorf("exit of the C library: %w", err)
	}
	return l, nil
}

// family returns the maker of the library, as its version text says.
func (l *library) family() family {
	text := l.version()
	switch {
	case strings.Contains(text, "Open MPI"):
		return familyOpenMPI
	case strings.Contains(text, "MPICH"), strings.Contains(text, "Intel"), strings.Contains(text, "MVAPICH"), strings.Contains(text, "CRAY"):
		return familyMPICH
	}
	return anyFamily
}
