//go:build linux && (amd64 || arm64)

package driver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/ebitengine/purego"

	"github.com/gompss/gompss/internal/sighandlers"
)

// A Search says where a library may be.
type Search struct {
	Env   string   // environment variable that names the file, and then nothing else is tried
	names []string // for the loader
	globs []string // patterns of files, tried after the loader, the greatest name first
	// beside is the pattern of libraries in the same folder that it opens by name, where the loader
	// may not look.
	beside string
}

var (
	DriverSearch = Search{
		Env:   "GOMPSS_CUDA_LIB",
		names: []string{"libcuda.so.1", "libcuda.so"},
		globs: []string{
			"/usr/lib/*-linux-gnu/libcuda.so.1", "/usr/lib64/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1",
			"/usr/local/nvidia/lib*/libcuda.so.1", "/usr/local/cuda*/compat/libcuda.so.1",
		},
	}
	NVRTCSearch = Search{
		Env:   "GOMPSS_NVRTC_LIB",
		names: []string{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"},
		globs: append([]string{
			"/usr/local/cuda*/lib64/libnvrtc.so.1[1-9]*", "/usr/local/cuda*/targets/*/lib/libnvrtc.so.1[1-9]*",
			"/opt/cuda*/lib64/libnvrtc.so.1[1-9]*", "/usr/lib/*-linux-gnu/libnvrtc.so.1[1-9]*",
		}, pythonGlobs()...),
		beside: "libnvrtc-builtins.so*",
	}
)

// pythonGlobs are where Python's package installers put the libraries of CUDA.
func pythonGlobs() []string {
	roots := []string{"/usr/lib/python3*", "/usr/local/lib/python3*", "/opt/conda/lib/python3*", "/opt/*/lib/python3*"}
	for _, dir := range []string{os.Getenv("VIRTUAL_ENV"), os.Getenv("CONDA_PREFIX"), homeFile(".local")} {
		if dir != "" {
			roots = append(roots, filepath.Join(dir, "lib", "python3*"))
		}
	}
	for _, python := range lookPython() {
		roots = append(roots, filepath.Join(filepath.Dir(filepath.Dir(python)), "lib", "python3*"))
	}
	roots = append(roots, filepath.SplitList(os.Getenv("PYTHONPATH"))...)
	var out []string
	for _, root := range roots {
		for _, packages := range []string{"site-packages", "dist-packages", "."} {
			for _, part := range []string{"cu13", "cuda_nvrtc", "cu12"} {
				out = append(out, filepath.Join(root, packages, "nvidia", part, "lib", "libnvrtc.so.1[1-9]*"))
			}
		}
	}
	return out
}

// lookPython returns the file of the python3 in the PATH, as it is found (a virtual environment)
// and with links resolved.
func lookPython() []string {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		file := filepath.Join(dir, "python3")
		if target, err := filepath.EvalSymlinks(file); err == nil {
			return []string{file, target}
		}
	}
	return nil
}

func homeFile(name string) string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, name)
}

// candidates are the files and names to try, in order.
func (s Search) candidates() []string {
	if file := os.Getenv(s.Env); file != "" {
		return []string{file}
	}
	out := slices.Clone(s.names)
	for _, glob := range s.globs {
		files, err := filepath.Glob(glob)
		if err != nil {
			panic(fmt.Sprintf("gompss: bug: cuda: pattern %q: %v", glob, err))
		}
		slices.Sort(files)
		slices.Reverse(files)
		for _, file := range files {
			if !slices.Contains(out, file) && !strings.Contains(filepath.Base(file), ".alt.") {
				out = append(out, file)
			}
		}
	}
	return out
}

// A LibraryError means that a library of CUDA is not there or cannot be used.
type LibraryError struct {
	Library string // "libcuda.so.1"
	Env     string // the variable that can name it
	Path    string // "" when none was found
	Err     error
}

func (e *LibraryError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("cuda: %s: not found: %v (set %s to name the file)", e.Library, strings.TrimPrefix(e.Err.Error(), e.Library+": "), e.Env)
	}
	return fmt.Sprintf("cuda: %s: %v", e.Path, e.Err)
}

func (e *LibraryError) Unwrap() error { return e.Err }

// A Library is an opened library and the addresses of its functions.
type Library struct {
	Path      string
	Addresses []uintptr
}

// OpenLibrary opens the first candidate that has all the functions.
//
// Errors: *LibraryError, of the first candidate that is there and does not do, else of the first.
func OpenLibrary(s Search, functions []string) (*Library, error) {
	var first, wrong error
	for _, path := range s.candidates() {
		s.openBeside(path)
		lib, err := OpenFile(path, functions)
		if err == nil {
			return lib, nil
		}
		if first == nil {
			first = err
		}
		var missing *missingError
		if errors.As(err, &missing) && wrong == nil {
			wrong = &LibraryError{Library: s.names[0], Env: s.Env, Path: path, Err: err}
		}
	}
	if wrong != nil {
		return nil, wrong
	}
	return nil, &LibraryError{Library: s.names[0], Env: s.Env, Err: first}
}

// openBeside opens what lies beside a file and is opened by it by name: then the loader has it.
// What cannot be opened shows when it is needed.
func (s Search) openBeside(path string) {
	if s.beside == "" || !strings.Contains(path, "/") {
		return
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(path), s.beside))
	if err != nil {
		return
	}
	for _, file := range files {
		if !strings.Contains(filepath.Base(file), ".alt.") {
			_, _ = OpenFile(file, nil)
		}
	}
}

// A missingError says that a library is too old, or not what its name says.
type missingError struct{ function string }

func (e *missingError) Error() string {
	return fmt.Sprintf("function %s is not in it: the library is too old", e.function)
}

// OpenFile opens one file, or the library of that name, and looks the functions up. Errors: those
// of the loader, and a function that is not there.
func OpenFile(path string, functions []string) (*Library, error) {
	runtime.LockOSThread() // the loader keeps its message for the thread that has called it
	defer runtime.UnlockOSThread()
	restore := sighandlers.Keep()
	file, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if restored := restore(); err == nil {
		err = restored
	}
	if err != nil {
		return nil, err
	}
	lib := &Library{Path: path, Addresses: make([]uintptr, len(functions))}
	for i, name := range functions {
		if lib.Addresses[i], err = purego.Dlsym(file, name); err != nil && laterFunctions[name] {
			lib.Addresses[i] = 0
		} else if err != nil {
			return nil, errors.Join(&missingError{name}, closeFile(file))
		}
	}
	return lib, nil
}

func closeFile(file uintptr) error {
	if err := purego.Dlclose(file); err != nil {
		return fmt.Errorf("dlclose: %w", err)
	}
	return nil
}
