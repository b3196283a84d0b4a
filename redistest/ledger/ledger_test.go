package ledger

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// client is a client that reports outcomes as the test says. list has what the server ran.
type client struct {
	book *Ledger
	logs *Lists
	list []string
}

func newClient() *client {
	book := New("test")
	return &client{book: book, logs: NewLists(book)}
}

// push makes a request. If runs is set, the server runs it. The client reports the outcome says.
func (c *client) push(runs bool, says Outcome) (tag string, id uint64) {
	tag, id = c.logs.Issue("list")
	if runs {
		c.list = append(c.list, tag)
	}
	switch says {
	case Issued:
	case Value:
		c.book.End(id, says, int64(len(c.list)))
	default:
		c.book.End(id, says, errors.New("broken"))
	}
	return tag, id
}

func (c *client) judge(t *testing.T) *Report {
	report := c.book.Finish(0)
	require.NoError(t, c.logs.Verify(func(key string) ([]string, error) { return c.list, nil }))
	return report
}

func TestHonestClient(t *testing.T) {
	c := newClient()
	for range 2 * keepValues { // more values than are kept
		c.push(true, Value)
	}
	c.push(false, NotSent)
	c.push(false, ServerError)
	c.push(true, Unknown)
	c.push(false, Unknown)
	c.push(true, Value)
	report := c.judge(t)
	require.False(t, report.Failed(), report)
	require.EqualValues(t, 2*keepValues+5, report.Requests())
	require.EqualValues(t, 2, report.Outcomes(Unknown))
	require.Zero(t, c.book.Open())
}

func TestDishonestClients(t *testing.T) {
	for name, tt := range map[string]struct {
		lie  func(c *client)
		want Violation
	}{
		"lost":     {func(c *client) { c.push(true, Issued) }, Lost},
		"twice":    {func(c *client) { _, id := c.push(true, Value); c.book.End(id, NotSent, nil) }, Double},
		"not sent": {func(c *client) { c.push(true, NotSent) }, FalseNotSent},
		"refused":  {func(c *client) { c.push(true, ServerError) }, Mixed},
		"missing":  {func(c *client) { c.push(true, Value); c.list = nil }, Missing},
		"repeated": {func(c *client) { tag, _ := c.push(true, Value); c.list = append(c.list, tag) }, Duplicated},
		"foreign":  {func(c *client) { c.list = append(c.list, "other:1") }, Mixed},
		"unissued": {func(c *client) { c.book.End(7, Value, nil) }, Mixed},
		"order": {func(c *client) {
			c.push(true, Value)
			c.push(true, Value)
			c.list[0], c.list[1] = c.list[1], c.list[0]
		}, Disordered},
		"another's reply": {func(c *client) {
			c.book.End(c.book.Issue(func(reply any) error { return fmt.Errorf("not mine: %v", reply) }), Value, "x")
		}, Mixed},
		"no number": {func(c *client) {
			tag, id := c.logs.Issue("list")
			c.list = append(c.list, tag)
			c.book.End(id, Value, "OK")
		}, Mixed},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient()
			c.push(true, Value)
			tt.lie(c)
			report := c.judge(t)
			require.Positive(t, report.Count(tt.want), report)
			require.Contains(t, report.String(), string(tt.want))
		})
	}
}

// If a value is changed after it was delivered, the ledger notices when it checks the value again.
func TestReusedBuffer(t *testing.T) {
	book, buffer := New("test"), []byte("mine")
	check := func(reply any) error {
		if string(reply.([]byte)) != "mine" {
			return errors.New("not mine")
		}
		return nil
	}
	book.End(book.Issue(check), Value, buffer)
	copy(buffer, "your")
	require.EqualValues(t, 1, book.Finish(time.Minute).Count(Mixed))
}

func TestLossyServer(t *testing.T) {
	c := newClient()
	c.logs.Lossy = true
	c.push(true, Value)
	c.push(true, Value)
	c.list = c.list[1:]
	report := c.judge(t)
	require.False(t, report.Failed(), report)
	sum, other := &Report{}, &Report{}
	sum.Violate(Lost, "one")
	other.Violate(Lost, "two")
	sum.Add(report)
	sum.Add(other)
	require.EqualValues(t, 2, sum.Count(Lost))
	require.EqualValues(t, 2, sum.Outcomes(Value))
	require.Error(t, c.logs.Verify(func(string) ([]string, error) { return nil, errors.New("unreachable") }))
}
