// Package target describes the devices that code is generated for: every number that a decision of
// the compiler rests on, with its unit and where it comes from.
//
// A pass asks a Target; it holds no number of a chip itself. The numbers of a compute capability
// are those of the chip that is most common among its servers; a plug-in that knows the device in
// use fills in what it measured.
package target

import (
	"fmt"
	"slices"
	"time"

	"github.com/gompss/gompss/deps"
)

// A Target is one kind of device.
//
// Rates are per clock and multiprocessor. The zero Target is no device; Default is what code is
// generated for when the device is not known.
type Target struct {
	Name   string // as compilers call it: sm_90
	Chip   string // whose clock and memory the numbers are
	Clock  float64
	Team   TeamLimits
	Memory Memory
	Rates  Rates
	Cost   Costs
	Tuning Tuning
	Source string // of the numbers: documents, or the command that measures them
}

// TeamLimits bound what runs at once.
type TeamLimits struct {
	Multiprocessors int
	Warp            int // threads
	Threads         int // of a team
	Warps           int // resident on a multiprocessor
	Teams           int // resident on a multiprocessor
	Registers       int // of 32 bits, of a multiprocessor
	RegisterUnit    int // registers of a warp are given out in multiples of this
	ThreadRegisters int // most of one thread
}

// Filling returns the fewest threads of a team with which a multiprocessor runs all its warps.
func (t *TeamLimits) Filling() int64 { return int64((t.Warps + t.Teams - 1) / t.Teams * t.Warp) }

// Memory is what lies between the threads and the data.
type Memory struct {
	Bandwidth    float64 // of device memory, bytes a second, that a copy reaches
	Latency      time.Duration
	InFlight     deps.Bytes // on their way to one multiprocessor, for that bandwidth
	L1           deps.Bytes // of a multiprocessor, team memory included
	L2           deps.Bytes
	L2Bandwidth  float64
	Shared       deps.Bytes // team memory of a multiprocessor
	TeamShared   deps.Bytes // most of one team, asked for
	StaticShared deps.Bytes // most of one team without asking
	Banks        int
	BankWidth    deps.Bytes
	Sector       deps.Bytes // what memory is read in
	Line         deps.Bytes
	Word         deps.Bytes // largest access of a thread
}

// Rates are lanes a clock of one multiprocessor.
type Rates struct {
	Issue     int // warp instructions
	Float32   int
	Float64   int
	Int32     int
	Special   int // square roots, reciprocals and their kin
	LoadStore int
	Shuffle   int
	Shared    int // bytes from team memory
}

// Costs are times that do not depend on the work.
type Costs struct {
	Launch         time.Duration // from the host
	Chained        time.Duration // one launch behind another in a stream
	GraphNode      time.Duration
	TeamBarrier    time.Duration // of 256 threads
	ClusterBarrier time.Duration // of teams on one cluster; 0: there are none
	GridBarrier    time.Duration // of teams that are all resident
}

// Tuning holds thresholds of strategies that follow from no other number of the target. The values
// are choices; the comments name what shows them: rows of gompss bench gpu -suite.
type Tuning struct {
	Remainder        int        // instructions of a remainder by a number that the host knows; Life, GrayScott
	AddressRegisters int        // of a thread that holds a record, beside its elements; SmallFactors, Inverses
	WalkTeams        int        // on a multiprocessor where every thread walks along a row; Checksums, Automaton
	KeptRow          int64      // elements of a row from which it is kept over several loops; RowSoftmax, RootMeanRows
	LookupTable      deps.Bytes // most of a table that such walks look into, in team memory; Checksums
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
	Jam              Jam
}

// Lanes say how many lanes of a warp share an iteration: the numbers of inner iterations from
// which these are 32, 16, 8, 4 and 2. Where the lengths of the inner loops differ, these are
// averages, and a lane has few turns: SpMV, rows of 12 on average (155 to 174 GFLOP/s on an H200
// with 8 lanes, 104 with 32). Where all are alike, a lane loads for several turns at once:
// Fingerprints, Classes.
type Lanes struct {
	Average, Even [5]int64
	Unknown       int64 // the logarithm of the number of lanes where nothing tells the length
	Halved        int64 // the average below which half as many lanes share a nested loop; RowProducts
	// Threads is most of a team, Abreast the teams of so many on a multiprocessor at once. Such
	// loops wait for memory, so that all warps of a multiprocessor are needed, and a kernel of a few
	// more registers than these leave has a quarter fewer; SpMV.
	Threads, Abreast int
}

// Columns bound sums of columns whose rows the threads of a team share; ColumnDot,
// ColumnMoments.
type Columns struct {
	Team  int // threads
	Few   int // the logarithm of the columns of a team where these are few: a sector of memory
	Teams int // of all columns that a multiprocessor should have, else they are few
}

// Records bound loops whose iterations own a few consecutive elements; SmallFactors, Inverses.
type Records struct {
	Team       int   // threads
	Staged     int64 // elements from which on a record passes through team memory
	Longest    int64 // elements
	Statements int   // of an iteration that is written out
}

// Squares bound loops that touch one slice along rows and another along columns; Transposed.
type Squares struct {
	Team int // threads
}

// Tables bound loops with atomic updates of tables in team memory; the histogram
// row of gompss bench gpu.
type Tables struct {
	Team   int   // threads
	Copies int64 // of a table at most: one for each lane
	Width  int   // iterations of a thread at once: loads are on their way while others count
}

// Jam says how many iterations a thread takes at once that wait for memory alone. Copying float64
// reaches 3835 GB/s on an H200 with one element a thread and 4278 with two, float32 2536 and 3894;
// a sum of float64 3960 with one, 4510 with two and 4600 with four: the STREAM
// rows of gompss bench gpu. Rows: Wave.
type Jam struct {
	Bytes, SumBytes             deps.Bytes // that a thread loads at once of a slice; in a loop that stores nothing
	Operations                  int        // of a body that is taken to wait for memory
	Rows                        int        // of float64 below each other that a thread takes: one loads what the next needs
	PointOperations, PointWords int        // a body of more operations, or 32-bit words of variables, gains nothing by Rows
}

// Rows bound loops whose teams read rows by tiles; RowDotInOrder, TriangleStatic, RootMeanRows.
type Rows struct {
	Teams     int        // on a multiprocessor: bounds the registers
	Least     int64      // elements of a row from which tiles pay
	Words     deps.Bytes // of 32 bits that a thread loads ahead
	Jam       int        // elements of a row that a thread takes at once where they are independent
	Unroll    int        // iterations of a walk that are written out
	Few       int        // columns for this part of the threads that run at once are few
	KeptLoads int        // elements that a thread loads at once of rows that are kept
	KeptTurns int        // times Unroll are written out where few lanes walk along rows that are kept
}

// Blocks choose how many rows and columns a thread takes; Conv7, Heat3D, Wave, Life.
type Blocks struct {
	Gain       float64 // of the clocks of an element by itself that a block may take to be worth it
	Equal      float64 // candidates within this of the best are as good: the smallest is taken
	LoadShare  float64 // of the clocks of loads that another unit, though busier, does not hide
	LeastTeam  int     // threads: multiprocessors hold as many warps only in few teams
	Statements int64   // of a thread at most
	Unroll     int     // iterations of an inner loop that are written out
}

// Slabs bound blocks whose inner loops run from team memory; Gemm, Gram, Distances.
type Slabs struct {
	Rows    int64      // of a thread at least
	Columns int64      // of a thread
	Words   int64      // of 32 bits that the values of a thread's elements may take
	Wide    int64      // the same where values of one word are read 16 bytes at a time
	Teams   int        // on a multiprocessor: one alone waits at its barriers
	Bytes   deps.Bytes // of team memory
}

// Points bound iterations that go through one table several at once; Nearest, Polynomial.
type Points struct {
	Most    int // of a thread at once
	Entries int // of the table at once
	Words   int // of 32 bits that all of them may hold
}

// ShortRows bound rows that a team keeps, one an iteration; NearestOfRows.
type ShortRows struct {
	Team  int        // threads
	Teams int        // on a multiprocessor: bounds the registers
	Pad   int        // elements behind those of a team: what is loaded together is on different banks
	Bytes deps.Bytes // of team memory, which bounds the elements of a row
	Rows  int        // slices of which an iteration may have rows
	Loads int        // of a thread that are written out
}

// Default is what code is generated for when the device is not known.
func Default() *Target { return ByName("sm_90") }

// ByName returns a copy of the target of that name, nil where there is none.
func ByName(name string) *Target {
	i := slices.IndexFunc(gpus, func(t Target) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	t := gpus[i]
	return &t
}

// Nearest returns a copy of the newest target that is not newer than the compute capability
// major.minor, nil where all are newer.
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

// ResidentWarps returns how many warps of teams of that many threads run at once on a
// multiprocessor, given what a thread and a team take.
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

// TeamShare returns how much team memory each of that many threads' teams has without asking where
// all threads that run at once on a multiprocessor are in such teams; 0 where there is none.
func (t *Target) TeamShare(threads int) deps.Bytes {
	teams := deps.Bytes(max(t.Team.Warps*t.Team.Warp/threads, 1))
	return max(min(t.Memory.Shared/teams-sharedOfTeam, t.Memory.StaticShared), 0)
}

// sharedOfTeam is what each team takes of team memory for itself on sm_80 and later (CUDA C++
// Programming Guide, section 16).
const sharedOfTeam = 1 << 10

func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }
