#!/usr/bin/env python
# -*- coding: utf-8 -*-
# Copyright us.



import tensorflow as tf


@tf.function
def f(x):
    return x
