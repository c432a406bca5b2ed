from __future__ import annotations

import numpy as np
import pytest

from data_manifests.errors import CuebenchError
from generation.outcome import Unavailable
from generation.peers import burgert, conflict, dist, mohla, tartaglini
from generation.peers.systems import SYSTEMS, PeerPicture, find_system, stimuli_of
from tests.generation.peers.objects import disk_picture, speckled_frame

SHAPE, TEXTURE = PeerPicture(*disk_picture()), PeerPicture(*speckled_frame())


@pytest.mark.parametrize(("system", "n"), [("conflict", 2), ("dist", 5), ("mohla", 3), ("tartaglini", 12)])
def test_a_system_gives_all_of_its_stimuli(system: str, n: int) -> None:
    stimuli = list(stimuli_of(system, SHAPE, TEXTURE, 224, 1))
    assert len({stimulus.name for stimulus in stimuli}) == len(stimuli) == n
    assert len({stimulus.seed for stimulus in stimuli}) == n
    for stimulus in stimuli:
        assert not isinstance(stimulus.image, Unavailable)
        assert stimulus.image.shape == (224, 224, 3)


def test_a_stimulus_of_the_protocol_is_its_suppression_of_the_squashed_photograph() -> None:
    stimuli = stimuli_of("burgert", SHAPE, TEXTURE, 224, 1)
    plain = next(stimuli)
    np.testing.assert_array_equal(plain.image, burgert.squash(SHAPE.image))
    first = next(stimuli)
    assert first.name == "patch_shuffle-grid=2"
    assert first.parameters == {"grid": 2}
    np.testing.assert_array_equal(
        first.image, burgert.PUBLISHED[0].apply(burgert.squash(SHAPE.image), first.seed)
    )
    assert len(list(SYSTEMS["burgert"].jobs(SHAPE, TEXTURE, 224))) == 69


def test_seeds_hang_on_the_photograph_the_run_and_the_texture_where_it_is_used() -> None:
    def seeds(system: str, shape: PeerPicture, texture: PeerPicture, seed: int) -> list[int]:
        return [stimulus.seed for stimulus in stimuli_of(system, shape, texture, 224, seed)]

    other = PeerPicture(*disk_picture(244))
    first = seeds("mohla", SHAPE, TEXTURE, 1)
    assert seeds("mohla", SHAPE, other, 1) == first
    assert set(seeds("mohla", SHAPE, TEXTURE, 2)).isdisjoint(first)
    assert set(seeds("mohla", other, TEXTURE, 1)).isdisjoint(first)
    no_mask = PeerPicture(SHAPE.image, np.zeros_like(SHAPE.mask))  # gives no picture, and takes no time
    mixed = seeds("conflict", no_mask, TEXTURE, 1)
    assert set(seeds("conflict", no_mask, other, 1)).isdisjoint(mixed)


def test_a_texture_without_patches_enough_is_told() -> None:
    tiny = PeerPicture(np.zeros((8, 8, 3), np.uint8), np.ones((8, 8), bool))
    for system in ("tartaglini", "conflict"):
        for stimulus in stimuli_of(system, SHAPE, tiny, 224, 0):
            assert isinstance(stimulus.image, Unavailable)
            assert stimulus.image.status == "grid_unavailable"


def test_every_module_of_a_system_has_its_entry() -> None:
    modules = (burgert, conflict, dist, mohla, tartaglini)
    assert sorted(SYSTEMS) == [module.__name__.rpartition(".")[2] for module in modules]


def test_an_unknown_system_is_refused_with_the_nearest() -> None:
    with pytest.raises(
        CuebenchError, match=r"no such system: mola.*mohla.*there are burgert, conflict, dist"
    ):
        find_system("mola")


def test_a_side_that_grids_do_not_fit_is_refused() -> None:
    with pytest.raises(CuebenchError, match="side_px: expected a multiple of 16, got 230"):
        next(stimuli_of("mohla", SHAPE, TEXTURE, 230, 0))
