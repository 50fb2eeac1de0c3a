"""Records of real runs: running a program under observation, and the format of the record.

`child/` runs inside the user's process and imports no other room; `launch.py` starts it; `record_file.py` is the
format; `evidence.py` matches a record with the functions of a program.
"""
