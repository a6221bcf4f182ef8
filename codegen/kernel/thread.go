package kernel

// ThreadNum returns the number of the calling thread in its team, from 0 to NumThreads()-1. Outside
// a parallel construct, and in a plain Go run, it is 0.
func ThreadNum() int { return 0 }

// NumThreads returns the number of threads of the team that run the innermost parallel construct: 1
// outside any, and in a plain Go run.
func NumThreads() int { return 1 }

// TeamNum returns the number of the calling team in the league, from 0 to NumTeams()-1. Outside
// teams, and in a plain Go run, it is 0.
func TeamNum() int { return 0 }

// NumTeams returns the number of teams of the league: 1 outside teams, and in a plain Go run.
func NumTeams() int { return 1 }

// Barrier waits until all threads of the team have called it, and lets each see what the others
// wrote before. It stands inside parallel, where all threads of the team reach it. In a plain Go
// run it does nothing.
func Barrier() {}
