#!/usr/bin/env python
# -*- coding: utf-8 -*-
# Copyright us.



def f(x):
    return x
