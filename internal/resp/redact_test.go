package resp_test

import (
	"bufio"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/redis"
)

// Servers quote arguments in some errors. These texts are from redis-server 7.0 and 6.0.
func TestErrorRepliesShowNoArguments(t *testing.T) {
	for text, shown := range map[string]string{
		"ERR unknown command 'FOO', with args beginning with: 'canary' 'canary' ":                                         "ERR unknown command 'FOO'",
		"ERR unknown command `FOO`, with args beginning with: `canary`, ":                                                 "ERR unknown command `FOO`",
		"ERR Error in ACL SETUSER modifier '>canary': Syntax error":                                                       "ERR Error in ACL SETUSER modifier",
		"ERR Error in ACL SETUSER modifier '<canary': The password you are trying to remove from the user does not exist": "ERR Error in ACL SETUSER modifier",
		"ERR Invalid argument 'canary' for CONFIG SET 'maxmemory'":                                                        "ERR Invalid argument",
		"ERR unknown subcommand 'canary'. Try OBJECT HELP.":                                                               "ERR unknown subcommand",
		"ERR unknown subcommand or wrong number of arguments for 'canary'. Try DEBUG HELP.":                               "ERR unknown subcommand or wrong number of arguments for",
		"ERR Unknown subcommand or wrong number of arguments for 'canary'. Try CLIENT HELP.":                              "ERR Unknown subcommand or wrong number of arguments for",
		"ERR Unknown option or number of arguments for CONFIG SET - 'canary'":                                             "ERR Unknown option or number of arguments for CONFIG SET",
		"ERR Unknown category 'canary'":                                                                                   "ERR Unknown category",
		"ERR Unknown client type 'canary'":                                                                                "ERR Unknown client type",
		"ERR User 'canary' not found":                                                                                     "ERR User",
		"ERR No such user 'canary'":                                                                                       "ERR No such user",
		"ERR Unsupported option canary":                                                                                   "ERR Unsupported option",
		"ERR Unknown argument canary":                                                                                     "ERR Unknown argument",
		"ERR Error running script (call to f_1): @user_script:1: NOGROUP No such key 'canary: ERR x'":                     "ERR Error running script (call to f_1): @user_script:1: NOGROUP No such key",
		"ERR invalid longitude,latitude pair 12345678.000000,10.000000":                                                   "ERR invalid longitude,latitude pair",
		"ERR invalid longitude,latitude pair -1.500000,10.000000":                                                         "ERR invalid longitude,latitude pair",
		"ERR Protocol error: expected '$', got 'c'":                                                                       "ERR Protocol error: expected '$'",
		"ERR Protocol error: canary":                                                                                      "ERR Protocol error",
		"ERR Library 'canary' already exists":                                                                             "ERR Library",
		"ERR Slot 12345678 is already busy":                                                                               "ERR Slot",
		"ERR Unknown node canary":                                                                                         "ERR Unknown node",
		"ERR member canary does not exist":                                                                                "ERR member",
		"ERR Target instance replied with error: BUSYKEY canary":                                                          "ERR Target instance replied with error",
		"ERR Error running script (call to f_1): @user_script:1: ERR invalid longitude,latitude pair 12345678.000000,1.0": "ERR Error running script (call to f_1): @user_script:1: ERR invalid longitude,latitude pair",
		"ERR Error running script (call to f_1): @user_script:1: NOGROUP No such key 'canary'":                            "ERR Error running script (call to f_1): @user_script:1: NOGROUP No such key",
		"NOGROUP No such key 'canary' or consumer group 'canary' in XREADGROUP with GROUP option":                         "NOGROUP No such key",
		"NOGROUP No such consumer group 'canary' for key name 'canary'":                                                   "NOGROUP No such consumer group",
	} {
		res, _ := decode("-" + text + "\r\n")
		assertType(t, errs.ErrResult, res)
		assert.Equal(t, shown, redis.AsErrorx(res).Message())
		assertNoSecret(t, redis.AsError(res))
		whole, _ := redis.AsErrorx(res).Property(errs.EKText)
		assert.Equal(t, text, whole)
	}
}

// Errors without arguments are shown unchanged, and so are errors that a script's author chose.
func TestErrorRepliesShowFixedPhrases(t *testing.T) {
	for _, text := range []string{
		"ERR value is not an integer or out of range",
		"ERR wrong number of arguments for 'get' command",
		"ERR wrong number of arguments for 'config|set' command",
		"ERR invalid expire time in 'set' command",
		"ERR syntax error",
		"ERR no such key",
		"ERR LIMIT can't be negative",
		"ERR COUNT must be > 0",
		"ERR The ID specified in XADD is equal or smaller than the target stream top item",
		"ERR Bit offset is not an integer or out of range",
		"ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.",
		"ERR unsupported unit provided. please use M, KM, FT, MI",
		"WRONGTYPE Operation against a key holding the wrong kind of value",
		"NOSCRIPT No matching script. Please use EVAL.",
		"NOAUTH Authentication required.",
		"NOPERM User default has no permissions to run the 'get' command",
		"MINE 'one' of: 12345 things",
		"ERR user_script:12: no such 'thing': 42 script: f_1, on @user_script:12.",
		"ERR Error compiling script (new function): user_script:1: '=' expected near 'total'",
		"ERR Error compiling function: @user_function: 1: unexpected symbol near 'total'",
		"ERR user_script:1: attempt to call field 'total' (a nil value) script: a, on @user_script:1.",
		"ERR user_script:1: Script attempted to access nonexistent global variable 'total' script: a, on @user_script:1.",
		"ERR user_script:1: bad argument #1 to 'len' (string expected, got nil) script: f_1, on @user_script:1.",
		"ERR Error registering functions: @user_function: 1: attempt to call 'total' (a nil value)",
		"ERR Protocol error: invalid bulk length",
		"ERR Protocol error: unauthenticated multibulk length",
		"ERR Error running script (call to f_1): @user_script:1: user_script:1: no 'thing': 42",
	} {
		err := resp.ErrorReply(text)
		assert.Equal(t, text, err.Message())
		_, cut := err.Property(errs.EKText)
		assert.False(t, cut, text)
	}
}

// An error may consist of many parts that each look like an error raised by a script. Memory is
// proportional to its length.
func TestErrorOfManyRaised(t *testing.T) {
	for _, part := range []string{"ERR @user_: ", "ERR user_script: NOGROUP @user_: "} {
		text := strings.Repeat(part, (60<<10)/len(part))
		wire := "-" + text + "\r\n"
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		res, err := resp.NewDecoder(bufio.NewReader(strings.NewReader(wire)), resp.Limits{}).Decode()
		runtime.ReadMemStats(&after)
		assert.NoError(t, err)
		assert.Error(t, redis.Err(res))
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(100*len(text)))
	}
	nested := "ERR @user_f: ERR user_script:1: ERR unknown command 'FOO', with args beginning with: 'canary'"
	res, err := resp.NewDecoder(bufio.NewReader(strings.NewReader("-"+nested+"\r\n")), resp.Limits{}).Decode()
	assert.NoError(t, err)
	assert.Contains(t, redis.Err(res).Error(), "ERR @user_f: ERR user_script:1: ERR unknown command 'FOO'")
	assert.NotContains(t, redis.Err(res).Error(), "canary")
}
