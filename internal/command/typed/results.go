package main

import "strings"

// results are the types of the functions' results, which servers do not report. T is the caller's
// type. A status is a Done if it is OK or null.
var results = map[string]string{}

func init() {
	for line := range strings.Lines(resultTable) {
		if goType, names, ok := strings.Cut(line, ":"); ok {
			for _, name := range strings.Fields(names) {
				results[name] = strings.TrimSpace(goType)
			}
		}
	}
}

// lists are the functions whose T must always be a list. With a different T, they send nothing,
// because the command would run and its reply could not be read.
var lists = map[string]bool{"IncrEx": true, "LMoveM": true, "BLMoveM": true}

// answersOK are the functions that return a number, although servers answer OK. Then the result is 1.
var answersOK = map[string]bool{"HImportSet": true}

// notes are sentences about results, for the doc comments of functions.
var notes = map[string]string{
	"IncrEx":            "Use [IncrExBy]: the reply is the value with what was added, also if a bound keeps it from adding anything. T is a list, or a [redisreply.Incremented].",
	"LMoveM":            "T is a list, such as []string.",
	"BLMoveM":           "T is a list, such as []string.",
	"HImportSet":        "The result is 1.",
	"HImportDiscard":    "The result is the number of fieldsets that were discarded.",
	"HImportDiscardAll": "The result is the number of fieldsets that were discarded.",
	"ArInsert":          "The result is the last index that was set. If that is 2^63 or more, the result is an error although the values are set: see [ArLen].",
	"ArLen":             "For an array with 2^63 elements or more the result is an error: read its length with redis.DoAs[uint64].",
	"ArNext":            "If the index is 2^63 or more, the result is an error: see [ArLen].",
	"XReadGroup":        "With CLAIM the reply says how often each entry was delivered. To learn that, read the request's reply into a map[string][]redisreply.Delivery.",
}

const resultTable = `
redisreply.Done: SetValue ACLLoad ACLLogReset ACLSave ACLSetUser ClientCaching ClientCapa ClientImportSource ClientNoEvict ClientNoTouch ClientPause ClientSetInfo ClientSetName ClientUnpause ClusterAddSlots ClusterAddSlotsRange ClusterDelSlots ClusterDelSlotsRange ClusterFailover ClusterFlushSlots ClusterForget ClusterMeet ClusterMeetBusPort ClusterReplicate ClusterReset ClusterSaveConfig ClusterSetConfigEpoch ClusterSetSlot CommandLogReset ConfigResetStat
redisreply.Done: ConfigRewrite ConfigSet Discard Failover FlushAll FlushDB FunctionDelete FunctionFlush FunctionKill FunctionRestore HMSet LSet LTrim MemoryPurge ModuleLoad ModuleLoadEx ModuleUnload MSet Multi PFMerge PSetEx ReadOnly ReadWrite Rename ReplicaOf Restore Save ScriptFlush ScriptKill Select SetEx Shutdown SlaveOf SlowLogReset SwapDB Unwatch Watch XGroupCreate XGroupSetID XSetID XCfgSet
redisreply.Done: Set VAddReduce VAdd HotKeysStop
string: ACLGenPass ACLGenPassBits ACLWhoAmI ACLDryRun BgRewriteAOF BgSave
string: BackupAbort BackupCleanup BackupSeal BackupStart
string:
string: ClusterBumpEpoch ClusterCancelSlotMigrations
string: ClusterFlushSlot ClusterInfo ClusterMigrateSlots ClusterMyID ClusterMyShardID
string: ClusterNodes
string: FunctionLoad HImportPrepare HImportDiscardAll HImportDiscard
string: HotKeysReset HotKeysStart LatencyDoctor LatencyGraph Lolwut MemoryDoctor MemoryMallocStats Migrate
string: ObjectEncoding Ping
string: ScriptLoad ScriptShow TrimSlots Type XIdmpRecord
string: ClientGetName RandomKey Digest XAdd
T: PingMessage Echo Eval EvalRO EvalSHA EvalSHARO FCall FCallRO Get GetDel GetEx GetRange GetSet SetGet SubStr HGet HGetAll HMGet LIndex LMove LPop RPop BLMove BRPopLPush RPopLPush
T: HRandField SPop SRandMember ZRandMember LCS VGetAttr VRandMember ArGet IncrEx ArOp LMoveM BLMoveM
[]byte: Dump FunctionDump
bool: Copy Expire ExpireAt PExpire PExpireAt Persist HExists HSetNX Move MSetNX MSetEx RenameNX PFAdd SetNX SIsMember SMove VSetAttr VIsMember VRem ClientUnblock
bool: DelEx DelIfEq XGroupCreateConsumer
int64: ACLDelUser Append ArCount ArDel ArDelRange ArInsert ArLen ArMSet ArNext ArRing ArSeek ArSet BitCount BitCountRange BitOp BitPos BitPosRange ClientGetRedir ClientID ClientKill
int64: ClusterCountFailureReports ClusterCountKeysInSlot ClusterKeySlot CommandCount CommandLogLen DBSize Decr DecrBy Del Exists GeoAdd GeoRadiusStore GeoRadiusByMemberStore GeoSearchStore GetBit HDel HIncrBy HLen HSet HSetEx HStrLen HImportSet
int64: Incr IncrBy LastSave LatencyReset LCSLen LInsert LLen LPos LPush LPushX LRem MemoryUsage ObjectFreq ObjectRefCount PFCount Publish PubSubNumPat RPush RPushX SAdd SCard SDiffCard SDiffStore SetBit SetRange
int64: SInterCard SInterStore SlowLogLen SortStore SPublish SRem StrLen SUnionCard SUnionStore Touch Unlink VCard VDim Wait XAck XDel XGroupDelConsumer XGroupDestroy XLen XTrim XNack
int64: ZAdd ZCard ZCount ZDiffStore ZInterCard ZInterStore ZLexCount ZRangeStore ZRank ZRem ZRemRangeByLex ZRemRangeByRank ZRemRangeByScore ZRevRank ZUnionStore ExpireTime PExpireTime
float64: GeoDist HIncrByFloat IncrByFloat ZAddIncr ZIncrBy ZScore
redis.Seconds: TTL ObjectIdleTime
redis.Milliseconds: PTTL
[]int64: BitFieldRO HExpire HExpireAt HExpireTime HPersist HPExpire HPExpireAt HPExpireTime HPTTL HTTL LPosCount Time WaitAOF XAckDel XDelEx
[]*int64: BitField
[]bool: ScriptExists SMIsMember
[]float64: VEmb
[]*float64: ZMScore
[]string: ACLCat ACLCatCategory ACLHelp ACLList ACLUsers BackupHelp ClientHelp ClusterGetKeysInSlot ClusterHelp ClusterReplicas ClusterSlaves CommandGetKeys CommandHelp CommandList CommandLogHelp ConfigHelp FunctionHelp HKeys
[]string: HotKeysHelp Keys LatencyHelp MemoryHelp ModuleHelp ObjectHelp PubSubChannels PubSubChannelsPattern PubSubHelp PubSubShardChannels PubSubShardChannelsPattern ScriptHelp SlowLogHelp VRange VRangeCount XClaimJustID XGroupHelp XInfoHelp
[]*string: GeoHash
[]T: ArGetRange ArLastItems ArMGet HGetDel HGetEx HRandFieldCount HVals LPopCount LRange MGet RPopCount SDiff SInter SMembers Sort SortRO SPopCount SRandMemberCount SUnion VRandMemberCount VSim
[]T: ZDiff ZInter ZRandMemberCount ZRange ZRangeByLex ZRangeByScore ZRevRange ZRevRangeByLex ZRevRangeByScore ZUnion LMoveMCount BLMoveMCount
[]redis.Scored[T]: ZDiffWithScores ZInterWithScores ZRandMemberWithScores ZRangeWithScores ZRangeByScoreWithScores ZRevRangeWithScores ZRevRangeByScoreWithScores ZUnionWithScores ZPopMax ZPopMin ZPopMaxCount ZPopMinCount
map[string]T: HRandFieldWithValues
map[string]string: ConfigGet
map[string]int64: PubSubNumSub PubSubShardNumSub
map[string]float64: VSimWithScores
map[string]any: VInfo VSimWithAttribs ArInfo MemoryStats CommandDocs XInfoStreamFull FunctionStats
[]redis.Entry[T]: XRange XRevRange XClaim
map[string][]redis.Entry[T]: XRead XReadGroup
*redisreply.Popped[T]: BLPop BRPop
*redisreply.Popped[[]T]: LMPop BLMPop
*redisreply.Popped[redis.Scored[T]]: BZPopMax BZPopMin
*redisreply.Popped[[]redis.Scored[T]]: ZMPop BZMPop
*redisreply.Ranked: ZRankWithScore ZRevRankWithScore
redisreply.Page[[]string]: Scan HScanNoValues ClusterScan
redisreply.Page[map[string]T]: HScan
redisreply.Page[[]T]: SScan ZScanNoScores
redisreply.Page[[]redis.Scored[T]]: ZScan
redisreply.Claimed[redis.Entry[T]]: XAutoClaim
redisreply.Claimed[string]: XAutoClaimJustID
[]redisreply.Place: GeoRadius GeoRadiusByMember GeoRadiusRO GeoRadiusByMemberRO GeoSearch
[]*redisreply.Point: GeoPos
redisreply.Info: Info
redisreply.Clients: ClientInfo ClientList
[]redisreply.Command: Command
[]*redisreply.Command: CommandInfo
[]redisreply.SlowCommand: SlowLogGet SlowLogGetCount
redisreply.PendingSummary: XPending
[]redisreply.PendingEntry: XPendingRange XPendingRangeConsumer XPendingIdle XPendingIdleConsumer
redisreply.Stream: XInfoStream
[]redisreply.Group: XInfoGroups
[]redisreply.Consumer: XInfoConsumers
[]redisreply.KeyFlags: CommandGetKeysAndFlags
redisreply.Tracking: ClientTrackingInfo
[]redisreply.Library: FunctionList
[]redisreply.LatencySample: LatencyHistory
[]redisreply.LatencyEvent: LatencyLatest
map[string]redisreply.Histogram: LatencyHistogram
redisreply.Common: LCSIdx
[]redisreply.Module: ModuleList
[]redisreply.SlotOwner: ClusterSlots
[]redisreply.Shard: ClusterShards
[]redisreply.Link: ClusterLinks
[]redisreply.SlotStats: ClusterSlotStats
redisreply.Role: Role
[]redisreply.Denial: ACLLog ACLLogCount
*redisreply.User: ACLGetUser
[]redisreply.LoggedCommand: CommandLogGet
[][]string: VLinks
[]map[string]float64: VLinksWithScores
any: ArGrep ArScan BackupList BackupStatus ClusterGetSlotMigrations ClusterMigration
any: Exec HotKeysGet VEmbRaw
`
