from shop import Cart, price
from shop.prices import empty

cart = Cart().add("tea").add("cake")
total = cart.total
other = empty()
print(total, price("none"), len(other.items))
