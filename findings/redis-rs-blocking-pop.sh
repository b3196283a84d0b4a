#!/bin/sh
# redis-rs 1.8.1 (crate redis) with tokio 1.54.1; redis-server.
#
# blpop with a timeout of 5 s, on a connection of get_multiplexed_async_connection, returns "timed out" after half a
# second, the connection's default response_timeout. The server does not learn of it and goes on waiting. The element
# that is pushed next is popped, and nobody gets it; other commands of the connection wait until then, and time out,
# too. "async connections now have default timeouts" says the crate, but not that elements are lost.
#
# Output seen:
#   blpop("queue", 5.0): timed out, ends within 1 s
#   get on the same connection: timed out
#   rpush on another: 1, and 0.3 s later llen: 0
#   blpop("queue", 0.1): None
#   response_timeout None, blpop("queue", 5.0) until rpush: job
#
# Wants redis-server, redis-cli, cargo.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
redis 17931
cat >main.rs <<'END'
use redis::{AsyncCommands, AsyncConnectionConfig, RedisResult};
use std::time::{Duration, Instant};

type Popped = RedisResult<Option<(String, String)>>;

fn text(popped: Popped) -> String {
    match popped {
        Ok(Some((_, element))) => element,
        Ok(None) => "None".into(),
        Err(err) => err.to_string(),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> RedisResult<()> {
    let client = redis::Client::open("redis://127.0.0.1:17931/")?;
    let mut worker = client.get_multiplexed_async_connection().await?;
    let mut producer = client.get_multiplexed_async_connection().await?;
    let mut failed = false;
    let mut expect = |what: &str, want: &str, got: String| {
        println!("{what}: {got}");
        failed |= got != want;
    };

    let start = Instant::now();
    let popped: Popped = worker.blpop("queue", 5.0).await;
    let within = if start.elapsed() < Duration::from_secs(1) { "1 s" } else { "more" };
    expect(r#"blpop("queue", 5.0)"#, "timed out, ends within 1 s", format!("{}, ends within {within}", text(popped)));
    let got: RedisResult<Option<String>> = worker.get("key").await;
    expect("get on the same connection", "timed out", got.map_or_else(|err| err.to_string(), |_| "ok".into()));

    let pushed: i64 = producer.rpush("queue", "job").await?;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let left: i64 = producer.llen("queue").await?;
    expect("rpush on another", "1, and 0.3 s later llen: 0", format!("{pushed}, and 0.3 s later llen: {left}"));
    expect(r#"blpop("queue", 0.1)"#, "None", text(worker.blpop("queue", 0.1).await));

    let config = AsyncConnectionConfig::new().set_response_timeout(None);
    let mut patient = client.get_multiplexed_async_connection_with_config(&config).await?;
    let push = async {
        tokio::time::sleep(Duration::from_millis(800)).await;
        let _: RedisResult<i64> = producer.rpush("queue", "job").await;
    };
    let (popped, _): (Popped, ()) = tokio::join!(patient.blpop("queue", 5.0), push);
    expect(r#"response_timeout None, blpop("queue", 5.0) until rpush"#, "job", text(popped));
    std::process::exit(failed as i32);
}
END
rust 'redis = {version = "=1.8.1", features = ["tokio-comp"]}' 'tokio = {version = "=1.54.1", features = ["macros", "rt", "time"]}'
./main
