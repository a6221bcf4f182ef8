//go:build !linux || !(amd64 || arm64)

package dist

import "errors"

func mpiLaunched() bool { return false }

func openMPI() (Transport, func(int), error) {
	return nil, nil, errors.New("dist: mpi: not on this system")
}
