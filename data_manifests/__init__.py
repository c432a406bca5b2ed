"""The contract between the rooms of cuebench: taxonomies, records and canonical manifests."""
