package trace

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gompss/gompss/trace/run"
)

// reportTasks is for how many tasks a report has accesses and candidates; it has times and edges of
// all.
const reportTasks = 20000

// Report writes the page of a run as one HTML file that needs no server and no network. Task
// details beyond the first 20000 tasks are left out, with a note on the page.
func Report(w io.Writer, r *run.Run) error {
	c := &content{title: "report", run: r, fresh: true}
	m, err := c.snapshot()
	if err != nil {
		return fmt.Errorf("trace: report: %w", err)
	}
	writeTasks, _, err := c.tasks()
	if err != nil {
		return fmt.Errorf("trace: report: %w", err)
	}
	details := map[string]*taskState{}
	for i := range min(reportTasks, r.Len()) {
		id := r.Task(i).ID
		details[fmt.Sprint(id)] = taskOf(r, id)
	}
	more, err := json.Marshal(details)
	if err != nil {
		return fmt.Errorf("trace: report: %w", err)
	}
	page, err := wholePage()
	if err != nil {
		return fmt.Errorf("trace: report: %w", err)
	}
	before, after, _ := strings.Cut(page, "<!--content-->")
	_, err = fmt.Fprintf(w, `%s<script type="application/json" id="state">%s</script>
<script type="application/json" id="details">%s</script>
<script type="text/plain" id="columns">`, before, m.state, more) // json.Marshal escapes <, so that no script ends early
	text := base64.NewEncoder(base64.StdEncoding, w)
	if err = errors.Join(err, writeTasks(text), text.Close()); err == nil {
		_, err = io.WriteString(w, "</script>\n"+after)
	}
	if err != nil {
		return fmt.Errorf("trace: report: %w", err)
	}
	return nil
}

// wholePage returns index.html with its style and script in it.
func wholePage() (string, error) {
	var text [3]string
	for i, name := range []string{"dist/index.html", "dist/app.css", "dist/app.js"} {
		b, err := dist.ReadFile(name)
		if err != nil {
			return "", err
		}
		text[i] = string(b)
	}
	const policy = `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:">`
	page := strings.Replace(text[0], "<!--policy-->", policy, 1)
	page = strings.Replace(page, `<link rel="stylesheet" href="app.css">`, "<style>"+text[1]+"</style>", 1)
	return strings.Replace(page, `<script src="app.js" defer></script>`, "<!--content--><script>"+strings.ReplaceAll(text[2], "</script", `<\/script`)+"</script>", 1), nil
}
