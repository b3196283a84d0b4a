package inbox

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/joomcode/redispipe/internal/pubsub"
)

// filled makes an inbox with a live intake, and offers it a message of each of the given sizes, one a
// second.
func filled(opts Opts, sizes ...int) *Inbox {
	in, intake := newInbox(opts)
	intake.Restore(session, at(0))
	for i, size := range sizes {
		offer(intake, Message{Channel: "c", Payload: make([]byte, size-1), Time: at(i + 1)})
	}
	return in
}

// session takes the place of a session.
const session = "session"

// asTheyAre implements Opts.MessageOf for tests in which a message is of the type Message.
func asTheyAre(ev any) (m Message, ok bool) {
	m, ok = ev.(Message)
	return m, ok
}

// newInbox makes an inbox with one intake.
func newInbox(opts Opts) (*Inbox, *Intake) {
	if opts.MaxMessages == 0 {
		opts.MaxMessages = 1 << 10
	}
	if opts.MaxBytes == 0 {
		opts.MaxBytes = 1 << 20
	}
	opts.MessageOf = asTheyAre
	in := New(opts, &Counts{})
	return in, in.NewIntake(Source{Topic: channel("c")}, time.Time{})
}

func offer(intake *Intake, m Message) Outcome { return intake.Offer(session, m, m.Size(), m.Time) }

// The policy decides whether the oldest or the newest messages are dropped. The gap is in the place of the
// dropped messages, and has their number.
func TestBounds(t *testing.T) {
	msgs := func(from, to int) (list []string) {
		for i := from; i <= to; i++ {
			list = append(list, "m"+strconv.Itoa(i))
		}
		return list
	}
	const most = 100 + messageOverhead // bytes: one message of 100
	for name, c := range map[string]struct {
		opts  Opts
		sizes []int
		want  []string
	}{
		"room":                         {Opts{MaxMessages: 3}, []int{1, 1, 1}, msgs(1, 3)},
		"oldest":                       {Opts{MaxMessages: 3}, []int{1, 1, 1, 1, 1}, append([]string{"2 from 1 to 2"}, msgs(3, 5)...)},
		"newest":                       {Opts{MaxMessages: 3, Policy: DropNewest}, []int{1, 1, 1, 1, 1}, append(msgs(1, 3), "2 from 4 to 5")},
		"end":                          {Opts{MaxMessages: 3, Policy: EndWithError}, []int{1, 1, 1, 1, 1}, append(msgs(1, 3), "1 from 4 to 4")},
		"bytes, oldest":                {Opts{MaxBytes: most}, []int{50, 50, 60}, []string{"2 from 1 to 2", "m3"}},
		"bytes, newest":                {Opts{MaxBytes: most, Policy: DropNewest}, []int{100, 1}, []string{"m1", "1 from 2 to 2"}},
		"too long, alone":              {Opts{MaxBytes: 10}, []int{1000}, msgs(1, 1)},
		"too long takes the place":     {Opts{MaxBytes: most}, []int{100, 1000}, []string{"1 from 1 to 1", "m2"}},
		"too long does not, as newest": {Opts{MaxBytes: most, Policy: DropNewest}, []int{100, 1000}, []string{"m1", "1 from 2 to 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := filled(c.opts, c.sizes...)
			var got []string
			for ev, _ := in.Next(); ev != nil; ev, _ = in.Next() {
				switch ev := ev.(type) {
				case Message:
					got = append(got, "m"+strconv.FormatInt(ev.Time.Unix(), 10))
				case *Gap:
					assert.Equal(t, BufferFull, ev.Reason)
					got = append(got, strconv.Itoa(ev.Dropped)+" from "+strconv.FormatInt(ev.From.Unix(), 10)+" to "+strconv.FormatInt(ev.To.Unix(), 10))
				}
			}
			assert.Equal(t, c.want, got)
			assert.Zero(t, in.queue.counted)
			assert.Zero(t, in.queue.bytes)
		})
	}
}

// Dropping messages does not drop the other events between them.
func TestEvictionKeepsOtherEvents(t *testing.T) {
	in, intake := newInbox(Opts{MaxMessages: 1})
	intake.Restore(session, at(0))
	for i := range 3 {
		offer(intake, Message{Channel: "c", Time: at(10 * i)})
		intake.Lose(session, at(10*i+1), ConnectionLost, nil)
		intake.Restore(session, at(10*i+2))
	}
	var got []any
	for ev, _ := in.Next(); ev != nil; ev, _ = in.Next() {
		got = append(got, look(ev))
	}
	topics := []pubsub.Topic{channel("c")}
	assert.Equal(t, []any{
		seen{Topics: topics, From: at(0), To: at(10), Reason: BufferFull, Dropped: 2},
		seen{Topics: topics, From: at(1), To: at(2), Reason: ConnectionLost},
		seen{Topics: topics, From: at(11), To: at(12), Reason: ConnectionLost},
		Message{Channel: "c", Time: at(20)},
		seen{Topics: topics, From: at(21), To: at(22), Reason: ConnectionLost},
	}, got)
}

// An intake takes the messages of one session, and reports one gap, no matter how often sockets are
// lost.
func TestIntake(t *testing.T) {
	in, intake := newInbox(Opts{Status: true})
	m := Message{Channel: "c", Time: at(2)}
	assert.Equal(t, Dropped, offer(intake, m), "not confirmed yet")
	intake.Restore(session, at(1))
	assert.Equal(t, Dropped, intake.Offer("another", m, m.Size(), m.Time))
	assert.Equal(t, Taken, offer(intake, m))
	intake.Lose(session, at(3), None, nil)
	intake.Lose(session, at(4), SlotMoved, nil)
	intake.Lose(session, at(5), ConnectionLost, nil)
	assert.EqualValues(t, 1, in.counts.Open.Load())
	assert.EqualValues(t, 1, in.counts.Gaps[SlotMoved].Load())
	assert.Equal(t, Dropped, offer(intake, m))
	intake.Restore("another", at(6))
	intake.Remove(at(7), nil)
	assert.Equal(t, Dropped, intake.Offer("another", m, m.Size(), m.Time))
	assert.Zero(t, in.counts.Open.Load())
	var got []any
	for ev, _ := in.Next(); ev != nil; ev, _ = in.Next() {
		got = append(got, look(ev))
	}
	topics := []pubsub.Topic{channel("c")}
	assert.Equal(t, []any{
		State{Source: Source{Topic: topics[0]}, On: true, Time: at(1)}, m,
		seen{Topics: topics, From: at(3), To: at(6), Reason: SlotMoved},
		State{Source: Source{Topic: topics[0]}, Time: at(7)},
	}, got)
}

// If the server refuses a topic after the connection was lost, the gap stays open and contains the reason.
func TestRefusedGapStaysOpen(t *testing.T) {
	in, intake := newInbox(Opts{})
	refused := pubsub.ErrRefused.New("NOPERM")
	intake.Restore(session, at(1))
	intake.Lose(session, at(3), ConnectionLost, nil)
	ev, _ := in.Next()
	topics := []pubsub.Topic{channel("c")}
	assert.Equal(t, seen{Topics: topics, From: at(3), Reason: ConnectionLost}, look(ev))
	intake.Remove(at(7), refused)
	assert.Zero(t, in.counts.Open.Load())
	ev, _ = in.Next()
	assert.Equal(t, seen{Topics: topics, From: at(3), Reason: ConnectionLost, Err: refused}, look(ev))
	ev, _ = in.Next()
	assert.Equal(t, State{Source: Source{Topic: topics[0]}, Time: at(7), Err: refused}, ev)
}
