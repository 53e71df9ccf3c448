//! A dataset of Parquet files.
