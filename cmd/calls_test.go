package cmd_test

import (
	"context"
	"math"
	"time"

	. "github.com/joomcode/redispipe/cmd"
	"github.com/joomcode/redispipe/redis"
)

// call is a command with the words that a user would write by hand.
type call struct {
	redis.Command
	words string
	read  func(ctx context.Context, s redis.Sender) error
	// newer is set if older servers know the command, but not the options of the call.
	newer bool
	// session is set if the call is sent in a session, together with the calls before it. node is set
	// if the call is sent to a node of a cluster.
	session, node bool
	in            func(s Caller) error
	// unsent is set if the call is only encoded and compared, and not sent. The list of calls gives the reason.
	unsent bool
}

func of[T any](c Cmd[T], words string) call {
	return call{Command: c, words: words, read: func(ctx context.Context, s redis.Sender) error {
		_, err := c.Do(ctx, s)
		return err
	}, in: func(s Caller) error {
		_, err := c.DoIn(s)
		return err
	}}
}

// session returns a call that is sent in a session.
func session[T any](c Cmd[T], words string) call {
	made := of(c, words)
	made.session = true
	return made
}

// clustered returns a call that is sent to a node of a cluster.
func clustered[T any](c Cmd[T], words string) call {
	made := of(c, words)
	made.node = true
	return made
}

// newer returns a call with options that older servers do not know.
func newer[T any](c Cmd[T], words string) call {
	made := of(c, words)
	made.newer = true
	return made
}

func unsent[T any](c Cmd[T], words string) call {
	made := of(c, words)
	made.unsent = true
	return made
}

// before returns a command that prepares the server for the calls after it.
func before(cmd string, args ...any) call { return call{Command: redis.Req(cmd, args...)} }

type fields = map[string]string

var at = time.Date(2100, 1, 2, 3, 4, 5, 6_000_000, time.UTC) // 4102542245

// calls returns calls of all functions. Earlier calls write the data that later calls read.
func calls() []call { return callsOf("0000000000000000000000000000000000000000") }

// callsOf returns the calls. Those about a node of a cluster contain the ID node.
func callsOf(node string) []call {
	const script, library = "return 1", "#!lua name=lib\nredis.register_function{function_name='f', callback=function() return 1 end, flags={'no-writes'}}"
	const sha = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"
	scored := []redis.Scored[string]{{Member: "a", Score: 1}, {Member: "b", Score: 2.5}}
	return append([]call{
		// Strings.
		of(Set("k", "v", nil, nil), "SET k v"),
		of(SetValue("k", 12), "SET k 12"),
		of(Set("k", "v", EX(time.Minute), NX), "SET k v EX 60 NX"),
		of(Set("k", []byte("v"), PX(1500*time.Millisecond), XX), "SET k v PX 1500 XX"),
		of(Set("k", 1.5, EXAT(at), nil), "SET k 1.5 EXAT 4102542245"),
		of(Set("k", true, PXAT(at), nil), "SET k 1 PXAT 4102542245006"),
		of(Set("k", uint8(7), KEEPTTL, nil), "SET k 7 KEEPTTL"),
		newer(Set("k", int8(-7), nil, IFEQ(7)), "SET k -7 IFEQ 7"),
		newer(Set("k", float32(0.1), nil, IFNE("x")), "SET k 0.1 IFNE x"),
		newer(Set("k", "v", nil, IFDEQ("0000000000000000")), "SET k v IFDEQ 0000000000000000"),
		newer(Set("k", "v", nil, IFDNE("0000000000000000")), "SET k v IFDNE 0000000000000000"),
		before("SET", "k", "v"),
		of(SetGet[string]("k", "w", EX(time.Second), XX), "SET k w GET EX 1 XX"),
		of(SetGet[*string]("none", "w", nil, nil), "SET none w GET"),
		of(Get[string]("k"), "GET k"),
		of(GetSet[string]("k", "v"), "GETSET k v"),
		of(GetEx[string]("k", nil), "GETEX k"),
		of(GetEx[string]("k", EX(time.Hour)), "GETEX k EX 3600"),
		of(GetEx[string]("k", PERSIST), "GETEX k PERSIST"),
		of(GetRange[string]("k", 0, -1), "GETRANGE k 0 -1"),
		of(SubStr[string]("k", 0, -1), "SUBSTR k 0 -1"),
		of(SetRange("k", 1, "w"), "SETRANGE k 1 w"),
		of(StrLen("k"), "STRLEN k"),
		of(Append("k", "x"), "APPEND k x"),
		of(GetDel[string]("k"), "GETDEL k"),
		of(SetEx("k", time.Minute, "v"), "SETEX k 60 v"),
		of(PSetEx("k", time.Minute, "v"), "PSETEX k 60000 v"),
		of(SetNX("k", "v"), "SETNX k v"),
		of(Digest("k"), "DIGEST k"),
		of(DelEx("k", IFEQ("v")), "DELEX k IFEQ v"),
		of(DelIfEq("k", "v"), "DELIFEQ k v"),
		of(Incr("n"), "INCR n"),
		of(IncrBy("n", 41), "INCRBY n 41"),
		of(Decr("n"), "DECR n"),
		of(DecrBy("n", 30), "DECRBY n 30"),
		of(IncrByFloat("float", 0.5), "INCRBYFLOAT float 0.5"),
		of(IncrExBy("ix", int64(3), EX(time.Minute), UBOUND("10"), ENX), "INCREX ix EX 60 BYINT 3 UBOUND 10 ENX"),
		of(IncrExBy("ix", int64(30), nil, UBOUND("10")), "INCREX ix BYINT 30 UBOUND 10"),
		of(IncrExBy("fx", 0.5, nil), "INCREX fx BYFLOAT 0.5"),
		of(IncrEx[any]("ix", EX(time.Minute), BYINT(3), SATURATE, UBOUND("10"), LBOUND("0"), ENX), "INCREX ix EX 60 BYINT 3 SATURATE UBOUND 10 LBOUND 0 ENX"),
		of(IncrEx[any]("fx", nil, BYFLOAT(0.5)), "INCREX fx BYFLOAT 0.5"),
		of(MSet(F("a", "1"), F("b", 2)), "MSET a 1 b 2"),
		of(MSetNX(F("c", "1"), F("d", 2.5)), "MSETNX c 1 d 2.5"),
		of(MSetEx([]Field{F("a", "ohmytext"), F("b", "mynewtext")}, EX(time.Minute), XX), "MSETEX 2 a ohmytext b mynewtext EX 60 XX"),
		of(MGet[*string]("a", "b", "none"), "MGET a b none"),
		before("MSET", "a", "ohmytext", "b", "mynewtext"),
		of(LCS[string]("a", "b"), "LCS a b"),
		of(LCSLen("a", "b"), "LCS a b LEN"),
		of(LCSIdx("a", "b", MINMATCHLEN(4), WITHMATCHLEN), "LCS a b IDX MINMATCHLEN 4 WITHMATCHLEN"),

		// Bitmaps.
		of(SetBit("bits", 7, 1), "SETBIT bits 7 1"),
		of(GetBit("bits", 7), "GETBIT bits 7"),
		of(BitCount("bits"), "BITCOUNT bits"),
		of(BitCountRange("bits", 0, -1, nil), "BITCOUNT bits 0 -1"),
		newer(BitCountRange("bits", 0, -1, BIT), "BITCOUNT bits 0 -1 BIT"),
		of(BitPos("bits", 1), "BITPOS bits 1"),
		newer(BitPosRange("bits", 1, 0, -1, BYTE), "BITPOS bits 1 0 -1 BYTE"),
		of(BitOp(AND, "to", "bits", "a"), "BITOP AND to bits a"),
		of(BitField("bits", OVERFLOW(FAIL), SETBITS("u8", 0, 255), INCRBITS("u8", 0, 10), GETBITS("i5", 4)), "BITFIELD bits OVERFLOW FAIL SET u8 0 255 INCRBY u8 0 10 GET i5 4"),
		of(BitFieldRO("bits", GETBITS("u8", 0)), "BITFIELD_RO bits GET u8 0"),
		of(PFAdd("hll", "a", "b"), "PFADD hll a b"),
		of(PFCount("hll"), "PFCOUNT hll"),
		of(PFMerge("hlm", "hll"), "PFMERGE hlm hll"),

		// Keys.
		before("SET", "k", "v"),
		of(Exists("k", "none"), "EXISTS k none"),
		of(Touch("k"), "TOUCH k"),
		of(Type("k"), "TYPE k"),
		of(Expire("k", time.Minute, nil), "EXPIRE k 60"),
		newer(Expire("k", 2*time.Minute, GT), "EXPIRE k 120 GT"),
		newer(PExpire("k", time.Minute, LT), "PEXPIRE k 60000 LT"),
		newer(ExpireAt("k", at, XX), "EXPIREAT k 4102542245 XX"),
		newer(PExpireAt("k", at, NX), "PEXPIREAT k 4102542245006 NX"),
		of(ExpireTime("k"), "EXPIRETIME k"),
		of(PExpireTime("k"), "PEXPIRETIME k"),
		of(TTL("k"), "TTL k"),
		of(PTTL("k"), "PTTL k"),
		of(Persist("k"), "PERSIST k"),
		of(TTL("k"), "TTL k"),
		of(Copy("k", "copy", DB(0), REPLACE), "COPY k copy DB 0 REPLACE"),
		of(Rename("copy", "copied"), "RENAME copy copied"),
		of(RenameNX("copied", "copy"), "RENAMENX copied copy"),
		of(Move("copy", 1), "MOVE copy 1"),
		of(Dump("k"), "DUMP k"),
		unsent(Restore("k", time.Minute, "\x00", REPLACE, ABSTTL, IDLETIME(time.Second), FREQ(3)), "RESTORE k 60000 \x00 REPLACE ABSTTL IDLETIME 1 FREQ 3"), // needs what DUMP has answered
		of(RandomKey(), "RANDOMKEY"),
		of(Keys("k*"), "KEYS k*"),
		of(Scan(0, MATCH("*"), COUNT(100), TYPE("string")), "SCAN 0 MATCH * COUNT 100 TYPE string"),
		clustered(ClusterScan("0", COUNT(10), MATCH("*"), SLOT(3), TYPE("string")), "CLUSTERSCAN 0 COUNT 10 MATCH * SLOT 3 TYPE string"),
		of(ObjectEncoding("k"), "OBJECT ENCODING k"),
		of(ObjectRefCount("k"), "OBJECT REFCOUNT k"),
		of(ObjectIdleTime("k"), "OBJECT IDLETIME k"),
		unsent(ObjectFreq("k"), "OBJECT FREQ k"), // needs an LFU policy
		of(ObjectHelp(), "OBJECT HELP"),
		of(MemoryUsage("k", SAMPLES(5)), "MEMORY USAGE k SAMPLES 5"),
		of(Unlink("none"), "UNLINK none"),
		of(Del("none", "nothing"), "DEL none nothing"),
		of(Wait(0, 10*time.Millisecond), "WAIT 0 10"),
		of(WaitAOF(0, 0, 10*time.Millisecond), "WAITAOF 0 0 10"),
		unsent(Migrate("10.0.0.1", 6379, "", 0, time.Second, AUTH2("u", "p"), COPY, REPLACE, KEYS("a", "b")), "MIGRATE 10.0.0.1 6379  0 1000 AUTH2 u p COPY REPLACE KEYS a b"), // needs another server
		before("RPUSH", "sorted", 3, 1, 2),
		of(Sort[int]("sorted", DESC, LIMIT(0, 2), ALPHA), "SORT sorted DESC LIMIT 0 2 ALPHA"),
		of(Sort[*string]("sorted", nil, BY("w_*"), SortGET("#", "v_*")), "SORT sorted BY w_* GET # GET v_*"),
		of(SortRO[int]("sorted", ASC), "SORT_RO sorted ASC"),
		of(SortStore("sorted", "stored", nil, LIMIT(0, 1)), "SORT sorted STORE stored LIMIT 0 1"),

		// Hashes.
		of(HSet("h", F("name", "Ann"), F("age", 30)), "HSET h name Ann age 30"),
		of(HSet("h", Fields(struct {
			Name string `redis:"name"`
			Age  int    `redis:"age"`
		}{"Bob", 31})...), "HSET h name Bob age 31"),
		of(HMSet("h", F("n", 1)), "HMSET h n 1"),
		of(HSetNX("h", "city", "Rome"), "HSETNX h city Rome"),
		of(HGet[string]("h", "name"), "HGET h name"),
		of(HGetAll[fields]("h"), "HGETALL h"),
		of(HMGet[fields]("h", "name", "age"), "HMGET h name age"),
		of(HExists("h", "name"), "HEXISTS h name"),
		of(HLen("h"), "HLEN h"),
		of(HStrLen("h", "name"), "HSTRLEN h name"),
		of(HKeys("h"), "HKEYS h"),
		of(HVals[string]("h"), "HVALS h"),
		of(HIncrBy("h", "age", 1), "HINCRBY h age 1"),
		of(HIncrByFloat("h", "age", 0.5), "HINCRBYFLOAT h age 0.5"),
		of(HRandField[string]("h"), "HRANDFIELD h"),
		of(HRandFieldCount[string]("h", 2), "HRANDFIELD h 2"),
		of(HRandFieldWithValues[string]("h", 2), "HRANDFIELD h 2 WITHVALUES"),
		of(HScan[string]("h", 0, MATCH("*"), COUNT(10)), "HSCAN h 0 MATCH * COUNT 10"),
		newer(HScanNoValues("h", 0, COUNT(10)), "HSCAN h 0 NOVALUES COUNT 10"),
		of(HExpire("h", time.Hour, []string{"n", "none"}, nil), "HEXPIRE h 3600 FIELDS 2 n none"),
		of(HExpire("h", time.Hour, []string{"n"}, XX), "HEXPIRE h 3600 XX FIELDS 1 n"),
		of(HPExpire("h", time.Hour, []string{"n"}, nil), "HPEXPIRE h 3600000 FIELDS 1 n"),
		of(HExpireAt("h", at, []string{"n"}, nil), "HEXPIREAT h 4102542245 FIELDS 1 n"),
		of(HPExpireAt("h", at, []string{"n"}, nil), "HPEXPIREAT h 4102542245006 FIELDS 1 n"),
		of(HTTL("h", "n"), "HTTL h FIELDS 1 n"),
		of(HPTTL("h", "n"), "HPTTL h FIELDS 1 n"),
		of(HExpireTime("h", "n"), "HEXPIRETIME h FIELDS 1 n"),
		of(HPExpireTime("h", "n"), "HPEXPIRETIME h FIELDS 1 n"),
		of(HPersist("h", "n"), "HPERSIST h FIELDS 1 n"),
		of(HGetEx[*string]("h", []string{"n", "none"}, PX(time.Hour)), "HGETEX h PX 3600000 FIELDS 2 n none"),
		of(HSetEx("h", []Field{F("n", 1)}, EX(time.Hour), nil, FXX), "HSETEX h EX 3600 FXX FIELDS 1 n 1"),
		of(HGetDel[*string]("h", "n"), "HGETDEL h FIELDS 1 n"),
		of(HDel("h", "name", "n"), "HDEL h name n"),
		session(HImportPrepare("set", "a", "b"), "HIMPORT PREPARE set a b"),
		session(HImportSet("imported", "set", 1, 2), "HIMPORT SET imported set 1 2"),
		session(HImportDiscard("set"), "HIMPORT DISCARD set"),
		session(HImportDiscardAll(), "HIMPORT DISCARDALL"),

		// Lists.
		of(RPush("l", "a", "b", "c"), "RPUSH l a b c"),
		of(LPush("l", 1, 2), "LPUSH l 1 2"),
		of(LPushX("l", "x"), "LPUSHX l x"),
		of(RPushX("l", "y"), "RPUSHX l y"),
		of(LLen("l"), "LLEN l"),
		of(LRange[string]("l", 0, -1), "LRANGE l 0 -1"),
		of(LIndex[string]("l", 0), "LINDEX l 0"),
		of(LInsert("l", BEFORE, "a", "z"), "LINSERT l BEFORE a z"),
		of(LSet("l", 0, "q"), "LSET l 0 q"),
		of(LPos("l", "a", RANK(1), MAXLEN(100)), "LPOS l a RANK 1 MAXLEN 100"),
		of(LPosCount("l", "a", 0), "LPOS l a COUNT 0"),
		of(LRem("l", 1, "z"), "LREM l 1 z"),
		of(LTrim("l", 0, 100), "LTRIM l 0 100"),
		of(LPop[string]("l"), "LPOP l"),
		of(LPopCount[string]("l", 1), "LPOP l 1"),
		of(RPop[string]("l"), "RPOP l"),
		of(RPopCount[string]("l", 1), "RPOP l 1"),
		before("RPUSH", "l", 1, 2, 3, 4, 5, 6, 7, 8, 9),
		of(LMove[string]("l", "l2", LEFT, RIGHT), "LMOVE l l2 LEFT RIGHT"),
		of(RPopLPush[string]("l", "l2"), "RPOPLPUSH l l2"),
		of(BLMove[string]("l", "l2", LEFT, RIGHT, time.Second), "BLMOVE l l2 LEFT RIGHT 1"),
		of(BRPopLPush[string]("l", "l2", 500*time.Millisecond), "BRPOPLPUSH l l2 0.5"),
		of(LMPop[string]([]string{"none", "l"}, LEFT, COUNT(2)), "LMPOP 2 none l LEFT COUNT 2"),
		of(LMPop[string]([]string{"none"}, RIGHT), "LMPOP 1 none RIGHT"),
		of(BLMPop[string](time.Second, []string{"l"}, RIGHT), "BLMPOP 1 1 l RIGHT"),
		of(BLPop[string]([]string{"none", "l"}, time.Second), "BLPOP none l 1"),
		of(BRPop[string]([]string{"none"}, 10*time.Millisecond), "BRPOP none 0.01"),
		of(LMoveM[[]string]("l2", "l3", LEFT, RIGHT), "LMOVEM l2 l3 LEFT RIGHT"),
		of(LMoveMCount[string]("l2", "l3", LEFT, RIGHT, COUNT(2), BULK), "LMOVEM l2 l3 LEFT RIGHT COUNT 2 BULK"),
		of(BLMoveM[[]string]("l3", "l2", LEFT, RIGHT, time.Second), "BLMOVEM l3 l2 LEFT RIGHT 1"),
		of(BLMoveMCount[string]("l3", "l2", LEFT, RIGHT, time.Second, EXACTLY(1), OBO), "BLMOVEM l3 l2 LEFT RIGHT 1 EXACTLY 1 OBO"),

		// Sets.
		of(SAdd("s", "a", "b", "c", "d", "e", "f", "g"), "SADD s a b c d e f g"),
		of(SAdd("s2", "b", "x"), "SADD s2 b x"),
		of(SCard("s"), "SCARD s"),
		of(SIsMember("s", "a"), "SISMEMBER s a"),
		of(SMIsMember("s", "a", "z"), "SMISMEMBER s a z"),
		of(SMembers[string]("s"), "SMEMBERS s"),
		of(SRandMember[string]("s"), "SRANDMEMBER s"),
		of(SRandMemberCount[string]("s", -3), "SRANDMEMBER s -3"),
		of(SMove("s", "s2", "a"), "SMOVE s s2 a"),
		of(SDiff[string]("s", "s2"), "SDIFF s s2"),
		of(SInter[string]("s", "s2"), "SINTER s s2"),
		of(SUnion[string]("s", "s2"), "SUNION s s2"),
		of(SDiffStore("s3", "s", "s2"), "SDIFFSTORE s3 s s2"),
		of(SInterStore("s3", "s", "s2"), "SINTERSTORE s3 s s2"),
		of(SUnionStore("s3", "s", "s2"), "SUNIONSTORE s3 s s2"),
		of(SInterCard([]string{"s", "s2"}, LIMITTO(1)), "SINTERCARD 2 s s2 LIMIT 1"),
		of(SDiffCard([]string{"s", "s2"}, LIMITTO(1)), "SDIFFCARD 2 s s2 LIMIT 1"),
		of(SUnionCard([]string{"s", "s2"}, APPROX), "SUNIONCARD 2 s s2 APPROX"),
		of(SScan[string]("s", 0, COUNT(10)), "SSCAN s 0 COUNT 10"),
		of(SRem("s", "b"), "SREM s b"),
		of(SPop[string]("s"), "SPOP s"),
		of(SPopCount[string]("s", 2), "SPOP s 2"),

		// Sorted sets.
		of(ZAdd("z", scored, nil, nil), "ZADD z 1 a 2.5 b"),
		of(ZAdd("z", scored, nil, GT, CH), "ZADD z GT CH 1 a 2.5 b"),
		of(ZAdd("z2", []redis.Scored[int]{{Member: 7, Score: math.Inf(1)}}, NX, nil), "ZADD z2 NX +Inf 7"),
		of(ZAddIncr("z", scored[:1], XX, nil), "ZADD z INCR XX 1 a"),
		of(ZIncrBy("z", 0.5, "a"), "ZINCRBY z 0.5 a"),
		of(ZCard("z"), "ZCARD z"),
		of(ZCount("z", Score(math.Inf(-1)), Beyond(2.5)), "ZCOUNT z -Inf (2.5"),
		of(ZLexCount("z", "-", "[b"), "ZLEXCOUNT z - [b"),
		of(ZScore("z", "a"), "ZSCORE z a"),
		of(ZMScore("z", "a", "none"), "ZMSCORE z a none"),
		of(ZRank("z", "a"), "ZRANK z a"),
		of(ZRevRank("z", "a"), "ZREVRANK z a"),
		newer(ZRankWithScore("z", "a"), "ZRANK z a WITHSCORE"),
		newer(ZRevRankWithScore("z", "none"), "ZREVRANK z none WITHSCORE"),
		of(ZRange[string]("z", 0, -1, nil), "ZRANGE z 0 -1"),
		of(ZRange[string]("z", "(1", "+inf", BYSCORE, LIMIT(0, 10)), "ZRANGE z (1 +inf BYSCORE LIMIT 0 10"),
		of(ZRangeWithScores[string]("z", 0, 1, nil, REV), "ZRANGE z 0 1 WITHSCORES REV"),
		of(ZRangeByScore[string]("z", Score(1), Beyond(5), LIMIT(0, 1)), "ZRANGEBYSCORE z 1 (5 LIMIT 0 1"),
		of(ZRangeByScoreWithScores[string]("z", Score(1), Score(5)), "ZRANGEBYSCORE z 1 5 WITHSCORES"),
		of(ZRangeByLex[string]("z", "-", "+", LIMIT(0, 1)), "ZRANGEBYLEX z - + LIMIT 0 1"),
		of(ZRevRange[string]("z", 0, -1), "ZREVRANGE z 0 -1"),
		of(ZRevRangeWithScores[string]("z", 0, -1), "ZREVRANGE z 0 -1 WITHSCORES"),
		of(ZRevRangeByScore[string]("z", Score(5), Score(1)), "ZREVRANGEBYSCORE z 5 1"),
		of(ZRevRangeByScoreWithScores[string]("z", Score(5), Score(1)), "ZREVRANGEBYSCORE z 5 1 WITHSCORES"),
		of(ZRevRangeByLex[string]("z", "+", "-"), "ZREVRANGEBYLEX z + -"),
		of(ZRangeStore("z3", "z", 0, -1, nil, REV), "ZRANGESTORE z3 z 0 -1 REV"),
		of(ZRandMember[string]("z"), "ZRANDMEMBER z"),
		of(ZRandMemberCount[string]("z", 2), "ZRANDMEMBER z 2"),
		of(ZRandMemberWithScores[string]("z", 2), "ZRANDMEMBER z 2 WITHSCORES"),
		of(ZScan[string]("z", 0, MATCH("*")), "ZSCAN z 0 MATCH *"),
		of(ZDiff[string]("z", "z2"), "ZDIFF 2 z z2"),
		of(ZDiffWithScores[string]([]string{"z", "z2"}), "ZDIFF 2 z z2 WITHSCORES"),
		of(ZInter[string]([]string{"z", "z3"}, WEIGHTS(1, 2.5), AGGREGATE(MAX)), "ZINTER 2 z z3 WEIGHTS 1 2.5 AGGREGATE MAX"),
		of(ZInterWithScores[string]([]string{"z", "z3"}), "ZINTER 2 z z3 WITHSCORES"),
		of(ZUnion[string]([]string{"z", "z3"}, AGGREGATE(SUM)), "ZUNION 2 z z3 AGGREGATE SUM"),
		of(ZUnionWithScores[string]([]string{"z", "z2"}), "ZUNION 2 z z2 WITHSCORES"),
		of(ZDiffStore("z4", "z", "z2"), "ZDIFFSTORE z4 2 z z2"),
		of(ZInterStore("z4", []string{"z", "z3"}), "ZINTERSTORE z4 2 z z3"),
		of(ZUnionStore("z4", []string{"z", "z3"}, WEIGHTS(1, 2)), "ZUNIONSTORE z4 2 z z3 WEIGHTS 1 2"),
		of(ZInterCard([]string{"z", "z3"}, LIMITTO(1)), "ZINTERCARD 2 z z3 LIMIT 1"),
		of(ZPopMax[string]("z"), "ZPOPMAX z"),
		of(ZPopMin[string]("z"), "ZPOPMIN z"),
		before("ZADD", "z", 1, "a", 2, "b", 3, "c", 4, "d", 5, "e", 6, "f", 7, "g", 8, "h", 9, "i", 10, "j"),
		of(ZPopMaxCount[string]("z", 2), "ZPOPMAX z 2"),
		of(ZPopMinCount[string]("z", 2), "ZPOPMIN z 2"),
		of(ZMPop[string]([]string{"none", "z"}, MIN, COUNT(2)), "ZMPOP 2 none z MIN COUNT 2"),
		of(BZMPop[string](time.Second, []string{"z"}, MAX), "BZMPOP 1 1 z MAX"),
		of(BZPopMin[string]([]string{"z"}, time.Second), "BZPOPMIN z 1"),
		of(BZPopMax[string]([]string{"none"}, 10*time.Millisecond), "BZPOPMAX none 0.01"),
		of(ZRem("z", "a"), "ZREM z a"),
		of(ZRemRangeByLex("z", "[x", "[y"), "ZREMRANGEBYLEX z [x [y"),
		of(ZRemRangeByRank("z", 100, 101), "ZREMRANGEBYRANK z 100 101"),
		of(ZRemRangeByScore("z", Score(100), Beyond(101)), "ZREMRANGEBYSCORE z 100 (101"),

		// Places.
		of(GeoAdd("g", []GeoMember{{Longitude: 13.361389, Latitude: 38.115556, Member: "Palermo"}, {Longitude: 15.087269, Latitude: 37.502669, Member: "Catania"}}, nil), "GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania"),
		of(GeoAdd("g", []GeoMember{{Longitude: 1, Latitude: 2, Member: "x"}}, XX, CH), "GEOADD g XX CH 1 2 x"),
		of(GeoDist("g", "Palermo", "Catania", KM), "GEODIST g Palermo Catania km"),
		of(GeoHash("g", "Palermo", "none"), "GEOHASH g Palermo none"),
		of(GeoPos("g", "Palermo", "none"), "GEOPOS g Palermo none"),
		of(GeoSearch("g", FROMMEMBER("Palermo"), BYRADIUS(200, KM), ASC, nil, WITHDIST), "GEOSEARCH g FROMMEMBER Palermo BYRADIUS 200 km ASC WITHDIST"),
		of(GeoSearch("g", FROMLONLAT(15, 37), BYBOX(400, 400, KM), nil, COUNTANY(1), WITHCOORD, WITHHASH), "GEOSEARCH g FROMLONLAT 15 37 BYBOX 400 400 km COUNT 1 ANY WITHCOORD WITHHASH"),
		of(GeoSearchStore("g2", "g", FROMMEMBER("Palermo"), BYRADIUS(200, KM), nil, COUNT(3)), "GEOSEARCHSTORE g2 g FROMMEMBER Palermo BYRADIUS 200 km COUNT 3"),
		of(GeoRadius("g", 15, 37, 200, KM, COUNT(2), DESC, WITHDIST), "GEORADIUS g 15 37 200 km COUNT 2 DESC WITHDIST"),
		of(GeoRadiusRO("g", 15, 37, 200, KM, nil, nil), "GEORADIUS_RO g 15 37 200 km"),
		of(GeoRadiusStore("g", 15, 37, 200, KM, STORE("g3"), nil, nil), "GEORADIUS g 15 37 200 km STORE g3"),
		of(GeoRadiusByMember("g", "Palermo", 200, KM, nil, nil), "GEORADIUSBYMEMBER g Palermo 200 km"),
		of(GeoRadiusByMemberRO("g", "Palermo", 200, M, nil, nil), "GEORADIUSBYMEMBER_RO g Palermo 200 m"),
		of(GeoRadiusByMemberStore("g", "Palermo", 200, FT, STOREDIST("g3"), nil, nil), "GEORADIUSBYMEMBER g Palermo 200 ft STOREDIST g3"),

		// Streams.
		of(XAdd("x", "1-0", []Field{F("paint", "door")}, nil, nil, nil), "XADD x 1-0 paint door"),
		of(XAdd("x", "2-0", []Field{F("paint", "wall")}, nil, nil, MAXLENABOUT(1000), NOMKSTREAM), "XADD x MAXLEN ~ 1000 NOMKSTREAM 2-0 paint wall"),
		of(XAdd("x", "3-0", []Field{F("paint", "roof")}, nil, nil, MINIDLIMIT("0-1", 10)), "XADD x MINID ~ 0-1 LIMIT 10 3-0 paint roof"),
		newer(XAdd("x", "*", []Field{F("paint", "roof")}, KEEPREF, IDMP("p", "i"), nil), "XADD x KEEPREF IDMP p i * paint roof"),
		of(XLen("x"), "XLEN x"),
		of(XRange[fields]("x", "-", "+", COUNT(10)), "XRANGE x - + COUNT 10"),
		of(XRevRange[fields]("x", "+", "-"), "XREVRANGE x + -"),
		of(XRead[fields]([]StreamID{{Key: "x", ID: "0"}, {Key: "y", ID: "$"}}, COUNT(2)), "XREAD COUNT 2 STREAMS x y 0 $"),
		of(XRead[fields]([]StreamID{{Key: "x", ID: "$"}}, BLOCK(10*time.Millisecond)), "XREAD BLOCK 10 STREAMS x $"),
		of(XGroupCreate("x", "g", "0", MKSTREAM), "XGROUP CREATE x g 0 MKSTREAM"),
		newer(XGroupSetID("x", "g", "0", ENTRIESREAD(0)), "XGROUP SETID x g 0 ENTRIESREAD 0"),
		of(XGroupCreateConsumer("x", "g", "ann"), "XGROUP CREATECONSUMER x g ann"),
		of(XReadGroup[fields]("g", "ann", []StreamID{{Key: "x", ID: ">"}}, COUNT(3), NOACK), "XREADGROUP GROUP g ann COUNT 3 NOACK STREAMS x >"),
		before("XGROUP", "SETID", "x", "g", "0"),
		of(XReadGroup[*fields]("g", "ann", []StreamID{{Key: "x", ID: ">"}}), "XREADGROUP GROUP g ann STREAMS x >"),
		of(XPending("x", "g"), "XPENDING x g"),
		of(XPendingRange("x", "g", "-", "+", 10), "XPENDING x g - + 10"),
		of(XPendingRangeConsumer("x", "g", "-", "+", 10, "ann"), "XPENDING x g - + 10 ann"),
		of(XPendingIdle("x", "g", time.Second, "-", "+", 10), "XPENDING x g IDLE 1000 - + 10"),
		of(XPendingIdleConsumer("x", "g", time.Second, "-", "+", 10, "ann"), "XPENDING x g IDLE 1000 - + 10 ann"),
		of(XClaim[fields]("x", "g", "bob", time.Duration(0), []string{"1-0", "2-0"}, IDLE(time.Second), RETRYCOUNT(2), FORCE), "XCLAIM x g bob 0 1-0 2-0 IDLE 1000 RETRYCOUNT 2 FORCE"),
		of(XClaimJustID("x", "g", "bob", time.Duration(0), []string{"1-0"}, TIME(at), LASTID("1-0")), "XCLAIM x g bob 0 1-0 JUSTID TIME 4102542245006 LASTID 1-0"),
		of(XAutoClaim[fields]("x", "g", "ann", time.Duration(0), "0", COUNT(10)), "XAUTOCLAIM x g ann 0 0 COUNT 10"),
		of(XAutoClaimJustID("x", "g", "ann", time.Duration(0), "0"), "XAUTOCLAIM x g ann 0 0 JUSTID"),
		of(XInfoStream("x"), "XINFO STREAM x"),
		of(XInfoStreamFull("x", 2), "XINFO STREAM x FULL COUNT 2"),
		of(XInfoGroups("x"), "XINFO GROUPS x"),
		of(XInfoConsumers("x", "g"), "XINFO CONSUMERS x g"),
		of(XInfoHelp(), "XINFO HELP"),
		of(XNack("x", "g", FAIL, []string{"1-0"}, RETRYCOUNT(2)), "XNACK x g FAIL IDS 1 1-0 RETRYCOUNT 2"),
		of(XAckDel("x", "g", []string{"3-0"}, KEEPREF), "XACKDEL x g KEEPREF IDS 1 3-0"),
		of(XDelEx("x", []string{"2-0"}, nil), "XDELEX x IDS 1 2-0"),
		of(XAck("x", "g", "1-0"), "XACK x g 1-0"),
		of(XDel("x", "2-0"), "XDEL x 2-0"),
		of(XTrim("x", MAXLEN(1), nil), "XTRIM x MAXLEN 1"),
		newer(XSetID("x", "9999999999999-0", ENTRIESADDED(9), MAXDELETEDID("2-0")), "XSETID x 9999999999999-0 ENTRIESADDED 9 MAXDELETEDID 2-0"),
		of(XCfgSet("x", IDMPDURATION(time.Minute), IDMPMAXSIZE(10)), "XCFGSET x IDMP-DURATION 60 IDMP-MAXSIZE 10"),
		unsent(XIdmpRecord("x", "p", "i2", "1-0"), "XIDMPRECORD x p i2 1-0"), // servers write it to the AOF in place of XADD
		of(XGroupDelConsumer("x", "g", "ann"), "XGROUP DELCONSUMER x g ann"),
		of(XGroupDestroy("x", "g"), "XGROUP DESTROY x g"),
		of(XGroupHelp(), "XGROUP HELP"),

		// Arrays.
		of(ArSet("ar", 0, "a", "b"), "ARSET ar 0 a b"),
		of(ArMSet("ar", ArrayElement{Index: 5, Value: "f"}), "ARMSET ar 5 f"),
		of(ArInsert("ar", "x", "y"), "ARINSERT ar x y"),
		of(ArGet[string]("ar", 0), "ARGET ar 0"),
		of(ArMGet[*string]("ar", 0, 3), "ARMGET ar 0 3"),
		of(ArGetRange[*string]("ar", 0, 3), "ARGETRANGE ar 0 3"),
		of(ArLen("ar"), "ARLEN ar"),
		of(ArCount("ar"), "ARCOUNT ar"),
		of(ArNext("ar"), "ARNEXT ar"),
		of(ArSeek("ar", 8), "ARSEEK ar 8"),
		of(ArLastItems[*string]("ar", 2, REV), "ARLASTITEMS ar 2 REV"),
		of(ArInfo("ar", FULL), "ARINFO ar FULL"),
		of(ArScan("ar", 0, 10, LIMITTO(3)), "ARSCAN ar 0 10 LIMIT 3"),
		of(ArGrep("ar", "0", "10", []ArGrepPredicate{EXACT("a"), GLOB("*"), MATCH("b"), RE("c")}, OR, NOCASE, WITHVALUES), "ARGREP ar 0 10 EXACT a GLOB * MATCH b RE c OR NOCASE WITHVALUES"),
		of(ArOp[any]("ar", 0, 10, USED), "AROP ar 0 10 USED"),
		of(ArOp[any]("ar", 0, 10, ArOpMATCH("a")), "AROP ar 0 10 MATCH a"),
		of(ArRing("ring", 2, 1, 2, 3), "ARRING ring 2 1 2 3"),
		of(ArDel("ar", 0), "ARDEL ar 0"),
		of(ArDelRange("ar", IndexRange{Start: 1, End: 3}), "ARDELRANGE ar 1 3"),

		// Vector sets.
		of(VAdd("v", VALUES(1, 0, 0.5), "a", nil, CAS, EF(10), SETATTR("{\"n\":1}"), VAddM(8)), "VADD v VALUES 3 1 0 0.5 a CAS EF 10 SETATTR {\"n\":1} M 8"),
		of(VAdd("v", VALUES(0, 1, 0.5), "b", nil, VAddM(8)), "VADD v VALUES 3 0 1 0.5 b M 8"),
		of(VAddReduce("v2", 2, VALUES(0, 1, 0.5), "b", NOQUANT), "VADD v2 REDUCE 2 VALUES 3 0 1 0.5 b NOQUANT"),
		of(VCard("v"), "VCARD v"),
		of(VDim("v"), "VDIM v"),
		of(VEmb("v", "a"), "VEMB v a"),
		of(VEmbRaw("v", "a"), "VEMB v a RAW"),
		of(VGetAttr[string]("v", "a"), "VGETATTR v a"),
		of(VSetAttr("v", "a", "{}"), "VSETATTR v a {}"),
		of(VInfo("v"), "VINFO v"),
		of(VIsMember("v", "a"), "VISMEMBER v a"),
		of(VLinks("v", "a"), "VLINKS v a"),
		of(VLinksWithScores("v", "a"), "VLINKS v a WITHSCORES"),
		of(VRandMember[string]("v"), "VRANDMEMBER v"),
		of(VRandMemberCount[string]("v", 2), "VRANDMEMBER v 2"),
		of(VRange("v", "-", "+"), "VRANGE v - +"),
		of(VRangeCount("v", "-", "+", 2), "VRANGE v - + 2"),
		of(VSim[string]("v", ELE("a"), COUNT(2), EPSILON(0.9), EF(10), TRUTH, NOTHREAD), "VSIM v ELE a COUNT 2 EPSILON 0.9 EF 10 TRUTH NOTHREAD"),
		of(VSimWithScores("v", VALUES(1, 0, 0), FILTER(".n > 0"), FILTEREF(10)), "VSIM v VALUES 3 1 0 0 WITHSCORES FILTER .n_>_0 FILTER-EF 10"),
		newer(VSimWithAttribs("v", ELE("a")), "VSIM v ELE a WITHATTRIBS"),
		of(VRem("v", "a"), "VREM v a"),

		// Scripts.
		of(Eval[int](script, nil), "EVAL return_1 0"),
		of(Eval[int](script, []string{"k"}, "arg"), "EVAL return_1 1 k arg"),
		of(EvalRO[int](script, []string{"k"}), "EVAL_RO return_1 1 k"),
		of(ScriptLoad(script), "SCRIPT LOAD return_1"),
		of(EvalSHA[int](sha, []string{"k"}), "EVALSHA "+sha+" 1 k"),
		of(EvalSHARO[int](sha, []string{"k"}), "EVALSHA_RO "+sha+" 1 k"),
		of(ScriptExists(sha, "0"), "SCRIPT EXISTS "+sha+" 0"),
		of(ScriptShow(sha), "SCRIPT SHOW "+sha),
		of(ScriptFlush(SYNC), "SCRIPT FLUSH SYNC"),
		of(ScriptHelp(), "SCRIPT HELP"),
		unsent(ScriptKill(), "SCRIPT KILL"), // needs a script that runs
		of(FunctionLoad(library, REPLACE), "FUNCTION LOAD REPLACE "+underscored(library)),
		of(FCall[int]("f", []string{"k"}, "arg"), "FCALL f 1 k arg"),
		of(FCallRO[int]("f", nil), "FCALL_RO f 0"),
		of(FunctionList(LIBRARYNAME("l*"), WITHCODE), "FUNCTION LIST LIBRARYNAME l* WITHCODE"),
		of(FunctionStats(), "FUNCTION STATS"),
		of(FunctionDump(), "FUNCTION DUMP"),
		unsent(FunctionRestore("\x00", APPEND), "FUNCTION RESTORE \x00 APPEND"), // needs what FUNCTION DUMP has answered
		of(FunctionDelete("lib"), "FUNCTION DELETE lib"),
		of(FunctionFlush(nil), "FUNCTION FLUSH"),
		of(FunctionHelp(), "FUNCTION HELP"),
		unsent(FunctionKill(), "FUNCTION KILL"), // needs a function that runs

		// Pub/sub.
		of(Publish("news", "hello"), "PUBLISH news hello"),
		of(SPublish("news", "hello"), "SPUBLISH news hello"),
		of(PubSubChannels(), "PUBSUB CHANNELS"),
		of(PubSubChannelsPattern("n*"), "PUBSUB CHANNELS n*"),
		of(PubSubNumPat(), "PUBSUB NUMPAT"),
		of(PubSubNumSub("news"), "PUBSUB NUMSUB news"),
		of(PubSubShardChannels(), "PUBSUB SHARDCHANNELS"),
		of(PubSubShardChannelsPattern("n*"), "PUBSUB SHARDCHANNELS n*"),
		of(PubSubShardNumSub("news"), "PUBSUB SHARDNUMSUB news"),
		of(PubSubHelp(), "PUBSUB HELP"),

		// Connections.
		of(Ping(), "PING"),
		of(PingMessage[string]("hi"), "PING hi"),
		of(Echo[int](3), "ECHO 3"),
		of(ClientID(), "CLIENT ID"),
		of(ClientInfo(), "CLIENT INFO"),
		of(ClientList(CLIENTTYPE(NORMAL)), "CLIENT LIST TYPE NORMAL"),
		newer(ClientList(ID(1, 2)), "CLIENT LIST ID 1 2"),
		of(ClientSetName("asker"), "CLIENT SETNAME asker"),
		of(ClientGetName(), "CLIENT GETNAME"),
		of(ClientSetInfo(LIBNAME("redispipe")), "CLIENT SETINFO LIB-NAME redispipe"),
		of(ClientGetRedir(), "CLIENT GETREDIR"),
		of(ClientTrackingInfo(), "CLIENT TRACKINGINFO"),
		of(ClientKill(ClientKillID(999999), SKIPME(YES), USER("default"), ADDR("10.0.0.1:1")), "CLIENT KILL ID 999999 SKIPME YES USER default ADDR 10.0.0.1:1"),
		of(ClientPause(time.Millisecond, WRITE), "CLIENT PAUSE 1 WRITE"),
		of(ClientUnpause(), "CLIENT UNPAUSE"),
		of(ClientUnblock(999999, ERROR), "CLIENT UNBLOCK 999999 ERROR"),
		of(ClientHelp(), "CLIENT HELP"),
		session(ClientCaching(YES), "CLIENT CACHING YES"),
		session(ClientCapa("redirect"), "CLIENT CAPA redirect"),
		session(ClientImportSource(ON), "CLIENT IMPORT-SOURCE ON"),
		session(ClientNoEvict(ON), "CLIENT NO-EVICT ON"),
		session(ClientNoTouch(OFF), "CLIENT NO-TOUCH OFF"),
		session(Select(1), "SELECT 1"),
		session(Watch("k"), "WATCH k"),
		session(Unwatch(), "UNWATCH"),
		session(Multi(), "MULTI"),
		session(Exec(), "EXEC"),
		session(Multi(), "MULTI"),
		session(Discard(), "DISCARD"),
		session(ReadOnly(), "READONLY"),
		session(ReadWrite(), "READWRITE"),

		// Servers.
		of(Info("server"), "INFO server"),
		newer(Info("server", "memory"), "INFO server memory"),
		of(DBSize(), "DBSIZE"),
		of(Time(), "TIME"),
		of(LastSave(), "LASTSAVE"),
		of(Role(), "ROLE"),
		of(Lolwut(VERSION(5)), "LOLWUT VERSION 5"),
		of(ConfigGet("maxmemory", "port"), "CONFIG GET maxmemory port"),
		of(ConfigSet(F("maxmemory-samples", 5), F("slowlog-log-slower-than", 0)), "CONFIG SET maxmemory-samples 5 slowlog-log-slower-than 0"),
		of(ConfigResetStat(), "CONFIG RESETSTAT"),
		unsent(ConfigRewrite(), "CONFIG REWRITE"), // the server has no file
		of(ConfigHelp(), "CONFIG HELP"),
		of(Command(), "COMMAND"),
		of(CommandCount(), "COMMAND COUNT"),
		of(CommandDocs("get"), "COMMAND DOCS get"),
		of(CommandInfo("get", "none"), "COMMAND INFO get none"),
		of(CommandList(FILTERBY(ACLCAT("read"))), "COMMAND LIST FILTERBY ACLCAT read"),
		of(CommandGetKeys("GET", "k"), "COMMAND GETKEYS GET k"),
		of(CommandGetKeysAndFlags("GET", "k"), "COMMAND GETKEYSANDFLAGS GET k"),
		of(CommandHelp(), "COMMAND HELP"),
		of(CommandLogGet(3, SLOW), "COMMANDLOG GET 3 SLOW"),
		of(CommandLogLen(LARGEREPLY), "COMMANDLOG LEN LARGE-REPLY"),
		of(CommandLogReset(LARGEREQUEST), "COMMANDLOG RESET LARGE-REQUEST"),
		of(CommandLogHelp(), "COMMANDLOG HELP"),
		of(SlowLogGet(), "SLOWLOG GET"),
		of(SlowLogGetCount(2), "SLOWLOG GET 2"),
		of(SlowLogLen(), "SLOWLOG LEN"),
		of(SlowLogReset(), "SLOWLOG RESET"),
		of(SlowLogHelp(), "SLOWLOG HELP"),
		of(MemoryDoctor(), "MEMORY DOCTOR"),
		of(MemoryStats(), "MEMORY STATS"),
		of(MemoryMallocStats(), "MEMORY MALLOC-STATS"),
		of(MemoryPurge(), "MEMORY PURGE"),
		of(MemoryHelp(), "MEMORY HELP"),
		of(LatencyDoctor(), "LATENCY DOCTOR"),
		unsent(LatencyGraph("command"), "LATENCY GRAPH command"), // needs an event
		of(LatencyHistogram("get"), "LATENCY HISTOGRAM get"),
		of(LatencyHistory("command"), "LATENCY HISTORY command"),
		of(LatencyLatest(), "LATENCY LATEST"),
		of(LatencyReset("command"), "LATENCY RESET command"),
		of(LatencyHelp(), "LATENCY HELP"),
		of(ACLWhoAmI(), "ACL WHOAMI"),
		of(ACLList(), "ACL LIST"),
		of(ACLUsers(), "ACL USERS"),
		of(ACLCat(), "ACL CAT"),
		of(ACLCatCategory("read"), "ACL CAT read"),
		of(ACLGenPass(), "ACL GENPASS"),
		of(ACLGenPassBits(5), "ACL GENPASS 5"),
		of(ACLSetUser("ann", "on", "nopass"), "ACL SETUSER ann on nopass"),
		of(ACLGetUser("ann"), "ACL GETUSER ann"),
		of(ACLDryRun("ann", "GET", "k"), "ACL DRYRUN ann GET k"),
		of(ACLDelUser("ann"), "ACL DELUSER ann"),
		of(ACLLog(), "ACL LOG"),
		of(ACLLogCount(2), "ACL LOG 2"),
		of(ACLLogReset(), "ACL LOG RESET"),
		of(ACLHelp(), "ACL HELP"),
		unsent(ACLLoad(), "ACL LOAD"), // the server has no file
		unsent(ACLSave(), "ACL SAVE"), // likewise
		of(ModuleList(), "MODULE LIST"),
		of(ModuleHelp(), "MODULE HELP"),
		unsent(ModuleLoad("/m.so", "arg"), "MODULE LOAD /m.so arg"), // needs a module
		unsent(ModuleLoadEx("/m.so", CONFIG(ModuleConfig{Name: "a", Value: "1"}, ModuleConfig{Name: "b", Value: "2"}), ARGS("x", "y")), "MODULE LOADEX /m.so CONFIG a 1 CONFIG b 2 ARGS x y"), // likewise
		unsent(ModuleUnload("m"), "MODULE UNLOAD m"), // likewise
		of(HotKeysStart(METRICSCPU, COUNT(5), DURATION(time.Minute), SAMPLE(1)), "HOTKEYS START METRICS 1 CPU COUNT 5 DURATION 60 SAMPLE 1"),
		of(HotKeysGet(), "HOTKEYS GET"),
		of(HotKeysStop(), "HOTKEYS STOP"),
		of(HotKeysReset(), "HOTKEYS RESET"),
		of(HotKeysHelp(), "HOTKEYS HELP"),
		of(BackupHelp(), "BACKUP HELP"),
		of(BackupList(), "BACKUP LIST"),
		of(BackupStatus(), "BACKUP STATUS"),
		unsent(BackupStart(), "BACKUP START"),     // writes files
		unsent(BackupSeal(), "BACKUP SEAL"),       // likewise
		unsent(BackupAbort(), "BACKUP ABORT"),     // needs a backup that runs
		unsent(BackupCleanup(), "BACKUP CLEANUP"), // removes files
		of(BgSave(SCHEDULE), "BGSAVE SCHEDULE"),
		unsent(BgRewriteAOF(), "BGREWRITEAOF"), // fails while BGSAVE runs
		unsent(Save(), "SAVE"),                 // likewise
		of(SwapDB(0, 0), "SWAPDB 0 0"),
		of(ReplicaOf(NOONE), "REPLICAOF NO ONE"),
		of(SlaveOf(NOONE), "SLAVEOF NO ONE"),
		unsent(ReplicaOf(FROM("10.0.0.1", 6379)), "REPLICAOF 10.0.0.1 6379"), // needs another server
		unsent(Failover(TOFORCE("10.0.0.1", 6379), TIMEOUT(time.Second)), "FAILOVER TO 10.0.0.1 6379 FORCE TIMEOUT 1000"), // needs a replica
		unsent(Shutdown(NOSAVE, NOW, FORCE), "SHUTDOWN NOSAVE NOW FORCE"),                                                 // it ends the server
		of(FlushDB(SYNC), "FLUSHDB SYNC"),
		of(FlushAll(nil), "FLUSHALL"),

		// Options that no call above has.
		of(BitOp(NOT, "to", "bits"), "BITOP NOT to bits"),
		of(BitOp(XOR, "to", "bits", "a"), "BITOP XOR to bits a"),
		newer(BitOp(DIFF, "to", "bits", "a"), "BITOP DIFF to bits a"),
		newer(BitOp(DIFF1, "to", "bits", "a"), "BITOP DIFF1 to bits a"),
		newer(BitOp(ANDOR, "to", "bits", "a"), "BITOP ANDOR to bits a"),
		of(BitField("bits", OVERFLOW(WRAP), INCRBITS("u8", 0, 1), OVERFLOW(SAT), INCRBITS("u8", 0, 1)), "BITFIELD bits OVERFLOW WRAP INCRBY u8 0 1 OVERFLOW SAT INCRBY u8 0 1"),
		of(LInsert("l", AFTER, "a", "z"), "LINSERT l AFTER a z"),
		of(ZRange[string]("z", "-", "+", BYLEX), "ZRANGE z - + BYLEX"),
		newer(ZInter[string]([]string{"z"}, AGGREGATE(ZInterCOUNT)), "ZINTER 1 z AGGREGATE COUNT"),
		before("ZADD", "z", 1, "a"),
		newer(ZScanNoScores[string]("z", 0), "ZSCAN z 0 NOSCORES"),
		before("GEOADD", "g", 15, 37, "x"), // without this key, Redis 6.2 answers with an array
		of(GeoSearchStore("g2", "g", FROMLONLAT(15, 37), BYBOX(400, 400, MI), ASC, COUNT(3), GeoSearchStoreSTOREDIST), "GEOSEARCHSTORE g2 g FROMLONLAT 15 37 BYBOX 400 400 mi ASC COUNT 3 STOREDIST"),
		of(HSetEx("h2", []Field{F("n", 1)}, nil, nil, FNX), "HSETEX h2 FNX FIELDS 1 n 1"),
		of(XAdd("x2", "*", []Field{F("a", 1)}, nil, nil, MAXLENLIMIT(10, 5)), "XADD x2 MAXLEN ~ 10 LIMIT 5 * a 1"),
		of(XAdd("x2", "*", []Field{F("a", 1)}, nil, nil, MINIDABOUT("0-1")), "XADD x2 MINID ~ 0-1 * a 1"),
		newer(XAdd("x2", "*", []Field{F("a", 1)}, DELREF, IDMPAUTO("p"), nil), "XADD x2 DELREF IDMPAUTO p * a 1"),
		newer(XTrim("x2", MAXLEN(5), ACKED), "XTRIM x2 MAXLEN 5 ACKED"),
		before("XGROUP CREATE", "x2", "g", "0"),
		before("XREADGROUP", "GROUP", "g", "bob", "COUNT", 1, "STREAMS", "x2", ">"),
		newer(XReadGroup[fields]("g", "ann", []StreamID{{Key: "x2", ID: ">"}}, MAXCOUNT(5), CLAIM(time.Duration(0))), "XREADGROUP GROUP g ann MAXCOUNT 5 CLAIM 0 STREAMS x2 >"),
		of(XNack("x2", "g", FATAL, []string{"1-0"}), "XNACK x2 g FATAL IDS 1 1-0"),
		of(XNack("x2", "g", SILENT, []string{"1-0"}), "XNACK x2 g SILENT IDS 1 1-0"),
		of(VAdd("v3", FP32("abcd"), "a", BIN), "VADD v3 FP32 abcd a BIN"),
		of(VAdd("v4", FP32("abcd"), "a", Q8), "VADD v4 FP32 abcd a Q8"),
		newer(ClientList(NOTID(99), NOTUSER("default"), NOTADDR("10.0.0.1:1"), NOTLADDR("10.0.0.1:1"), NOTNAME("n"), NOTFLAGS("P"), NOTLIBNAME("l"), NOTLIBVER("0"), NOTDB(9), NOTCAPA("r"), NOTIP("10.0.0.1")),
			"CLIENT LIST NOT-ID 99 NOT-USER default NOT-ADDR 10.0.0.1:1 NOT-LADDR 10.0.0.1:1 NOT-NAME n NOT-FLAGS P NOT-LIB-NAME l NOT-LIB-VER 0 NOT-DB 9 NOT-CAPA r NOT-IP 10.0.0.1"),
		newer(ClientList(ClientListIDLE(1), FLAGS("N"), LIBVER("1"), IP("10.0.0.1"), LADDR("10.0.0.1:1"), MAXAGE(time.Hour)), "CLIENT LIST IDLE 1 FLAGS N LIB-VER 1 IP 10.0.0.1 LADDR 10.0.0.1:1 MAXAGE 3600"),
		newer(ClientList(CLIENTTYPE(REPLICA)), "CLIENT LIST TYPE REPLICA"),
		of(ClientKill(LADDR("10.0.0.1:1"), CLIENTTYPE(MASTER)), "CLIENT KILL LADDR 10.0.0.1:1 TYPE MASTER"),
		of(ClientKill(CLIENTTYPE(SLAVE)), "CLIENT KILL TYPE SLAVE"),
		of(ClientUnblock(999999, ClientUnblockTIMEOUT), "CLIENT UNBLOCK 999999 TIMEOUT"),
		of(CommandList(FILTERBY(PATTERN("x*"))), "COMMAND LIST FILTERBY PATTERN x*"),
		unsent(HotKeysStart(METRICSNET), "HOTKEYS START METRICS 1 NET"),                                            // one is started above
		unsent(HotKeysStart(METRICSALL), "HOTKEYS START METRICS 2 CPU NET"),                                        // likewise
		unsent(Shutdown(nil, SAFE), "SHUTDOWN SAFE"),                                                               // it ends the server
		unsent(Migrate("10.0.0.1", 6379, "k", 0, time.Second, AUTH("p")), "MIGRATE 10.0.0.1 6379 k 0 1000 AUTH p"), // needs another server
		newer(BitOp(ONE, "to", "bits", "a"), "BITOP ONE to bits a"),
		newer(ClientList(CLIENTTYPE(PUBSUB), NAME("n"), CAPA("r"), SKIPME(NO)), "CLIENT LIST TYPE PUBSUB NAME n CAPA r SKIPME NO"),
		of(CommandList(FILTERBY(MODULE("m"))), "COMMAND LIST FILTERBY MODULE m"),
		of(XTrim("x2", MINID("0-1"), nil), "XTRIM x2 MINID 0-1"),
		newer(XRead[fields]([]StreamID{{Key: "x2", ID: "0"}}, MAXSIZE(100)), "XREAD MAXSIZE 100 STREAMS x2 0"),
		unsent(FunctionRestore("\x00", FLUSH), "FUNCTION RESTORE \x00 FLUSH"), // needs what FUNCTION DUMP has answered
		clustered(HotKeysStart(METRICSCPU, SLOTS(1, 2)), "HOTKEYS START METRICS 1 CPU SLOTS 2 1 2"),
		unsent(Shutdown(SAVE, FAILOVER), "SHUTDOWN SAVE FAILOVER"),          // it ends the server
		unsent(Shutdown(nil, ABORT), "SHUTDOWN ABORT"),                      // needs a SHUTDOWN that waits
		unsent(Failover(TO("10.0.0.1", 6379)), "FAILOVER TO 10.0.0.1 6379"), // needs a replica
		clustered(ClusterSetSlot(1, NODE(node)), "CLUSTER SETSLOT 1 NODE "+node),
		clustered(ClusterMigration(STATUS(ALL)), "CLUSTER MIGRATION STATUS ALL"),
		clustered(ClusterSlotStats(ORDERBY("key-count", ASC)), "CLUSTER SLOT-STATS ORDERBY key-count ASC"),
		clustered(ClusterReset(HARD), "CLUSTER RESET HARD"),
		clustered(ClusterSetSlot(1, IMPORTING(node)), "CLUSTER SETSLOT 1 IMPORTING "+node),
		clustered(ClusterSetSlot(1, STABLE), "CLUSTER SETSLOT 1 STABLE"),
		clustered(ClusterMigration(CANCEL(ClusterMigrationID("t"))), "CLUSTER MIGRATION CANCEL ID t"),

		// Clusters. A server outside a cluster refuses most of these commands.
		clustered(ClusterAddSlots(1, 2), "CLUSTER ADDSLOTS 1 2"),
		clustered(ClusterAddSlotsRange(SlotRange{StartSlot: 1, EndSlot: 2}), "CLUSTER ADDSLOTSRANGE 1 2"),
		clustered(ClusterBumpEpoch(), "CLUSTER BUMPEPOCH"),
		clustered(ClusterCancelSlotMigrations(), "CLUSTER CANCELSLOTMIGRATIONS"),
		clustered(ClusterCountFailureReports(node), "CLUSTER COUNT-FAILURE-REPORTS "+node),
		clustered(ClusterCountKeysInSlot(1), "CLUSTER COUNTKEYSINSLOT 1"),
		clustered(ClusterDelSlots(1), "CLUSTER DELSLOTS 1"),
		clustered(ClusterDelSlotsRange(SlotRange{StartSlot: 1, EndSlot: 2}), "CLUSTER DELSLOTSRANGE 1 2"),
		clustered(ClusterFailover(TAKEOVER), "CLUSTER FAILOVER TAKEOVER"),
		clustered(ClusterFlushSlot(1, ASYNC), "CLUSTER FLUSHSLOT 1 ASYNC"),
		clustered(ClusterFlushSlots(), "CLUSTER FLUSHSLOTS"),
		clustered(ClusterForget(node), "CLUSTER FORGET "+node),
		clustered(ClusterGetKeysInSlot(1, 10), "CLUSTER GETKEYSINSLOT 1 10"),
		clustered(ClusterGetSlotMigrations(), "CLUSTER GETSLOTMIGRATIONS"),
		clustered(ClusterHelp(), "CLUSTER HELP"),
		clustered(ClusterInfo(), "CLUSTER INFO"),
		clustered(ClusterKeySlot("k"), "CLUSTER KEYSLOT k"),
		clustered(ClusterLinks(), "CLUSTER LINKS"),
		clustered(ClusterMeet("127.0.0.1", 1), "CLUSTER MEET 127.0.0.1 1"),
		clustered(ClusterMeetBusPort("127.0.0.1", 1, 2), "CLUSTER MEET 127.0.0.1 1 2"),
		clustered(ClusterMigrateSlots([]SlotRange{{1, 2}}, node), "CLUSTER MIGRATESLOTS SLOTSRANGE 1 2 NODE "+node),
		clustered(ClusterMigration(IMPORT(SlotRange{1, 2}, SlotRange{5, 6})), "CLUSTER MIGRATION IMPORT 1 2 5 6"),
		clustered(ClusterMigration(CANCEL(ALL)), "CLUSTER MIGRATION CANCEL ALL"),
		clustered(ClusterMyID(), "CLUSTER MYID"),
		clustered(ClusterMyShardID(), "CLUSTER MYSHARDID"),
		clustered(ClusterNodes(), "CLUSTER NODES"),
		clustered(ClusterReplicas(node), "CLUSTER REPLICAS "+node),
		clustered(ClusterReplicate(node), "CLUSTER REPLICATE "+node),
		clustered(ClusterReset(SOFT), "CLUSTER RESET SOFT"),
		clustered(ClusterSaveConfig(), "CLUSTER SAVECONFIG"),
		clustered(ClusterSetConfigEpoch(3), "CLUSTER SET-CONFIG-EPOCH 3"),
		clustered(ClusterSetSlot(1, MIGRATING(node)), "CLUSTER SETSLOT 1 MIGRATING "+node),
		clustered(ClusterShards(), "CLUSTER SHARDS"),
		clustered(ClusterSlaves(node), "CLUSTER SLAVES "+node),
		clustered(ClusterSlotStats(SLOTSRANGE(0, 9)), "CLUSTER SLOT-STATS SLOTSRANGE 0 9"),
		clustered(ClusterSlotStats(ORDERBYLIMIT("key-count", 3, DESC)), "CLUSTER SLOT-STATS ORDERBY key-count LIMIT 3 DESC"),
		clustered(ClusterSlots(), "CLUSTER SLOTS"),
		clustered(TrimSlots(SlotSpan{Startslot: 1, Endslot: 2}), "TRIMSLOTS RANGES 1 1 2"),
	}, forms()...)
}
