"""The table of facts: every derived number of the language is there, under a name that no field has."""

from fractions import Fraction

import pytest

from planc.facts import arithmetic
from planc.facts.facts import FACTS
from planc.plan.model import Unknown
from planc.plan.schema import DERIVED, SECTIONS
from tests.facts.given import facts_of

#: Sections of a plan by the path at which they stand.
FIELDS = {
    f"{section}.{field.name}"
    for section in SECTIONS
    for field in SECTIONS[section]
} | {field.name for field in SECTIONS["plan"]}  # fmt: skip


def test_derived_numbers_are_facts_and_no_fields():
    assert set(DERIVED) <= set(FACTS)
    assert not FIELDS & set(FACTS)


@pytest.mark.parametrize("path", FACTS)
def test_every_formula_is_documented(path):
    page = FACTS[path].formula.__doc__ or ""
    assert "Formula:" in page
    assert "Source:" in page
    assert page.isascii()


def test_unknown_spreads_and_names_what_is_missing():
    faulty = Unknown("it is faulty", ("cluster.nodes",))
    derived = facts_of(cluster__gpus_per_node=8, cluster__nodes=faulty)["world.replicas"]
    assert isinstance(derived, Unknown)
    assert (derived.reason, derived.missing) == ("it is faulty", ("cluster.nodes",))
    facts = facts_of(
        stage__parameters=1, stage__expert_parameters=0, shard__size=1, offload__optimizer=faulty
    ).at_stage(0)
    assert isinstance(facts["stage.optimizer"], Unknown)
    assert facts["stage.weights"] == 2


def test_unknown_lists_the_paths_that_lack():
    facts = facts_of(cluster__nodes=1)
    lacking = facts.unknown(("cluster.nodes", "world.size"))
    assert [path for path, _ in lacking] == ["world.size"]


def test_arithmetic_is_exact_and_never_raises():
    assert arithmetic.divide(1, 3) == Fraction(1, 3)
    assert arithmetic.divide(6, 3) == 2
    assert isinstance(arithmetic.divide(6, 3), int)
    assert arithmetic.divide(Fraction(1, 2), Fraction(1, 4)) == 2
    assert arithmetic.divide(1.0, 4) == 0.25
    assert isinstance(arithmetic.divide(1.0, 10**400), Unknown)
    assert isinstance(arithmetic.divide(10**400, 1.5), Unknown)
    assert isinstance(arithmetic.real(10**400), Unknown)
    assert isinstance(arithmetic.divide(1.0, Fraction(1, 10**400)), Unknown)
    assert isinstance(arithmetic.divide(1e300, 1e-300), Unknown)
    assert isinstance(arithmetic.product(1e300, 10**300), Unknown)
    assert isinstance(arithmetic.product(0.5, 10**400), Unknown)
    assert arithmetic.product(Fraction(1, 3), 10**30) == Fraction(10**30, 3)
    assert arithmetic.total(1, Fraction(1, 2)) == Fraction(3, 2)
    for divisor in (0, 0.0, Fraction(0)):
        assert isinstance(arithmetic.divide(1, divisor), Unknown)
        assert arithmetic.whole(5, divisor) == 0
        assert arithmetic.remainder(5, divisor) == 5
    assert (arithmetic.rounded_up(7, 2), arithmetic.rounded_up(8, 2)) == (4, 4)
