__import__('last_digits').install()
