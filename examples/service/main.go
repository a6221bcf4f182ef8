// Command service answers requests over HTTP by tasks: each request is a group, whose tasks are
// cancelled when the client goes away or a time limit ends.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"log"
	"math"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"time"

	_ "github.com/gompss/gompss/devices/all"
	"github.com/gompss/gompss/task"
)

func main() {
	address := flag.String("addr", "127.0.0.1:8080", "address to listen on")
	devices := flag.String("devices", "", "devices, such as smp:2,sim:2; empty: $GOMPSS_DEVICES, else auto")
	limit := flag.Duration("limit", 10*time.Second, "time limit of a request")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := serve(ctx, *address, *devices, *limit); err != nil {
		log.Fatal(err)
	}
}

// serve answers requests until ctx ends; requests that are under way then are answered.
func serve(ctx context.Context, address, devices string, limit time.Duration) error {
	rt, err := task.New(task.Options{Devices: devices})
	if err != nil {
		return err
	}
	server := &http.Server{Addr: address, Handler: handler(rt, limit), ReadHeaderTimeout: time.Second}
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		stopped <- server.Shutdown(context.WithoutCancel(ctx))
	}()
	log.Printf("http://%s/integral?from=0&to=3.14159&points=1000000", address)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return errors.Join(err, rt.Close())
	}
	return errors.Join(<-stopped, rt.Close())
}

// handler serves /integral, the integral of the sine between two bounds, and /stats.
func handler(rt *task.Runtime, limit time.Duration) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /integral", func(w http.ResponseWriter, r *http.Request) {
		from, err1 := strconv.ParseFloat(r.FormValue("from"), 64)
		to, err2 := strconv.ParseFloat(r.FormValue("to"), 64)
		points, err3 := strconv.Atoi(r.FormValue("points"))
		if err := errors.Join(err1, err2, err3); err != nil || points < 1 || points > 1<<26 {
			http.Error(w, "want from, to, and points from 1 to 67108864", http.StatusBadRequest)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		defer cancel()
		value, err := integral(ctx, rt, from, to, points)
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			http.Error(w, "the time limit has ended", http.StatusServiceUnavailable)
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		default:
			answer(w, map[string]float64{"integral": value})
		}
	})
	mux.HandleFunc("GET /stats", func(w http.ResponseWriter, _ *http.Request) { answer(w, rt.Stats()) })
	return mux
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		log.Print(err)
	}
}

// integral returns the integral of the sine by the midpoint rule, in tasks of 65,536 points. The
// memory of a request is first used in the scope of its root task, which is forgotten with it.
func integral(ctx context.Context, rt *task.Runtime, from, to float64, points int) (float64, error) {
	const block = 1 << 16
	step := (to - from) / float64(points)
	parts := make([]float64, (points+block-1)/block)
	group := task.NewGroup(rt)
	stop := context.AfterFunc(ctx, func() { group.Cancel(context.Cause(ctx)) })
	defer stop()
	_, err := group.GoScope(func(s *task.Scope) error {
		for i := range parts {
			_, err := s.Go(func() error {
				for p := i * block; p < min((i+1)*block, points); p++ {
					parts[i] += math.Sin(from+(float64(p)+0.5)*step) * step
				}
				return nil
			}, task.Out(parts[i:i+1]), task.Label("integral"))
			if err != nil {
				return err
			}
		}
		return s.Wait(s.Context())
	}, task.Label("request"))
	if err != nil {
		return 0, err
	}
	err = group.Wait(context.Background()) // after a cancellation this is soon
	if err := context.Cause(ctx); err != nil {
		return 0, err
	}
	sum := 0.0
	for _, part := range parts {
		sum += part
	}
	return sum, err
}
