"""Passwords are kept as PBKDF2 hashes."""

import hashlib
import hmac

ROUNDS = 1_200_000
SALT = b"a salt for each user would be better"
DEMO = bytes.fromhex("561661ede773ae23fe69abd6934b3714763270564158e25ac3f621b649adf9f2")


def hashed(password):
    return hashlib.pbkdf2_hmac("sha256", password.encode(), SALT, ROUNDS)


def matches(password, expected):
    return hmac.compare_digest(hashed(password), expected)
