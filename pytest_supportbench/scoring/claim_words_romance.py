"""How Spanish- and French-speaking agents say that they did something."""

from __future__ import annotations

from typing import Final

from pytest_supportbench.patterns import later
from pytest_supportbench.scoring.claim_words import AMOUNT, Lexicon, forms, inflected
from pytest_supportbench.scoring.phrases import CONDITIONS
from pytest_supportbench.scoring.text import listed

_WHO_ES: Final = (
    r"(?:especialistas?|alguien|compañer[oa]s?|equipo|agente|persona|colega|asesora?|departamento)"
)
_QUEUE_ES: Final = (
    r"(?:facturación|retención|seguridad|operaciones|disputas|identidad|cumplimiento|privacidad|fraude)"
)
_QUEUE_FR: Final = r"(?:facturation|comptabilité|sécurité|fidélisation|conformité|fraude|juridique)"
_WHO_FR: Final = (
    r"(?:spécialistes?|quelqu'un|collègues?|équipe|conseill(?:er|ère)|agent|service|membre|personne|"
    r"experte?)"
)

SPANISH: Final = Lexicon(
    done=inflected(
        forms(
            refund="reembolsado reintegrado",
            **{"return": "devuelto"},
            credit="abonado acreditado",
            issue="emitido procesado aplicado realizado hecho tramitado añadido agregado efectuado",
            cancel="cancelado anulado",
            stop="desactivado detenido",
            reinstate="restablecido reactivado restaurado",
            change="actualizado cambiado corregido modificado",
            move="movido",
            remove="quitado retirado",
            delete="eliminado borrado suprimido destruido",
            revoke="revocado",
            transfer="transferido",
            handoff="escalado",
            **{"pass": "pasado derivado remitido pedido informado avisado reenviado trasladado solicitado"},
            schedule="programado agendado reprogramado",
            send="enviado mandado",
            hold="bloqueado congelado",
            verify="verificado",
            export="exportado",
            open="abierto creado",
        ),
        ("o", "a", "os", "as"),
    ),
    nouns=forms(
        refund="reembolso reembolsos devolución",
        money="dinero importe pago",
        charge="cargo cobro",
        credit="crédito",
        renewal="renovación",
        subscription="suscripción",
        cancellation="cancelación",
        plan="plan",
        payment_plan="cuotas plazos",
        seat="plazas licencias puestos usuarios",
        contact="dirección teléfono nombre número datos",
        profile="perfil",
        email="correo email",
        mail="confirmación enlace mensaje documento factura contrato acuerdo",
        account="cuenta",
        data="datos",
        session="sesiones sesión clave token",
        callback="llamada",
        ticket="ticket solicitud caso",
        ownership="propiedad titularidad",
        team="equipo compañero compañera especialista colega departamento agente supervisor",
        admin="administrador administradora",
        identity="identidad",
        hold="espera",
    ),
    endings={},
    doing={},
    base=forms(
        refund="reembolsar",
        **{"return": "devolver"},
        issue="emitir procesar aplicar realizar tramitar",
        cancel="cancelar anular",
        change="actualizar cambiar",
        handoff="escalar",
        send="enviar",
        delete="eliminar borrar",
    ),
    past=forms(
        refund="reembolsé reembolsamos",
        **{"return": "devolví devolvimos"},
        issue="emití procesé apliqué emitimos procesamos",
        cancel="cancelé anulé",
        change="actualicé cambié actualizamos",
        handoff="escalé",
        send="envié",
        **{"pass": "derivo remito transfiero traslado"},
        delete="eliminé borré",
    ),
    adverbs=frozenset(listed("ya también ahora hoy acaba correctamente debidamente sido")),
    definite=frozenset(listed("su el la tu los las sus este esta ambos ambas todo")),
    conditions=CONDITIONS["es"] | frozenset(listed("antes una_vez")),
    habits=frozenset(listed("plazo cuando si siempre normalmente automáticamente solo sólo una")),
    says=(
        (
            "de baja",
            later(r"\b(?:te|le|os|les)\s+(?:he|hemos)\s+dado\s+de\s+baja\b"),
            "cancellation",
        ),
        (
            " a ",
            later(
                r"\b(?:he|hemos)\s+(?:pasado|remitido|trasladado|enviado|derivado)\s+(?:su|tu|el|la)\s+\w+\s+a\s+"
                rf"(?:la\s+)?{_QUEUE_ES}\b(?=\s*(?:\Z|[.,;:!)]|y\b|para\b))"
            ),
            "handoff",
        ),
        (
            " tiene ",
            later(
                rf"\b{_QUEUE_ES}\s+(?:ya\s+)?tiene\s+(?:ya\s+)?(?:su|tu|el)\s+(?:caso|solicitud|expediente)\b"
            ),
            "handoff",
        ),
        (
            " vuelto",
            later(rf"{AMOUNT}\s+(?:ya\s+)?han?\s+vuelto\s+a\s+(?:su|tu)\s+(?:tarjeta|cuenta)\b"),
            "refund",
        ),
        (
            " plan",
            later(r"\b(?:ahora|ya)\s+(?:tiene|tienes|está\s+en)\s+(?:el|su|tu)\s+plan\b"),
            "plan_change",
        ),
        (
            "manos de",
            later(
                rf"\b(?:está|queda)\s+(?:ahora\s+|ya\s+)?en\s+manos\s+de(?:l|\s+nuestr[oa]s?|\s+la)\s+(?:\w+\s+)?{_WHO_ES}\b"
            ),
            "handoff",
        ),
        (
            "vuelta",
            later(
                r"\b(?:dinero|importe|pago)\s+(?:ya\s+)?está\s+(?:ya\s+)?de\s+vuelta\s+(?:en\s+(?:su|tu)\s+(?:cuenta|tarjeta)\b|donde\b)"
            ),
            "refund",
        ),
        (
            "he a",
            later(
                rf"\bhe\s+(?:añadido|agregado)\s+{AMOUNT}(?=\s*(?:[.,;!]|$|a\s+(?:su|tu)\s+(?:cuenta|saldo)\b))"
            ),
            "credit",
        ),
        (
            "reembolso",
            later(r"\breembolso\s+(?:\S+\s+){0,4}?está\s+(?:ya\s+)?en\s+(?:camino|proceso|curso)\b"),
            "refund",
        ),
    ),
    promise_cues=("ará", "drá", "irá", "erá"),
    promises=later(
        rf"\b{_WHO_ES}\b(?:\s+\w+){{0,5}}?\s+(?:llamará|contactará|pondrá|comunicará|escribirá|"
        rf"responderá|llamarán|"
        r"contactarán|pondrán)\b"
        rf"|\b(?:llamará|contactará|escribirá|responderá)\s+(?:\w+\s+){{0,2}}?{_WHO_ES}\b"
    ),
    reported=later(
        r"\b(?:usted|ustedes|tú)?\s*(?:dijo|dice|dijiste|mencionó|mencionaste|escribió|escribiste|"
        r"comentó|comentas|indica|"
        r"indicó|cree|crees|afirma|según\s+usted)\b"
    ),
    to_us=later(
        r"\b(?:caso|solicitud|consulta|ticket|asunto|queja|lo|todo)\s+(?:\w+\s+){0,3}?"
        r"a\s+nuestr[oa]s?\s+(?!(?:\w+\s+)?(?:lista|página|guía|política|sistema|sitio|buzón|condiciones)\b)"
    ),
)

FRENCH: Final = Lexicon(
    done=inflected(
        forms(
            refund="remboursé recrédité reversé",
            credit="crédité",
            issue="effectué émis appliqué traité ajouté accordé déclenché initié lancé",
            cancel="résilié annulé",
            stop="désactivé arrêté",
            reinstate="rétabli réactivé restauré",
            change="modifié changé corrigé mis actualisé",
            remove="retiré",
            delete="supprimé effacé détruit",
            revoke="révoqué",
            transfer="transféré",
            handoff="escaladé",
            **{"pass": "transmis confié demandé informé alerté contacté passé signalé fait"},
            schedule="programmé planifié",
            send="envoyé adressé",
            hold="bloqué suspendu gelé",
            verify="vérifié",
            export="exporté",
            open="ouvert créé",
        ),
        ("", "e", "s", "es"),
    ),
    nouns=forms(
        refund="remboursement",
        money="argent montant paiement somme",
        charge="prélèvement",
        credit="crédit avoir",
        renewal="renouvellement",
        subscription="abonnement",
        plan="forfait formule offre",
        payment_plan="échéancier mensualités",
        seat="licences sièges licence",
        user="utilisateurs membres",
        contact="adresse numéro téléphone nom coordonnées l'adresse",
        profile="profil",
        email="e-mail email mail courriel",
        mail="confirmation lien message document facture contrat accord l'accord",
        account="compte",
        data="données",
        session="sessions session clé jeton",
        callback="rappel",
        ticket="ticket demande dossier",
        ownership="propriété",
        team="équipe collègue service spécialiste conseiller responsable département",
        admin="administrateur",
        identity="identité",
        hold="attente",
    ),
    endings={},
    doing={},
    base=forms(
        refund="rembourser recréditer",
        issue="effectuer émettre appliquer",
        cancel="annuler résilier",
        change="modifier changer",
        **{"pass": "transmettre confier"},
        transfer="transférer",
        send="envoyer",
        delete="supprimer",
    ),
    past=forms(**{"pass": "transmets confie transfère"}),
    adverbs=frozenset(listed("déjà bien aussi donc également immédiatement été aujourd'hui maintenant")),
    definite=frozenset(listed("votre le la vos les ce cette l'abonnement")),
    conditions=CONDITIONS["fr"] | frozenset(listed("avant afin")),
    habits=frozenset(listed("sous si lorsque toujours normalement automatiquement uniquement dès")),
    says=(
        (
            " à ",
            later(
                r"\b(?:j'ai|avons)\s+(?:transmis|confié|envoyé|passé)\s+(?:votre|ton|le|la)\s+\w+\s+à\s+(?:la\s+)?"
                rf"{_QUEUE_FR}\b(?=\s*(?:\Z|[.,;:!)]|et\b|pour\b))"
            ),
            "handoff",
        ),
        (
            " a ",
            later(rf"\b{_QUEUE_FR}\s+a\s+(?:maintenant\s+|déjà\s+)?(?:votre|ton|le)\s+(?:dossier|demande)\b"),
            "handoff",
        ),
        (
            " sur votre",
            later(
                rf"{AMOUNT}\s+(?:(?:sont|est|ont|a|été)\s+){{1,2}}(?:retournée?s?|repartie?s?|remise?s?)\s+sur\s+votre\s+(?:carte|compte)\b"
            ),
            "refund",
        ),
        (
            "mains",
            later(
                r"\bentre\s+les\s+mains\s+(?:de\s+|du\s+|d')(?:notre\s+|nos\s+)?(?:équipe|service|"
                r"spécialiste)"
            ),
            "handoff",
        ),
        (
            "retour",
            later(
                r"\b(?:argent|l'argent|montant|somme|paiement)\s+est\s+(?:maintenant\s+|déjà\s+)?de\s+retour\s+"
                r"(?:sur\s+(?:votre|ta)\s+(?:compte|carte)\b|où\b|là\b)"
            ),
            "refund",
        ),
        (
            "ai ajouté",
            later(rf"\bai\s+ajouté\s+{AMOUNT}(?=\s*(?:[.,;!]|$|(?:à|sur)\s+votre\s+(?:compte|solde)\b))"),
            "credit",
        ),
        (
            "remboursement",
            later(
                r"\bremboursement\s+(?:\S+\s+){0,4}?est\s+(?:déjà\s+)?en\s+(?:cours|route|"
                r"chemin)\b"
            ),
            "refund",
        ),
    ),
    promise_cues=("era", "dra", "serez", "erons"),
    promises=later(
        r"\bnous\s+vous\s+(?:rappellerons|appellerons|recontacterons|contacterons)\b|"
        rf"\b{_WHO_FR}\b(?:\s+\w+){{0,5}}?\s+(?:rappellera|appellera|contactera|recontactera|"
        rf"prendra\s+contact|"
        r"reviendra|répondra|téléphonera)\b"
        rf"|\bserez\s+(?:rappelé|recontacté|contacté)e?\s+par\b"
    ),
    reported=later(
        r"\bvous\s+(?:avez\s+|nous\s+avez\s+)?(?:dit|dites|mentionné|écrit|écrivez|indiqué|indiquez|"
        r"pensez|affirmez)\b"
        r"|\bselon\s+vous\b|\bsouhaitez\b"
    ),
    to_us=later(
        r"\b(?:dossier|demande|ticket|question|affaire|plainte|tout|cela)\s+(?:\w+\s+){0,3}?"
        r"à\s+(?:notre|nos)\s+(?!(?:\w+\s+)?(?:listes?|page|guide|politique|système|site|conditions)\b)"
    ),
)
