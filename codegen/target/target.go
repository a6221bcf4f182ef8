// Package target describes the devices for which code is generated: every number that a decision of
// the compiler depends on, with its unit and source.
//
// A pass reads the numbers from a Target and contains no number of a chip itself. The numbers of a
// compute capability are those of its most common server chip; a plug-in that knows the actual
// device replaces them by measured values.
package target

import (
	"fmt"
	"slices"
	"time"

	"github.com/gompss/gompss/deps"
)

// A Target describes one kind of device.
//
// Rates are per clock cycle and multiprocessor. The zero Target describes no device; Default is the
// target for an unknown device.
type Target struct {
	Name   string // the name that compilers use: sm_90
	Chip   string // the chip whose clock and memory the numbers describe
	Clock  float64
	Team   TeamLimits
	Memory Memory
	Rates  Rates
	Cost   Costs
	Tuning Tuning
	Source string // the origin of the numbers: documents, or the command that measures them
}

// TeamLimits are the limits of teams and multiprocessors.
type TeamLimits struct {
	Multiprocessors int
	Warp            int // threads of a warp
	Threads         int // maximum of a team
	Warps           int // resident on a multiprocessor
	Teams           int // resident on a multiprocessor
	Registers       int // of 32 bits, in a multiprocessor
	RegisterUnit    int // the registers of a warp are allocated in multiples of this number
	ThreadRegisters int // maximum of one thread
}

// Filling returns the minimum number of threads of a team with which a multiprocessor can run all
// its warps.
func (t *TeamLimits) Filling() int64 { return int64((t.Warps + t.Teams - 1) / t.Teams * t.Warp) }

// Memory describes the memory hierarchy.
type Memory struct {
	Bandwidth    float64 // of device memory, in bytes per second, reached by a copy
	Latency      time.Duration
	InFlight     deps.Bytes // in flight to one multiprocessor, to reach that bandwidth
	L1           deps.Bytes // of a multiprocessor, including team memory
	L2           deps.Bytes
	L2Bandwidth  float64
	Shared       deps.Bytes // team memory of a multiprocessor
	TeamShared   deps.Bytes // maximum of one team, with opt-in
	StaticShared deps.Bytes // maximum of one team without opt-in
	Banks        int
	BankWidth    deps.Bytes
	Sector       deps.Bytes // the unit of memory reads
	Line         deps.Bytes
	Word         deps.Bytes // the largest access of a thread
}

// Rates are lanes per clock cycle of one multiprocessor.
type Rates struct {
	Issue     int // warp instructions
	Float32   int
	Float64   int
	Int32     int
	Special   int // square roots, reciprocals and similar functions
	LoadStore int
	Shuffle   int
	Shared    int // bytes from team memory
}

// Costs are latencies that do not depend on the work.
type Costs struct {
	Launch         time.Duration // from the host
	Chained        time.Duration // of one launch after another in a stream
	GraphNode      time.Duration
	TeamBarrier    time.Duration // of 256 threads
	ClusterBarrier time.Duration // of teams in one cluster; 0: the target has no clusters
	GridBarrier    time.Duration // of teams that are all resident
	Addition       int           // clock cycles from an addition to one that waits for its sum
}

// Tuning contains thresholds of strategies that do not follow from other numbers of the target. The
// values are choices; each comment names the rows of gompss bench gpu -suite that justify it.
type Tuning struct {
	Remainder        int        // of a remainder by a number that the host knows; Life, GrayScott
	AddressRegisters int        // of a thread that holds a record, besides its elements; SmallFactors, Inverses
	WalkTeams        int        // per multiprocessor, if each thread traverses a row; Checksums, Automaton
	KeptRow          int64      // minimum elements of a row that is kept in a team for several loops; RowSoftmax, RootMeanRows
	LookupTable      deps.Bytes // maximum size of a lookup table in team memory for such traversals; Checksums
	Lanes            Lanes
	Rows             Rows
	Blocks           Blocks
	Slabs            Slabs
	Points           Points
	ShortRows        ShortRows
	Columns          Columns
	Records          Records
	Squares          Squares
	Tables           Tables
	Updates          Updates
	Jam              Jam
	Arrays           Arrays
	Nested           Nested
}

// Nested are the costs by which the number of lanes of a nested loop follows from the lengths that
// the last launch met, in turns of a warp: the time in which each lane waits for one element. Where
// lanes have rows of their own a turn takes Scattered; sharing costs Shared for 32 iterations, and
// Group for the rows that a warp has at once; a team that runs a deferred loop takes Deferred. Of
// rows with different lengths, the longest counts for the part Longest, the mean for the rest.
// Source: six kernels with 1, 4, 8 and 32 lanes a row on four graphs (gompss bench gpu -trials
// -suite nested; h100.md of docs/results).
type Nested struct {
	Scattered, Shared, Group, Deferred float64
	Longest                            float64
	Least                              float64 // part of the iterations that have to come to the loop
	Margin                             float64 // part of the turns by which another form has to be better
}

// Arrays bounds the arrays of a thread that are in registers, of so many words, and the loops along
// them: their turns, and the operations of all turns of one together, which have to fit the cache
// of instructions. Chosen by the registers that NVRTC reports for Digests and Cipher on sm_90; not
// timed.
type Arrays struct {
	Words, Turns int64
	Operations   int
}

// Lanes determines how many lanes of a warp share an iteration: the numbers of inner iterations
// from which it is 32, 16, 8, 4 and 2 lanes. If the lengths of the inner loops differ, the numbers
// are averages, and a lane has few turns: SpMV, rows of 12 on average (155 to 174 GFLOP/s on an
// H200 with 8 lanes, 104 with 32). If they are equal, a lane loads for several turns together:
// Fingerprints, Classes.
type Lanes struct {
	Average, Even [5]int64
	Unknown       int64 // the logarithm of the number of lanes if the length is unknown
	Halved        int64 // the average length below which half as many lanes share a nested loop; RowProducts
	// Threads is the maximum of a team, and ResidentTeams the number of such teams that a
	// multiprocessor must be able to run. These loops wait for memory and need all warps of a
	// multiprocessor; a kernel with slightly more registers than this permits would have a quarter
	// fewer; SpMV.
	Threads, ResidentTeams int
}

// Columns limits sums of columns whose rows are distributed over the threads of a team; ColumnDot,
// ColumnMoments.
type Columns struct {
	Team  int // threads
	Few   int // the logarithm of the columns of a team if there are few columns: a memory sector
	Teams int // teams per multiprocessor below which the columns count as few
}

// Records limits loops whose iterations own a few consecutive elements; SmallFactors, Inverses.
type Records struct {
	Team       int   // threads
	Staged     int64 // minimum elements of a record that is staged in team memory
	Longest    int64 // maximum elements of a record
	Statements int   // maximum of a fully unrolled iteration
}

// Squares limits loops that access one slice along rows and another along columns; Transposed.
type Squares struct {
	Team int // threads
}

// Tables limits loops with atomic updates of tables in team memory; the histogram row of gompss
// bench gpu.
type Tables struct {
	Team   int   // threads
	Copies int64 // maximum copies of a table: one for each lane
	Width  int   // iterations that a thread interleaves, so that loads overlap with updates
}

// Jam is the number of iterations that a thread interleaves if they only wait for memory. Copying
// float64 reaches 3835 GB/s on an H200 with one element per thread and 4278 with two, float32 2536
// and 3894; a sum of float64 3960 with one, 4510 with two and 4600 with four: the STREAM rows of
// gompss bench gpu. Rows: Wave.
type Jam struct {
	Bytes, SumBytes             deps.Bytes // maximum load of a slice per thread; in a loop without stores
	Operations                  int        // maximum of a body that counts as limited by memory
	Rows                        int        // adjacent rows of float64 that a thread interleaves: they share loads
	PointOperations, PointWords int        // limits of a body, in operations and 32-bit words of variables, above which Rows gains nothing
}

// Rows limits loops whose teams read rows in tiles; RowDotInOrder, TriangleStatic, RootMeanRows.
type Rows struct {
	Teams     int        // per multiprocessor: limits the registers
	Least     int64      // minimum elements of a row for tiles
	Words     deps.Bytes // 32-bit words that a thread prefetches
	Jam       int        // elements of a row that a thread interleaves if they are independent
	Unroll    int        // unrolled iterations of a traversal
	Few       int        // columns are few below 1/Few of the resident threads
	KeptLoads int        // elements of a kept row that a thread reads or copies in one turn
	KeptTurns int        // multiples of Unroll if few lanes traverse kept rows
	Carried   int64      // iterations that an element stays in a register; TridiagonalRows
	Idle      int64      // 1/Idle of a row may idle so that it begins at lines of the cache; Lattice
}

// Blocks limits how many rows and columns a thread computes; Conv7, Heat3D, Wave, Life.
type Blocks struct {
	Gain       float64 // maximum fraction of the clock cycles of a single element that a block may take
	Equal      float64 // candidates within this fraction of the best are equal: the smallest is taken
	Near       float64 // maximum fraction of the clock cycles of others for neighbouring columns; Filter33, Products32
	LoadShare  float64 // fraction of the clock cycles of loads that a busier unit does not hide
	LeastTeam  int     // threads: a multiprocessor reaches as many warps only with few teams
	Statements int64   // maximum of a thread
	Unroll     int     // unrolled iterations of an inner loop
	Team       int64   // maximum of threads if the number of rows is known: small teams end early and make room
}

// Slabs limits blocks whose inner loops read team memory; Gemm, Gram, Distances.
type Slabs struct {
	Rows    int64      // minimum of a thread
	Columns int64      // of a thread
	Words   int64      // maximum 32-bit words of the values of a thread's elements
	Wide    int64      // the same if values of one word are read 16 bytes at a time
	Teams   int        // per multiprocessor: a single team would wait at its barriers
	Bytes   deps.Bytes // of team memory
}

// Points limits iterations over one table that a thread interleaves; Nearest, Polynomial.
type Points struct {
	Most    int // maximum of a thread
	Entries int // table entries that are loaded together
	Words   int // maximum 32-bit words of all of them
}

// Updates cuts inner loops that only update integers by atomics into parts; PairDistances. The
// numbers were chosen, and no others measured: gompss bench gpu -suite survey -only pairdistances.
type Updates struct {
	Waves int // parts that a thread of a full device has, so that few are idle at the end
	Least int // iterations of a part, at least
}

// ShortRows limits rows that a team keeps, one for each iteration; NearestOfRows.
type ShortRows struct {
	Team  int        // threads
	Teams int        // per multiprocessor: limits the registers
	Pad   int        // elements of padding after those of a team, so that loads hit different banks
	Bytes deps.Bytes // of team memory, which limits the elements of a row
	Rows  int        // maximum slices of which an iteration has rows
	Loads int        // unrolled loads of a thread
}

// Default returns the target for an unknown device.
func Default() *Target { return ByName("sm_90") }

// ByName returns a copy of the target with that name, nil if there is none.
func ByName(name string) *Target {
	i := slices.IndexFunc(gpus, func(t Target) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	t := gpus[i]
	return &t
}

// Nearest returns a copy of the newest target that is not newer than compute capability
// major.minor, nil if all are newer.
func Nearest(major, minor int) *Target {
	for i := len(gpus) - 1; i >= 0; i-- {
		var number int
		if _, err := fmt.Sscanf(gpus[i].Name, "sm_%d", &number); err == nil && number <= 10*major+minor {
			t := gpus[i]
			return &t
		}
	}
	return nil
}

// Names returns the names of all targets, oldest first.
func Names() []string {
	var out []string
	for _, t := range gpus {
		out = append(out, t.Name)
	}
	return out
}

// ResidentWarps returns the number of warps that a multiprocessor can run with teams of the given
// number of threads. registers is the number for each thread, and shared is the team memory of each
// team.
func (t *Target) ResidentWarps(threads, registers int, shared deps.Bytes) int {
	if threads <= 0 || threads > t.Team.Threads || registers > t.Team.ThreadRegisters {
		return 0
	}
	warps := (threads + t.Team.Warp - 1) / t.Team.Warp
	each := roundUp(max(registers, 1)*t.Team.Warp, t.Team.RegisterUnit)
	teams := min(t.Team.Teams, t.Team.Warps/warps, t.Team.Registers/each/warps)
	if shared > 0 {
		if shared > t.Memory.TeamShared {
			return 0
		}
		teams = min(teams, int(t.Memory.Shared/(shared+sharedOfTeam)))
	}
	return teams * warps
}

// TeamShare returns the team memory that each team of the given number of threads can use without
// opt-in if such teams fill a multiprocessor; 0 if there is none.
func (t *Target) TeamShare(threads int) deps.Bytes {
	teams := deps.Bytes(max(t.Team.Warps*t.Team.Warp/threads, 1))
	return max(min(t.Memory.Shared/teams-sharedOfTeam, t.Memory.StaticShared), 0)
}

// sharedOfTeam is the team memory that the system reserves in each team on sm_80 and later (CUDA
// C++ Programming Guide, section 16).
const sharedOfTeam = 1 << 10

func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }
