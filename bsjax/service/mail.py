"""E-mail by SMTP."""

import logging
import smtplib
from email.message import EmailMessage
from urllib.parse import unquote, urlsplit

VARIABLE = "BSJAX_SMTP"
"""The environment variable of the SMTP server: ``smtp://user:password@host:port``, or ``smtps://...``."""

_SECONDS = 20.0


def send(server: str, to: str, subject: str, text: str) -> None:
    """Send an e-mail. Errors are logged and not raised.

    Args:
        server: ``smtp://user:password@host:port``, encrypted if the server offers it, or ``smtps://...``.
        to: address of the recipient.
        subject: subject line.
        text: body.
    """
    try:
        at = urlsplit(server)
        made = smtplib.SMTP_SSL if at.scheme == "smtps" else smtplib.SMTP
        letter = EmailMessage()
        letter["To"], letter["Subject"] = to, subject
        letter["From"] = unquote(at.username or "") if "@" in unquote(at.username or "") else f"bsjax@{at.hostname}"
        letter.set_content(text)
        with made(at.hostname or "localhost", at.port or 0, timeout=_SECONDS) as connection:
            if at.scheme != "smtps":
                connection.ehlo()
                if connection.has_extn("starttls"):
                    connection.starttls()
            if at.username:
                connection.login(unquote(at.username), unquote(at.password or ""))
            connection.send_message(letter)
    except (OSError, ValueError, smtplib.SMTPException) as error:
        logging.getLogger(__name__).error("no letter to %s: %s", to, type(error).__name__)
