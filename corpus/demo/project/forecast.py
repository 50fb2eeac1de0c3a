"""Trains the forecasters and prints how good they are. `python forecast.py --epochs 10`"""

import argparse

import tensorflow as tf

from tidecast import GaugeModel, LinearForecaster, RecurrentForecaster, Trainer
from tidecast import metrics
from tidecast.data import pipeline
from tidecast.training import penalty_sweep, smooth


def blend(first, second, share):
    """A weighted mean of two forecasts."""
    return share * first + (1.0 - share) * second


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=5)
    arguments = parser.parse_args()

    tf.keras.utils.set_random_seed(7)
    dataset = pipeline()
    inputs, targets = next(iter(dataset))

    linear, recurrent, gauge = LinearForecaster(), RecurrentForecaster(), GaugeModel()
    gauge(inputs)
    for model in (linear, recurrent, gauge):
        trainer = Trainer(model)
        trainer.fit(dataset, arguments.epochs)
        print("%-22s skill %.3f" % (type(model).__name__, trainer.evaluate_batch(inputs, targets)))

    mixed = blend(linear(inputs), recurrent(inputs), tf.constant(0.5))
    report = metrics.forecast_report(mixed, targets)
    print("report:", report.numpy().round(3)[:6])
    print("long range: %.3f after %d steps" % (recurrent.roll_out(inputs, 30)[0, -1], recurrent.steps_seen))
    print("median error: %.3f" % metrics.median_error(mixed, targets))
    for tenths in range(5):
        print("above %.1f: %.2f" % (tenths / 10, metrics.exceedance_curve(mixed, tenths / 10)))
    print("penalties:", penalty_sweep(linear, inputs, targets, [0.0, 0.1]))
    print("smoothed:", smooth(targets[0]).shape)
    print(metrics.describe("gauge", 5).numpy().decode())


if __name__ == "__main__":
    main()
