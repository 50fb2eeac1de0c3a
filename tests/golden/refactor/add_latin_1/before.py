# -*- coding: latin-1 -*-
import tensorflow as tf

def f(größe):
    return größe  # é
