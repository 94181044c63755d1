#!/usr/bin/env python3
"""Worked examples for metrics.py; ends with 1 where one does not hold."""
import math

import metrics


def main():
    refs = {1: ["a dog runs on the grass"] * 2, 2: ["two men ride a horse today"] * 2}
    same = {i: r[0] for i, r in refs.items()}
    # A caption equal to all its references: every cosine is 1, so CIDEr-D is 10; BLEU is 1.
    assert math.isclose(metrics.cider(same, refs)[0], 10.0, rel_tol=1e-9)
    assert math.isclose(metrics.bleu4(same, refs), 1.0)
    # Nothing in common: 0.
    other = {1: "snow falls", 2: "cars park"}
    assert metrics.cider(other, refs)[0] == 0.0 and metrics.bleu4(other, refs) == 0.0
    # Words of every picture weigh nothing ("a" is in both).
    assert metrics.cider({1: "a", 2: "a"}, refs)[0] == 0.0
    # Brevity: five of the six words give precision 1 and the penalty exp(1 - 6/5).
    short = {1: "a dog runs on the", 2: "two men ride a horse"}
    assert math.isclose(metrics.bleu4(short, refs), math.exp(1 - 6 / 5))
    # Case and punctuation do not count.
    assert metrics.tokens("A dog, running.") == ["a", "dog", "running"]
    print("metrics: all examples hold")


if __name__ == "__main__":
    main()
