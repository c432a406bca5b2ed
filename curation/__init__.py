"""Audit, agreement, gate and release; the command line."""
