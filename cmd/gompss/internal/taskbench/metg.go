package taskbench

import "time"

// METG returns the time of a kernel, in microseconds, at which half of what the workers could do
// goes into kernels: the minimum effective task granularity at 50 %. It doubles the grain until it
// is reached, cuts the last step in half three times and interpolates; at each grain the quickest
// of three runs counts, since other work on the machine only adds.
func METG(o Options) (float64, error) {
	below, above := point{}, point{}
	for grain := 64; ; grain *= 2 {
		p, err := o.efficiency(grain)
		if err != nil {
			return 0, err
		}
		if above = p; p.efficiency >= 0.5 || grain > 1<<22 {
			break
		}
		below = p
	}
	for range 3 {
		p, err := o.efficiency((below.grain + above.grain) / 2)
		if err != nil {
			return 0, err
		}
		if p.efficiency >= 0.5 {
			above = p
		} else {
			below = p
		}
	}
	at := below.kernel.Seconds()
	if rise := above.efficiency - below.efficiency; rise > 0 {
		at += (0.5 - below.efficiency) / rise * (above.kernel - below.kernel).Seconds()
	}
	return at * 1e6, nil
}

// A point is how well the workers are used at a grain.
type point struct {
	grain      int
	kernel     time.Duration
	efficiency float64
}

func (o *Options) efficiency(grain int) (point, error) {
	at := *o
	at.Grain = grain
	r, err := at.open(0)
	if err != nil {
		return point{}, err
	}
	defer r.rt.Close()
	if err := r.record(&at); err != nil {
		return point{}, err
	}
	samples, err := r.samples(3)
	if err != nil {
		return point{}, err
	}
	p := point{grain: grain, kernel: kernel(grain).cost()}
	p.efficiency = float64(r.tasks) * float64(p.kernel) / (float64(o.Workers) * float64(samples[0].elapsed))
	return p, nil
}
