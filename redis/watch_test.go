package redis

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/send"
)

// hardToReach is a Sender that can't open sessions until a given time. Each attempt takes a while.
type hardToReach struct {
	Sender
	takes time.Duration
	until time.Time
	opens int
}

func (h *hardToReach) SendEncoded(*send.Request, Future, uint64) {}
func (h *hardToReach) WantsSlot() bool                           { return false }
func (h *hardToReach) Exchange(_ context.Context, reqs []send.Request, each func(int, any)) error {
	for i := range reqs {
		each(i, "OK")
	}
	return nil
}
func (h *hardToReach) Server() send.Server { return send.Server{} }
func (h *hardToReach) Release()            {}

var errUnreachable = Errors.NewType("unreachable", ErrTraitNotSent, ErrTraitConnectivity)

func (h *hardToReach) OpenDedicated(context.Context, []string, error) (send.Dedicated, error) {
	h.opens++
	time.Sleep(h.takes)
	if time.Now().Before(h.until) {
		return nil, errUnreachable.New("nobody is there")
	}
	return h, nil
}

func TestWatchEndsWithoutSession(t *testing.T) {
	for name, c := range map[string]struct {
		takes, away time.Duration // how long an attempt takes, and for how long attempts fail
		reached     bool
		least, most int // bounds of the number of attempts to open a session
		within      time.Duration
	}{
		"at once, and back":                 {0, 900 * time.Millisecond, true, 10, 128, time.Second},
		"at once, and gone":                 {0, time.Hour, false, 10, 127, 2 * time.Second},
		"slowly, and back":                  {200 * time.Millisecond, 900 * time.Millisecond, true, 4, 5, 2 * time.Second},
		"slowly, and gone":                  {200 * time.Millisecond, time.Hour, false, 5, 6, 2 * time.Second},
		"very slowly, as when it is frozen": {2 * time.Second, time.Hour, false, 3, 3, 7 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &hardToReach{takes: c.takes, until: time.Now().Add(c.away)}
				began := time.Now()
				_, err := Watch(t.Context(), h, []string{"key"}, func(*Tx) error { return nil })
				assert.Equal(t, c.reached, err == nil, "%v", err)
				assert.True(t, err == nil || AsErrorx(err).IsOfType(errUnreachable), "%v", err)
				assert.GreaterOrEqual(t, h.opens, c.least)
				assert.LessOrEqual(t, h.opens, c.most)
				assert.LessOrEqual(t, time.Since(began), c.within)
			})
		})
	}
}

// late is a Sender that refuses requests after WATCH, when the context of the call has ended.
type late struct {
	hardToReach
	refusal *errorx.Error
}

func (l *late) OpenDedicated(context.Context, []string, error) (send.Dedicated, error) {
	l.opens++
	return l, nil
}

func (l *late) Exchange(ctx context.Context, reqs []send.Request, each func(int, any)) error {
	if reqs[0].Cmd == "WATCH" {
		return l.hardToReach.Exchange(ctx, reqs, each)
	}
	<-ctx.Done()
	for i, req := range reqs {
		switch req.Cmd {
		case "MULTI":
			each(i, "OK")
		case "EXEC":
			each(i, ErrExecAbort.New("EXECABORT"))
		default:
			each(i, l.refusal)
		}
	}
	return nil
}

func TestWatchTellsOfContextNotOfRefusal(t *testing.T) {
	for name, f := range map[string]func(*Tx) error{
		"a read":      func(tx *Tx) error { return AsError(tx.Do("GET", "key")) },
		"transaction": func(tx *Tx) error { tx.Queue("SET", "key", 1); return nil },
	} {
		for _, refusal := range []*errorx.Error{ErrAsk.New("ASK"), ErrMoved.New("MOVED"), ErrTryAgain.New("TRYAGAIN")} {
			t.Run(name+" "+refusal.Message(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					l := &late{refusal: refusal}
					_, err := Watch(ctx, l, []string{"key"}, f)
					require.ErrorIs(t, err, context.DeadlineExceeded)
					assert.True(t, AsErrorx(err).IsOfType(ErrRequestWithdrawn), "%v", err)
					assert.Equal(t, 1, l.opens)
				})
			})
		}
	}
}
