"""How well the cues of real photographs are recognised, and what they leak, beside the ways of others."""
