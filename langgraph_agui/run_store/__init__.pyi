# The public names of this package, and where each is.

from langgraph_agui.run_store.postgres import PostgresRunStore as PostgresRunStore
from langgraph_agui.run_store.redis import RedisRunStore as RedisRunStore
from langgraph_agui.run_store.store import Entry as Entry
from langgraph_agui.run_store.store import RunStore as RunStore
