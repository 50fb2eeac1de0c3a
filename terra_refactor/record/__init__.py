"""Records of real runs: running a program under watch, and the records that such runs leave.

`child/` runs inside the user's process and stands alone; `launch.py` starts it; `record_file.py` is the format; `evidence.py` says what
a record tells about the functions of a program.
"""
