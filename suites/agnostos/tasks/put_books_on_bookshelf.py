"""Put one to three books on the top board of a bookshelf."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_vla.kit.hand import down
from pytest_vla.kit.keyframes import Keyframe, Look, carry
from pytest_vla.kit.predicates import NoneHeld, all_in, all_of
from pytest_vla.kit.solids import Pieces, box, moved, shown
from pytest_vla.kit.things import Thing, Zone, loose
from pytest_vla.sim.pose import Vector, at

from ..protocol import Draw, Instance, task

WOOD: Vector = (0.55, 0.36, 0.20)
PAGES: Vector = (0.95, 0.93, 0.85)
COVERS: tuple[Vector, ...] = ((0.75, 0.15, 0.15), (0.15, 0.35, 0.70), (0.15, 0.50, 0.28))
SHELF_M: Vector = (0.15, 0.34, 0.24)
BOOK_M: Vector = (0.12, 0.03, 0.17)
APART_M = 0.10


def book(cover: Vector) -> Pieces:
    """A book that stands on its lower edge, its back towards +x."""
    x, y, z = BOOK_M
    pages = box((0.004, y - 0.008, z - 0.008), (-x / 2, 0, z / 2), PAGES)
    top = box((x - 0.006, y - 0.008, 0.004), (-0.003, 0, z), PAGES)
    return (box(BOOK_M, (0, 0, z / 2), cover), *shown(pages, top))


@task("unseen_level1", variations=3)
def put_books_on_bookshelf(draw: Draw) -> Instance:
    """A bookshelf with a free top board, and three books in a row before it."""
    count = draw.variation + 1
    root = draw.root(90, x=(0.20, 0.26), y=(-0.10, 0.10))
    shelf = root @ at(0.13)
    x, y, z = SHELF_M
    sides = (box((x, 0.012, z + 0.04), (0, s * y / 2, z / 2 + 0.02), WOOD) for s in (-1, 1))
    boards = (box((x, y, 0.012), (0, 0, h - 0.006), WOOD) for h in (0.02, z / 2 + 0.01, z))
    rear = box((0.008, y, z), (x / 2, 0, z / 2), WOOD)
    row = [moved((box((0.10, 0.022, 0.08), (0, 0, 0.06), COVERS[n % 3]),), y=-0.14 + 0.024 * n) for n in range(7)]
    draw.add(Thing("bookshelf", shelf, (*sides, *boards, rear, *(piece for pieces in row for piece in pieces))))
    draw.add(Zone("top board", (x / 2, y / 2 - 0.01, 0.02), shelf @ at(z=z + 0.02)))
    books = [
        draw.add(
            loose(
                f"book_{n}", root @ at(-0.13, (n - 1) * APART_M), book(COVERS[n]), down(0, 0, BOOK_M[2] - 0.02), kg=0.2
            )
        )
        for n in range(3)
    ]
    wanted = books[::-1][:count]

    def plan(look: Look) -> Iterator[Keyframe]:
        for number, one in enumerate(wanted):
            yield from carry(look, one, shelf @ at(-0.005, APART_M * (1 - number), z + 0.003), lift_m=0.26, over_m=0.06)

    there = all_in([one.label for one in wanted], "top board")
    done = all_of(there, NoneHeld()) if draw.strict else there
    return Instance(draw.parts, f"put {count} books on bookshelf", done, plan)
