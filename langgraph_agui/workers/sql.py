"""The statements of `PostgresRunStore`. Parameters are named in them."""

from typing import Final

# Postgres logs no writes to these tables. If the server crashes, their runs are lost, and no log
# could bring those back.
SETUP: Final = """
CREATE UNLOGGED TABLE IF NOT EXISTS langgraph_agui_runs (
    run text, name text DEFAULT '', worker int8 NOT NULL, since timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (run, name)
);
CREATE INDEX IF NOT EXISTS langgraph_agui_runs_name ON langgraph_agui_runs (name);
CREATE UNLOGGED TABLE IF NOT EXISTS langgraph_agui_log (
    run text,
    position int8,
    begins bool,
    data bytea NOT NULL,
    written timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (run, position, begins)
);
DROP TABLE IF EXISTS langgraph_agui_entries;
"""

# A live run has a row without a name, and one for each of its names.
ENTER: Final = """
INSERT INTO langgraph_agui_runs (run, name, worker)
SELECT run, name, %(worker)s FROM unnest(%(runs)s::text[], %(names)s::text[]) AS row (run, name)
ON CONFLICT DO NOTHING
"""

# Whether others take a worker for alive, and how many rows it has.
LOOK: Final = """
SELECT NOT pg_try_advisory_xact_lock_shared(%(worker)s::int8), count(*)
FROM langgraph_agui_runs WHERE worker = %(worker)s
"""

# A worker is dead if its lock is free. The query takes the lock to find out; it takes a shared one,
# because several workers may ask at the same time.
FIND: Final = """
SELECT run FROM langgraph_agui_runs
WHERE name = %(name)s AND NOT pg_try_advisory_xact_lock_shared(worker) ORDER BY since DESC
"""

SIGNAL: Final = """
SELECT pg_notify('langgraph_agui', %(text)s) FROM langgraph_agui_runs
WHERE run = %(run)s AND name = '' AND NOT pg_try_advisory_xact_lock_shared(worker)
"""

# A log has one row that begins it, which stands for all entries up to its position.
BEGIN_LOG: Final = """
WITH beginning AS (
    INSERT INTO langgraph_agui_log (run, position, begins, data)
    VALUES (%(run)s, %(position)s, true, %(data)s)
    ON CONFLICT (run, position, begins) DO UPDATE SET data = excluded.data RETURNING run
), old AS (
    DELETE FROM langgraph_agui_log WHERE run = %(run)s
        AND CASE WHEN begins THEN position <> %(position)s ELSE position <= %(oldest)s END
)
SELECT pg_notify('langgraph_agui', run) FROM beginning
"""

APPEND: Final = """
WITH entry AS (
    INSERT INTO langgraph_agui_log (run, position, begins, data)
    VALUES (%(run)s, %(position)s, false, %(data)s) ON CONFLICT DO NOTHING RETURNING run
)
SELECT pg_notify('langgraph_agui', run) FROM entry
"""

READ: Final = """
SELECT position, data FROM langgraph_agui_log AS entry
WHERE run = %(run)s AND CASE WHEN %(position)s > 0
    THEN NOT begins AND position > %(position)s
    ELSE begins OR position > (
        SELECT position FROM langgraph_agui_log WHERE run = entry.run AND begins
    ) END
ORDER BY position, begins DESC
"""

# Deletes the rows of dead workers, and old entries of runs that are not live.
SWEEP: Final = """
WITH dead AS (DELETE FROM langgraph_agui_runs WHERE pg_try_advisory_xact_lock_shared(worker))
DELETE FROM langgraph_agui_log AS entry WHERE written < now() - interval '1 minute'
    AND NOT EXISTS (SELECT FROM langgraph_agui_runs WHERE run = entry.run)
"""
