"""Forecasts of the water level at a tide gauge."""

from .models import GaugeModel, LinearForecaster, RecurrentForecaster
from .training import Trainer

__all__ = ["GaugeModel", "LinearForecaster", "RecurrentForecaster", "Trainer"]
