"""The first schema.

Revision 0001, after .
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# table -> the condition, in terms of OLD and NEW, under which a change is allowed all the same
WITHDRAWN = "EXISTS (SELECT 1 FROM withdrawal WHERE withdrawal.rater_id = OLD.rater_id)"
KEPT = (
    "id",
    "event_id",
    "assignment_id",
    "rater_id",
    "session_id",
    "seq",
    "kind",
    "server_utc",
    "supersedes_id",
)
BLANKED = ("confidence", "rt_ms", "load_ms", "client_utc")
REDACTED = " AND ".join(
    [
        WITHDRAWN,
        "NEW.answer IS NULL AND NEW.note = '' AND NEW.flags IN ('', OLD.flags)",
        *(f"(NEW.{name} = OLD.{name} OR NEW.{name} IS NULL AND OLD.{name} IS NULL)" for name in KEPT),
        *(f"(NEW.{name} IS NULL OR NEW.{name} = OLD.{name})" for name in BLANKED),
    ]
)
OF_WITHDRAWN = (
    "EXISTS (SELECT 1 FROM event JOIN withdrawal ON withdrawal.rater_id = event.rater_id "
    "WHERE event.id = OLD.event_pk)"
)
APPEND_ONLY = {
    ("event", "UPDATE"): REDACTED,
    ("event", "DELETE"): "FALSE",
    ("event_reason", "UPDATE"): "FALSE",
    ("event_reason", "DELETE"): OF_WITHDRAWN,
    ("adjudication", "UPDATE"): "FALSE",
    ("adjudication", "DELETE"): "FALSE",
    ("consent", "UPDATE"): "FALSE",
    ("consent", "DELETE"): "FALSE",
    ("snapshot", "UPDATE"): "FALSE",
    ("snapshot", "DELETE"): "FALSE",
}


def make_append_only(table: str, act: str, allowed: str) -> None:
    """Have the database itself refuse an UPDATE or DELETE of a table, unless the condition holds."""
    name = f"{table}_no_{act.lower()}"
    message = f"rows of {table} are never changed or deleted"
    allowed = f"COALESCE(({allowed}), FALSE)"  # a comparison with NULL allows nothing
    if op.get_bind().dialect.name == "sqlite":
        op.execute(
            f"CREATE TRIGGER {name} BEFORE {act} ON {table} WHEN NOT {allowed} "
            f"BEGIN SELECT RAISE(ABORT, '{message}'); END"
        )
        return
    row = "NEW" if act == "UPDATE" else "OLD"
    op.execute(
        f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"IF NOT {allowed} THEN RAISE EXCEPTION '{message}'; END IF; RETURN {row}; END $$"
    )
    op.execute(f"CREATE TRIGGER {name} BEFORE {act} ON {table} FOR EACH ROW EXECUTE FUNCTION {name}()")


def upgrade() -> None:
    """Make every table, and have the database guard those that are only added to."""
    op.create_table(
        "campaign",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("slug", sa.String(length=80), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("protocol_json", sa.Text(), nullable=False),
        sa.Column("protocol_sha256", sa.String(length=64), nullable=False),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("created_at", sa.String(length=24), nullable=False),
        sa.CheckConstraint("kind IN ('review', 'study', 'mask')", name=op.f("ck_campaign_kind_known")),
        sa.CheckConstraint(
            "state IN ('draft', 'open', 'frozen', 'closed')", name=op.f("ck_campaign_state_known")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_campaign")),
        sa.UniqueConstraint("slug", name=op.f("uq_campaign_slug")),
    )
    op.create_table(
        "item",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("public_id", sa.String(length=32), nullable=False),
        sa.Column("cue_kind", sa.String(length=16), nullable=False),
        sa.Column("superclass", sa.String(length=80), nullable=False),
        sa.Column("grid", sa.Integer(), nullable=True),
        sa.Column("cue_id", sa.String(length=64), nullable=True),
        sa.Column("lineage", sa.String(length=64), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("pixel_sha256", sa.String(length=64), nullable=True),
        sa.Column("file_url", sa.Text(), nullable=False),
        sa.Column("source_url", sa.Text(), nullable=True),
        sa.Column("width", sa.Integer(), nullable=True),
        sa.Column("height", sa.Integer(), nullable=True),
        sa.Column("meta_json", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_item")),
        sa.UniqueConstraint("cue_kind", "sha256", name=op.f("uq_item_cue_kind_sha256")),
        sa.UniqueConstraint("public_id", name=op.f("uq_item_public_id")),
    )
    op.create_index(op.f("ix_item_lineage"), "item", ["lineage"], unique=False)
    op.create_table(
        "campaign_item",
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("expected_answer", sa.String(length=80), nullable=True),
        sa.Column("retired_at", sa.String(length=24), nullable=True),
        sa.CheckConstraint(
            "role IN ('main', 'practice', 'catch', 'repeat', 'known_bad')",
            name=op.f("ck_campaign_item_role_known"),
        ),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name=op.f("fk_campaign_item_campaign_id")),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_campaign_item_item_id")),
        sa.PrimaryKeyConstraint("campaign_id", "item_id", "role", name=op.f("pk_campaign_item")),
    )
    op.create_index(op.f("ix_campaign_item_item_id"), "campaign_item", ["item_id"], unique=False)
    op.create_table(
        "mask_candidate",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("public_id", sa.String(length=32), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("mask_sha256", sa.String(length=64), nullable=False),
        sa.Column("segmenter", sa.String(length=200), nullable=False),
        sa.Column("file_url", sa.Text(), nullable=False),
        sa.Column("scores_json", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_mask_candidate_item_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mask_candidate")),
        sa.UniqueConstraint("item_id", "mask_sha256", name=op.f("uq_mask_candidate_item_id_mask_sha256")),
        sa.UniqueConstraint("item_id", "position", name=op.f("uq_mask_candidate_item_id_position")),
        sa.UniqueConstraint("public_id", name=op.f("uq_mask_candidate_public_id")),
    )
    op.create_table(
        "rater",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("public_code", sa.String(length=16), nullable=False),
        sa.Column("auth_subject", sa.String(length=200), nullable=True),
        sa.Column("token_sha256", sa.String(length=64), nullable=True),
        sa.Column("campaign_id", sa.Integer(), nullable=True),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("created_at", sa.String(length=24), nullable=False),
        sa.Column("finished_at", sa.String(length=24), nullable=True),
        sa.Column("completion_code", sa.String(length=16), nullable=True),
        sa.CheckConstraint(
            "role IN ('reviewer', 'adjudicator', 'participant', 'admin')", name=op.f("ck_rater_role_known")
        ),
        sa.CheckConstraint(
            "state IN ('new', 'started', 'finished', 'expired', 'withdrawn')",
            name=op.f("ck_rater_state_known"),
        ),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name=op.f("fk_rater_campaign_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rater")),
        sa.UniqueConstraint("auth_subject", name=op.f("uq_rater_auth_subject")),
        sa.UniqueConstraint("public_code", name=op.f("uq_rater_public_code")),
        sa.UniqueConstraint("token_sha256", name=op.f("uq_rater_token_sha256")),
    )
    op.create_index(op.f("ix_rater_campaign_id"), "rater", ["campaign_id"], unique=False)
    op.create_table(
        "snapshot",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.Column("taken_at", sa.String(length=24), nullable=False),
        sa.Column("last_event_pk", sa.Integer(), nullable=False),
        sa.Column("table_sha256", sa.String(length=64), nullable=False),
        sa.Column("n_rows", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name=op.f("fk_snapshot_campaign_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_snapshot")),
    )
    op.create_table(
        "adjudication",
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("decided_by", sa.Integer(), nullable=False),
        sa.Column("answer", sa.String(length=16), nullable=False),
        sa.Column("rationale", sa.Text(), nullable=False),
        sa.Column("votes_sha256", sa.String(length=64), nullable=False),
        sa.Column("decided_at", sa.String(length=24), nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name=op.f("fk_adjudication_campaign_id")),
        sa.ForeignKeyConstraint(["decided_by"], ["rater.id"], name=op.f("fk_adjudication_decided_by")),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_adjudication_item_id")),
        sa.PrimaryKeyConstraint("campaign_id", "item_id", "round", name=op.f("pk_adjudication")),
    )
    op.create_table(
        "assignment",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("public_id", sa.String(length=32), nullable=False),
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.Column("rater_id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("block", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("presentation", sa.Integer(), nullable=False),
        sa.Column("choices_json", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "role IN ('main', 'practice', 'catch', 'repeat', 'known_bad')",
            name=op.f("ck_assignment_role_known"),
        ),
        sa.CheckConstraint("presentation >= 1", name=op.f("ck_assignment_presentation_positive")),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name=op.f("fk_assignment_campaign_id")),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_assignment_item_id")),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name=op.f("fk_assignment_rater_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_assignment")),
        sa.UniqueConstraint(
            "campaign_id",
            "rater_id",
            "item_id",
            "role",
            "presentation",
            name=op.f("uq_assignment_campaign_id_rater_id_item_id_role_presentation"),
        ),
        sa.UniqueConstraint(
            "campaign_id", "rater_id", "position", name=op.f("uq_assignment_campaign_id_rater_id_position")
        ),
        sa.UniqueConstraint("public_id", name=op.f("uq_assignment_public_id")),
    )
    op.create_index(op.f("ix_assignment_item_id"), "assignment", ["item_id"], unique=False)
    op.create_index(op.f("ix_assignment_rater_id"), "assignment", ["rater_id"], unique=False)
    op.create_table(
        "client_session",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("rater_id", sa.Integer(), nullable=False),
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.Column("opened_at", sa.String(length=24), nullable=False),
        sa.Column("closed_reason", sa.String(length=40), nullable=True),
        sa.Column("user_agent", sa.String(length=400), nullable=False),
        sa.Column("viewport", sa.String(length=40), nullable=False),
        sa.Column("device_pixel_ratio", sa.String(length=16), nullable=False),
        sa.Column("frame_ms", sa.Integer(), nullable=True),
        sa.Column("app_version", sa.String(length=40), nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name=op.f("fk_client_session_campaign_id")),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name=op.f("fk_client_session_rater_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_client_session")),
    )
    op.create_table(
        "consent",
        sa.Column("rater_id", sa.Integer(), nullable=False),
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.Column("text_sha256", sa.String(length=64), nullable=False),
        sa.Column("accepted_at", sa.String(length=24), nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name=op.f("fk_consent_campaign_id")),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name=op.f("fk_consent_rater_id")),
        sa.PrimaryKeyConstraint("rater_id", "campaign_id", "text_sha256", name=op.f("pk_consent")),
    )
    op.create_table(
        "qc_flag",
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.Column("rater_id", sa.Integer(), nullable=False),
        sa.Column("rule", sa.String(length=40), nullable=False),
        sa.Column("value", sa.String(length=80), nullable=False),
        sa.Column("threshold", sa.String(length=80), nullable=False),
        sa.Column("rules_sha256", sa.String(length=64), nullable=False),
        sa.Column("flagged_at", sa.String(length=24), nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name=op.f("fk_qc_flag_campaign_id")),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name=op.f("fk_qc_flag_rater_id")),
        sa.PrimaryKeyConstraint("campaign_id", "rater_id", "rule", name=op.f("pk_qc_flag")),
    )
    op.create_table(
        "slot",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.Column("design_row", sa.Integer(), nullable=False),
        sa.Column("rater_id", sa.Integer(), nullable=True),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("lease_until", sa.String(length=24), nullable=True),
        sa.Column("design_json", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "state IN ('open', 'claimed', 'finished', 'expired')", name=op.f("ck_slot_state_known")
        ),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name=op.f("fk_slot_campaign_id")),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name=op.f("fk_slot_rater_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_slot")),
        sa.UniqueConstraint("campaign_id", "design_row", name=op.f("uq_slot_campaign_id_design_row")),
    )
    op.create_index(
        "uq_slot_rater",
        "slot",
        ["campaign_id", "rater_id"],
        unique=True,
        sqlite_where=sa.text("rater_id IS NOT NULL"),
        postgresql_where=sa.text("rater_id IS NOT NULL"),
    )
    op.create_table(
        "withdrawal",
        sa.Column("rater_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("withdrawn_at", sa.String(length=24), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("n_redacted", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name=op.f("fk_withdrawal_rater_id")),
        sa.PrimaryKeyConstraint("rater_id", name=op.f("pk_withdrawal")),
    )
    op.create_table(
        "event",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("event_id", sa.String(length=36), nullable=False),
        sa.Column("assignment_id", sa.Integer(), nullable=False),
        sa.Column("rater_id", sa.Integer(), nullable=False),
        sa.Column("session_id", sa.String(length=36), nullable=True),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("answer", sa.String(length=80), nullable=True),
        sa.Column("confidence", sa.Integer(), nullable=True),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("rt_ms", sa.Integer(), nullable=True),
        sa.Column("load_ms", sa.Integer(), nullable=True),
        sa.Column("client_utc", sa.String(length=24), nullable=True),
        sa.Column("server_utc", sa.String(length=24), nullable=False),
        sa.Column("flags", sa.String(length=200), nullable=False),
        sa.Column("supersedes_id", sa.Integer(), nullable=True),
        sa.CheckConstraint("kind = 'answer' OR answer IS NULL", name=op.f("ck_event_answer_only_of_answers")),
        sa.CheckConstraint(
            "kind IN ('shown', 'answer', 'undo', 'later', 'timeout', 'interrupted')",
            name=op.f("ck_event_kind_known"),
        ),
        sa.CheckConstraint("rt_ms IS NULL OR rt_ms >= 0", name=op.f("ck_event_rt_ms_positive")),
        sa.ForeignKeyConstraint(["assignment_id"], ["assignment.id"], name=op.f("fk_event_assignment_id")),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name=op.f("fk_event_rater_id")),
        sa.ForeignKeyConstraint(["session_id"], ["client_session.id"], name=op.f("fk_event_session_id")),
        sa.ForeignKeyConstraint(["supersedes_id"], ["event.id"], name=op.f("fk_event_supersedes_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event")),
        sa.UniqueConstraint("assignment_id", "seq", name=op.f("uq_event_assignment_id_seq")),
        sa.UniqueConstraint("event_id", name=op.f("uq_event_event_id")),
    )
    op.create_index(op.f("ix_event_rater_id"), "event", ["rater_id"], unique=False)
    op.create_table(
        "current_answer",
        sa.Column("assignment_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("event_pk", sa.Integer(), nullable=False),
        sa.Column("answer", sa.String(length=80), nullable=False),
        sa.Column("decided_at", sa.String(length=24), nullable=False),
        sa.ForeignKeyConstraint(
            ["assignment_id"], ["assignment.id"], name=op.f("fk_current_answer_assignment_id")
        ),
        sa.ForeignKeyConstraint(["event_pk"], ["event.id"], name=op.f("fk_current_answer_event_pk")),
        sa.PrimaryKeyConstraint("assignment_id", name=op.f("pk_current_answer")),
        sa.UniqueConstraint("event_pk", name=op.f("uq_current_answer_event_pk")),
    )
    op.create_index(op.f("ix_current_answer_answer"), "current_answer", ["answer"], unique=False)
    op.create_table(
        "event_reason",
        sa.Column("event_pk", sa.Integer(), nullable=False),
        sa.Column("reason", sa.String(length=40), nullable=False),
        sa.ForeignKeyConstraint(["event_pk"], ["event.id"], name=op.f("fk_event_reason_event_pk")),
        sa.PrimaryKeyConstraint("event_pk", "reason", name=op.f("pk_event_reason")),
    )
    for (table, act), allowed in APPEND_ONLY.items():
        make_append_only(table, act, allowed)
