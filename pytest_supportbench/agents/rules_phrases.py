"""The fixed sentences of the `rules` agent, in English, Spanish, German and French.

Only these are formatted; what customers, tools and policies wrote is filled in as a value and never as a
template.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Final

from pytest_supportbench.agents.rules_text import LANGUAGES, Money

_MONTHS: Final = {
    "en": "January February March April May June July August September October November December",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
}
_DATE: Final = {
    "en": "{day} {month} {year}",
    "es": "{day} de {month} de {year}",
    "de": "{day}. {month} {year}",
    "fr": "{day} {month} {year}",
}

PHRASES: Final[Mapping[str, tuple[str, str, str, str]]] = {
    "refunded": (
        "I have refunded {amount} to the way you paid.",
        "He reembolsado {amount} al medio de pago que usó.",
        "Ich habe Ihnen {amount} auf dem Zahlungsweg erstattet, den Sie benutzt haben.",
        "J'ai remboursé {amount} sur le moyen de paiement que vous avez utilisé.",
    ),
    "which": (
        "This is the payment {id} of {date}.",
        "Se trata del pago {id} del {date}.",
        "Es geht um die Zahlung {id} vom {date}.",
        "Il s'agit du paiement {id} du {date}.",
    ),
    "credited": (
        "I have put a credit of {amount} on your account.",
        "He abonado un crédito de {amount} en su cuenta.",
        "Ich habe Ihrem Konto ein Guthaben von {amount} gutgeschrieben.",
        "J'ai ajouté un avoir de {amount} à votre compte.",
    ),
    "cancelled": (
        "I have cancelled {what}.",
        "He cancelado {what}.",
        "Ich habe {what} gekündigt.",
        "J'ai résilié {what}.",
    ),
    "ends": (
        "It ends on {date}.",
        "Termina el {date}.",
        "Es endet am {date}.",
        "La fin est le {date}.",
    ),
    "no_renewal": (
        "I have turned off the automatic renewal of {what}.",
        "He cancelado la renovación automática de {what}.",
        "Ich habe die automatische Verlängerung von {what} gekündigt.",
        "J'ai résilié le renouvellement automatique de {what}.",
    ),
    "reinstated": (
        "I have reinstated {what}.",
        "He reactivado {what}.",
        "Ich habe {what} reaktiviert.",
        "J'ai réactivé {what}.",
    ),
    "changed": (
        "I have updated this on your account: {what}.",
        "He actualizado esto en su cuenta: {what}.",
        "Ich habe das in Ihrem Konto geändert: {what}.",
        "J'ai modifié ceci dans votre compte : {what}.",
    ),
    "planned": (
        "This is arranged for {date}.",
        "Queda programado para el {date}.",
        "Das ist für den {date} geplant.",
        "C'est prévu pour le {date}.",
    ),
    "instalments": (
        "You can now pay {amount} in {count} monthly instalments.",
        "Ahora puede pagar {amount} en {count} plazos mensuales.",
        "Sie können {amount} jetzt in {count} Monatsraten zahlen.",
        "Vous pouvez maintenant payer {amount} en {count} mensualités.",
    ),
    "asked_admin": (
        "I have asked your workspace's admins for their approval; nothing changes before they answer.",
        "He enviado la solicitud a los administradores; nada cambia antes de su respuesta.",
        "Ich habe die Administratoren um Zustimmung gebeten; vorher ändert sich nichts.",
        "J'ai transmis la demande aux administrateurs ; rien ne change avant leur réponse.",
    ),
    "handed": (
        "I have passed your case to our {queue} team.",
        "He pasado su caso a nuestro equipo {queue}.",
        "Ich habe Ihren Fall an unser Team {queue} weitergegeben.",
        "J'ai transmis votre dossier à notre équipe {queue}.",
    ),
    "reference": (
        "The number on record is {id}.",
        "El número registrado es {id}.",
        "Die Nummer dazu ist {id}.",
        "Le numéro enregistré est {id}.",
    ),
    "emergency": (
        "If you are in danger, please call {count} now.",
        "Si está en peligro, llame ahora al {count}.",
        "Wenn Sie in Gefahr sind, rufen Sie bitte jetzt die {count} an.",
        "Si vous êtes en danger, appelez maintenant le {count}.",
    ),
    "reported": (
        "Our editors have your question as report {id}.",
        "Nuestros redactores tienen su pregunta con el número {id}.",
        "Unserer Redaktion liegt Ihre Frage unter der Nummer {id} vor.",
        "Notre rédaction a votre question sous le numéro {id}.",
    ),
    "rotated": (
        "I have rotated the API key that ends in {id}.",
        "He renovado la clave de API que termina en {id}.",
        "Ich habe den API-Schlüssel ersetzt, der auf {id} endet.",
        "J'ai remplacé la clé d'API qui se termine par {id}.",
    ),
    "done": ("It is done.", "Está hecho.", "Es ist erledigt.", "C'est fait."),
    "working_days": (
        "Banks take up to {count} working days.",
        "Los bancos tardan hasta {count} días hábiles.",
        "Banken brauchen bis zu {count} Werktage.",
        "Les banques mettent jusqu'à {count} jours ouvrables.",
    ),
    "renews": (
        "{what} renews on {date}, for {amount}.",
        "{what} se renueva el {date} por {amount}.",
        "{what} verlängert sich am {date} für {amount}.",
        "{what} se renouvelle le {date} pour {amount}.",
    ),
    "runs_out": (
        "{what} does not renew; its period ends on {date}.",
        "{what} no se renueva; su período termina el {date}.",
        "{what} verlängert sich nicht; der Zeitraum endet am {date}.",
        "{what} ne se renouvelle pas ; la période se termine le {date}.",
    ),
    "refund_state": (
        "The refund {id} of {amount} has the state: {state}.",
        "El reembolso {id} de {amount} tiene el estado: {state}.",
        "Die Erstattung {id} über {amount} hat den Stand: {state}.",
        "Le remboursement {id} de {amount} a l'état : {state}.",
    ),
    "asked_on": (
        "It was requested on {date}.",
        "Se solicitó el {date}.",
        "Sie wurde am {date} beantragt.",
        "Il a été demandé le {date}.",
    ),
    "expected": (
        "It should arrive by {date}.",
        "Debería llegar a más tardar el {date}.",
        "Sie sollte bis zum {date} ankommen.",
        "Il devrait arriver au plus tard le {date}.",
    ),
    "pending": (
        "The payment of {amount} is only pending; it has not been taken.",
        "El pago de {amount} solo está pendiente; no se ha cobrado.",
        "Die Zahlung über {amount} ist nur vorgemerkt; sie ist nicht abgebucht.",
        "Le paiement de {amount} est seulement en attente ; il n'est pas débité.",
    ),
    "too_late": (
        "I am sorry: the limit is {count} days, and the payment of {amount} from {date} is {days} days old.",
        "Lo siento: el límite es de {count} días y el pago de {amount} del {date} tiene {days} días.",
        "Es tut mir leid: Die Frist sind {count} Tage, die Zahlung über {amount} vom {date} ist {days} Tage her.",
        "Je suis désolé : le délai est de {count} jours, et le paiement de {amount} du {date} a {days} jours.",
    ),
    "no_refund": (
        "I am sorry, under our rules this payment cannot be refunded.",
        "Lo siento, según nuestras normas no es posible un reembolso de este pago.",
        "Es tut mir leid, nach unseren Regeln ist für diese Zahlung keine Erstattung möglich.",
        "Je suis désolé, selon nos règles un remboursement de ce paiement n'est pas possible.",
    ),
    "no_second": (
        "I looked at your payments and there is no second one for the same thing.",
        "He mirado sus pagos y no hay un segundo por lo mismo.",
        "Ich sehe unter Ihren Zahlungen keine zweite für dieselbe Sache.",
        "Je ne vois parmi vos paiements aucun deuxième pour la même chose.",
    ),
    "half": (
        "The payment cannot be returned.",
        "No es posible devolver el pago.",
        "Die Zahlung kann nicht zurückgegeben werden.",
        "Le paiement ne peut pas être rendu.",
    ),
    "healthy": (
        "All parts of the service are working: no incident is open.",
        "Todo el servicio funciona: no hay ningún incidente abierto.",
        "Alle Teile des Dienstes laufen: Es ist keine Störung offen.",
        "Tout le service fonctionne : aucun incident n'est ouvert.",
    ),
    "incident": (
        "There is an open incident: {what}.",
        "Hay un incidente abierto: {what}.",
        "Es gibt eine offene Störung: {what}.",
        "Il y a un incident ouvert : {what}.",
    ),
    "article": (
        "Our help pages say: {what}",
        "Nuestras páginas de ayuda dicen: {what}",
        "In unserer Hilfe steht: {what}",
        "Nos pages d'aide disent : {what}",
    ),
    "state": (
        "{what}: {state}.",
        "{what}: {state}.",
        "{what}: {state}.",
        "{what} : {state}.",
    ),
    "by": (
        "The date on record is {date}.",
        "La fecha registrada es el {date}.",
        "Das eingetragene Datum ist der {date}.",
        "La date enregistrée est le {date}.",
    ),
    "forwarded": (
        "I have passed your request on to the partner through whom you buy.",
        "He enviado su solicitud al socio a través del cual compra.",
        "Ich habe Ihre Anfrage an den Partner weitergegeben, über den Sie kaufen.",
        "J'ai transmis votre demande au partenaire par lequel vous achetez.",
    ),
    "no_answer": (
        "I am sorry, I do not find an answer to this.",
        "Lo siento, no encuentro una respuesta a esto.",
        "Es tut mir leid, darauf finde ich keine Antwort.",
        "Je suis désolé, je ne trouve pas de réponse à cela.",
    ),
    "no": (
        "I am sorry, I cannot do this for you.",
        "Lo siento, no puedo hacer esto por usted.",
        "Es tut mir leid, das kann ich nicht für Sie tun.",
        "Je suis désolé, je ne peux pas faire cela pour vous.",
    ),
    "ask_code": (
        "To go on I need the verification code. Could you tell me the code, please?",
        "Para seguir necesito el código de verificación. ¿Me lo puede decir, por favor?",
        "Dafür brauche ich den Bestätigungscode. Können Sie ihn mir bitte nennen?",
        "Pour continuer, il me faut le code de vérification. Pouvez-vous me le donner ?",
    ),
    "ask": (
        "Could you tell me a bit more, please? I need this: {what}.",
        "¿Me puede dar un dato más, por favor? Necesito: {what}.",
        "Können Sie mir bitte noch etwas sagen? Ich brauche: {what}.",
        "Pouvez-vous m'en dire un peu plus ? Il me faut : {what}.",
    ),
}

"""Each sentence by its name, one in each of `rules_text.LANGUAGES`."""


def phrase(language: str, name: str, **values: object) -> str:
    """Return a sentence with its values (`Money`, dates, text) written as the language writes them."""
    shown = {key: _shown(language, value) for key, value in values.items()}
    return PHRASES[name][LANGUAGES.index(language)].format(**shown)


def _shown(language: str, value: object) -> str:
    if isinstance(value, Money):
        number = str(value)
        return f"{number if language == 'en' else number.replace('.', ',')} {value.currency}"
    if isinstance(value, date):
        month = _MONTHS[language].split()[value.month - 1]
        return _DATE[language].format(day=value.day, month=month, year=value.year)
    return f"{value:f}" if isinstance(value, Decimal) else str(value)
