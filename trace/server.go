package trace

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/record"
	"github.com/gompss/gompss/trace/run"
	"github.com/gompss/gompss/trace/session"
)

//go:embed dist
var dist embed.FS

func init() {
	session.RegisterPage(func(addr string) (session.Page, error) { return Serve(addr) })
}

// A Server serves the page of one run.
type Server struct {
	content  *content
	listener net.Listener
	http     *http.Server
	token    string // "" on a loopback address
	stopping chan struct{}
	done     sync.WaitGroup
	closed   sync.Once
}

// Serve serves the page of a run that will be recorded: pass the server to a recorder as a sink.
// addr is host:port; port 0 means any free port, and an empty host means loopback. If the address
// is not a loopback address, the URL has a random token, and requests without it are rejected.
//
// Errors: the server cannot listen on addr.
func Serve(addr string) (*Server, error) {
	return serve(addr, &content{title: "live run", run: run.New(liveTasks), live: true})
}

// ShowStatus makes the page show the tasks in flight and, if no task has ended for ten seconds, the
// reason of the stall. A nil status ends this.
func (s *Server) ShowStatus(status func() *probe.Status) {
	s.content.mu.Lock()
	defer s.content.mu.Unlock()
	s.content.status = status
}

// ServeRun serves the page of a run that has finished.
func ServeRun(addr, title string, r *run.Run) (*Server, error) {
	return serve(addr, &content{title: title, run: r, fresh: true})
}

func serve(addr string, c *content) (*Server, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("trace: serve %q: want host:port: %w", addr, err)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("trace: serve: %w", err)
	}
	s := &Server{content: c, listener: l, stopping: make(chan struct{})}
	if at, err := netip.ParseAddrPort(l.Addr().String()); err != nil || !at.Addr().IsLoopback() {
		s.token = rand.Text()
	}
	s.http = &http.Server{Handler: s.guard(s.routes()), ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 1 << 16}
	s.done.Go(func() {
		_ = s.http.Serve(l) // returns ErrServerClosed after Close
	})
	return s, nil
}

// URL returns the URL of the page. If the server listens on all addresses of the machine, the URL
// has one that other machines can reach, if there is one.
func (s *Server) URL() string {
	u := url.URL{Scheme: "http", Host: reachable(s.listener.Addr()), Path: "/"}
	if s.token != "" {
		u.RawQuery = "token=" + s.token
	}
	return u.String()
}

func reachable(at net.Addr) string {
	tcp, ok := at.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return at.String()
	}
	best := "127.0.0.1"
	addresses, _ := net.InterfaceAddrs() // after an error the loopback address remains
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			best = n.IP.String()
			break
		}
	}
	return net.JoinHostPort(best, strconv.Itoa(tcp.Port))
}

// Open implements record.Sink.
func (s *Server) Open(m *probe.Machine) error { return s.content.Open(m) }

// Take implements record.Sink.
func (s *Server) Take(b *record.Batch) error { return s.content.Take(b) }

// Close ends the run of the page, waits at most three seconds for clients to receive the last
// snapshot, and stops the server.
func (s *Server) Close() error {
	var err error
	s.closed.Do(func() {
		s.content.end()
		close(s.stopping)
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		if err = s.http.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
			err = s.http.Close()
		}
		s.done.Wait()
	})
	return err
}

// guard returns a handler that sets the security headers and rejects unauthorized requests.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			http.Error(w, "read only", http.StatusMethodNotAllowed)
		case s.token == "" && !localHost(r.Host): // a foreign name that resolves to this host
			http.Error(w, "wrong host", http.StatusForbidden)
		case s.token != "" && !s.knows(w, r):
			http.Error(w, "the address needs its token", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func localHost(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

const tokenCookie = "gompss_token"

// knows reports whether a request has the token, in the URL or in a cookie. A request with the
// token in its URL sets the cookie, which is sent to this site only.
func (s *Server) knows(w http.ResponseWriter, r *http.Request) bool {
	same := func(t string) bool { return subtle.ConstantTimeCompare([]byte(t), []byte(s.token)) == 1 }
	if same(r.URL.Query().Get("token")) {
		http.SetCookie(w, &http.Cookie{Name: tokenCookie, Value: s.token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
		return true
	}
	c, err := r.Cookie(tokenCookie)
	return err == nil && same(c.Value)
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic("gompss: bug: trace: " + err.Error())
	}
	mux.Handle("/", http.FileServerFS(files))
	mux.HandleFunc("/api/state", s.state)
	mux.HandleFunc("/api/columns", s.columns)
	mux.HandleFunc("/api/task", s.task)
	mux.HandleFunc("/api/events", s.events)
	return mux
}

// state serves the newest snapshot.
func (s *Server) state(w http.ResponseWriter, _ *http.Request) {
	m, err := s.content.snapshot()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer(w, "application/json", m.version)
	_, _ = w.Write(m.state) // an error means that the client is gone
}

// columns serves the tasks of the newest snapshot.
func (s *Server) columns(w http.ResponseWriter, _ *http.Request) {
	write, version, err := s.content.tasks()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer(w, "application/octet-stream", version)
	_ = write(w) // an error means that the client is gone
}

func answer(w http.ResponseWriter, kind string, version int64) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("X-Version", strconv.FormatInt(version, 10))
}

// task serves the details of one task.
func (s *Server) task(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseUint(r.URL.Query().Get("id"), 10, 64)
	if err != nil {
		http.Error(w, "id: not a number", http.StatusBadRequest)
		return
	}
	switch d, err := s.content.task(deps.TaskID(id)); {
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	case d == nil:
		http.Error(w, "this task is not among those that are kept", http.StatusNotFound)
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(d) // an error means that the client is gone
	}
}

// events sends each new snapshot until the run has finished or the server stops. Each open page has
// one such stream.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, "retry: 2000\n\n")
	if out.Flush() != nil {
		return
	}
	tick := time.NewTicker(refresh)
	defer tick.Stop()
	for sent := int64(0); ; {
		m, err := s.content.snapshot()
		if err != nil {
			return
		}
		if m.version != sent {
			sent = m.version
			// The server drops a client that does not read for so long; the browser reconnects.
			if out.SetWriteDeadline(time.Now().Add(10*time.Second)) != nil {
				return
			}
			if _, err := fmt.Fprintf(w, "id: %d\ndata: %s\n\n", m.version, m.state); err != nil || out.Flush() != nil {
				return
			}
		}
		if m.end && s.content.over() {
			fmt.Fprint(w, "event: end\ndata: {}\n\n")
			return
		}
		select {
		case <-tick.C:
		case <-s.stopping:
		case <-r.Context().Done():
			return
		}
	}
}

// over reports whether no more records will arrive.
func (c *content) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.live
}
