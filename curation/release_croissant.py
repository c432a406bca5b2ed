"""croissant.json: what machines read of a release (MLCommons Croissant 1.1, with the fields of its RAI vocabulary)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from curation.gate import GateReport
from curation.release_content import CUES, RESPONSES, ReleaseContent
from curation.release_tables import metadata_name
from curation.release_texts import ReleaseTexts, describe
from data_manifests.records import CueKind

CROISSANT_VERSION = "http://mlcommons.org/croissant/1.1"
RAI_VERSION = "http://mlcommons.org/croissant/RAI/1.0"

_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "prov": "http://www.w3.org/ns/prov#",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}


def croissant(content: ReleaseContent, report: GateReport, sums: Mapping[str, str]) -> dict[str, Any]:
    """Return the metadata of a release. `sums` are name -> SHA-256 of the files that it describes."""
    meta, texts = content.meta, describe(content, report)
    about = meta.about
    found: dict[str, Any] = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": [CROISSANT_VERSION, RAI_VERSION],
        "name": about.name,
        "alternateName": texts.title,
        "description": texts.summary,
        "version": meta.version,
        "datePublished": meta.date,
        "license": texts.license_url,
        "citeAs": texts.citation,
        "url": about.url,
        "creator": [{"@type": "sc:Person", "name": name} for name in about.creators],
        "keywords": ["shape bias", "texture bias", "visual cues", *(["simulated"] if meta.simulated else [])],
        "isLiveDataset": False,
        "distribution": [part for kind in content.cues_by_kind for part in _files(kind, sums)]
        + [_file(name, sums) for name in (CUES, RESPONSES)],
        "recordSet": [_record_set(kind) for kind in content.cues_by_kind],
        **_responsible(texts, content),
    }
    return {name: value for name, value in found.items() if value not in ("", [])}


def _responsible(texts: ReleaseTexts, content: ReleaseContent) -> dict[str, Any]:
    return {
        "rai:dataCollection": texts.collection,
        "rai:dataAnnotationProtocol": texts.annotation,
        "rai:dataAnnotationAnalysis": texts.analysis,
        "rai:dataPreprocessingProtocol": [texts.preprocessing],
        "rai:dataLimitations": [texts.limitations],
        "rai:dataBiases": [texts.biases],
        "rai:personalSensitiveInformation": [texts.sensitive],
        "rai:dataUseCases": [texts.uses],
        "rai:dataSocialImpact": texts.impact,
        "rai:dataReleaseMaintenancePlan": texts.maintenance,
        "rai:hasSyntheticData": True,
        "prov:wasGeneratedBy": f"cuebench {content.meta.code}",
        "prov:wasDerivedFrom": sorted(
            {source.origin for source in content.data.sources if source.origin} or {"photographs"}
        ),
    }


def _file(name: str, sums: Mapping[str, str]) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "encodingFormat": "application/jsonlines",
        "sha256": sums[name],
    }


def _files(kind: CueKind, sums: Mapping[str, str]) -> list[dict[str, Any]]:
    pictures = {
        "@type": "cr:FileSet",
        "@id": f"{kind}-pictures",
        "name": f"{kind}-pictures",
        "encodingFormat": "image/png",
        "includes": f"data/{kind}/*/*.png",
    }
    return [_file(metadata_name(kind), sums), pictures]


def _record_set(kind: CueKind) -> dict[str, Any]:
    """Return the records of a kind: each picture with its class and id, both from the name of its file."""

    def field(name: str, data_type: str, extract: str, regex: str | None = None) -> dict[str, Any]:
        source: dict[str, Any] = {
            "fileSet": {"@id": f"{kind}-pictures"},
            "extract": {"fileProperty": extract},
        }
        if regex is not None:
            source["transform"] = {"regex": regex}
        return {
            "@type": "cr:Field",
            "@id": f"{kind}/{name}",
            "name": name,
            "dataType": data_type,
            "source": source,
        }

    return {
        "@type": "cr:RecordSet",
        "@id": kind,
        "name": kind,
        "description": f"The {kind} cues.",
        "field": [
            field("image", "sc:ImageObject", "content"),
            field("label", "sc:Text", "fullpath", rf"data/{kind}/([^/]+)/"),
            field("cue_id", "sc:Text", "filename", r"([0-9a-f]+)\.png$"),
        ],
    }
