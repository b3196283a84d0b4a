#!/bin/sh
# redis-rs 1.8.1 (crate redis); redis-server.
#
# A None is no argument at all. hset_multiple and mset take pairs whose values may be None, and then leave out the
# value, but not its name: names become values, and values names. With two None, or any even number, there is no error,
# and what is stored has other fields and keys than were passed. With an odd number the server refuses the command. set
# and hset of a None do not compile.
#
# Output seen:
#   hset_multiple of a=1, b=None, c=3, d=None: ok, stored {"3": "d", "a": "1", "b": "c"}
#   mset of a=1, b=None, c=3, d=None: ok, keys ["3", "a", "b"], b is "c"
#   hset_multiple of a=1, b=None: ResponseError: wrong number of arguments for 'hmset' command
#   sadd of a, None: 1 added
#
# Wants redis-server, redis-cli, cargo.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
redis 17931
cat >main.rs <<'END'
use redis::{Commands, RedisResult};
use std::collections::BTreeMap;

fn main() -> RedisResult<()> {
    let mut db = redis::Client::open("redis://127.0.0.1:17931/")?.get_connection()?;
    let mut failed = false;
    let mut expect = |what: &str, want: &str, got: String| {
        println!("{what}: {got}");
        failed |= got != want;
    };
    let pairs = [("a", Some("1")), ("b", None), ("c", Some("3")), ("d", None)];

    let _: () = db.hset_multiple("hash", &pairs)?;
    let stored: BTreeMap<String, String> = db.hgetall("hash")?;
    expect("hset_multiple of a=1, b=None, c=3, d=None", r#"ok, stored {"3": "d", "a": "1", "b": "c"}"#, format!("ok, stored {stored:?}"));

    let _: () = db.del("hash")?;
    let _: () = db.mset(&pairs)?;
    let mut keys: Vec<String> = db.keys("*")?;
    keys.sort();
    let b: String = db.get("b")?;
    expect("mset of a=1, b=None, c=3, d=None", r#"ok, keys ["3", "a", "b"], b is "c""#, format!("ok, keys {keys:?}, b is {b:?}"));

    let odd: RedisResult<()> = db.hset_multiple("odd", &pairs[..2]);
    expect("hset_multiple of a=1, b=None", "ResponseError: wrong number of arguments for 'hmset' command", odd.unwrap_err().to_string());

    let added: i64 = db.sadd("set", vec![Some("a"), None])?;
    expect("sadd of a, None", "1 added", format!("{added} added"));
    std::process::exit(failed as i32);
}
END
rust 'redis = "=1.8.1"'
./main
