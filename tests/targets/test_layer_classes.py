"""The class of the repeated layer, by which FSDP2 cuts a model."""

from __future__ import annotations

import re

from planc import resources
from planc.plan.families import LAYER_CLASSES


def test_every_family_of_the_catalogue_has_its_class() -> None:
    families = set(re.findall(r'^ *family *= *"([^"]+)"', resources.read_text("catalogue/models.plan"), re.M))
    assert families
    assert families <= set(LAYER_CLASSES)
