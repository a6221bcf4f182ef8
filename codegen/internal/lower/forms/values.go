package forms

import (
	"github.com/gompss/gompss/codegen/internal/mapping"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// LeastWarp is the number of threads of the smallest warp of any device that has them, MostWarp
// that of the largest.
const (
	LeastWarp = 32
	MostWarp  = 64
)

// The order of the operations of a sum of floats over a nested loop follows from its trip count n
// alone. Element e belongs to the virtual lane e mod v; a lane adds its elements in order. Below
// TeamRow elements there are ShortLanes lanes, combined in halves. Beyond that there are TeamLanes
// lanes in blocks of ShortRow, each block combined in halves, the blocks in order. The numbers are
// part of the definition of a sum: they are the same for every device.
const (
	ShortRow   = mapping.WarpTrips
	ShortLanes = 8
	TeamRow    = 1024
	TeamLanes  = 1024
)

// TeamLimit is the team memory that every device has without being asked for more.
const TeamLimit = 48 << 10

// OrZero returns e, or 0 where e is nil.
func OrZero(e ir.Expr) ir.Expr {
	if e == nil {
		return build.Int(0, ir.Pos{})
	}
	return e
}

// AtMost is count, but no more than n: a clause that says 0 cannot leave the work undone.
func AtMost(count, n ir.Expr, at ir.Pos) ir.Expr {
	least := &ir.Math{Fn: ir.IMin, Args: []ir.Expr{count, build.ToInt(n)}, T: ir.IntType, At: at}
	if _, known := query.Int64(n); known {
		return least
	}
	return &ir.Math{Fn: ir.IMax, Args: []ir.Expr{least, build.Int(1, at)}, T: ir.IntType, At: at}
}

// CeilQuotient is x / y rounded up; y is positive.
func CeilQuotient(x, y ir.Expr, at ir.Pos) ir.Expr {
	return &ir.Binary{Op: ir.Div, X: build.Binary(ir.Add, x, build.Binary(ir.Sub, y, build.Int(1, at), at), at), Y: y, T: ir.IntType, At: at}
}

// Thread0 is true in the first thread of a team.
func Thread0(at ir.Pos) ir.Expr {
	return build.Compare(ir.Eq, build.Query(ir.ThreadNum, at), build.Int(0, at), at)
}

// IsConst reports whether e is a constant.
func IsConst(e ir.Expr) bool {
	_, ok := e.(*ir.Const)
	return ok
}

// MasterExpr answers the queries of the code of a team: it is run once, by what the program sees as
// one thread.
func MasterExpr(e ir.Expr) ir.Expr {
	if q, ok := e.(*ir.Query); ok {
		switch q.What {
		case ir.ThreadNum:
			return build.Int(0, q.At)
		case ir.NumThreads:
			return build.Int(1, q.At)
		}
	}
	return e
}

// MasterOf is MasterExpr for every query in e.
func MasterOf(e ir.Expr) ir.Expr { return (&ir.Rewrite{Expr: MasterExpr}).CopyExpr(e) }
