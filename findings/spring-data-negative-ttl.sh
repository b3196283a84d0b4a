#!/bin/sh
# spring-data-redis 4.1.2 with lettuce 7.7.0; redis-server.
#
# With a time to live of zero or less, such as Duration.between(now, end) just after the end, the value never expires,
# and there is no error: set, and a RedisCache with such an entryTtl, send no expiration. expire with the same duration
# deletes the key at once, and Redis refuses SET with PX -1.
#
# Output seen:
#   set, Duration.ofMillis(-1): v, expires in -1
#   set, Duration.ZERO: v, expires in -1
#   setIfAbsent, Duration.ofMillis(-1): v, expires in -1
#   RedisCache, entryTtl of Duration.ofMillis(-1): ValueWrapper for [v], expires in -1
#   expire, Duration.ofMillis(-1): null, expires in -2
#
# Wants redis-server, redis-cli, java 17 with mvn.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
redis 17931
cat >pom.xml <<'END'
<project>
	<modelVersion>4.0.0</modelVersion>
	<groupId>findings</groupId>
	<artifactId>findings</artifactId>
	<version>1</version>
	<dependencies>
		<dependency>
			<groupId>org.springframework.data</groupId>
			<artifactId>spring-data-redis</artifactId>
			<version>4.1.2</version>
		</dependency>
		<dependency>
			<groupId>io.lettuce</groupId>
			<artifactId>lettuce-core</artifactId>
			<version>7.7.0.RELEASE</version>
		</dependency>
	</dependencies>
</project>
END
mvn -q -B -ntp dependency:copy-dependencies >>log
cat >Main.java <<'END'
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.springframework.data.redis.cache.RedisCacheConfiguration;
import org.springframework.data.redis.cache.RedisCacheManager;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;

public class Main {
	static StringRedisTemplate redis;
	static boolean failed;

	static void expect(String what, String want, Object value, String key) {
		String got = value + ", expires in " + redis.getExpire(key, TimeUnit.MILLISECONDS);
		System.out.println(what + ": " + got);
		failed |= !got.equals(want);
	}

	public static void main(String[] args) {
		var factory = new LettuceConnectionFactory("127.0.0.1", 17931);
		factory.afterPropertiesSet();
		factory.start();
		redis = new StringRedisTemplate(factory);
		var values = redis.opsForValue();
		Duration over = Duration.ofMillis(-1);

		values.set("over", "v", over);
		expect("set, Duration.ofMillis(-1)", "v, expires in -1", values.get("over"), "over");
		values.set("zero", "v", Duration.ZERO);
		expect("set, Duration.ZERO", "v, expires in -1", values.get("zero"), "zero");
		values.setIfAbsent("absent", "v", over);
		expect("setIfAbsent, Duration.ofMillis(-1)", "v, expires in -1", values.get("absent"), "absent");
		var config = RedisCacheConfiguration.defaultCacheConfig().entryTtl(over);
		var cache = RedisCacheManager.builder(factory).cacheDefaults(config).build().getCache("cache");
		cache.put("key", "v");
		expect("RedisCache, entryTtl of Duration.ofMillis(-1)", "ValueWrapper for [v], expires in -1", cache.get("key"), "cache::key");
		values.set("expire", "v");
		redis.expire("expire", over);
		expect("expire, Duration.ofMillis(-1)", "null, expires in -2", values.get("expire"), "expire");
		factory.destroy();
		System.exit(failed ? 1 : 0);
	}
}
END
java -cp 'target/dependency/*' Main.java 2>>log
