//go:build linux && (amd64 || arm64)

package mpi

// A table is what differs among the binary interfaces of MPI libraries.
type table struct {
	name string
	// handles are the predefined handles that are numbers; symbols name the objects whose addresses
	// are the handles.
	handles map[handle]uintptr
	symbols map[handle]string
	levels  [4]int32 // by ThreadLevel
	// Special numbers: a source or tag that matches all, and the address that stands for the
	// receive buffer.
	anySource, anyTag int32
	inPlace           uintptr
	// A status: its bytes, and where source and tag are.
	statusSize, sourceAt, tagAt int
	// bytesOf returns the length of a message of bytes from its status; nil where MPI_Get_count is to
	// be called, which costs as much as another call.
	bytesOf func(f *frame) int
}

// A handle names a predefined object.
type handle int

const (
	commWorld handle = iota
	requestNull
	errorsReturn
	typeByte
	typeFloat32
	typeFloat64
	typeInt32
	typeInt64
	typeUint64
	opSum
	opMin
	opMax
	handles
)

// standard is the ABI of MPI 4.2. Source: MPI Forum, mpi-abi-stubs, mpi.h.
var standard = table{
	name: "standard ABI",
	handles: map[handle]uintptr{
		commWorld: 0x101, requestNull: 0x180, errorsReturn: 0x143,
		typeByte: 0x247, typeFloat32: 0x210, typeFloat64: 0x214, typeInt32: 0x250, typeInt64: 0x258, typeUint64: 0x259,
		opSum: 0x21, opMin: 0x22, opMax: 0x23,
	},
	levels:    [4]int32{0, 1024, 2048, 4096},
	anySource: -1, anyTag: -2, inPlace: 1,
	statusSize: 32, sourceAt: 0, tagAt: 4,
}

// openMPI is the interface of Open MPI 3 to 5. Source: mpi.h of Open MPI 4.1.
var openMPI = table{
	name: "Open MPI",
	symbols: map[handle]string{
		commWorld: "ompi_mpi_comm_world", requestNull: "ompi_request_null", errorsReturn: "ompi_mpi_errors_return",
		typeByte: "ompi_mpi_byte", typeFloat32: "ompi_mpi_float", typeFloat64: "ompi_mpi_double",
		typeInt32: "ompi_mpi_int32_t", typeInt64: "ompi_mpi_int64_t", typeUint64: "ompi_mpi_uint64_t",
		opSum: "ompi_mpi_op_sum", opMin: "ompi_mpi_op_min", opMax: "ompi_mpi_op_max",
	},
	levels:    [4]int32{0, 1, 2, 3},
	anySource: -1, anyTag: -1, inPlace: 1,
	statusSize: 24, sourceAt: 0, tagAt: 4,
	bytesOf: func(f *frame) int { return int(f.status[2]) }, // size_t _ucount
}

// mpich is the common interface of MPICH 3.1 and later, Intel MPI and Cray MPICH. Source: mpi.h of
// MPICH 4.0.
var mpich = table{
	name: "MPICH",
	handles: map[handle]uintptr{
		commWorld: 0x44000000, requestNull: 0x2c000000, errorsReturn: 0x54000001,
		typeByte: 0x4c00010d, typeFloat32: 0x4c00040a, typeFloat64: 0x4c00080b,
		typeInt32: 0x4c000439, typeInt64: 0x4c00083a, typeUint64: 0x4c00083e,
		opSum: 0x58000003, opMin: 0x58000002, opMax: 0x58000001,
	},
	levels:    [4]int32{0, 1, 2, 3},
	anySource: -2, anyTag: -1, inPlace: ^uintptr(0),
	statusSize: 20, sourceAt: 8, tagAt: 12,
	// int count_lo, and count_hi above a bit that says whether the operation was cancelled
	bytesOf: func(f *frame) int { return int(f.status[0]&(1<<32-1) | f.status[0]>>33<<32) },
}

// A function is one of the library, by its place in names.
type function int

const (
	fInitThread function = iota
	fInitialized
	fFinalize
	fAbort
	fLibraryVersion
	fErrorClass
	fErrorString
	fCommRank
	fCommSize
	fCommDup
	fCommFree
	fSetErrhandler
	fSend
	fRecv
	fIsend
	fIrecv
	fTest
	fWait
	fIprobe
	fGetCount
	fBarrier
	fBcast
	fReduce
	fAllreduce
	fGather
	fAllgather
	functions
)

var names = [functions]string{
	"MPI_Init_thread", "MPI_Initialized", "MPI_Finalize", "MPI_Abort", "MPI_Get_library_version", "MPI_Error_class", "MPI_Error_string",
	"MPI_Comm_rank", "MPI_Comm_size", "MPI_Comm_dup", "MPI_Comm_free", "MPI_Comm_set_errhandler",
	"MPI_Send", "MPI_Recv", "MPI_Isend", "MPI_Irecv", "MPI_Test", "MPI_Wait", "MPI_Iprobe", "MPI_Get_count",
	"MPI_Barrier", "MPI_Bcast", "MPI_Reduce", "MPI_Allreduce", "MPI_Gather", "MPI_Allgather",
}
