#!/bin/sh
# redis-om 1.2.0 of PyPI, HashModel, with redis-py 8.1.0; redis-server.
#
# save of a field that is None sends nothing for it. So a field that had a value keeps it: get returns the old value,
# without an error, also after update(field=None). A new object whose field is None is read with the default of the
# field. An empty string in an Optional[str] is stored, but read as None, and a datetime without a time zone is read
# with UTC.
#
# Output seen:
#   saved as 5, then as None: the object has None, get returns 5
#   saved as 5, then update(count=None): the object has None, get returns 5
#   new with None, default 7: the object has None, get returns 7
#   text "": the object has '', stored b'', get returns None
#   when 2030-01-01 12:00: equal after get: False, has a time zone: True
#
# Wants redis-server, redis-cli, python3 with pip.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
pip redis-om==1.2.0 redis==8.1.0 pydantic==2.14.4
redis 17931
REDIS_OM_URL=redis://127.0.0.1:17931 python3 -W ignore - <<'END'
from datetime import datetime
from typing import Optional

from redis_om import HashModel, get_redis_connection
from resp import expect, finish

db = get_redis_connection()


class Item(HashModel, index=True):
    count: Optional[int] = 7
    text: Optional[str] = "text"
    when: Optional[datetime] = None

    class Meta:
        database = db


def read(item):
    return Item.get(item.pk)


item = Item(count=5)
item.save()
item.count = None
item.save()
expect("saved as 5, then as None", "the object has None, get returns 5",
       f"the object has {item.count}, get returns {read(item).count}")
item = Item(count=5)
item.save()
item.update(count=None)
expect("saved as 5, then update(count=None)", "the object has None, get returns 5",
       f"the object has {item.count}, get returns {read(item).count}")
item = Item(count=None)
item.save()
expect("new with None, default 7", "the object has None, get returns 7",
       f"the object has {item.count}, get returns {read(item).count}")
item = Item(text="")
item.save()
stored = get_redis_connection(decode_responses=False).hget(item.key(), "text")
expect('text ""', "the object has '', stored b'', get returns None",
       f"the object has {item.text!r}, stored {stored}, get returns {read(item).text}")
item = Item(when=datetime(2030, 1, 1, 12))
item.save()
when = read(item).when
expect("when 2030-01-01 12:00", "equal after get: False, has a time zone: True",
       f"equal after get: {when == item.when}, has a time zone: {when.tzinfo is not None}")
finish()
END
