package simt

// A paused is a team of a grid whose teams meet, while others run.
type paused struct {
	team    int
	threads []*thread
	memory  []byte // of the team
	phase   uint32 // for race detection, as shadows
	shadows shadow
}

// runWhole runs a grid whose teams wait for each other: each team as far as it comes, in a new
// order after each grid barrier. Threads that wait for teams that will not come are divergent.
func runWhole(m *machine, teams, order []int) error {
	list := make([]*paused, len(teams))
	for _, team := range teams {
		list[team] = newPaused(m, team)
	}
	for {
		ended := 0
		for _, team := range teams {
			met, err := resume(m, list[team], order)
			if err != nil {
				return err
			}
			if !met {
				ended++
			}
		}
		if ended == len(list) {
			return nil
		}
		if p := apart(list); p != nil {
			m.threads, m.team = p.threads, p.team
			return m.diverged()
		}
		meetGrid(m, list)
		m.random.order(teams)
	}
}

// newPaused returns a team at its start.
func newPaused(m *machine, team int) *paused {
	p := &paused{team: team, memory: make([]byte, m.code.team), shadows: shadow{}, phase: 1}
	for i := range p.memory {
		p.memory[i] = poison
	}
	m.team = team
	for id := range m.grid.Threads {
		t := &thread{regs: make([]uint64, len(m.code.template)), private: make([]byte, m.code.private)}
		m.begin(t, id)
		p.threads = append(p.threads, t)
	}
	return p
}

// resume runs a team until all its threads have ended or wait for other teams, which it reports.
func resume(m *machine, p *paused, order []int) (met bool, err error) {
	m.team, m.threads, m.segments[teamSegment] = p.team, p.threads, p.memory
	if m.race != nil {
		m.race.phase, m.race.shadows[teamSegment] = p.phase, p.shadows
		defer func() { p.phase = m.race.phase }()
	}
	m.random.order(order)
	return m.runThreads(order)
}

// apart returns a team that waits where another one does not, nil where all wait at one place.
func apart(list []*paused) *paused {
	for _, p := range list {
		for _, t := range p.threads {
			if t.status != waiting || t.pc != list[0].threads[0].pc {
				for _, q := range list {
					if q.threads[0].status == waiting {
						return q
					}
				}
			}
		}
	}
	return nil
}

// meetGrid resumes all teams.
func meetGrid(m *machine, list []*paused) {
	m.stats.Barriers++
	for _, p := range list {
		if m.race != nil {
			m.team, m.threads, m.race.phase = p.team, p.threads, p.phase
			m.race.teamBarrier(p.threads)
			p.phase = m.race.phase
		}
		release(p.threads)
	}
	if m.race != nil {
		m.race.gridBarrier(list)
	}
}

// gridBarrier forgets what came before: all threads know it.
func (d *detector) gridBarrier(list []*paused) {
	for i := range d.shadows {
		if i != teamSegment {
			d.shadows[i] = shadow{}
		}
	}
	clear(d.sync)
	for _, p := range list {
		for _, t := range p.threads {
			t.known = nil
		}
	}
}
