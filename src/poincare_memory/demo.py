"""The anatomy demo: a small hierarchy of muscles with dated observations about two athletes."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from .store.memory import Memory
from .temporal import to_utc

# Id, text, id of the parent.
DEMO_TREE: list[tuple[str, str, str | None]] = [
    ("body", "Human musculoskeletal system", None),
    ("lower", "Lower limb musculature", "body"),
    ("upper", "Upper limb musculature", "body"),
    ("trunk", "Trunk and core musculature", "body"),
    ("quads", "Quadriceps femoris group: knee extension and hip flexion", "lower"),
    ("hams", "Hamstring group: knee flexion and hip extension", "lower"),
    ("glutes", "Gluteal group: hip extension, abduction and external rotation", "lower"),
    ("calf", "Triceps surae: plantar flexion of the ankle", "lower"),
    ("rf", "Rectus femoris: biarticular quadriceps head crossing hip and knee", "quads"),
    ("vl", "Vastus lateralis: largest quadriceps head, lateral thigh", "quads"),
    ("vm", "Vastus medialis: medial quadriceps head, terminal knee extension", "quads"),
    ("bf", "Biceps femoris: lateral hamstring, long and short heads", "hams"),
    ("st", "Semitendinosus: medial hamstring with a long distal tendon", "hams"),
    ("sm", "Semimembranosus: deep medial hamstring", "hams"),
    ("gmax", "Gluteus maximus: primary hip extensor in sprint acceleration", "glutes"),
    ("gmed", "Gluteus medius: pelvic stabiliser in single-leg stance", "glutes"),
    ("gastroc", "Gastrocnemius: biarticular, fast-twitch dominant plantar flexor", "calf"),
    ("soleus", "Soleus: slow-twitch dominant postural plantar flexor", "calf"),
    ("type2x", "Type IIx fibres: highest shortening velocity, fatigue quickly", "gastroc"),
    ("type1", "Type I fibres: fatigue resistant, oxidative metabolism", "soleus"),
    ("delts", "Deltoid group: shoulder abduction and flexion", "upper"),
    ("biceps", "Biceps brachii: elbow flexion and forearm supination", "upper"),
    ("lats", "Latissimus dorsi: shoulder extension and adduction", "upper"),
    ("abs", "Rectus abdominis: trunk flexion and intra-abdominal pressure", "trunk"),
    ("erector", "Erector spinae: spinal extension and posture", "trunk"),
    ("obl", "Obliques: trunk rotation and lateral flexion", "trunk"),
]

# Text, id of the parent, age in days.
DEMO_EVENTS: list[tuple[str, str, int]] = [
    ("Athlete A reported tight hamstrings after 400 m repeats", "hams", 30),
    ("Athlete A: hamstring flexibility improved after two weeks of eccentric work", "hams", 10),
    ("Coach note: increase gluteus maximus activation drills before sprints", "gmax", 20),
    ("Athlete B: calf strain, soleus tender on palpation", "soleus", 45),
    ("Athlete B cleared to resume plyometrics", "soleus", 3),
    ("Team session focused on quadriceps strength at long muscle lengths", "quads", 60),
]

_TREE_AGE_DAYS = 120


def build_demo_memory(**kwargs: Any) -> Memory:
    """The demo as a :class:`Memory`; keyword arguments go to its constructor.

    Ages are counted from the memory's clock.

    Examples
    --------
    >>> mem = build_demo_memory()
    >>> len(mem), mem.ancestors("bf")
    (32, ['hams', 'lower', 'body'])
    """
    memory = Memory(**kwargs)
    now: datetime = to_utc(memory.clock())
    written = now - timedelta(days=_TREE_AGE_DAYS)
    items: list[dict[str, Any]] = [
        {"id": id, "text": text, "parent": parent, "t": written} for id, text, parent in DEMO_TREE
    ]
    items += [
        {"text": text, "parent": parent, "t": now - timedelta(days=days), "meta": {"kind": "event"}}
        for text, parent, days in DEMO_EVENTS
    ]
    memory.add_many(items)
    return memory
