package dist

import (
	"fmt"
	"os"
	"strconv"
)

// Init returns the world of this process: the ranks of gompss run, or the ranks of an MPI launcher
// (mpirun, srun). Without a launcher the world has one rank.
//
// Errors: inconsistent variables of the launcher; no MPI library; ranks that do not connect.
func Init(o Options) (*World, error) {
	t, exit, err := transportOf(os.Getenv)
	if err != nil {
		return nil, err
	}
	return newWorld(t, o, exit)
}

// Launched reports whether a launcher started this process as a rank: gompss run, mpirun or srun.
func Launched() bool { return os.Getenv(RanksVariable) != "" || mpiLaunched() }

// transportOf chooses the transport by the environment variables that the launcher has set.
func transportOf(getenv func(string) string) (Transport, func(int), error) {
	if getenv(RanksVariable) != "" {
		rank, err := strconv.Atoi(getenv(RankVariable))
		ranks, err2 := strconv.Atoi(getenv(RanksVariable))
		if err != nil || err2 != nil || rank < 0 || rank >= ranks {
			return nil, nil, fmt.Errorf("dist: init: %s=%q of %s=%q: want a rank below the number of ranks", RankVariable, getenv(RankVariable), RanksVariable, getenv(RanksVariable))
		}
		t, err := dialSockets(getenv(JoinVariable), rank, ranks)
		return t, exitProcess, err
	}
	if mpiLaunched() {
		return openMPI()
	}
	return InProcess(1, 0)[0], exitProcess, nil
}
