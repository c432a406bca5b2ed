"""Logits in, sensitivities out."""
