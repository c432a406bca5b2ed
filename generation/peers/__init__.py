"""The stimuli of the systems beside REFINED-BIAS, one file a system, as pure functions of arrays."""
