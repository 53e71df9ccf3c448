//! A table in a SQLite database.
