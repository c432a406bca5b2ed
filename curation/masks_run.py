"""The masks of a manifest's photographs, chosen with a classifier: each is judged once, kept, and written as a pick."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from functools import cache, partial

from pydantic import BaseModel, ConfigDict, ValidationError

from curation.class_aware_cues import ClassJudge
from curation.class_aware_masks import RULE_VERSION, choose_class_mask
from curation.mask_candidates import read_photograph
from data_manifests import storage
from data_manifests.errors import CuebenchError
from data_manifests.jsonl import canonical_json, canonical_sha256, write_records
from data_manifests.records import OK, MaskRecord, SourceRecord
from evaluation.models import Model, ModelSpec, Runtime, load_model
from generation.executors import Executor, WorkerDied
from generation.masks import mask_file_name, store_mask
from generation.outcome import Unavailable
from generation.recipe import Recipe
from generation.run_shards import list_mask_files
from generation.source_cues import load_segmenters, preview_cues

log = logging.getLogger(__name__)

MANIFEST = "masks.jsonl"
JUDGED = "judged"

Show = Callable[[int, int], None]


@dataclass(frozen=True)
class MaskJob:
    """What the photographs of a call have in common.

    Attributes
    ----------
    out : the folder of the picks
    photos : the base of the sources' file names
    identity : a hash of all that a choice rests on but the photograph; None: nobody can tell, nothing is kept
    """

    out: str
    photos: str
    recipe: Recipe
    spec: ModelSpec
    runtime: Runtime
    identity: str | None = None


class JudgedSource(BaseModel):
    """What was found for a photograph in one superclass. `plain_sha256` is of the mask chosen without a classifier.

    `problem` says why there is no pick; where there is one, `record` holds it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    file_name: str
    superclass: str
    record: MaskRecord | None = None
    plain_sha256: str | None = None
    evidence: float = 0.0
    problem: str = ""

    @property
    def differs(self) -> bool:
        """Whether the class made a difference."""
        return self.record is not None and self.record.mask_sha256 != self.plain_sha256


@dataclass(frozen=True)
class MaskRun:
    """What was judged, in the order of the manifest, and how many photographs were judged before."""

    judged: tuple[tuple[SourceRecord, JudgedSource], ...]
    n_kept: int


def choose_masks(
    job: MaskJob, sources: Sequence[SourceRecord], executor: Executor, *, force: bool, show: Show
) -> MaskRun:
    """Choose the mask of every usable photograph and write them as `masks.jsonl`; a stopped run goes on.

    Raises
    ------
    CuebenchError
        If the folder holds other picks, the model does not know a class or can't be had, or a segmenter is not there.
    """
    usable = sorted((s for s in sources if s.status == OK), key=lambda s: s.sort_key)
    if not usable:
        raise CuebenchError("no usable photograph in the manifest; `ingest` says why")
    show(0, len(usable))
    load_segmenters(job.recipe.mask)
    model = _model(job.spec, job.runtime)
    _check_classes(model, usable)
    job = _identified(job, model)
    with storage.sole_writer(job.out):
        _claim(job, force=force)
        kept = {s.use_key: found for s in usable if (found := _read_kept(job, s)) is not None}
        missing = [source for source in usable if source.use_key not in kept]
        done = dict(kept)
        show(len(done), len(usable))
        for source, result in executor.run(partial(judge_source, job), missing):
            if isinstance(result, WorkerDied):
                result = _failed(source, "the process that judged it died; out of memory?")
            _keep(job, source, result)
            done[source.use_key] = result
            show(len(done), len(usable))
        judged = tuple((source, done[source.use_key]) for source in usable)
        write_records(storage.join(job.out, MANIFEST), _picks(judged))
    return MaskRun(judged, len(kept))


def judge_source(job: MaskJob, source: SourceRecord) -> JudgedSource:
    """Return what was chosen for one photograph, its masks stored."""
    url = storage.join(job.photos, source.file_name)
    photograph = read_photograph(url, source.source_id)
    if isinstance(photograph, Unavailable):
        return _failed(source, photograph.detail.removeprefix(f"{url}: "))
    model = _model(job.spec, job.runtime)
    judge = ClassJudge(model, tuple(model.labels.columns(source.wnids)))
    try:
        found = choose_class_mask(
            judge,
            load_segmenters(job.recipe.mask),
            photograph,
            source.cue_kind,
            partial(preview_cues, job.recipe, source),
        )
    except CuebenchError as error:
        return _failed(source, str(error))
    if isinstance(found, Unavailable):
        record = _record(source, None, ", ".join(job.recipe.mask.segmenters), found.detail)
        return JudgedSource(file_name=source.file_name, superclass=source.superclass, record=record)
    choice = found.choice
    record = _record(source, store_mask(job.out, choice.mask), choice.segmenter, choice.reason).model_copy(
        update={"candidates": choice.scores, "flags": choice.flags}
    )
    plain = None if found.plain is None else store_mask(job.out, found.plain)
    return JudgedSource(
        file_name=source.file_name,
        superclass=source.superclass,
        record=record,
        plain_sha256=plain,
        evidence=found.evidence,
    )


def _failed(source: SourceRecord, problem: str) -> JudgedSource:
    return JudgedSource(file_name=source.file_name, superclass=source.superclass, problem=problem)


def _record(source: SourceRecord, digest: str | None, segmenter: str, reason: str) -> MaskRecord:
    return MaskRecord(
        source_id=source.source_id,
        cue_kind=source.cue_kind,
        mask_sha256=digest,
        file_name=digest and mask_file_name(digest),
        segmenter=segmenter,
        reason=reason,
    )


@cache
def _model(spec: ModelSpec, runtime: Runtime) -> Model:
    """Return the model; a process loads it once."""
    # Some libraries print that they loaded weights, where results belong.
    with redirect_stdout(sys.stderr):
        return load_model(spec, runtime)


def _check_classes(model: Model, sources: Iterable[SourceRecord]) -> None:
    unknown = sorted({s.superclass for s in sources if not model.labels.columns(s.wnids)})
    if unknown:
        raise CuebenchError(
            f"{model.name}: none of its {len(model.labels)} labels is of {', '.join(unknown)} (by the wnids of the "
            "manifest); take a model that knows the classes, or leave them out"
        )


def _identified(job: MaskJob, model: Model) -> MaskJob:
    if model.fingerprint is None:
        log.warning("%s: has no fingerprint, so nothing that it judges is kept", model.name)
        return job
    recipe = job.recipe
    files = list_mask_files(recipe.mask.segmenters)
    drawn = [recipe.params_sha256("shape"), recipe.params_sha256("texture"), list(recipe.grids)]
    parts = [RULE_VERSION, model.fingerprint, recipe.mask.model_dump(mode="json"), drawn, files]
    return replace(job, identity=canonical_sha256(parts))


def _claim(job: MaskJob, *, force: bool) -> None:
    """Say whose folder this is; refuse one that holds what another call chose, or people."""
    url = storage.join(job.out, f"{JUDGED}/job.json")
    own = f"{canonical_json({'job': job.identity})}\n".encode()
    if storage.exists(url):
        is_foreign = storage.read_bytes(url) != own
    else:
        is_foreign = storage.exists(storage.join(job.out, MANIFEST))
    if is_foreign and not force:
        raise CuebenchError(
            f"{job.out}: holds masks chosen by another model, recipe, person or version; name another folder "
            "or add --force"
        )
    storage.write_bytes(url, own)


def _kept_url(job: MaskJob, source: SourceRecord) -> str:
    name = canonical_sha256([job.identity, *source.use_key, source.wnids])
    return storage.join(job.out, f"{JUDGED}/{name}.json")


def _read_kept(job: MaskJob, source: SourceRecord) -> JudgedSource | None:
    """Return what was found for a photograph before, if its mask is still there."""
    if job.identity is None or not storage.exists(url := _kept_url(job, source)):
        return None
    try:
        kept = JudgedSource.model_validate_json(storage.read_bytes(url))
    except ValidationError:
        log.warning("%s: damaged; the photograph is judged again", url)
        return None
    names = [kept.record.file_name] if kept.record else []
    return kept if all(storage.exists(storage.join(job.out, name)) for name in names if name) else None


def _keep(job: MaskJob, source: SourceRecord, judged: JudgedSource) -> None:
    # A problem may be gone the next time: a photograph comes back, memory is there.
    if job.identity is not None and not judged.problem:
        storage.write_bytes(_kept_url(job, source), f"{judged.model_dump_json()}\n".encode())


def _picks(judged: Iterable[tuple[SourceRecord, JudgedSource]]) -> list[MaskRecord]:
    """Return a row for each photograph and kind: of one in several classes the mask with the most evidence."""
    best: dict[tuple[str, str], JudgedSource] = {}
    for source, found in judged:
        key = (source.source_id, source.cue_kind)
        if found.record is not None and (key not in best or found.evidence > best[key].evidence):
            best[key] = found
    return [found.record for found in best.values() if found.record is not None]
