package redis

import (
	"strings"
	"testing"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// scriptError is how servers before Redis 7 begin the errors of scripts.
const scriptError = "ERR Error running script (call to f_bd6f3018b28bbdb36260f19d3c44afed740db987): @user_script:1: @user_script"

func TestErrorReplies(t *testing.T) {
	for _, c := range []struct {
		text string
		typ  *errorx.Type
		move bool
		pass bool
	}{
		{"ERR something", ErrResult, false, false},
		{"ERR", ErrResult, false, false},
		{"", ErrResult, false, false},
		{"WRONGTYPE Operation against a key", ErrResult, false, false},
		{"NOSCRIPT No matching script", ErrNoScript, false, false},
		{"LOADING Redis is loading", ErrLoading, false, true},
		{"LOADINGS", ErrResult, false, false},
		{"loading", ErrResult, false, false},
		{"CLUSTERDOWN The cluster is down", ErrClusterDown, true, true},
		{"TRYAGAIN Multiple keys", ErrTryAgain, true, true},
		{"READONLY You can't write", ErrReadOnly, false, true},
		{scriptError + ": 1: -READONLY You can't write against a read only replica. ", ErrReadOnly, false, true},
		{scriptError + ": 1: no READONLY at all", ErrResult, false, false},
		{"ERR no script: -READONLY You can't write against a read only replica.", ErrResult, false, false},
		{"EXECABORT Transaction discarded", ErrExecAbort, false, false},
		{"MOVED 1 127.0.0.1:7000", ErrMoved, true, false},
		{"ASK 1 127.0.0.1:7000", ErrAsk, true, false},
		{"MASTERDOWN Link with MASTER is down", ErrMasterDown, false, true},
		{"BUSY Redis is busy running a script", ErrBusy, false, true},
		{"BUSYGROUP Consumer Group name already exists", ErrResult, false, false},
		{"ERR max number of clients reached", ErrMaxClients, false, true},
		{"ERR max number of clients + cluster connections reached", ErrMaxClients, false, true},
	} {
		res, _ := decode("-" + c.text + "\r\n")
		assertType(t, c.typ, res, c.text)
		err := AsErrorx(res)
		assert.True(t, err.IsOfType(ErrResult), c.text)
		assert.Equal(t, c.move, err.HasTrait(ErrTraitClusterMove), c.text)
		assert.Equal(t, c.pass, err.HasTrait(ErrTraitTransient), c.text)
		assert.False(t, err.HasTrait(ErrTraitNotSent), c.text)
		assert.True(t, strings.HasPrefix(c.text, err.Message()), c.text)
	}
	res, _ := decode("!11\r\nERR a\r\nb %d\r\n")
	assertType(t, ErrResult, res)
	assert.Equal(t, "ERR a\r\nb %d", AsErrorx(res).Message())
	res, _ = decode("*2\r\n:1\r\n-LOADING x\r\n")
	require.Len(t, res, 2)
	assertType(t, ErrLoading, res.([]any)[1])
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
		for code, typ := range map[string]*errorx.Type{"MOVED": ErrMoved, "ASK": ErrAsk} {
			res, _ := decode("-" + code + " " + text + "\r\n")
			assertType(t, typ, res, text)
			slot, _ := AsErrorx(res).Property(EKSlot)
			addr, _ := AsErrorx(res).Property(EKMovedTo)
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
			assertType(t, ErrResponseFormat, res, code+text)
			line, _ := AsErrorx(res).Property(EKLine)
			assert.Equal(t, code+text, string(line.([]byte)))
		}
	}
	for _, slot := range []string{"asdf", "1.0", "1a", "-"} {
		for _, code := range []string{"MOVED ", "ASK "} {
			res, _ := decode("-" + code + slot + " 1.1.1.1:3456\r\n")
			assertType(t, ErrIntegerParsing, res, code+slot)
			line, _ := AsErrorx(res).Property(EKLine)
			assert.Equal(t, code+slot+" 1.1.1.1:3456", string(line.([]byte)))
		}
	}
}

func TestTransactionResponse(t *testing.T) {
	list := []any{"OK", int64(1)}
	res, err := TransactionResponse(list)
	assert.NoError(t, err)
	assert.Equal(t, list, res)
	_, err = TransactionResponse(nil)
	assertType(t, ErrExecEmpty, err)
	assert.True(t, AsErrorx(err).IsOfType(ErrResult))
	failure := ErrIO.New("x")
	_, err = TransactionResponse(failure)
	assert.Equal(t, error(failure), err)
	for _, other := range []any{"canary", []byte("canary"), int64(12345678), map[string]any{"canary": 1}} {
		res, err = TransactionResponse(other)
		assert.Nil(t, res)
		assertType(t, ErrResponseUnexpected, err)
		assertNoSecret(t, err)
		kept, _ := AsErrorx(err).Property(EKResponse)
		assert.Equal(t, other, kept)
	}
}
