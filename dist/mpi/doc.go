// Package mpi binds the MPI library of the machine without cgo: messages and collective operations
// between the ranks of a job.
//
// Init opens the library that the launcher of the job belongs to, initialises it, and repairs the
// signal handlers that it takes from Go. A Comm sends and receives bytes. Handles and constants
// differ among libraries: three tables cover the standard ABI of MPI 4.2, Open MPI, and MPICH with
// its descendants (Intel MPI, Cray MPICH).
//
//	m, err := mpi.Init(mpi.Multiple)
//	if err != nil { ... }
//	world := m.World()
//	if world.Rank() == 0 {
//		err = world.Send(data, 1, tag)
//	}
//	err = m.Finalize()
//	m.Exit(0)
//
// The variable GOMPSS_MPI_LIB names a library file. A process leaves through Exit: MPICH 5 needs
// the exit of the C library.
//
// Cost: no allocation. Concurrency follows from the thread level that Init was given: with Multiple
// any goroutine may call at any time, with Serialized one goroutine at a time. The program must not
// use the memory of an operation in flight; a Request keeps it alive.
//
// The package builds on Linux (amd64, arm64); elsewhere it is empty.
package mpi
