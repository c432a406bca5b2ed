"""The screens of the annotation app, one a module; `entry.py` chooses."""
