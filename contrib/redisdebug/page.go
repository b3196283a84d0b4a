// Package redisdebug shows on one page what the clients of a process do: rates, batches, stages, nodes, slots, dedicated
// sockets, caches, subscribers, shifts between databases, and the last slow operations. The page has no scripts and loads
// nothing from elsewhere. It shows addresses of servers, but no arguments, no text of errors and no passwords; serve it where
// only your colleagues can reach it, like net/http/pprof.
package redisdebug

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/rediscache"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisfailover"
	"github.com/joomcode/redispipe/redispubsub"
)

// Page is an [http.Handler] that shows statistics, as JSON if the URL has the query ?json. It is also a [redis.Hook]:
// the page lists the slow operations of the clients that have it as a hook. It is safe for concurrent use.
type Page struct {
	slow operations

	mu      sync.Mutex // guards the fields below
	sources []source
}

// source is something with statistics.
type source struct {
	name string
	read func(v *View)
}

// New returns a page without statistics. As a hook, it keeps the last operations that took at least slow.
func New(slow time.Duration) *Page { return &Page{slow: operations{least: slow}} }

// Add lets the page show the statistics of a *[redispipe.Client], *[redisconn.Connection], *[rediscluster.Cluster],
// *[rediscache.Cache], *[redispubsub.Subscriber] or *[redisfailover.Client], or of anything with a method Stats like theirs, under
// a name. It returns an error if from has no such method or is nil, or if the name is empty or taken.
func (p *Page) Add(name string, from any) error {
	if name == "" {
		return fmt.Errorf("redisdebug: the %T has no name, under which the page would show it", from)
	}
	if from != nil && errs.IsNil(from) {
		return fmt.Errorf("redisdebug: the %T of %q is nil", from, name)
	}
	s := source{name: name}
	switch from := from.(type) {
	case interface{ Stats() redisconn.Stats }:
		rates := &rates{}
		s.read = func(v *View) {
			stats := from.Stats()
			nodes := []rediscluster.NodeStats{{Addr: stats.Addr, Conns: []redisconn.Stats{stats}}}
			v.Clients = append(v.Clients, client(name, rediscluster.Stats{Total: stats, Nodes: nodes}, rates))
		}
	case interface{ Stats() rediscluster.Stats }:
		rates := &rates{}
		s.read = func(v *View) { v.Clients = append(v.Clients, client(name, from.Stats(), rates)) }
	case interface{ Stats() rediscache.Stats }:
		s.read = func(v *View) { v.Caches = append(v.Caches, Cache{name, from.Stats()}) }
	case interface{ Stats() redispubsub.Stats }:
		s.read = func(v *View) { v.Subscribers = append(v.Subscribers, subscriber(name, from.Stats())) }
	case interface{ Stats() redisfailover.Stats }:
		s.read = func(v *View) { v.Failovers = append(v.Failovers, failover(name, from.Stats())) }
	default:
		return fmt.Errorf("redisdebug: %T has no statistics that the page knows", from)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.ContainsFunc(p.sources, func(other source) bool { return other.name == name }) {
		return fmt.Errorf("redisdebug: the page already has %q", name)
	}
	p.sources = append(p.sources, s)
	return nil
}

// View returns the data that the page shows. The rates are computed since an earlier view that is at least a
// second older.
func (p *Page) View() View {
	p.mu.Lock()
	sources := slices.Clone(p.sources)
	p.mu.Unlock()
	v := View{At: time.Now(), Slow: p.slow.last(), SlowFrom: p.slow.least.String()}
	for _, s := range sources {
		s.read(&v)
	}
	return v
}

//go:embed page.html
var files embed.FS

var page = template.Must(template.New("page.html").Funcs(template.FuncMap{"round": round}).ParseFS(files, "page.html"))

// ServeHTTP implements http.Handler.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := p.View()
	w.Header().Set("Cache-Control", "no-store")
	if r.URL.Query().Has("json") {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(v) //nolint:errcheck // the reader is gone
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	page.Execute(w, v) //nolint:errcheck // the reader is gone
}
