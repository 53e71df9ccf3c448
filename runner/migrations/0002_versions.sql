-- Versions, epochs and the life of dead letters and schema changes.

-- The pipeline file of a version, as it was written: variables unexpanded, so that it holds no value of any.
ALTER TABLE task_version ADD COLUMN pipeline TEXT;
-- Where its relative paths start.
ALTER TABLE task_version ADD COLUMN base_dir TEXT;
-- What the runner put in place of the file's own words when it adopted a changed source: JSON.
ALTER TABLE task_version ADD COLUMN adopted TEXT;
-- How it came about, such as `published`, `rolled back to 2`, `adopted`.
ALTER TABLE task_version ADD COLUMN origin TEXT NOT NULL DEFAULT 'published';

-- Canonicalization rules of a schema; null: those of the first release.
ALTER TABLE schema ADD COLUMN rules TEXT;

-- The batch of an earlier epoch whose records a replay maps anew.
ALTER TABLE batch ADD COLUMN replay_of TEXT;

-- Generations of a partition's history. A partition without a row has one, number 1, in force.
CREATE TABLE epoch (
    task_id      TEXT NOT NULL,
    partition_id TEXT NOT NULL,
    epoch        INTEGER NOT NULL,
    -- live: read from the source. rebuild: all of an earlier epoch mapped anew, to take its place. repair: a part of it.
    kind         TEXT NOT NULL CHECK (kind IN ('live', 'rebuild', 'repair')),
    state        TEXT NOT NULL CHECK (state IN ('RUNNING', 'IN_FORCE', 'SUPERSEDED', 'DONE', 'ABANDONED')),
    of_epoch     INTEGER,              -- whose batches are replayed
    task_version INTEGER,              -- whose pins they are replayed with
    plan         TEXT,                 -- JSON: which batches, which tables
    started_at   INTEGER NOT NULL,
    ended_at     INTEGER,
    PRIMARY KEY (task_id, partition_id, epoch)
) STRICT;
CREATE UNIQUE INDEX epoch_in_force ON epoch (task_id, partition_id) WHERE state = 'IN_FORCE';

CREATE TABLE schema_change (
    id             INTEGER PRIMARY KEY,
    task_id        TEXT NOT NULL,
    state          TEXT NOT NULL,      -- DETECTED, PAUSED, MIGRATION_PLANNED, VALIDATED, RESUMED, DISMISSED
    object         TEXT,               -- where the source showed it; null: the pipeline asks for it
    from_schema_id TEXT NOT NULL,
    observed       TEXT,               -- JSON: the source's columns as they are now
    changes        TEXT NOT NULL,      -- JSON: what differs, and what that means
    plan           TEXT,               -- JSON
    task_version   INTEGER,            -- that the plan published
    detected_at    INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX schema_change_open ON schema_change (task_id) WHERE state NOT IN ('RESUMED', 'DISMISSED');

-- First and last failure of a dead letter. The columns without a prefix stay those of the first.
ALTER TABLE dead_letter ADD COLUMN state TEXT NOT NULL DEFAULT 'OPEN';   -- OPEN, REPLAYED, DISCARDED
ALTER TABLE dead_letter ADD COLUMN last_task_version INTEGER;
ALTER TABLE dead_letter ADD COLUMN last_refused_at TEXT;
ALTER TABLE dead_letter ADD COLUMN last_class TEXT;
ALTER TABLE dead_letter ADD COLUMN last_code TEXT;
ALTER TABLE dead_letter ADD COLUMN last_field TEXT;
ALTER TABLE dead_letter ADD COLUMN last_message TEXT;
ALTER TABLE dead_letter ADD COLUMN settled_by TEXT;                      -- the batch whose rows it became

-- Which dead letter each row of a replay's batch is.
CREATE TABLE dead_letter_row (
    batch_id       TEXT NOT NULL REFERENCES batch (batch_id),
    row            INTEGER NOT NULL,
    dead_letter_id INTEGER NOT NULL REFERENCES dead_letter (id),
    PRIMARY KEY (batch_id, row)
) STRICT, WITHOUT ROWID;
