//! Settings: one table of names, defaults and help, read from the environment (`WEFT_…`) once at start.
