"""Prints the hash of a password: python -m tools.new_password"""

import getpass

from shop import passwords

if __name__ == "__main__":
    print(passwords.hashed(getpass.getpass()).hex())
