#!/usr/bin/env python
# Copyright us.


def f(x):
    return x
