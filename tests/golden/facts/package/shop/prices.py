from . import cart

PRICES = {"tea": 3, "cake": 5}


def price(name, default=0):
    return PRICES.get(name, default)


def empty():
    return cart.Cart()
