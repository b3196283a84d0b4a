package resp_test

import (
	"strings"
	"testing"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/redis"
)

// scriptError is the beginning of errors of scripts on servers before Redis 7.
const scriptError = "ERR Error running script (call to f_bd6f3018b28bbdb36260f19d3c44afed740db987): @user_script:1: @user_script"

func TestErrorReplies(t *testing.T) {
	for _, c := range []struct {
		text string
		typ  *errorx.Type
		move bool
		pass bool
	}{
		{"ERR something", errs.ErrResult, false, false},
		{"ERR", errs.ErrResult, false, false},
		{"", errs.ErrResult, false, false},
		{"WRONGTYPE Operation against a key", errs.ErrResult, false, false},
		{"NOSCRIPT No matching script", errs.ErrNoScript, false, false},
		{"LOADING Redis is loading", errs.ErrLoading, false, true},
		{"LOADINGS", errs.ErrResult, false, false},
		{"loading", errs.ErrResult, false, false},
		{"CLUSTERDOWN The cluster is down", errs.ErrClusterDown, true, true},
		{"TRYAGAIN Multiple keys", errs.ErrTryAgain, true, true},
		{"READONLY You can't write", errs.ErrReadOnly, false, true},
		{scriptError + ": 1: -READONLY You can't write against a read only replica. ", errs.ErrReadOnly, false, true},
		{scriptError + ": 1: no READONLY at all", errs.ErrResult, false, false},
		{"ERR no script: -READONLY You can't write against a read only replica.", errs.ErrResult, false, false},
		{"EXECABORT Transaction discarded", errs.ErrExecAbort, false, false},
		{"MOVED 1 127.0.0.1:7000", errs.ErrMoved, true, false},
		{"ASK 1 127.0.0.1:7000", errs.ErrAsk, true, false},
		{"REDIRECT 10.0.0.1:6380", errs.ErrRedirect, false, true},
		{"REDIRECT ::1:6380", errs.ErrRedirect, false, true},
		{"REDIRECT", errs.ErrResult, false, false},
		{"REDIRECT 6380", errs.ErrResult, false, false},
		{"REDIRECT :6380", errs.ErrResult, false, false},
		{"REDIRECT host:0", errs.ErrResult, false, false},
		{"REDIRECT host:x y", errs.ErrResult, false, false},
		{"MASTERDOWN Link with MASTER is down", errs.ErrMasterDown, false, true},
		{"BUSY Redis is busy running a script", errs.ErrBusy, false, true},
		{"BUSYGROUP Consumer Group name already exists", errs.ErrResult, false, false},
		{"ERR max number of clients reached", errs.ErrMaxClients, false, true},
		{"ERR max number of clients + cluster connections reached", errs.ErrMaxClients, false, true},
	} {
		res, _ := decode("-" + c.text + "\r\n")
		assertType(t, c.typ, res, c.text)
		err := redis.AsErrorx(res)
		assert.True(t, err.IsOfType(errs.ErrResult), c.text)
		assert.Equal(t, c.move, err.HasTrait(errs.ErrTraitClusterMove), c.text)
		assert.Equal(t, c.pass, err.HasTrait(errs.ErrTraitTransient), c.text)
		assert.False(t, err.HasTrait(redis.ErrTraitNotSent), c.text)
		assert.True(t, strings.HasPrefix(c.text, err.Message()), c.text)
	}
	res, _ := decode("!11\r\nERR a\r\nb %d\r\n")
	assertType(t, errs.ErrResult, res)
	assert.Equal(t, "ERR a\r\nb %d", redis.AsErrorx(res).Message())
	res, _ = decode("*2\r\n:1\r\n-LOADING x\r\n")
	require.Len(t, res, 2)
	assertType(t, errs.ErrLoading, res.([]any)[1])
}

func TestRedirectReplies(t *testing.T) {
	for text, want := range map[string]struct {
		slot int64
		addr string
	}{
		"0 127.0.0.1:1":                   {0, "127.0.0.1:1"},
		"16383 ::1:65535":                 {16383, "::1:65535"},
		"5 :7000":                         {5, ":7000"},
		"5 redis.example:1":               {5, "redis.example:1"},
		"5 2001:db8::1:6379":              {5, "2001:db8::1:6379"},
		"00005 some.host.in.the.net:6379": {5, "some.host.in.the.net:6379"},
	} {
		for code, typ := range map[string]*errorx.Type{"MOVED": errs.ErrMoved, "ASK": errs.ErrAsk} {
			res, _ := decode("-" + code + " " + text + "\r\n")
			assertType(t, typ, res, text)
			slot, _ := redis.AsErrorx(res).Property(errs.EKSlot)
			addr, _ := redis.AsErrorx(res).Property(errs.EKMovedTo)
			assert.Equal(t, want.slot, slot)
			assert.Equal(t, want.addr, addr)
		}
	}
	for _, text := range []string{
		"", " ", " 1", " foo", " 1 ", " -1 127.0.0.1:1", " +1 127.0.0.1:1",
		" 16384 127.0.0.1:1", " 18446744073709551616 127.0.0.1:1", "  1 127.0.0.1:1", " 1  127.0.0.1:1", " 1 127.0.0.1:1 x",
	} {
		for _, code := range []string{"MOVED", "ASK"} {
			res, _ := decode("-" + code + text + "\r\n")
			assertType(t, errs.ErrResponseFormat, res, code+text)
			line, _ := redis.AsErrorx(res).Property(errs.EKLine)
			assert.Equal(t, code+text, string(line.([]byte)))
		}
	}
	for _, slot := range []string{"asdf", "1.0", "1a", "-"} {
		for _, code := range []string{"MOVED ", "ASK "} {
			res, _ := decode("-" + code + slot + " 1.1.1.1:3456\r\n")
			assertType(t, errs.ErrIntegerParsing, res, code+slot)
			line, _ := redis.AsErrorx(res).Property(errs.EKLine)
			assert.Equal(t, code+slot+" 1.1.1.1:3456", string(line.([]byte)))
		}
	}
}
