"""Rules for TensorFlow's functions, a file per family. Each family module has `RULES`, from canonical name to rule."""
