# The public names of this package, and where each is.

from .postgres import PostgresRunStore as PostgresRunStore
from .redis import RedisRunStore as RedisRunStore
from .store import Entry as Entry
from .store import RunStore as RunStore
