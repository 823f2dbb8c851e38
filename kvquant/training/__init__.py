"""Calibration and training of the controller: texts and a model in, two small files out.

Needs torch (the extra ``train``); the engine never imports this package.
"""
