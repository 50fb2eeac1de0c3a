"""Ten small TensorFlow 2 training programs that are hard to convert to graphs; `program.py` says how to run one."""
