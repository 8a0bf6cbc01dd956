"""The statements of `PostgresRunStore`. Parameters are named in them."""

from typing import Final

# Not logged by Postgres: what is lost with the server are runs that it cannot bring back anyway.
SETUP: Final = """
CREATE UNLOGGED TABLE IF NOT EXISTS langgraph_agui_runs (
    run text, name text DEFAULT '', worker int8 NOT NULL, since timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (run, name)
);
CREATE INDEX IF NOT EXISTS langgraph_agui_runs_name ON langgraph_agui_runs (name);
CREATE UNLOGGED TABLE IF NOT EXISTS langgraph_agui_entries (
    run text,
    position int8,
    data bytea NOT NULL,
    complete bool NOT NULL,
    written timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (run, position)
);
"""

# A live run has a row without a name, and one for each of its names.
ENTER: Final = """
INSERT INTO langgraph_agui_runs (run, name, worker)
VALUES (%(run)s, %(name)s, %(worker)s)
ON CONFLICT DO NOTHING
"""

# Whether the worker of a run is dead: nobody has its lock. Two may ask at a time, so it is taken as
# a shared one.
FIND: Final = """
SELECT run FROM langgraph_agui_runs
WHERE name = %(name)s AND NOT pg_try_advisory_xact_lock_shared(worker) ORDER BY since DESC
"""

SIGNAL: Final = """
SELECT pg_notify('langgraph_agui', %(text)s) FROM langgraph_agui_runs
WHERE run = %(run)s AND name = '' AND NOT pg_try_advisory_xact_lock_shared(worker)
"""

APPEND: Final = """
WITH entry AS (
    INSERT INTO langgraph_agui_entries (run, position, data, complete)
    VALUES (%(run)s, %(position)s, %(data)s, %(complete)s) RETURNING run
), old AS (
    DELETE FROM langgraph_agui_entries WHERE run = %(run)s AND position < %(oldest)s
)
SELECT pg_notify('langgraph_agui', run) FROM entry
"""

READ: Final = """
SELECT position, data, complete FROM langgraph_agui_entries
WHERE run = %(run)s AND CASE WHEN %(position)s > 0
    THEN position > %(position)s
    ELSE position >= (
        SELECT max(position) FROM langgraph_agui_entries WHERE run = %(run)s AND complete
    ) END
ORDER BY position
"""

# What dead workers and finished runs have left.
SWEEP: Final = """
WITH dead AS (DELETE FROM langgraph_agui_runs WHERE pg_try_advisory_xact_lock_shared(worker))
DELETE FROM langgraph_agui_entries AS entry WHERE written < now() - interval '1 minute'
    AND NOT EXISTS (SELECT FROM langgraph_agui_runs WHERE run = entry.run)
"""
