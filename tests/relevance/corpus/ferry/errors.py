"""Everything that can go wrong, as a tree.

FerryError
├── Overbooked          no place left on a deck
├── SailingCancelled    storm, strike or a broken ship
├── PaymentDeclined     the bank said no
├── TokenExpired        log in again
└── ConfigError         a setting is missing or wrong
"""


class FerryError(Exception):
    """Base of all errors; ``code`` is stable and shown to clients."""

    code = "E_FERRY"


class Overbooked(FerryError):
    code = "E_OVERBOOKED"

    def __init__(self, deck: str, wanted: int, free: int) -> None:
        super().__init__(f"deck {deck} has {free} places left, {wanted} were asked for")
        self.deck = deck


class SailingCancelled(FerryError):
    code = "E_CANCELLED"


class PaymentDeclined(FerryError):
    code = "E_DECLINED"

    def __init__(self, reason: str) -> None:
        super().__init__(f"payment declined by the bank: {reason}")
        self.reason = reason


class TokenExpired(FerryError):
    code = "E_TOKEN_EXPIRED"


class ConfigError(FerryError):
    code = "E_CONFIG"
