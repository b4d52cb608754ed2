"""Money of the support toolset: exact decimals with an ISO 4217 currency; no float enters arithmetic."""

from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from typing import Annotated, Final, TypeAlias

from pydantic import AfterValidator, Field, ValidationInfo, WithJsonSchema

_NO_DIGITS: Final = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"
_THREE_DIGITS: Final = "BHD IQD JOD KWD LYD OMR TND"
_MINOR_DIGITS: Final = dict.fromkeys(_NO_DIGITS.split(), 0) | dict.fromkeys(_THREE_DIGITS.split(), 3)
"""Digits after the point by currency where they are not two; source: ISO 4217, list one (active codes)."""


_LARGEST: Final = 10**14
"""Amounts end below this, so that one in minor units always fits into the 18 digits of a record."""


def minor_digits(currency: str) -> int:
    """Return how many digits after the point amounts of ``currency`` have: 0 for JPY, 3 for KWD, mostly 2."""
    return _MINOR_DIGITS.get(currency, 2)


def in_minor_units(amount: Decimal, currency: str) -> Decimal:
    """Return ``amount`` with exactly the currency's digits; raises ``ValueError`` where it has more."""
    digits = minor_digits(currency)
    fitted = amount.quantize(Decimal(1).scaleb(-digits))
    if fitted != amount:
        msg = f"{amount} {currency} has too many digits; {currency} takes {digits or 'none'} after the point"
        raise ValueError(msg)
    return fitted


def rounded(amount: Decimal, currency: str) -> Decimal:
    """Return ``amount`` rounded half up to the currency's minor unit."""
    return amount.quantize(Decimal(1).scaleb(-minor_digits(currency)), rounding=ROUND_HALF_UP)


def instalments(amount: Decimal, currency: str, count: int) -> tuple[Decimal, ...]:
    """Return ``amount`` cut into ``count`` parts that sum to it exactly; the first takes the rest."""
    unit = Decimal(1).scaleb(-minor_digits(currency))
    part = (amount / count).quantize(unit, rounding=ROUND_DOWN)
    return (amount - part * (count - 1), *[part] * (count - 1))


def text(amount: Decimal, currency: str) -> str:
    """Return money as people write it here, such as ``49.00 USD``."""
    return f"{amount:f} {currency}"


def _fitted(amount: Decimal, info: ValidationInfo) -> Decimal:
    currency = info.data.get("currency")
    return in_minor_units(amount, currency) if currency else amount


Currency: TypeAlias = Annotated[
    str, Field(pattern=r"^[A-Z]{3}$", description="ISO 4217 code in capitals, such as USD")
]

Amount: TypeAlias = Annotated[Decimal, Field(ge=0, lt=_LARGEST, max_digits=18), AfterValidator(_fitted)]
"""An amount in a record; the record declares ``currency`` before it. Stored with the currency's digits."""

Money: TypeAlias = Annotated[
    Decimal,
    Field(gt=0, lt=_LARGEST, max_digits=18, decimal_places=4),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": r"^[0-9]+(\.[0-9]+)?$",
            "description": 'Amount in major units as a decimal string, such as "49.00"',
        }
    ),
]
"""An amount as a tool's parameter: a decimal string; plain numbers are taken as well."""
