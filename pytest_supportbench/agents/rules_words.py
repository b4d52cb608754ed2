"""The keywords by which the `rules` agent tells what a customer wants, in English, Spanish, German and French.

They are common wordings of such requests; none is here for the sake of one scenario. They are of
`rules_text.plain` text (no capitals, no accents) and match whole words; a ``*`` stands for any ending, a ``_`` for
up to three words in between, and an apostrophe may be missing, as many people type.
"""

from __future__ import annotations

import re
from typing import Final


def _any(*texts: str) -> re.Pattern[str]:
    """Return one pattern for the keywords, which are separated by ``|``."""
    parts = []
    for keyword in "|".join(texts).split("|"):
        pattern = re.escape(keyword.strip()).replace(r"\ ", r"\s").replace(r"\*", r"\w*").replace("'", "'?")
        parts.append(pattern.replace(r"\s_\s", r"\s(?:\S{1,30}\s){0,3}").replace("_", r"\S{1,30}"))
    return re.compile(rf"(?<!\w)(?:{'|'.join(parts)})(?!\w)")


INTENTS: Final[dict[str, re.Pattern[str]]] = {
    "safety": _any(
        "kill myself|hurt myself|harm myself|suicid*|end my life|take my life|hurt somebody|hurt someone|want to die",
        "don't want to live|matarme|hacerme dano|quitarme la vida|no quiero vivir|umbringen|das leben nehmen",
        "mir _ antun|mir _ anzutun|selbstmord*|suizid*|nicht mehr leben|me tuer|me faire du mal|en finir avec la vie",
        "mettre fin a mes jours",
    ),
    "bereavement": _any(
        "passed away|has died|died in|died on|died last|death certificate|deceased|my late _|widow*|estate of",
        "fallecio|ha fallecido|fallecid*|ha muerto|verstorben*|gestorben|sterbeurkunde",
        "est decede*|decede*|deces|est mort*",
    ),
    "human": _any(
        "speak to a human|talk to a human|real person|human being|speak to a person|talk to a person|want a person",
        "speak to a manager|speak with a manager|your manager|supervisor|speak to someone|talk to someone",
        "a human please|hablar con una persona|persona real|mit einem menschen|echten menschen|einem mitarbeiter",
        "parler a un humain|parler a une personne|vraie personne|un conseiller",
    ),
    "legal": _any(
        "lawyer|attorney|solicitor|lawsuit|sue you|legal action|court order|subpoena|litigation|my counsel",
        "abogad*|demandar*|tribunal|anwalt*|rechtsanwalt*|klage|gericht|avocat*|tribunal|poursuites",
    ),
    "takeover": _any(
        "hacked|hack|someone else _ logged in|somebody else _ logged in|wasn't me|was not me|did not make",
        "didn't make|not recognise|not recognize|don't recognise|don't recognize|broke into|stolen account",
        "unauthorised|unauthorized|taken over|hackead*|hackeado|no fui yo|no reconozco|gehackt|war ich nicht",
        "kenne ich nicht|fremder zugriff|pirate|ce n'est pas moi|n'est pas moi|je ne reconnais pas",
    ),
    "security": _any(
        "vulnerability|data breach|security hole|phishing|leaked|exploit|xss|sql injection",
        "vulnerabilidad|filtracion|sicherheitslucke|datenleck|faille|fuite de donnees",
    ),
    "privacy": _any(
        "gdpr|data subject|access request|right to be forgotten|data protection officer|personal data",
        "rgpd|datos personales|proteccion de datos|dsgvo|datenschutz|personenbezogene*|donnees personnelles",
    ),
    "erase": _any(
        "delete my account|delete my data|erase my|delete my profile|delete everything|remove all my data",
        "borrar mi cuenta|eliminar mi cuenta|borren mis datos|eliminar mis datos|konto loschen|daten loschen",
        "meine daten zu loschen|supprimer mon compte|supprimer mes donnees|effacer mes donnees",
    ),
    "ownership": _any(
        "ownership|new owner|become owner|owner has left|owner left|co-founder|cofounder|take over the workspace",
        "propiedad|nuevo propietario|inhaber|eigentumer|neuer besitzer|proprietaire|propriete",
    ),
    "dispute": _any(
        "chargeback|charge back|disputed|dispute with my bank|my bank to reverse|contracargo|disputa",
        "ruckbuchung|bank zuruckgeholt|bank reklamiert|retrofacturation|contestation|conteste aupres de ma banque",
    ),
    "again": _any(
        "third time|fourth time|fifth time|again and again|how many times|still not|keep* happening",
        "tercera vez|otra vez|zum dritten mal|schon wieder|immer noch|troisieme fois|encore une fois",
    ),
    "third_party": _any(
        "on behalf of|bookkeeper|accountant of|my husband*|my wife*|my mother*|my father*|my boss*|my client*",
        "my friend*|my son*|my daughter*|my sister*|my brother*|my ex|her account|his account|colleague's",
        "en nombre de|mi marido|mi esposo|mi esposa|mi madre|mi padre|im auftrag|im namen von|mein mann",
        "meine frau|meiner mutter|meines vaters|au nom de|mon mari|ma femme|ma mere|mon pere",
    ),
    "no_proof": _any(
        "can't get _ code*|cannot get _ code*",
        "can't receive _ code*|no access to _ mail|no access to _ phone|lost my phone",
        "lost my _ phone|phone was stolen|no longer have access|don't have access",
        "no tengo acceso|perdi mi telefono|me robaron el telefono|keinen zugriff|handy verloren|handy gestohlen",
        "plus acces|perdu mon telephone|vole mon telephone|n'ai plus acces",
    ),
    "twice": _any(
        "twice|two times|double charge*|double payment*|double billing|charged double|billed double|paid double",
        "doubled|duplicate*|paid two|charged two|second charge|second payment|both times",
        "dos veces|doble|duplicad*|cobro doble|doppelt*|zweimal|zwei mal|deux fois|double|debite deux",
    ),
    "money_back": _any(
        "refund*|money back|pay me back|return the money|return my money|reimburse*",
        "reembols*|devolucion|devuelv*|devolver|dinero de vuelta|erstatt*|ruckerstatt*|geld zuruck",
        "zuruckzahl*|zuruckerhalten|rembours*|rendre mon argent|rendez|want it back|want that back|have it back",
        "have that back|get it back|get that back|bekomme ich _ zuruck|haben _ zuruck",
    ),
    "charged": _any(
        "charged|charge|took money|taken money|billed|debited|deducted|on my card|on my statement",
        "payment|cobr*|cargo|cargaron|abgebucht|abbuchung|belastet|berechnet|debite|preleve*|facture*|paid",
    ),
    "stopped": _any(
        "cancelled|canceled|stopped|after cancell*|terminated|unsubscribed",
        "cancele|cancelado|cancelada|dado de baja|gekundigt|kundigung|storniert|abgesagt|resilie*|annule*",
    ),
    "refund_status": _any(
        "where is my refund|where's my refund|status of my refund|refund status|has my refund|refund arrived",
        "refund yet|refund still|waiting for my refund|promised refund|when will _ refund|refund not arrived",
        "donde esta mi reembolso|mi reembolso no|wo bleibt _ erstattung|wo ist _ erstattung|wann kommt _ erstattung",
        "ou est mon remboursement|ou en est _ remboursement",
    ),
    "outage": _any(
        "outage|service credit|sla|downtime|was down|were down|interrupcion|caida del servicio",
        "ausfall|nicht erreichbar|panne|interruption de service|indisponib*",
    ),
    "down": _any(
        "is it down|is down|not loading|won't load|doesn't load|can't log in|error 50*|not working|doesn't work",
        "no funciona|no carga|funktioniert nicht|geht nicht|ladt nicht|ne marche pas|ne fonctionne pas",
    ),
    "renewal_off": _any(
        "auto-renew*|automatic renewal|auto renew*|stop _ renew*|not renew|don't renew|renovacion automatica",
        "no renovar|nicht verlangern|automatische verlangerung|verlangerung|renouvellement automatique",
        "ne pas renouveler",
    ),
    "cancel": _any(
        "cancel|cancelling|canceling|end my subscription|stop my subscription|close my account|terminate",
        "cancelar|cancelen|cancele|dar de baja|kundigen|kundige|stornieren|abbestellen|resilier|annuler",
    ),
    "undo": _any(
        "reinstate|reactivate|undo|changed my mind|keep my subscription|keep my plan|reactivar|deshacer",
        "reaktivier*|ruckgangig|doch behalten|reactiver|finalement garder|annuler la resiliation",
    ),
    "when_renew": _any(
        "when does _ renew|when will _ renew|renew next|next renewal|next invoice|next payment",
        "when is my next|what do i pay|how much do i pay|cuando se renueva|proxima renovacion|proximo cobro",
        "wann verlangert|nachste abbuchung|nachste rechnung|quand se renouvelle|prochain prelevement",
        "prochaine facture",
    ),
    "plan": _any(
        "upgrade|downgrade|switch _ plan|change _ plan|move _ plan|switch to|bigger plan|smaller plan",
        "cambiar de plan|cambiar _ plan|mejorar mi plan|tarif wechseln|plan wechseln|upgraden|downgraden",
        "changer de formule|changer d'offre|passer a la formule|changer _ plan",
    ),
    "add_seat": _any(
        "add _ seat*|more seats|invite|add _ user*|new user*|anadir|invitar|hinzufugen|einladen|ajouter|inviter",
    ),
    "remove_seat": _any(
        "remove _ seat*|remove _ user*|remove|fewer seats|left the company|has left|eliminar|quitar|entfernen",
        "ausgeschieden|retirer|enlever|a quitte",
    ),
    "email": _any(
        "email|e-mail|mail address|correo|mailadresse|adresse mail|courriel",
    ),
    "phone": _any(
        "phone number|mobile number|new number|telefono|telefonnummer|handynummer|telephone|numero"
    ),
    "payout": _any(
        "payout*|bank account|iban|cuenta bancaria|bankkonto|kontonummer|auszahlung*|compte bancaire"
    ),
    "address": _any("address|moved house|new flat|direccion|anschrift|adresse|umgezogen|demenage"),
    "tax_id": _any("vat|tax id|tax number|nif|cif|ust-id*|umsatzsteuer*|numero de tva|tva"),
    "change": _any(
        "change|update|replace|correct|set _ to|new|cambiar|actualizar|corregir|nuevo|nueva|andern",
        "aktualisieren|neue|neuen|neues|changer|modifier|mettre a jour|nouvelle|nouveau",
        "instead|en lugar de|en vez de|stattdessen|a la place",
    ),
    "sessions": _any(
        "log out everywhere|sign out everywhere|all sessions|end all sessions|log me out|lost my laptop|stolen laptop",
        "cerrar sesion|todas las sesiones|uberall abmelden|alle sitzungen|toutes les sessions|deconnecter",
    ),
    "keys": _any("key|keys|token*|secret|clave*|schlussel|cle|cles"),
    "exposed": _any(
        "leaked|exposed|published|made public|public repo*|on github|posted _ online|lost _ key|compromised",
        "filtrad*|publicad*|expuest*|offentlich*|veroffentlicht|geleakt|publie*|divulgue*|fuite",
    ),
    "key": _any("api key|api-key|api token|clave api|clave de api|api-schlussel|cle api|cle d'api"),
    "sso": _any("sso|single sign-on|single sign on|inicio de sesion unico|authentification unique"),
    "export": _any("audit log|audit-log|registro de auditoria|auditprotokoll|prufprotokoll|journal d'audit"),
    "purge": _any(
        "purge|destroy _ data|wipe|delete all messages|remove all messages|erase all messages",
        "vaciar|vernichten|purger",
    ),
    "document": _any(
        "dpa|data processing agreement|data processing addendum|send me the contract|copy of _ contract|soc 2 report",
        "contrato|acuerdo de tratamiento|auftragsverarbeitung*|avv|vertrag|contrat|accord de traitement",
    ),
    "callback": _any(
        "call me|phone me|ring me|callback|call back|llamame|llamenme|llamada|ruckruf|rufen sie mich",
        "rappeler|rappelez-moi|appelez-moi",
    ),
    "instalments": _any(
        "instalment*|installment*|payment plan|pay in parts|spread the payment|plazos|raten|ratenzahlung",
        "mensualites|plusieurs fois|echelonn*",
    ),
    "where": _any(
        "where is|where's|when will|any news|what happened to|status|track*|arrive*|donde esta|cuando llega",
        "wo ist|wo bleibt|wann kommt|ou est|ou en est|quand arrive",
    ),
    "ticket": _any("ticket|case number|my case|my request|solicitud|anfrage|mon dossier|ma demande"),
    "order": _any(
        "order|parcel|package|delivery|pedido|paquete|bestellung|lieferung|commande|colis|livraison"
    ),
    "now": _any(
        "immediately|right now|at once|straight away|inmediatamente|ahora mismo|sofort|immediatement"
    ),
}
"""What a customer's words are about, by name; several may hold, and the order of rules decides."""
