"""Nothing: the place of this module's compiled code is that of the methods that `generated_methods` keeps."""
