package redistest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redistest"
)

func TestRecorder(t *testing.T) {
	mock := redistest.NewMock(t)
	rec := redistest.NewRecorder(mock)
	db := redis.Sync{S: rec}

	value := []byte("value")
	reqs := []redis.Request{redis.Req("SET", "k", value), redis.Req("GET", "k")}
	mock.Expect("SET", "k", "value").Reply("OK")
	mock.Expect("GET", "k").Reply(value)
	db.SendMany(reqs)
	mock.ExpectTransaction(redis.Req("CLUSTER INFO")).Reply([]any{nil})
	_, err := db.SendTransaction([]redis.Request{redis.Req("CLUSTER INFO")})
	assert.NoError(t, err)
	mock.ExpectScan(redis.ScanOpts{Match: "x"}, []string{"x"})
	_, err = db.Scanner(redis.ScanOpts{Match: "x"}).Next()
	assert.NoError(t, err)
	value[0], reqs[1].Cmd = 'x', "DEL"

	shard := redistest.NewMock(t)
	shard.Expect("FLUSHALL").Reply("OK")
	mock.SetShards(shard, nil)
	rec.EachShard(func(s redis.Sender, err error) bool {
		if err == nil {
			assert.Equal(t, "OK", redis.Sync{S: s}.Do("FLUSHALL"))
		}
		return true
	})
	assert.Equal(t, []redistest.Call{
		{Method: "SendMany", Requests: [][]string{{"SET", "k", "value"}, {"GET", "k"}}},
		{Method: "SendTransaction", Requests: [][]string{{"CLUSTER", "INFO"}}},
		{Method: "Next", Requests: [][]string{{"SCAN", "0", "MATCH", "x"}}},
		{Method: "Send", Requests: [][]string{{"FLUSHALL"}}},
	}, rec.Calls())
	assert.Len(t, rec.Requests(), 5)
	rec.Reset()
	assert.Empty(t, rec.Calls())

	rec.Send(redis.Req("GET", struct{}{}), nil, 0)
	assert.Equal(t, [][]string{{"GET", "(struct {})"}}, rec.Requests(), "what can't be sent is recorded too")
	rec.Close()
	assertType(t, redis.ErrContextClosed, db.Do("GET", "k"))
}
