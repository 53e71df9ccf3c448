-- The state of the runner: what is published, leased, stored, committed and refused.
-- Times are microseconds since 1970-01-01 UTC. Digests are `sha256:<hex>`. JSON columns hold the core's types.

CREATE TABLE component (
    label   TEXT NOT NULL PRIMARY KEY,   -- name@semver; never moves to other bytes
    digest  TEXT NOT NULL,
    stored_at INTEGER NOT NULL
) STRICT;

-- A schema id is frozen with its first use.
CREATE TABLE schema (
    schema_id  TEXT NOT NULL PRIMARY KEY,
    definition TEXT NOT NULL,            -- of the change records
    digest     TEXT NOT NULL,
    frozen_at  INTEGER NOT NULL
) STRICT;

-- The source columns that a task reads under a schema id: from its pipeline, or inferred once.
CREATE TABLE source_schema (
    task_id    TEXT NOT NULL,
    schema_id  TEXT NOT NULL,
    definition TEXT NOT NULL,
    inferred   INTEGER NOT NULL,
    frozen_at  INTEGER NOT NULL,
    PRIMARY KEY (task_id, schema_id)
) STRICT;

CREATE TABLE task_version (
    task_id      TEXT NOT NULL,
    version      INTEGER NOT NULL,
    digest       TEXT NOT NULL,          -- of definition, schema and pins: a changed digest is a new version
    definition   TEXT NOT NULL,
    schema_id    TEXT NOT NULL REFERENCES schema (schema_id),
    pins         TEXT NOT NULL,
    published_at INTEGER NOT NULL,
    PRIMARY KEY (task_id, version)
) STRICT;

CREATE TABLE lease (
    task_id       TEXT NOT NULL,
    partition_id  TEXT NOT NULL,
    owner         TEXT NOT NULL,
    lease_until   INTEGER NOT NULL,
    fencing_token INTEGER NOT NULL,
    PRIMARY KEY (task_id, partition_id)
) STRICT;

CREATE TABLE batch (
    batch_id          TEXT NOT NULL PRIMARY KEY,
    task_id           TEXT NOT NULL,
    task_version      INTEGER NOT NULL,
    partition_id      TEXT NOT NULL,
    epoch             INTEGER NOT NULL,
    sequence          INTEGER NOT NULL,
    schema_id         TEXT NOT NULL,
    state             TEXT NOT NULL CHECK (state IN ('WRITING', 'READY', 'COMMITTED', 'QUARANTINED')),
    fencing_token     INTEGER NOT NULL,
    created_at        INTEGER NOT NULL,
    -- Known once READY:
    record_count      INTEGER,
    dead_letter_count INTEGER,           -- refused before the batch
    data_bytes        INTEGER,
    manifest_digest   TEXT,
    ready_at          INTEGER,
    CHECK (state = 'WRITING' OR manifest_digest IS NOT NULL)
) STRICT;
-- One batch for each place in a history; a quarantined one has lost its place.
CREATE UNIQUE INDEX batch_place ON batch (task_id, partition_id, epoch, sequence) WHERE state <> 'QUARANTINED';

CREATE TABLE receipt (
    batch_id      TEXT NOT NULL PRIMARY KEY REFERENCES batch (batch_id),
    task_id       TEXT NOT NULL,
    digest        TEXT NOT NULL,         -- of the mapped rows
    fencing_token INTEGER NOT NULL,
    body          TEXT NOT NULL,
    recorded_at   INTEGER NOT NULL
) STRICT;

CREATE TABLE checkpoint (
    task_id       TEXT NOT NULL,
    partition_id  TEXT NOT NULL,
    epoch         INTEGER NOT NULL,
    version       INTEGER NOT NULL,
    cursor        TEXT NOT NULL,
    last_sequence INTEGER NOT NULL,
    last_batch_id TEXT NOT NULL REFERENCES batch (batch_id),
    fencing_token INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    PRIMARY KEY (task_id, partition_id, epoch)
) STRICT;

-- The source's logical state as of the checkpoint; written in the checkpoint's transaction.
CREATE TABLE source_state (
    task_id      TEXT NOT NULL,
    partition_id TEXT NOT NULL,
    epoch        INTEGER NOT NULL,
    key          TEXT NOT NULL,
    value        TEXT NOT NULL,
    PRIMARY KEY (task_id, partition_id, epoch, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE dead_letter (
    id              INTEGER PRIMARY KEY,
    task_id         TEXT NOT NULL,
    task_version    INTEGER NOT NULL,
    schema_id       TEXT NOT NULL,
    batch_id        TEXT NOT NULL REFERENCES batch (batch_id),
    refused_at      TEXT NOT NULL,
    class           TEXT NOT NULL,
    code            TEXT NOT NULL,
    field           TEXT,
    output          TEXT,
    position        TEXT NOT NULL,
    message         TEXT NOT NULL,
    first_failed_at INTEGER NOT NULL,
    last_failed_at  INTEGER NOT NULL,
    replay_count    INTEGER NOT NULL DEFAULT 0
) STRICT;
-- A batch that is mapped again refuses the same rows: they are the same dead letters.
CREATE UNIQUE INDEX dead_letter_place ON dead_letter (batch_id, refused_at, ifnull(output, ''), position);
CREATE INDEX dead_letter_task ON dead_letter (task_id, class);
