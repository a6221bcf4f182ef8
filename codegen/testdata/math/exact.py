# Prints exact.txt: for each function arguments that are float32 numbers, and the value as a sum of two float64.
# It needs mpmath: python3 exact.py >exact.txt
import random
import struct

from mpmath import mp, mpf
import mpmath

mp.prec = 600
random.seed(23)


def single(v):
    return struct.unpack("f", struct.pack("f", v))[0]


def among(lo, hi, n):
    return [single(random.uniform(lo, hi)) for _ in range(n)]


def powers(lo, hi, n, signs=(1,)):
    return [single(random.choice(signs) * random.uniform(1, 2) * 2.0 ** random.uniform(lo, hi)) for _ in range(n)]


both = (1, -1)
unary = {
    "Exp": (mpmath.exp, among(-80, 80, 40) + powers(-20, 0, 20, both)),
    "Exp2": (lambda x: mpf(2) ** x, among(-120, 120, 40) + powers(-20, 0, 20, both)),
    "Expm1": (mpmath.expm1, among(-20, 80, 30) + powers(-30, 0, 30, both)),
    "Log": (mpmath.log, powers(-120, 120, 30) + among(0.5, 2, 30)),
    "Log2": (lambda x: mpmath.log(x) / mpmath.log(2), powers(-120, 120, 30) + among(0.5, 2, 30)),
    "Log10": (mpmath.log10, powers(-120, 120, 30) + among(0.5, 2, 30)),
    "Log1p": (mpmath.log1p, powers(-30, 100, 30) + among(-0.9, 1, 30)),
    "Sin": (mpmath.sin, among(-10, 10, 30) + powers(0, 100, 30, both)),
    "Cos": (mpmath.cos, among(-10, 10, 30) + powers(0, 100, 30, both)),
    "Tan": (mpmath.tan, among(-10, 10, 30) + powers(0, 100, 30, both)),
    "Asin": (mpmath.asin, among(-1, 1, 40) + powers(-30, -1, 20, both)),
    "Acos": (mpmath.acos, among(-1, 1, 40) + [single(1 - 2.0**-k) for k in range(1, 24)]),
    "Atan": (mpmath.atan, among(-3, 3, 40) + powers(-30, 30, 20, both)),
    "Sinh": (mpmath.sinh, among(-80, 80, 30) + powers(-30, 1, 30, both)),
    "Cosh": (mpmath.cosh, among(-80, 80, 30) + powers(-30, 1, 30, both)),
    "Tanh": (mpmath.tanh, among(-9, 9, 40) + powers(-30, 0, 20, both)),
    "Asinh": (mpmath.asinh, among(-5, 5, 30) + powers(-30, 100, 30, both)),
    "Acosh": (mpmath.acosh, [1 + abs(x) for x in among(0, 5, 30)] + powers(1, 100, 30)),
    "Atanh": (mpmath.atanh, among(-0.99, 0.99, 40) + powers(-30, -1, 20, both)),
    "Erf": (mpmath.erf, among(-4, 4, 40) + powers(-30, 0, 20, both)),
    "Erfc": (mpmath.erfc, among(-3, 9, 60)),
    "Gamma": (mpmath.gamma, among(0.1, 30, 40) + [x for x in among(-5, 0, 20) if abs(x - round(x)) > 0.01]),
    "Cbrt": (lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)), powers(-120, 120, 60, both)),
    "Sqrt": (mpmath.sqrt, powers(-120, 120, 60)),
    "Rsqrt": (lambda x: 1 / mpmath.sqrt(x), powers(-120, 120, 60)),
}
binary = {
    "Pow": (lambda x, y: x**y, list(zip(powers(-10, 10, 60), among(-9, 9, 60)))),
    "Atan2": (lambda y, x: mpmath.atan2(y, x), list(zip(powers(-20, 20, 60, both), powers(-20, 20, 60, both)))),
    "Hypot": (mpmath.hypot, list(zip(powers(-30, 30, 60, both), powers(-30, 30, 60, both)))),
}
for name, (f, args) in unary.items():
    for x in args:
        v = f(mpf(single(x)))
        hi = float(v)
        print(name, single(x).hex(), "0x0p+00", hi.hex(), float(v - mpf(hi)).hex())
for name, (f, args) in binary.items():
    for x, y in args:
        v = f(mpf(x), mpf(y))
        hi = float(v)
        print(name, x.hex(), y.hex(), hi.hex(), float(v - mpf(hi)).hex())
