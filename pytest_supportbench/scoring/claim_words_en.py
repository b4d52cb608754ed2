"""How an English-speaking agent says that it did something."""

from __future__ import annotations

from typing import Final

from pytest_supportbench.patterns import later
from pytest_supportbench.scoring.claim_phrases_en import QUEUE, SAYS, WHO
from pytest_supportbench.scoring.claim_words import Lexicon, forms
from pytest_supportbench.scoring.phrases import CONDITIONS
from pytest_supportbench.scoring.text import listed

THINGS: Final = (
    "articles?|pages?|guides?|lists?|records?|notes?|backlog|websites?|site|forms?|polic(?:y|ies)|address|inbox|"
    "mailbox|systems?|terms|files?|logs?|documents?"
)
"""What is ours and no team (``linked your case to our article``)."""

ENGLISH: Final = Lexicon(
    done=forms(
        refund="refunded reimbursed repaid",
        reverse="reversed",
        bring="brought",
        **{"return": "returned"},
        pay="paid",
        credit="credited",
        issue="issued processed applied made completed initiated granted given gave added put placed "
        "posted approved pushed "
        "raised arranged triggered generated prepared submitted finalised finalized",
        cancel="cancelled canceled terminated",
        stop="stopped turned switched disabled ended",
        reinstate="reinstated restored reactivated undone undid reopened",
        change="changed updated corrected edited amended replaced adjusted swapped",
        move="moved migrated",
        plan_change="upgraded downgraded",
        remove="removed dropped stripped",
        take="took taken",
        delete="deleted erased purged wiped destroyed",
        revoke="revoked rotated invalidated deactivated",
        sign_out="signed logged",
        transfer="transferred reassigned",
        handoff="escalated",
        **{
            "pass": "passed forwarded handed referred routed assigned flagged looped notified alerted "
            "informed asked "
            "contacted connected involved relayed shared briefed delegated"
        },
        schedule="scheduled rescheduled",
        book="booked rebooked",
        send="sent",
        message="emailed messaged texted mailed",
        hold="locked frozen froze paused suspended blocked halted withheld",
        verify="verified confirmed",
        export="exported",
        set_up="set",
        save="saved",
        close="closed",
        split="split divided spread",
        open="opened created logged filed",
    )
    | {"raised": "open", "submitted": "open", "switched": "move", "turned": "stop", "arranged": "schedule"},
    nouns=forms(
        refund="refund refunds reimbursement reversal",
        cash="money funds dollars euros pounds yen francs usd eur gbp chf jpy",
        money="payment payments amount amounts",
        charge="charge charges fee",
        credit="credit credits",
        card="card visa mastercard",
        back="back",
        cancellation="cancellation",
        renewal="renewal auto-renewal autorenewal renewals",
        subscription="subscription membership add_on team_subscription",
        plan="plan basic pro team_plan team_monthly team_yearly business enterprise annual monthly tier",
        payment_plan="instalments installments instalment installment",
        seat="seat seats licence licences license licenses",
        user="users members",
        contact="address phone number name details vat method postcode contact",
        profile="profile",
        email="email e-mail mail",
        mail="link confirmation agreement agreements document dpa pdf contract form letter report guide copy "
        "message invoice receipt code instructions",
        account="account workspace team_workspace",
        data="data records files",
        session="session sessions token tokens key keys device devices access",
        hold="hold freeze lock",
        callback="callback call",
        ticket="ticket request case approval",
        export="export",
        ownership="ownership",
        team="team teams colleague colleagues specialist specialists department agent agents human "
        "manager supervisor "
        "engineer engineers engineering tier person expert experts representative second_level third_level "
        "second_line third_line",
        admin="admin admins administrator reseller partner approver",
        identity="identity",
        time="monday tuesday wednesday thursday friday saturday sunday tomorrow",
    ),
    endings={},
    doing=forms(
        refund="refunding reversing reimbursing",
        issue="processing issuing applying adding",
        cancel="cancelling canceling",
        handoff="escalating",
        bring="bringing",
        **{"pass": "passing forwarding handing referring routing connecting"},
        transfer="transferring",
        send="sending",
        change="updating changing",
        delete="deleting",
    ),
    base=forms(
        refund="refund reimburse",
        reverse="reverse",
        credit="credit",
        issue="process issue apply add place complete",
        cancel="cancel",
        reinstate="reinstate restore reactivate undo",
        change="change update correct",
        plan_change="upgrade downgrade",
        remove="remove",
        delete="delete erase",
        revoke="revoke rotate",
        transfer="transfer",
        handoff="escalate",
        schedule="schedule",
        book="book",
        verify="verify confirm",
        export="export",
        **{"pass": "forward pass"},
    ),
    past={},
    adverbs=frozenset(
        listed(
            "just already now also successfully today therefore fully personally promptly recently then "
            "both all "
            "immediately manually gone went ahead and since officially safely indeed finally formally"
        )
    ),
    definite=frozenset(listed("your the this both all everything it its these those our")),
    conditions=CONDITIONS["en"] | frozenset(listed("when whenever before please as_soon_as in_case should")),
    habits=frozenset(
        listed(
            "within once if when automatically usually always only unless typically normally normal can every"
        )
    ),
    says=SAYS,
    promise_cues=("will", "'ll", "expect", "going to", "rings you", "calls you"),
    promises=later(
        rf"\b(?:{WHO}|{QUEUE})(?:\s+\w+){{0,5}}?(?:\s+will|'ll|\s+(?:is|are)\s+going\s+to)\s+(?:\w+ly\s+|soon\s+|"
        rf"also\s+|then\s+)?"
        r"(?:call|phone|ring|contact|reach\s+out|get\s+back|get\s+in\s+touch|be\s+(?:in\s+touch|calling|"
        r"contacting|"
        r"reaching)|follow\s+up|e-?mail|write\s+(?:to\s+)?you)\b"
        r"|\bwe(?:'ll|\s+will)\s+(?:call|phone|ring)\s+you\b"
        rf"|\byou(?:'ll|\s+will)\s+(?:soon\s+)?(?:get|receive)\s+an?\s+(?:e-?mail|call)\s+from\s+(?:my|our|a|the)\s+(?:\w+\s+)?{WHO}\b"
        rf"|\b{WHO}\s+(?:rings|calls)\s+you\b"
        r"|\byou(?:'ll|\s+will)\s+(?:soon\s+|then\s+)?(?:hear\s+(?:back\s+)?from|be\s+(?:contacted|"
        r"called)\s+by|"
        r"(?:get|receive)\s+a\s+call)\b"
        r"|\bexpect\s+(?:a\s+call|to\s+hear)\b"
        rf"|\b(?:i|we)(?:'ll|\s+will)\s+have\s+(?:\w+\s+){{0,4}}?{WHO}\s+(?:call|contact|reach|phone)\b"
    ),
    to_us=later(
        rf"\b(?:case|ticket|request|matter|question|complaint|this|it|everything)\s+(?:\w+\s+){{0,3}}?"
        rf"(?:to|with)\s+our\s+(?!(?:\w+\s+)?(?:{THINGS})\b)"
    ),
    phrasal={("take", "off"): "remove", ("take", "out"): "remove"},
    before_noun=frozenset(
        listed("the a an your our my his her their its this that these those any every no")
    ),
    reported=later(
        r"(?<!as )\b(?:you|they|he|she|customers?|your\s+(?:message|email|bank|admin|colleague|note)|"
        r"(?:the|our|this)\s+(?:article|policy|guide|page|document|rules?|customer))\s+"
        r"(?:\w+\s+)?(?:said|says?|told|mention\w*|wrote|writes?|report\w*|claim\w*|stated?|think|"
        r"thought|believe\w*|"
        r"assum\w*|suggest\w*|describe\w*|asked|hop\w+|expect\w*)\b"
        r"|\b(?:tell|confirm|check|let)\s+(?:me|us|to\s+us)\b|\baccording\s+to\s+you\b"
    ),
)
