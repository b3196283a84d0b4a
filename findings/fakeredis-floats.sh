#!/bin/sh
# fakeredis 2.41.0, its TcpFakeServer.
#
# INCRBYFLOAT and HINCRBYFLOAT return and store all digits of a float64: 10 plus 0.1 is 10.09999999999999964, where
# Redis has 10.1. GEODIST returns up to 14 digits after the point, where Redis returns four. Distances and coordinates
# differ from the sixth or seventh digit on.
#
# Output seen:
#   Redis, INCRBYFLOAT of 10 by 0.1, HINCRBYFLOAT of 5 by 0.1, GET: ['10.1', '5.1', '10.1']
#   Redis, GEODIST, GEOPOS: ['166274.1516', '13.36138933897018433']
#   fakeredis, INCRBYFLOAT of 10 by 0.1, HINCRBYFLOAT of 5 by 0.1, GET: ['10.09999999999999964', '5.09999999999999964', '10.09999999999999964']
#   fakeredis, GEODIST, GEOPOS: ['166274.43400190416', '13.361386656761169']
#
# Wants redis-server, redis-cli, python3 with pip.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
redis 17931
fakeredis 17932
python3 - <<'END'
from resp import Connection, expect, finish

for name, port, sums, places in (
    ("Redis", 17931, ["10.1", "5.1", "10.1"], ["166274.1516", "13.36138933897018433"]),
    ("fakeredis", 17932, ["10.09999999999999964", "5.09999999999999964", "10.09999999999999964"], ["166274.43400190416", "13.361386656761169"]),
):
    c = Connection(port)
    c.all("SET n 10", "HSET h f 5")
    expect(f"{name}, INCRBYFLOAT of 10 by 0.1, HINCRBYFLOAT of 5 by 0.1, GET", sums,
           [str(v) for v in c.all("INCRBYFLOAT n 0.1", "HINCRBYFLOAT h f 0.1", "GET n")])
    c("GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania")
    expect(f"{name}, GEODIST, GEOPOS", places, [str(c("GEODIST g Palermo Catania")), str(c("GEOPOS g Palermo")[0][0])])
finish()
END
