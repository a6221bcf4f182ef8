package lower

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/mapping"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// splitScans assigns every loop with a scan to one team, whose threads scan tile by tile; to the
// whole league, as three steps that are team loops and scans of one team; or to one thread, in
// order.
//
// The order of the operations depends on the trip count alone: see scanChunks and team.scan.
func (l *lowering) splitScans() {
	mapping.FindScans(l.Walker.Work)
	l.Kernel.Body = l.scansIn(l.Kernel.Body, mapping.InKernel)
}

func (l *lowering) scansIn(list []ir.Stmt, at mapping.Level) []ir.Stmt {
	out := make([]ir.Stmt, 0, len(list))
	for _, s := range list {
		out = append(out, l.scanIn(s, at)...)
	}
	return out
}

func (l *lowering) scanIn(s ir.Stmt, at mapping.Level) []ir.Stmt {
	switch s := s.(type) {
	case *ir.If:
		return []ir.Stmt{&ir.If{Cond: s.Cond, Then: l.scansIn(s.Then, at), Else: l.scansIn(s.Else, at), At: s.At}}
	case *ir.Block:
		return []ir.Stmt{&ir.Block{Label: s.Label, Body: l.scansIn(s.Body, at), At: s.At}}
	case *ir.While:
		c := *s
		c.Pre, c.Body, c.Post = l.scansIn(s.Pre, at), l.scansIn(s.Body, at), l.scansIn(s.Post, at)
		return []ir.Stmt{&c}
	case *ir.Construct:
		return []ir.Stmt{&ir.Construct{Directive: s.Directive, Body: l.scansIn(s.Body, mapping.LevelOf(s.Directive, at)), At: s.At}}
	case *ir.For:
		c, inner := *s, at
		d := s.Directive
		switch {
		case d == nil:
		case d.Scan != nil || d.Parts&ir.Loop != 0:
			inner = mapping.InLane
		default:
			inner = mapping.LevelOf(d, at)
		}
		c.Body = l.scansIn(s.Body, inner)
		if d != nil && d.Scan != nil {
			return l.provenScan(&c, at)
		}
		return []ir.Stmt{&c}
	}
	return []ir.Stmt{s}
}

// provenScan places f in parallel if its iterations are proved independent, or if a test at the
// launch proves it; otherwise in order. Prescriptive loops are assumed independent, except that an
// iteration must not read after it has stored.
func (l *lowering) provenScan(f *ir.For, at mapping.Level) []ir.Stmt {
	m := mapping.NewMapper(l.Work)
	free := func() bool { return m.ScanFree(f) }
	if at == mapping.InLane || free() {
		return l.placeScan(f, at)
	}
	conds, ok := m.Supposing(f, free)
	if !ok {
		return l.scanAlone(f, at, "its iterations, or what an iteration reads behind a store of its own, may have memory in common")
	}
	test := m.Where(f, conds, func(*ir.For) {}).(*ir.If)
	test.Then = l.placeScan(test.Then[0].(*ir.For), at)
	test.Else = l.scanAlone(f, at, "slices overlap")
	return []ir.Stmt{test}
}

// scanAlone makes one thread run f in order; inside a parallel construct, one of its threads.
func (l *lowering) scanAlone(f *ir.For, at mapping.Level, why string) []ir.Stmt {
	list := l.scanInOrder(f, why)
	if d := f.Directive; at != mapping.InThreads || d.Parts&(ir.Workshare|ir.Loop) == 0 || d.Parts&ir.Parallel != 0 {
		return list
	}
	return []ir.Stmt{&ir.Construct{Directive: &ir.Directive{Parts: ir.Single, Text: f.Directive.Text, At: f.Directive.At}, Body: list, At: f.At}}
}

// placeScan decides which threads run f.
func (l *lowering) placeScan(f *ir.For, at mapping.Level) []ir.Stmt {
	d := *f.Directive
	c := *f
	c.Directive = &d
	name := "scan " + f.Var.Text()
	descriptive := d.Parts&ir.Loop != 0
	switch {
	case at == mapping.InLane || d.Parts&ir.Parallel != 0 && at >= mapping.InThreads || d.Parts == ir.Simd && at >= mapping.InThreads:
		return l.scanInOrder(&c, "the loops around it use all threads already")
	case d.Bind == ir.BindThread:
		return l.scanInOrder(&c, "bind(thread) says so")
	case d.Parts == ir.Simd && d.Safelen > 0:
		return l.scanInOrder(&c, "safelen says that few iterations may run at once")
	case d.Parts == ir.Simd && query.AsksForPlace(f.Body):
		return l.scanInOrder(&c, "its body asks for its place in the team")
	case at == mapping.InThreads:
		d.Parts = ir.Workshare
		l.Decide(f.At, name, "threads of one team", forms.Because(&d)+": tile by tile, in the order of the iterations", "")
		return []ir.Stmt{&c}
	case at == mapping.InKernel && !(descriptive && d.Bind == ir.BindParallel):
		if out := l.scanOverLeague(&c); out != nil {
			return out
		}
	default:
		l.Decide(f.At, name, "threads of one team", forms.Because(&d)+": tile by tile, in the order of the iterations", "")
	}
	d.Parts = ir.Parallel | ir.Workshare
	d.NumTeams, d.ThreadLimit = nil, nil
	return []ir.Stmt{&c}
}

// scanInOrder makes one thread run f as it is written.
func (l *lowering) scanInOrder(f *ir.For, why string) []ir.Stmt {
	d := f.Directive
	l.Decide(f.At, "scan "+f.Var.Name, "one thread, in order", why, "")
	firsts, body := l.ownCopies(d.Firstprivate, f.Body)
	if len(d.Private) > 0 {
		body = l.WithPrivate(d.Private, body, f.At)
	}
	c := *f
	c.Directive, c.Body = nil, body
	return forms.Scoped(firsts, []ir.Stmt{&c}, f.At)
}

// orderScans makes one thread run every scan, as vector code does.
func (l *lowering) orderScans() {
	l.Kernel.Body = (&ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		if f, ok := s.(*ir.For); ok && f.Directive != nil && f.Directive.Scan != nil {
			return l.scanInOrder(f, "vector code scans in the order of the iterations")
		}
		return []ir.Stmt{s}
	}}).CopyStmts(l.Kernel.Body)
}

// A scan over the league is divided into at most maxScanChunks chunks of whole tiles, with at least
// leastScanChunk iterations each.
const (
	maxScanChunks  = 1024
	leastScanChunk = 4096
	scanGroup      = 32
)

// scanOverLeague scans with all teams: each team combines the updates of its chunks, one team scans
// the results of the chunks, and each team scans its chunks from there. The input phase runs twice,
// so it must not store anything; otherwise scanOverLeague returns nil.
//
// Source: Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016,
// section 2 (reduce, then scan); differs: chunks follow from the trip count, not from the device.
//
// Source: Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016,
// section 2 (reduce, then scan); differs: chunks follow from the trip count, not from the device.
func (l *lowering) scanOverLeague(f *ir.For) []ir.Stmt {
	d, at := f.Directive, f.At
	name := "scan " + f.Var.Text()
	one := func(why, instead string) []ir.Stmt {
		l.Decide(at, name, "threads of one team", why, instead)
		if n, ok := query.Int64(forms.OrZero(d.NumTeams)); !ok || n != 1 {
			l.Note(at, name, "runs on one team of the device: "+why, instead)
		}
		return nil
	}
	if n, ok := query.Int64(forms.OrZero(d.NumTeams)); ok && n == 1 {
		return one("num_teams(1) says so", "")
	}
	if d.Parts&ir.Teams == 0 {
		if why := mapping.OneTeam(f); why != "" {
			return one(why, "teams distribute parallel for")
		}
	}
	input, why := l.scanInput(f)
	if why != "" {
		return one(why, "an input phase that only updates what is scanned")
	}
	l.Decide(at, name, "the whole league", forms.Because(d)+": the teams combine chunks, one team scans their results, the teams scan the chunks from there; the input phase runs twice", "")
	s := &leagueScan{lowering: l, f: f, at: at}
	return s.steps(input)
}

// scanInput returns a copy of the statements that update the places of f, without the rest of the
// body. why is the reason why they cannot run more than once.
func (l *lowering) scanInput(f *ir.For) (list []ir.Stmt, why string) {
	first, second, ok := analysis.ScanPhases(f)
	if !ok {
		panic("gompss: bug: a scan without phases")
	}
	scanned := analysis.ScannedVars(f.Directive)
	list = first
	if f.Directive.Scan.Exclusive {
		part, why, _ := analysis.SliceOf(first, second.Body, scanned)
		if why != "" {
			panic("gompss: bug: the front end let an input phase pass that uses " + why)
		}
		list = append(slices.Clone(part), second.Body...)
	}
	inner := ir.Declared(f.Body)
	for _, v := range append(slices.Clone(f.Directive.Private), f.Directive.Firstprivate...) {
		inner.Add(v)
	}
	if at, effect := analysis.SideEffect(list, inner, f.Directive); effect {
		return nil, "the input phase stores at " + at.String() + ", so that it cannot run twice"
	}
	return list, ""
}

// A leagueScan is a scan over the league under construction.
type leagueScan struct {
	*lowering
	f  *ir.For
	at ir.Pos

	total, width, chunks ir.Expr
	sums                 []*chunkSum
}

// A chunkSum is one scanned place: the combined value of each chunk, and the value before each
// chunk.
type chunkSum struct {
	r        ir.Reduction
	run, at  *ir.Var // the running value from chunk to chunk, and the index of a pair
	parts    *ir.Var
	partsIdx *ir.Var
}

// steps returns the three steps. The width of the chunks depends on the trip count alone.
func (s *leagueScan) steps(input []ir.Stmt) []ir.Stmt {
	f, at := s.f, s.at
	var out []ir.Stmt
	s.total, out = s.Temp("total", build.Trips(f, build.ToInt(f.Lo), build.ToInt(f.Hi), build.ToInt(f.Step)), out)
	each := build.Binary(ir.Div, build.Binary(ir.Add, s.total, build.Int(maxScanChunks-1, at), at), build.Int(maxScanChunks, at), at)
	whole := build.Binary(ir.Mul, build.Binary(ir.Div, build.Binary(ir.Add, each, build.Int(scanGroup-1, at), at), build.Int(scanGroup, at), at), build.Int(scanGroup, at), at)
	s.width, out = s.Temp("width", &ir.Math{Fn: ir.IMax, Args: []ir.Expr{whole, build.Int(leastScanChunk, at)}, T: ir.IntType, At: at}, out)
	s.chunks, out = s.Temp("chunks", build.Binary(ir.Div, build.Binary(ir.Add, s.total, build.Binary(ir.Sub, s.width, build.Int(1, at), at), at), s.width, at), out)
	for _, r := range f.Directive.Reductions {
		c := &chunkSum{r: r}
		c.run, c.parts = s.held(r.Place, &out)
		if r.Index != nil {
			c.at, c.partsIdx = s.held(r.Index, &out)
		}
		s.sums = append(s.sums, c)
	}
	out = append(out, s.combine(input), s.overChunks(), s.scanChunks())
	return []ir.Stmt{&ir.Block{Body: out, At: at}}
}

// held declares the running value of a place, with the value of the place as its initial value, and
// the values of the chunks.
func (s *leagueScan) held(place ir.Expr, out *[]ir.Stmt) (run, parts *ir.Var) {
	name := "part"
	if v := ir.RootVar(place); v != nil {
		name = v.Name
	}
	run = s.Local(name, place.Type(), s.at)
	parts = s.Local(name+"Parts", ir.ArrayOf(place.Type(), maxScanChunks), s.at)
	*out = append(*out, build.Decl(run, place, s.at), build.Decl(parts, nil, s.at))
	return run, parts
}

// teams returns a loop over chunks that is distributed over the teams.
func (s *leagueScan) teams(c *ir.Var, hi ir.Expr, body []ir.Stmt) ir.Stmt {
	d := s.f.Directive
	return &ir.For{Label: &ir.Label{}, Var: c, Lo: build.Int(0, s.at), Hi: hi, Step: build.Int(1, s.at), Rel: ir.Lt, Body: body, At: s.at,
		Directive: &ir.Directive{Parts: ir.Teams | ir.Distribute, Text: d.Text, At: d.At, NumTeams: d.NumTeams, ThreadLimit: d.ThreadLimit, Mode: d.Mode}}
}

// chunk returns the loop over the iterations of chunk c, whose threads run body.
func (s *leagueScan) chunk(c *ir.Var, body []ir.Stmt, reductions []ir.Reduction, scan *ir.Scan) ir.Stmt {
	f, at, d := s.f, s.at, s.f.Directive
	own := &ir.For{Label: f.Label, Var: f.Var, Body: body, At: f.At, Directive: &ir.Directive{Parts: ir.Parallel | ir.Workshare, Text: d.Text, At: d.At,
		NumThreads: d.NumThreads, If: d.If, Sharing: ir.Sharing{Private: d.Private, Firstprivate: d.Firstprivate, Shared: d.Shared, Reductions: reductions}, Scan: scan}}
	first := build.Binary(ir.Mul, build.Ref(c, at), s.width, at)
	if step, ok := query.Int64(f.Step); ok && step == 1 && f.Rel == ir.Lt && f.Var.Type.Kind == ir.Int64 {
		own.Lo = build.Binary(ir.Add, f.Lo, first, at)
		end := build.Binary(ir.Add, own.Lo, s.width, at)
		own.Hi = &ir.Math{Fn: ir.IMin, Args: []ir.Expr{f.Hi, end}, T: ir.IntType, At: at}
		own.Step, own.Rel = build.Int(1, at), ir.Lt
		return s.fresh(own)
	}
	k := s.Local("k", ir.IntType, at)
	own.Var, own.Lo, own.Step, own.Rel = k, first, build.Int(1, at), ir.Lt
	own.Hi = &ir.Math{Fn: ir.IMin, Args: []ir.Expr{s.total, build.Binary(ir.Add, first, s.width, at)}, T: ir.IntType, At: at}
	value := build.Binary(ir.Add, build.ToInt(f.Lo), build.Binary(ir.Mul, build.Ref(k, at), build.ToInt(f.Step), at), at)
	own.Body = append([]ir.Stmt{build.Decl(f.Var, build.Convert(f.Var.Type, value, at), at)}, body...)
	return s.fresh(own)
}

// fresh returns a copy of s with new variables.
func (s *leagueScan) fresh(st ir.Stmt) ir.Stmt { return s.CopyOf([]ir.Stmt{st}, &s.Kernel.NumVars)[0] }

// renamed returns the body with v instead of the scanned variables, and the reductions of a chunk.
func (s *leagueScan) renamed(body []ir.Stmt, v, idx []*ir.Var) ([]ir.Stmt, []ir.Reduction) {
	c := &copies{lowering: s.lowering, at: s.at, vars: map[*ir.Var]*ir.Var{}, parts: map[*ir.Var][][2]int64{}}
	name := func(place ir.Expr, to *ir.Var) {
		if r, ok := place.(*ir.Ref); ok {
			c.vars[r.Var] = to
		} else {
			c.other = append(c.other, placeCopy{place, to})
		}
	}
	var out []ir.Reduction
	for i, x := range s.sums {
		name(x.r.Place, v[i])
		r := ir.Reduction{Op: x.r.Op, Place: build.Ref(v[i], x.r.At), At: x.r.At}
		if x.r.Index != nil {
			name(x.r.Index, idx[i])
			r.Index = build.Ref(idx[i], x.r.At)
		}
		out = append(out, r)
	}
	return c.rewrite(body), out
}

// own declares the variables that a team combines or scans, one for each place, with initial values
// from init.
func (s *leagueScan) own(init func(x *chunkSum, idx bool) ir.Expr) (decls []ir.Stmt, v, idx []*ir.Var) {
	for _, x := range s.sums {
		a := s.Local(x.run.Name, x.run.Type, s.at)
		decls, v = append(decls, build.Decl(a, init(x, false), s.at)), append(v, a)
		var b *ir.Var
		if x.at != nil {
			b = s.Local(x.at.Name, x.at.Type, s.at)
			decls = append(decls, build.Decl(b, init(x, true), s.at))
		}
		idx = append(idx, b)
	}
	return decls, v, idx
}

// combine is the first step: the combined updates of each chunk except the last.
func (s *leagueScan) combine(input []ir.Stmt) ir.Stmt {
	c := s.Local("chunk", ir.IntType, s.at)
	body, v, idx := s.own(func(x *chunkSum, idx bool) ir.Expr {
		if idx {
			return build.Identity(ir.Min, x.at.Type, s.at)
		}
		return build.Identity(x.r.Op, x.run.Type, s.at)
	})
	inside, reductions := s.renamed(input, v, idx)
	var scan *ir.Scan
	if slices.ContainsFunc(reductions, func(r ir.Reduction) bool {
		return r.Place.Type().IsFloat() && (r.Op == ir.Add || r.Op == ir.Mul) || r.Index != nil
	}) {
		scan = &ir.Scan{At: s.f.Directive.Scan.At} // a scan fixes the order of the operations
		inside = append(inside, &ir.Block{At: s.at})
	}
	body = append(body, s.chunk(c, inside, reductions, scan))
	for i, x := range s.sums {
		body = append(body, build.Assign(build.Index(build.Ref(x.parts, s.at), build.Ref(c, s.at), s.at), build.Ref(v[i], s.at), s.at))
		if x.at != nil {
			body = append(body, build.Assign(build.Index(build.Ref(x.partsIdx, s.at), build.Ref(c, s.at), s.at), build.Ref(idx[i], s.at), s.at))
		}
	}
	return s.teams(c, build.Binary(ir.Sub, s.chunks, build.Int(1, s.at), s.at), body)
}

// overChunks is the second step: one team replaces the value of each chunk by the value before the
// chunk.
func (s *leagueScan) overChunks() ir.Stmt {
	at := s.at
	c := s.Local("chunk", ir.IntType, at)
	var first, second []ir.Stmt
	var reductions []ir.Reduction
	for _, x := range s.sums {
		part := build.Index(build.Ref(x.parts, at), build.Ref(c, at), at)
		t := s.Local("part", x.run.Type, at)
		first = append(first, build.Decl(t, part, at), build.Assign(part, build.Ref(x.run, at), at))
		r := ir.Reduction{Op: x.r.Op, Place: build.Ref(x.run, at), At: x.r.At}
		if x.at == nil {
			second = append(second, build.Assign(build.Ref(x.run, at), build.Combine(x.r.Op, build.Ref(x.run, at), build.Ref(t, at), at), at))
		} else {
			partIdx := build.Index(build.Ref(x.partsIdx, at), build.Ref(c, at), at)
			i := s.Local("partIndex", x.at.Type, at)
			first = append(first, build.Decl(i, partIdx, at), build.Assign(partIdx, build.Ref(x.at, at), at))
			r.Index = build.Ref(x.at, at)
			second = append(second, &ir.If{Cond: build.Compare(beats(x.r.Op), build.Ref(t, at), build.Ref(x.run, at), at), At: at,
				Then: []ir.Stmt{build.Assign(build.Ref(x.run, at), build.Ref(t, at), at), build.Assign(build.Ref(x.at, at), build.Ref(i, at), at)}})
		}
		reductions = append(reductions, r)
	}
	d := s.f.Directive
	return &ir.For{Label: &ir.Label{}, Var: c, Lo: build.Int(0, at), Hi: build.Binary(ir.Sub, s.chunks, build.Int(1, at), at), Step: build.Int(1, at), Rel: ir.Lt,
		Body: append(first, &ir.Block{Body: second, At: at}), At: at,
		Directive: &ir.Directive{Parts: ir.Parallel | ir.Workshare, Text: d.Text, At: d.At, Sharing: ir.Sharing{Reductions: reductions}, Scan: &ir.Scan{Exclusive: true, At: d.Scan.At}}}
}

// scanChunks is the third step: the scan of each chunk, starting with the value before it.
func (s *leagueScan) scanChunks() ir.Stmt {
	at := s.at
	c := s.Local("chunk", ir.IntType, at)
	last := build.Compare(ir.Eq, build.Ref(c, at), build.Binary(ir.Sub, s.chunks, build.Int(1, at), at), at)
	body, v, idx := s.own(func(x *chunkSum, idx bool) ir.Expr {
		if idx {
			return build.Choose(last, build.Ref(x.at, at), build.Index(build.Ref(x.partsIdx, at), build.Ref(c, at), at), at)
		}
		return build.Choose(last, build.Ref(x.run, at), build.Index(build.Ref(x.parts, at), build.Ref(c, at), at), at)
	})
	inside, reductions := s.renamed(s.f.Body, v, idx)
	body = append(body, s.chunk(c, inside, reductions, s.f.Directive.Scan))
	var end []ir.Stmt
	for i, x := range s.sums {
		end = append(end, build.Assign(x.r.Place, build.Ref(v[i], at), at))
		if x.at != nil {
			end = append(end, build.Assign(x.r.Index, build.Ref(idx[i], at), at))
		}
	}
	body = append(body, &ir.If{Cond: last, Then: end, At: at})
	return s.teams(c, s.chunks, body)
}
