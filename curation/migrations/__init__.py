"""The schema of the record, revision by revision."""
