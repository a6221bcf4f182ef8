package target

import (
	"time"

	"github.com/gompss/gompss/deps"
)

const (
	kib = 1 << 10
	mib = 1 << 20
	gbs = 1e9 // bytes a second
)

// guide is the source of limits and rates: tables of compute capabilities and of instruction
// throughput.
const guide = "limits and rates: CUDA C++ Programming Guide 13.0, sections 8.4 and 20; "

// gpus are NVIDIA's, oldest first. Bandwidths are nine tenths of the data sheets', which is what
// copies reach, but where a measurement is named. Bytes in flight are those of CUB's transform
// (cub/device/dispatch/tuning/tuning_transform.cuh).
var gpus = []Target{
	{Name: "sm_75", Chip: "T4", Clock: 1.59e9, Team: teams(40, 32, 16), Memory: memory(288*gbs, 12*kib, 96*kib, 4*mib, 64*kib, 64*kib),
		Rates: Rates{4, 64, 2, 64, 16, 16, 32, 64}, Cost: costs(0), Tuning: tuning, Source: guide + "chip: data sheet"},
	{Name: "sm_80", Chip: "A100", Clock: 1.41e9, Team: teams(108, 64, 32), Memory: memory(1835*gbs, 16*kib, 192*kib, 40*mib, 164*kib, 163*kib),
		Rates: Rates{4, 64, 32, 64, 16, 32, 32, 128}, Cost: costs(0), Tuning: tuning, Source: guide + "chip: data sheet"},
	{Name: "sm_86", Chip: "A10", Clock: 1.70e9, Team: teams(72, 48, 16), Memory: memory(540*gbs, 16*kib, 128*kib, 6*mib, 100*kib, 99*kib),
		Rates: Rates{4, 128, 2, 64, 16, 16, 32, 128}, Cost: costs(0), Tuning: tuning, Source: guide + "chip: data sheet"},
	{Name: "sm_89", Chip: "L40S", Clock: 2.52e9, Team: teams(142, 48, 24), Memory: memory(778*gbs, 16*kib, 128*kib, 48*mib, 100*kib, 99*kib),
		Rates: Rates{4, 128, 2, 64, 16, 16, 32, 128}, Cost: costs(0), Tuning: tuning, Source: guide + "chip: data sheet"},
	{Name: "sm_90", Chip: "H100", Clock: 1.755e9, Team: teams(132, 64, 32), Memory: memory(3015*gbs, 32*kib, 256*kib, 50*mib, 228*kib, 227*kib),
		Rates: Rates{4, 128, 64, 64, 16, 32, 32, 128}, Cost: costs(190 * time.Nanosecond), Tuning: tuning,
		Source: guide + "costs: measured on one H200, kernels that only wait (docs/results/README.md)"},
	{Name: "sm_100", Chip: "B200", Clock: 1.85e9, Team: teams(148, 64, 32), Memory: memory(7200*gbs, 64*kib, 256*kib, 126*mib, 228*kib, 227*kib),
		Rates: Rates{4, 128, 64, 128, 16, 32, 32, 128}, Cost: costs(190 * time.Nanosecond), Tuning: tuning, Source: guide + "chip: data sheet; costs: as sm_90"},
	{Name: "sm_120", Chip: "RTX PRO 6000", Clock: 2.4e9, Team: teams(188, 48, 24), Memory: memory(1613*gbs, 32*kib, 128*kib, 128*mib, 100*kib, 99*kib),
		Rates: Rates{4, 128, 2, 128, 16, 16, 32, 128}, Cost: costs(190 * time.Nanosecond), Tuning: tuning, Source: guide + "chip: data sheet; costs: as sm_90"},
}

// tuning is the same for all generations: only one was measured.
var tuning = Tuning{Remainder: 8, AddressRegisters: 24, WalkTeams: 8, KeptRow: 512, LookupTable: 4 * kib,
	Lanes:   Lanes{Average: [5]int64{40, 20, 8, 4, 2}, Even: [5]int64{256, 128, 8, 4, 2}, Unknown: 3, Halved: 6, Threads: 256, ResidentTeams: 8},
	Rows:    Rows{Teams: 5, Least: 32, Words: 32, Jam: 4, Unroll: 16, Few: 4, KeptLoads: 16, KeptTurns: 4, Carried: 4, Idle: 16},
	Blocks:  Blocks{Gain: 0.87, Equal: 1.05, Near: 0.75, LoadShare: 0.2, LeastTeam: 64, Statements: 1024, Unroll: 4, Team: 128},
	Slabs:   Slabs{Rows: 4, Columns: 4, Words: 40, Wide: 64, Teams: 2, Bytes: 32 * kib},
	Updates: Updates{Waves: 4, Least: 64},
	Points:  Points{Most: 4, Entries: 8, Words: 128}, ShortRows: ShortRows{Team: 128, Teams: 4, Pad: 4, Bytes: 33 * kib, Rows: 2, Loads: 8},
	Columns: Columns{Team: 512, Few: 3, Teams: 2}, Records: Records{Team: 64, Staged: 8, Longest: 96, Statements: 1200},
	Nested:  Nested{Scattered: 1.27, Shared: 1.6, Group: 0.25, Deferred: 40, Longest: 0.2, Least: 1.0 / 64, Margin: 0.15},
	Squares: Squares{Team: 256}, Tables: Tables{Team: 256, Copies: 32, Width: 4},
	Jam: Jam{Bytes: 16, SumBytes: 32, Operations: 24, Rows: 4, PointOperations: 96, PointWords: 16}, Arrays: Arrays{Words: 96, Turns: 64, Operations: 4096}}

// teams are limits that differ little between generations.
func teams(multiprocessors, warps, resident int) TeamLimits {
	return TeamLimits{Multiprocessors: multiprocessors, Warp: 32, Threads: 1024, Warps: warps, Teams: resident, Registers: 64 * kib,
		RegisterUnit: 256, ThreadRegisters: 255}
}

// memory is that of a GPU. What is in the second level of the cache comes at about two and a half
// times the bandwidth of device memory (xla/service/gpu/gpu_performance_model_base.cc takes the
// same).
func memory(bandwidth float64, flight, l1, l2, shared, ofTeam deps.Bytes) Memory {
	return Memory{Bandwidth: bandwidth, Latency: 700 * time.Nanosecond, InFlight: flight, L1: l1, L2: l2, L2Bandwidth: 2.5 * bandwidth,
		Shared: shared, TeamShared: ofTeam, StaticShared: 48 * kib, Banks: 32, BankWidth: 4, Sector: 32, Line: 128, Word: 16}
}

// costs are measured on one H200: barriers in kernels that only wait, launches in a stream and in a
// graph. Addition is for float32, from H. Abdelkhalik et al., Demystifying the Nvidia Ampere
// Architecture through Microbenchmarking, 2022, section V.
func costs(cluster time.Duration) Costs {
	return Costs{Launch: 2800 * time.Nanosecond, Chained: 1520 * time.Nanosecond, GraphNode: 1000 * time.Nanosecond,
		TeamBarrier: 15 * time.Nanosecond, ClusterBarrier: cluster, GridBarrier: 980 * time.Nanosecond, Addition: 4}
}
