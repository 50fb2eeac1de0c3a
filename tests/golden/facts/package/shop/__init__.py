from .cart import Cart
from .prices import price
