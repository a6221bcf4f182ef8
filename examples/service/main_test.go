package main

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/task"
)

func get(t *testing.T, h http.Handler, ctx context.Context, url string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, url, nil))
	return w
}

func TestHandler_AnswersManyRequestsAtOnce(t *testing.T) {
	rt, err := task.New(task.Options{Devices: "smp:2"})
	require.NoError(t, err)
	h := handler(rt, time.Minute)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			w := get(t, h, context.Background(), "/integral?from=0&to=3.141592653589793&points=200000")
			var got map[string]float64
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || math.Abs(got["integral"]-2) > 1e-9 {
				t.Error(w.Body.String(), err)
			}
		})
	}
	all.Wait()
	require.Contains(t, get(t, h, context.Background(), "/stats").Body.String(), "smp")
	require.NoError(t, rt.Close())
}

func TestHandler_RefusesAndCancels(t *testing.T) {
	rt, err := task.New(task.Options{Devices: "smp:1"})
	require.NoError(t, err)
	require.Equal(t, http.StatusBadRequest, get(t, handler(rt, time.Minute), context.Background(), "/integral?from=0&to=x&points=1").Code)
	w := get(t, handler(rt, time.Nanosecond), context.Background(), "/integral?from=0&to=1&points=60000000")
	require.Equal(t, http.StatusServiceUnavailable, w.Code, w.Body.String())
	gone, leave := context.WithCancel(context.Background())
	leave()
	w = get(t, handler(rt, time.Minute), gone, "/integral?from=0&to=1&points=60000000")
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.True(t, strings.Contains(w.Body.String(), "canceled"), w.Body.String())
	w = get(t, handler(rt, time.Minute), context.Background(), "/integral?from=0&to=1&points=1000")
	require.Equal(t, http.StatusOK, w.Code, "a cancelled request does not hinder the next one")
	require.NoError(t, rt.Close())
}

func TestServe_EndsWithItsContext(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	time.AfterFunc(100*time.Millisecond, stop)
	require.NoError(t, serve(ctx, "127.0.0.1:0", "smp:1", time.Second))
}
