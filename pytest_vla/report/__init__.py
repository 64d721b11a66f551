"""The run file and everything that reads it: terminal tables, JUnit properties, merging."""
