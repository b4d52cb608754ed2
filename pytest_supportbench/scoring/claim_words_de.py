"""How a German-speaking agent says that it did something."""

from __future__ import annotations

from typing import Final

from pytest_supportbench.patterns import later
from pytest_supportbench.scoring.claim_words import AMOUNT, Lexicon, forms
from pytest_supportbench.scoring.phrases import CONDITIONS
from pytest_supportbench.scoring.text import listed

_WHO: Final = (
    r"(?:kolleg(?:e|in|en)|mitarbeiter(?:in)?|\w*team|jemand|\w*spezialist(?:in)?|\w*abteilung|"
    r"berater(?:in)?|"
    r"ansprechpartner(?:in)?|fachmann|expert(?:e|in))"
)

_QUEUE: Final = r"(?:buchhaltung|abrechnung|kundenbindung|rechtsabteilung|sicherheit|betrugsabwehr)"

GERMAN: Final = Lexicon(
    done=forms(
        refund="erstattet zurückerstattet zurückgezahlt rückerstattet zurückgebucht zurücküberwiesen",
        credit="gutgeschrieben",
        issue="angestoßen angewiesen veranlasst ausgelöst durchgeführt angewendet hinzugefügt "
        "eingerichtet ausgestellt bearbeitet",
        cancel="gekündigt storniert beendet",
        stop="deaktiviert abgeschaltet gestoppt",
        reinstate="wiederhergestellt reaktiviert",
        change="hinterlegt geändert aktualisiert korrigiert angepasst",
        move="umgestellt gewechselt",
        plan_change="hochgestuft herabgestuft",
        remove="entfernt",
        delete="gelöscht vernichtet",
        revoke="widerrufen",
        transfer="übertragen",
        handoff="eskaliert",
        **{
            "pass": "weitergeleitet übergeben weitergegeben gebeten informiert eingeschaltet "
            "verständigt beauftragt"
        },
        schedule="geplant eingeplant vereinbart terminiert",
        send="geschickt gesendet zugeschickt verschickt",
        hold="gesperrt eingefroren pausiert",
        verify="verifiziert bestätigt",
        export="exportiert",
        open="eröffnet angelegt erstellt",
    ),
    nouns=forms(
        user="nutzer benutzer mitglieder",
        charge="abbuchung zahlung",
        money="geld betrag",
        email="e-mail mail e-mail-adresse",
        mail="bestätigung link nachricht dokument rechnung vertrag",
        contact="adresse telefonnummer name nummer anschrift daten mailadresse",
        profile="profil",
        plan="tarif plan abo",
        seat="plätze platz lizenzen lizenz",
        account="konto",
        session="sitzungen sitzung schlüssel token",
        callback="rückruf",
        ticket="ticket anfrage antrag",
        identity="identität",
        team="ebene",
        admin="admin administrator",
    ),
    endings={
        "erstattung": "refund",
        "rückzahlung": "refund",
        "gutschrift": "credit",
        "verlängerung": "renewal",
        "team": "team",
        "abteilung": "team",
        "kollege": "team",
        "kollegen": "team",
        "kollegin": "team",
        "spezialisten": "team",
        "mitarbeiter": "team",
        "ratenzahlung": "payment_plan",
        "inhaberschaft": "ownership",
        "adresse": "contact",
        "vereinbarung": "mail",
    },
    doing={},
    base={},
    past={},
    adverbs=frozenset(),
    definite=frozenset(listed("die der das ihr ihre beide ihr dein deine diese dieser dieses alles es")),
    conditions=CONDITIONS["de"] | frozenset(listed("bevor möchten könnte sollte")),
    habits=frozenset(
        listed("innerhalb sobald wenn falls immer normalerweise automatisch nur bis üblicherweise")
    ),
    says=(
        *(
            (
                cue,
                later(
                    r"\b(?:geld|betrag|zahlung)\s+(?:ist|sind)\s+(?:jetzt\s+|nun\s+|bereits\s+)?(?:wieder|zurück)\s+"
                    r"(?:auf\s+(?:ihr|dein)em\s+konto|auf\s+(?:ihr|dein)er\s+karte|bei\s+ihnen)\b"
                ),
                "refund",
            )
            for cue in ("wieder", "zurück")
        ),
        (
            "hinzugefügt",
            later(
                rf"\bich\s+habe\s+(?:(?:ihnen|auch|noch)\s+)*{AMOUNT}\s+(?:(?:ihrem|deinem)\s+(?:konto|guthaben)\s+)?hinzugefügt\b"
            ),
            "credit",
        ),
        (
            "habe",
            later(
                r"\b(?:ich\s+habe|wir\s+haben)\s+(?:ihren?|deine?n?|den|die)\s+\w+\s+(?:auch\s+)?an\s+(?:die|unsere)\s+"
                rf"{_QUEUE}\s+(?:übergeben|weitergegeben|weitergeleitet)\b"
            ),
            "handoff",
        ),
        (
            " hat ",
            later(
                rf"\b(?:die|unsere)\s+{_QUEUE}\s+hat\s+(?:jetzt\s+|bereits\s+)?(?:ihren?|deine?n?|den|die)\s+(?:fall|anfrage|vorgang)\b"
            ),
            "handoff",
        ),
        (
            "überwiesen",
            later(
                rf"\b(?:ich\s+habe|wir\s+haben)\s+(?:(?:ihnen|dir|heute|auch)\s+){{0,2}}{AMOUNT}\s+(?:auf\s+(?:ihr|dein)\s+konto\s+)?überwiesen\b"
            ),
            "refund",
        ),
        (
            "zurück",
            later(
                rf"{AMOUNT}\s+(?:gehen|geht|gingen|ging)\s+(?:\w+\s+)?auf\s+(?:ihre?|deine?)\s+(?:karte|konto)\s+zurück\b"
            ),
            "refund",
        ),
        (
            "liegt",
            later(
                rf"\b(?:liegt|ruht)\s+(?:jetzt|nun|bereits)\s+bei\s+(?:unserem|unserer|dem|"
                rf"der)\s+(?:\w+\s+)?{_WHO}\b"
            ),
            "handoff",
        ),
        (
            "ich ",
            later(
                r"\bich\s+(?:leite|gebe|übergebe)\s+(?:\w+\s+){1,4}?(?:an|zu)\s+(?:\w+\s+){1,2}?"
                rf"{_WHO}\b"
            ),
            "handoff",
        ),
        (
            "erstattung",
            later(
                r"\b(?:rück)?erstattung\s+(?:\S+\s+){0,4}?ist\s+(?:bereits\s+|schon\s+)?"
                r"(?:unterwegs|in\s+bearbeitung|auf\s+dem\s+weg)\b"
            ),
            "refund",
        ),
    ),
    promise_cues=("rufen", "wird", "werden", "meldet", "ruft", "kontaktiert", "hören"),
    promises=later(
        rf"\b{_WHO}\s+(?:\w+\s+){{0,4}}?(?:"
        r"(?:wird|werden)\s+(?:\w+\s+){0,6}?(?:zurückrufen|anrufen|kontaktieren|melden)\b"
        r"|meldet\s+sich\b|ruft\s+(?:sie|dich)\b|kontaktiert\s+(?:sie|dich)\b)"
        rf"|\bruft\s+(?:sie|dich)\s+(?:\w+\s+){{0,3}}?{_WHO}\b|\bwir\s+(?:rufen\s+sie\s+(?:\w+\s+){{0,3}}?(?:zurück|an)\b|werden\s+sie\s+(?:\w+\s+){{0,3}}?(?:zurück|an)rufen\b)"
        rf"|\bwird\s+sich\s+(?:\w+\s+){{0,3}}?{_WHO}\s+(?:\w+\s+){{0,4}}?melden\b"
        rf"|\bsie\s+hören\s+(?:\w+\s+){{0,4}}?von\s+(?:\w+\s+)?{_WHO}\b"
    ),
    reported=later(
        r"\bsie\s+(?:\w+\s+)?(?:schrieben|sagten|schreiben|sagen|meinten|erwähnten|berichteten|glauben|"
        r"vermuten|teilten)\b"
        r"|\blaut\s+ihrer\b|\bmöchten\s+sie\b"
    ),
    to_us=later(
        r"\b(?:fall|anfrage|anliegen|vorgang|ticket|frage|beschwerde|es|das|alles)\s+(?:\w+\s+){0,3}?"
        r"an\s+unser(?:e[nmrs]?)?\s+(?!(?:\w+\s+)?(?:\w*liste|\w*seite|\w*richtlinie|\w*postfach|\w*system)\b)"
    ),
)
