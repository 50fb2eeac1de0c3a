"""Records of real runs: running an observed program, and the resulting records. `child/` runs inside the user's process and imports no
other room; `launch.py` starts it; `record_file.py` is the format; `evidence.py` matches a record with the functions of a program.
"""
