"""Runs a few eager steps of every program: `python -m corpus.coexec [STEPS]`."""

import sys

from corpus.coexec import (
    bert_classification,
    bert_question_answering,
    dcgan,
    dropblock,
    faster_rcnn,
    gpt2,
    music_transformer,
    resnet50,
    sdpoint,
    yolov3,
)

PROGRAMS = (
    dropblock,
    bert_question_answering,
    music_transformer,
    sdpoint,
    bert_classification,
    gpt2,
    dcgan,
    resnet50,
    faster_rcnn,
    yolov3,
)


def main(steps):
    for module in PROGRAMS:
        program = module.build("small", "float32")
        for number in range(steps):
            program.step(*program.batches[number % len(program.batches)])
        print(module.__name__)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
