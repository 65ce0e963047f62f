"""Calls: inference, overload resolution, conversions, lowering."""
