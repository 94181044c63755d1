#!/usr/bin/env python3
"""Writes tests/golden/preprocess.txt: what the training code's preprocessing makes of two pictures given by a formula.

    make_preprocess.py > tests/golden/preprocess.txt

Pixel (x, y, c) of a picture is (7 x + 13 y + 61 c + (x y >> 3)) mod 256. The steps are those of tools/train/features.py: OpenCV
INTER_CUBIC to 224 x 224, / 255, ImageNet mean and deviation. Lines: `case W H`; `s C Y X VALUE` samples; `sum C VALUE`.
"""
import cv2
import numpy as np

MEAN = np.array([0.485, 0.456, 0.406], np.float32)
STD = np.array([0.229, 0.224, 0.225], np.float32)

print("# cv2", cv2.__version__)
for width, height in ((640, 360), (53, 37), (224, 224)):
    y, x, c = np.meshgrid(np.arange(height), np.arange(width), np.arange(3), indexing="ij")
    picture = ((7 * x + 13 * y + 61 * c + (x * y >> 3)) % 256).astype(np.uint8)
    square = picture if picture.shape[:2] == (224, 224) else cv2.resize(picture, (224, 224), interpolation=cv2.INTER_CUBIC)
    chw = ((square.astype(np.float32) / 255.0 - MEAN) / STD).transpose(2, 0, 1)
    print("case", width, height)
    for k in range(120):
        at = (k % 3, k * 37 % 224, k * 101 % 224)
        print("s", *at, repr(float(chw[at])))
    for channel in range(3):
        print("sum", channel, repr(float(chw[channel].astype(np.float64).sum())))
