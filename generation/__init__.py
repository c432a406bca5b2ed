"""Photographs in, masks and cues out."""
