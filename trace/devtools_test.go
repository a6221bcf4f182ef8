package trace_test

import (
	"bufio"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A browser is a headless Chromium that this test started, with one page, driven over the DevTools
// websocket.
type browser struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader

	mu       sync.Mutex
	last     int
	waiting  map[int]chan json.RawMessage
	requests []string
	problems []string
}

// chromium finds the browser, or skips the test with the reason. GOMPSS_CHROMIUM names one.
func chromium(t *testing.T) string {
	for _, name := range []string{os.Getenv("GOMPSS_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no Chromium is installed: the page is not tested in a browser")
	return ""
}

func openBrowser(t *testing.T, dark bool) *browser {
	t.Helper()
	dir, err := os.MkdirTemp("", "chromium")
	require.NoError(t, err)
	args := []string{"--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", "--disable-component-update",
		"--remote-debugging-port=0", "--user-data-dir=" + dir, "--window-size=1400,1000", "--hide-scrollbars"}
	if dark {
		args = append(args, "--force-dark-mode")
	}
	cmd := exec.Command(chromium(t), append(args, "about:blank")...)
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // our own child
		_ = cmd.Wait()
		for range 20 { // the browser's children end after it, and write until then
			if os.RemoveAll(dir) == nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	lines := bufio.NewScanner(stderr)
	address := ""
	for address == "" && lines.Scan() {
		if _, rest, ok := strings.Cut(lines.Text(), "DevTools listening on "); ok {
			address = rest
		}
	}
	require.NotEmpty(t, address, "the browser did not start")
	go io.Copy(io.Discard, stderr)
	b := &browser{t: t, waiting: map[int]chan json.RawMessage{}}
	b.dial(address)
	t.Cleanup(func() { b.conn.Close() })
	go b.read()
	return b.page()
}

// dial makes the websocket handshake.
func (b *browser) dial(address string) {
	u, err := url.Parse(address)
	require.NoError(b.t, err)
	b.conn, err = net.Dial("tcp", u.Host)
	require.NoError(b.t, err)
	key := make([]byte, 16)
	rand.Read(key)
	fmt.Fprintf(b.conn, "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\n\r\n", u.Path, u.Host, base64.StdEncoding.EncodeToString(key))
	b.in = bufio.NewReader(b.conn)
	for {
		line, err := b.in.ReadString('\n')
		require.NoError(b.t, err)
		if line == "\r\n" {
			return
		}
	}
}

// send writes one masked text frame.
func (b *browser) send(v any) {
	text, err := json.Marshal(v)
	require.NoError(b.t, err)
	frame := []byte{0x81}
	switch n := len(text); {
	case n < 126:
		frame = append(frame, 0x80|byte(n))
	case n < 1<<16:
		frame = binary.BigEndian.AppendUint16(append(frame, 0x80|126), uint16(n))
	default:
		frame = binary.BigEndian.AppendUint64(append(frame, 0x80|127), uint64(n))
	}
	frame = append(frame, 0, 0, 0, 0) // a mask of zeros
	_, err = b.conn.Write(append(frame, text...))
	require.NoError(b.t, err)
}

func (b *browser) frame() ([]byte, error) {
	var out []byte
	for {
		head := make([]byte, 2)
		if _, err := io.ReadFull(b.in, head); err != nil {
			return nil, err
		}
		n := uint64(head[1] & 0x7f)
		if n == 126 || n == 127 {
			long := make([]byte, map[uint64]int{126: 2, 127: 8}[n])
			if _, err := io.ReadFull(b.in, long); err != nil {
				return nil, err
			}
			n = 0
			for _, c := range long {
				n = n<<8 | uint64(c)
			}
		}
		part := make([]byte, n)
		if _, err := io.ReadFull(b.in, part); err != nil {
			return nil, err
		}
		if op := head[0] & 15; op == 0 || op == 1 {
			out = append(out, part...)
			if head[0]&0x80 != 0 {
				return out, nil
			}
		}
	}
}

// read gives answers to those that wait, and notes requests and problems of the page.
func (b *browser) read() {
	for {
		text, err := b.frame()
		if err != nil {
			return
		}
		var m struct {
			ID     int
			Method string
			Params json.RawMessage
			Result json.RawMessage
			Error  json.RawMessage
		}
		if json.Unmarshal(text, &m) != nil {
			continue
		}
		b.mu.Lock()
		switch {
		case m.ID != 0 && m.Error != nil:
			b.problems = append(b.problems, "devtools: "+string(m.Error))
			fallthrough
		case m.ID != 0:
			if ch := b.waiting[m.ID]; ch != nil {
				ch <- m.Result
			}
		case m.Method == "Network.requestWillBeSent":
			var p struct{ Request struct{ URL string } }
			_ = json.Unmarshal(m.Params, &p)
			b.requests = append(b.requests, p.Request.URL)
		case m.Method == "Runtime.exceptionThrown", m.Method == "Log.entryAdded":
			b.problems = append(b.problems, string(m.Params))
		}
		b.mu.Unlock()
	}
}

var session string

func (b *browser) call(method string, params map[string]any) json.RawMessage {
	b.t.Helper()
	ch := make(chan json.RawMessage, 1)
	b.mu.Lock()
	b.last++
	id := b.last
	b.waiting[id] = ch
	b.mu.Unlock()
	m := map[string]any{"id": id, "method": method, "params": params}
	if session != "" {
		m["sessionId"] = session
	}
	b.send(m)
	select {
	case r := <-ch:
		return r
	case <-time.After(3 * time.Minute):
		b.t.Fatalf("%s: no answer", method)
		return nil
	}
}

// page opens the one page.
func (b *browser) page() *browser {
	session = ""
	var target struct{ TargetID string }
	require.NoError(b.t, json.Unmarshal(b.call("Target.createTarget", map[string]any{"url": "about:blank"}), &target))
	var s struct{ SessionID string }
	require.NoError(b.t, json.Unmarshal(b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}), &s))
	session = s.SessionID
	for _, domain := range []string{"Network", "Runtime", "Log", "Page"} {
		b.call(domain+".enable", map[string]any{})
	}
	return b
}

func (b *browser) goTo(address string) { b.call("Page.navigate", map[string]any{"url": address}) }

// eval returns what an expression is, as text.
func (b *browser) eval(expression string) string {
	b.t.Helper()
	var r struct {
		Result           struct{ Value any }
		ExceptionDetails json.RawMessage
	}
	require.NoError(b.t, json.Unmarshal(b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}), &r))
	require.Nil(b.t, r.ExceptionDetails, "%s: %s", expression, r.ExceptionDetails)
	return fmt.Sprint(r.Result.Value)
}

// until waits until an expression is true.
func (b *browser) until(expression string) {
	b.t.Helper()
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if b.eval("Boolean("+expression+")") == "true" {
			return
		}
	}
	b.t.Fatalf("never true: %s\npage: %s\nproblems: %v", expression, b.eval("document.body.innerText.slice(0,2000)"), b.noted())
}

func (b *browser) noted() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.problems...)
}

// key presses and releases a key.
func (b *browser) key(key string) {
	p := map[string]any{"type": "keyDown", "key": key}
	if len(key) == 1 {
		p["text"] = key
	}
	if code := map[string]int{"Tab": 9, "Enter": 13}[key]; code != 0 {
		p["windowsVirtualKeyCode"] = code
	}
	if key == "Enter" {
		p["text"] = "\r"
	}
	b.call("Input.dispatchKeyEvent", p)
	b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key})
}

func (b *browser) click(x, y float64) {
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		b.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1})
	}
}

// shot keeps screenshots of the page, in light and dark: in the folder that GOMPSS_SHOTS names, or
// as artefacts of the test, which go test -artifacts keeps.
func (b *browser) shot(name string) {
	b.shotTo(os.Getenv("GOMPSS_SHOTS"), name)
}

func (b *browser) shotTo(dir, name string) {
	if dir == "" {
		dir = b.t.ArtifactDir()
	}
	require.NoError(b.t, os.MkdirAll(dir, 0o755))
	for suffix, scheme := range map[string]string{"": "light", "-dark": "dark"} {
		b.scheme(scheme)
		require.NoError(b.t, os.WriteFile(filepath.Join(dir, name+suffix+".png"), b.picture(), 0o644))
	}
	b.scheme("")
}

// scheme makes the page light or dark; "" leaves that to the browser.
func (b *browser) scheme(scheme string) {
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]any{{"name": "prefers-color-scheme", "value": scheme}}})
	b.eval(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))))`) // charts are drawn again
}

func (b *browser) picture() []byte {
	var r struct{ Data []byte }
	require.NoError(b.t, json.Unmarshal(b.call("Page.captureScreenshot", map[string]any{"format": "png"}), &r))
	require.Greater(b.t, len(r.Data), 5000)
	return r.Data
}

// check asserts that the page asked for nothing outside of prefix, and had no errors.
func (b *browser) check(prefix string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	require.NotEmpty(b.t, b.requests)
	for _, r := range b.requests {
		if r != "about:blank" && !strings.HasPrefix(r, "data:") {
			require.True(b.t, strings.HasPrefix(r, prefix), "a request to %s", r)
		}
	}
	require.Empty(b.t, b.problems)
}
