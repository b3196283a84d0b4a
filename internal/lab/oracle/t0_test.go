package oracle

import (
	"errors"
	"fmt"
	"math/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
)

var errPlain = errors.New("plain")

// runToy judges a toy client with a mixed load.
func runToy(bug toyBug, seed int64) *Report {
	before := RunningGoroutines()
	server := newToyServer()
	client := &toyClient{server: server, bug: bug, rnd: rand.New(rand.NewSource(seed))}
	ledger := NewLedger("toy")
	log, counter := NewExecLog(ledger), NewCounter(ledger, "counter")
	for i := range 2000 {
		key := fmt.Sprintf("key%d", i%10)
		switch client.rnd.Intn(5) {
		case 0:
			id := ledger.IssueTagged(IsBulk)
			client.Send(redis.Req("ECHO", ledger.Tag(id)), ledger, id)
		case 1:
			id := ledger.Issue(IsStatus("OK"))
			client.Send(redis.Req("SET", key, NewValue(ledger.Tag(id), key, 100)), ledger, id)
		case 2:
			client.Send(redis.Req("GET", key), ledger, ledger.Issue(IsValueOf(key)))
		case 3:
			req, id := log.Issue(fmt.Sprintf("log:%d", i%3))
			client.Send(req, ledger, id)
		case 4:
			req, id := counter.Issue()
			client.Send(req, ledger, id)
		}
	}
	for len(client.batch) == 0 { // so that Close has requests to resolve
		client.Send(redis.Req("GET", "key"), ledger, ledger.Issue(nil))
	}
	client.Close()
	report := ledger.Finish(time.Millisecond)
	_ = log.Verify(func(key string) ([]string, error) { return server.lists[key], nil })
	counter.Verify(server.counts["counter"])
	before.Settle(report, 20*time.Millisecond)
	return report
}

// T0: the oracle finds each of these bugs. Otherwise a run without violations would prove nothing.
func TestT0PlantedBugsAreCaught(t *testing.T) {
	forever := make(chan struct{})
	defer close(forever)
	for name, tt := range map[string]struct {
		bug  func() toyBug
		want []Violation // all violations that the oracle must find
	}{
		"swap two futures":              {func() toyBug { return swapFutures{} }, []Violation{Mixed}},
		"skip a reply":                  {func() toyBug { return skipReply{} }, []Violation{Mixed}},
		"resolve twice":                 {func() toyBug { return resolveTwice{} }, []Violation{Double}},
		"call unknown not sent":         {func() toyBug { return unknownAsNotSent{} }, []Violation{FalseNotSent, Duplicated}},
		"retry a write":                 {func() toyBug { return retryWrite{} }, []Violation{Duplicated}},
		"drop on close":                 {func() toyBug { return dropOnClose{} }, []Violation{Lost}},
		"lose a batch":                  {func() toyBug { return loseBatch{} }, []Violation{Lost}},
		"share a buffer of replies":     {func() toyBug { return &shareReply{} }, []Violation{Mixed}},
		"share a buffer of requests":    {func() toyBug { return &shareRequest{} }, []Violation{Mixed}},
		"reorder a batch":               {func() toyBug { return reorder{} }, []Violation{Disordered}},
		"acknowledge what was not sent": {func() toyBug { return falseAck{} }, []Violation{Missing}},
		"report not sent, send later":   {func() toyBug { return sendLater{} }, []Violation{FalseNotSent}},
		"deliver a stale reply":         {func() toyBug { return &staleReply{} }, []Violation{Mixed}},
		"truncate a value":              {func() toyBug { return truncateValue{} }, []Violation{Mixed}},
		"replay what is acknowledged":   {func() toyBug { return replay{} }, []Violation{Duplicated}},
		"return a foreign error":        {func() toyBug { return plainError{} }, []Violation{Untyped}},
		"reuse an abandoned future":     {func() toyBug { return reuseFuture{} }, []Violation{Mixed}},
		"leave a goroutine":             {func() toyBug { return leakGoroutine{forever: forever} }, []Violation{Leaked}},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range int64(3) {
				report := runToy(tt.bug(), seed)
				require.True(t, report.Failed(), "seed %d: not caught: %v", seed, report)
				for _, v := range tt.want {
					require.Positive(t, report.Count(v), "seed %d: %s: %v", seed, v, report)
				}
			}
		})
	}
}

func TestT0CleanClientPasses(t *testing.T) {
	for seed := range int64(10) {
		report := runToy(toyClean{}, seed)
		require.False(t, report.Failed(), "seed %d: %v", seed, report)
		require.Positive(t, report.Outcomes(Unknown))
		require.Positive(t, report.Outcomes(NotSent))
		require.GreaterOrEqual(t, report.Requests(), int64(2000))
	}
}
