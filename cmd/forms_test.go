package cmd_test

import (
	"math"
	"time"

	. "github.com/joomcode/redispipe/cmd"
	"github.com/joomcode/redispipe/redis"
)

// forms returns commands with sets of options that the servers' documentation shows and that calls
// does not return.
func forms() []call {
	places := []Field{F("a", 1), F("b", 2)}
	scored := []redis.Scored[string]{{Member: "a", Score: 1}, {Member: "b", Score: 2}}
	return []call{
		of(FlushAll(nil), "FLUSHALL"),
		of(Set("k", "Hello", EX(time.Minute), nil), "SET k Hello EX 60"),
		newer(Expire("k", 10*time.Second, NX), "EXPIRE k 10 NX"),
		newer(Expire("k", 10*time.Second, XX), "EXPIRE k 10 XX"),
		of(ExpireAt("k", at, nil), "EXPIREAT k 4102542245"),
		of(PExpire("k", 1500*time.Millisecond, nil), "PEXPIRE k 1500"),
		newer(PExpire("k", time.Minute, NX), "PEXPIRE k 60000 NX"),
		newer(PExpire("k", time.Minute, XX), "PEXPIRE k 60000 XX"),
		of(PExpireAt("k", at, nil), "PEXPIREAT k 4102542245006"),
		of(MemoryUsage("k"), "MEMORY USAGE k"),
		unsent(Restore("k", time.Duration(0), "\x00"), "RESTORE k 0 \x00"), // needs what DUMP has answered
		of(Scan(0), "SCAN 0"),
		of(Scan(0, MATCH("*")), "SCAN 0 MATCH *"),
		of(Scan(0, MATCH("*11*"), COUNT(1000)), "SCAN 0 MATCH *11* COUNT 1000"),
		of(Scan(0, TYPE("zset")), "SCAN 0 TYPE zset"),
		unsent(ClusterScan("0"), "CLUSTERSCAN 0"),                 // needs a cluster
		unsent(ClusterScan("0", SLOT(0)), "CLUSTERSCAN 0 SLOT 0"), // needs a cluster
		of(MSetEx(places, EX(time.Minute), nil), "MSETEX 2 a 1 b 2 EX 60"),
		of(MSetEx(places, EX(time.Minute), NX), "MSETEX 2 a 1 b 2 EX 60 NX"),
		of(LCSIdx("k", "none"), "LCS k none IDX"),
		of(LCSIdx("k", "none", MINMATCHLEN(4)), "LCS k none IDX MINMATCHLEN 4"),

		newer(BitCountRange("k", 1, 1, BYTE), "BITCOUNT k 1 1 BYTE"),
		newer(BitPosRange("k", 1, 7, 15, BIT), "BITPOS k 1 7 15 BIT"),
		of(BitField("n", SETBITS("u1", 2, 1), SETBITS("u1", 3, 1)), "BITFIELD n SET u1 2 1 SET u1 3 1"),
		of(BitField("n", INCRBITS("i5", 100, 1), GETBITS("u4", 0)), "BITFIELD n INCRBY i5 100 1 GET u4 0"),
		of(BitField("n", OVERFLOW(FAIL), INCRBITS("u2", 102, 1)), "BITFIELD n OVERFLOW FAIL INCRBY u2 102 1"),
		of(BitField("n", INCRBITS("u2", 100, 1), OVERFLOW(SAT), INCRBITS("u2", 102, 1)), "BITFIELD n INCRBY u2 100 1 OVERFLOW SAT INCRBY u2 102 1"),

		of(HSet("h", F("f", 1), F("g", 2)), "HSET h f 1 g 2"),
		of(HScan[string]("h", 0), "HSCAN h 0"),
		newer(HScanNoValues("h", 0), "HSCAN h 0 NOVALUES"),
		of(HGetEx[*string]("h", []string{"f", "none"}, nil), "HGETEX h FIELDS 2 f none"),
		of(HGetEx[*string]("h", []string{"f"}, EX(time.Minute)), "HGETEX h EX 60 FIELDS 1 f"),
		of(HSetEx("h", places, nil, nil, nil), "HSETEX h FIELDS 2 a 1 b 2"),
		of(HSetEx("h", places, EX(time.Minute), nil, nil), "HSETEX h EX 60 FIELDS 2 a 1 b 2"),
		of(HSetEx("h", places, EX(time.Minute), nil, FNX), "HSETEX h EX 60 FNX FIELDS 2 a 1 b 2"),

		of(RPush("l", "a", "b", "c", "c", "c"), "RPUSH l a b c c c"),
		of(LPos("l", "c"), "LPOS l c"),
		of(LPos("l", "c", RANK(2)), "LPOS l c RANK 2"),
		of(LPosCount("l", "c", 0, RANK(2)), "LPOS l c COUNT 0 RANK 2"),
		of(LMPop[string]([]string{"l"}, LEFT), "LMPOP 1 l LEFT"),
		of(LMPop[string]([]string{"l"}, RIGHT, COUNT(10)), "LMPOP 1 l RIGHT COUNT 10"),

		// Servers do not distinguish these types.
		unsent(RPush("l", math.MinInt, math.MaxInt), "RPUSH l -9223372036854775808 9223372036854775807"),
		unsent(RPush("l", int8(math.MinInt8)), "RPUSH l -128"),
		unsent(RPush("l", int16(math.MinInt16)), "RPUSH l -32768"),
		unsent(RPush("l", int32(math.MinInt32)), "RPUSH l -2147483648"),
		unsent(RPush("l", int64(math.MinInt64)), "RPUSH l -9223372036854775808"),
		unsent(RPush("l", uint(math.MaxUint)), "RPUSH l 18446744073709551615"),
		unsent(RPush("l", uint8(math.MaxUint8)), "RPUSH l 255"),
		unsent(RPush("l", uint16(math.MaxUint16)), "RPUSH l 65535"),
		unsent(RPush("l", uint32(math.MaxUint32)), "RPUSH l 4294967295"),
		unsent(RPush("l", uint64(math.MaxInt64), math.MaxInt64+1), "RPUSH l 9223372036854775807 9223372036854775808"),
		unsent(RPush("l", float32(0.1)), "RPUSH l 0.1"),
		unsent(RPush("l", 0.1, math.Inf(-1)), "RPUSH l 0.1 -Inf"),
		unsent(RPush("l", true, false), "RPUSH l 1 0"),
		unsent(ZRange[string]("z", int64(-1), math.MaxInt64, nil), "ZRANGE z -1 9223372036854775807"),
		unsent(ZRange[string]("z", 1.5, math.Inf(1), BYSCORE), "ZRANGE z 1.5 +Inf BYSCORE"),

		of(SAdd("s", "a", "b"), "SADD s a b"),
		of(SInterCard([]string{"s", "none"}), "SINTERCARD 2 s none"),
		of(SScan[string]("s", 0, MATCH("a*")), "SSCAN s 0 MATCH a*"),

		of(ZAdd("z", scored, nil, nil), "ZADD z 1 a 2 b"),
		of(ZInter[string]([]string{"z", "z"}), "ZINTER 2 z z"),
		of(ZInterCard([]string{"z", "z"}), "ZINTERCARD 2 z z"),
		of(ZInterStore("z2", []string{"z", "z"}, WEIGHTS(2, 3)), "ZINTERSTORE z2 2 z z WEIGHTS 2 3"),
		of(ZUnion[string]([]string{"z", "z2"}), "ZUNION 2 z z2"),
		of(ZRangeWithScores[string]("z", 0, -1, nil), "ZRANGE z 0 -1 WITHSCORES"),
		of(ZRangeByLex[string]("z", "-", "[c"), "ZRANGEBYLEX z - [c"),
		of(ZRangeByScore[string]("z", Score(1), Score(2)), "ZRANGEBYSCORE z 1 2"),
		of(ZRangeStore("z2", "z", 2, -1, nil), "ZRANGESTORE z2 z 2 -1"),
		of(ZScan[string]("z", 0), "ZSCAN z 0"),
		of(ZMPop[string]([]string{"none"}, MIN), "ZMPOP 1 none MIN"),
		of(ZMPop[string]([]string{"z"}, MAX, COUNT(10)), "ZMPOP 1 z MAX COUNT 10"),

		before("GEOADD", "g", 13.361389, 38.115556, "Palermo", 15.087269, 37.502669, "Catania"),
		of(GeoDist("g", "Palermo", "Catania", nil), "GEODIST g Palermo Catania"),
		of(GeoDist("g", "Palermo", "Catania", MI), "GEODIST g Palermo Catania mi"),
		of(GeoRadius("g", 15, 37, 100, KM, nil, nil), "GEORADIUS g 15 37 100 km"),
		of(GeoRadius("g", 15, 37, 200, KM, nil, nil, WITHDIST), "GEORADIUS g 15 37 200 km WITHDIST"),
		of(GeoRadius("g", 15, 37, 200, KM, nil, nil, WITHCOORD), "GEORADIUS g 15 37 200 km WITHCOORD"),
		of(GeoRadius("g", 15, 37, 200, KM, nil, nil, WITHDIST, WITHCOORD), "GEORADIUS g 15 37 200 km WITHDIST WITHCOORD"),
		of(GeoSearch("g", FROMLONLAT(15, 37), BYRADIUS(200, KM), ASC, nil), "GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km ASC"),
		of(GeoSearch("g", FROMLONLAT(15, 37), BYBOX(400, 400, KM), ASC, nil, WITHCOORD, WITHDIST), "GEOSEARCH g FROMLONLAT 15 37 BYBOX 400 400 km ASC WITHCOORD WITHDIST"),
		of(GeoSearch("g", FROMLONLAT(15, 37), BYBOX(400, 400, KM), ASC, nil, WITHCOORD, WITHDIST, WITHHASH), "GEOSEARCH g FROMLONLAT 15 37 BYBOX 400 400 km ASC WITHCOORD WITHDIST WITHHASH"),
		of(GeoSearchStore("g2", "g", FROMLONLAT(15, 37), BYBOX(400, 400, KM), ASC, COUNT(3)), "GEOSEARCHSTORE g2 g FROMLONLAT 15 37 BYBOX 400 400 km ASC COUNT 3"),
		of(GeoSearchStore("g2", "g", FROMLONLAT(15, 37), BYBOX(400, 400, KM), ASC, COUNT(3), GeoSearchStoreSTOREDIST), "GEOSEARCHSTORE g2 g FROMLONLAT 15 37 BYBOX 400 400 km ASC COUNT 3 STOREDIST"),

		unsent(XAdd("x", "*", []Field{F("name", "Sara")}, nil, nil, nil), "XADD x * name Sara"), // the ID differs each time
		of(XAdd("x", "1-0", []Field{F("name", "Sara")}, nil, nil, nil), "XADD x 1-0 name Sara"),
		of(XRange[fields]("x", "-", "+"), "XRANGE x - +"),
		of(XRevRange[fields]("x", "+", "-", COUNT(1)), "XREVRANGE x + - COUNT 1"),
		of(XRead[fields]([]StreamID{{Key: "x", ID: "$"}}, BLOCK(10*time.Millisecond), COUNT(100)), "XREAD BLOCK 10 COUNT 100 STREAMS x $"),
		of(XGroupCreate("x", "g", "0"), "XGROUP CREATE x g 0"),
		of(XReadGroup[fields]("g", "Alice", []StreamID{{Key: "x", ID: ">"}}, COUNT(1)), "XREADGROUP GROUP g Alice COUNT 1 STREAMS x >"),
		of(XClaim[fields]("x", "g", "Alice", time.Hour, []string{"1-0"}), "XCLAIM x g Alice 3600000 1-0"),

		of(ClientUnblock(999999, nil), "CLIENT UNBLOCK 999999"),
		of(FunctionList(), "FUNCTION LIST"),
		newer(FunctionLoad("#!lua name=other\nredis.register_function('g', function() return 1 end)"), "FUNCTION LOAD #!lua_name=other_redis.register_function('g',_function()_return_1_end)"),
		unsent(FunctionRestore("\x00", nil), "FUNCTION RESTORE \x00"), // needs what FUNCTION DUMP has answered
	}
}
