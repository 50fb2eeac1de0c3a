import os

os.environ["CUDA_VISIBLE_DEVICES"] = ""


def f(x):
    return x
