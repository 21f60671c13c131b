"""Qt's libraries and the fonts of the system, made ready without the interpreter's lock.

Linking Qt takes the loader of the system 10 ms and more, looking for fonts 5. An `import`, and a call of the binding,
hold the interpreter's lock as long; here the same is done by calls that give it back. Other threads import meanwhile.

Linux alone: what is loaded here must be the very files that the binding loads later, which are found by their places
in its wheel and by the name that Qt's own plugin asks for. Where one of them is elsewhere nothing is gained or lost.
"""

from __future__ import annotations

import importlib.machinery
import sys

try:
    import _ctypes
except ImportError:  # a Python that was built without it
    _ctypes = None  # type: ignore[assignment]

QT = ("Qt/lib/libQt6Core.so.6", "Qt/lib/libQt6Gui.so.6", "Qt/lib/libQt6Widgets.so.6")
"""Each needs those before it. They make no object of Qt when they are loaded, so that which thread does it plays no
role."""
BINDING = ("../shiboken6/libshiboken6.abi3.so.6.11", "libpyside6.abi3.so.6.11", "QtCore.abi3.so", "QtGui.abi3.so", "QtWidgets.abi3.so")  # fmt: skip
"""The binding's own, with the version in which loading them was seen to call nothing of Python (it would need the lock).
With another version the first two are not found, and the others not asked for."""
FONTS = "libfontconfig.so.1"


def link() -> list[str]:
    """Load what the binding will load, in this thread, without the interpreter's lock. Returns the names of what is there
    now. Imports nothing, so that another thread may."""
    system: str = sys.platform
    if not system.startswith("linux") or _ctypes is None:
        return []

    # `ctypes` takes 3 ms to import; this is the part of it that calls a function.
    class Address(_ctypes._SimpleCData):
        _type_ = "P"

    class Call(_ctypes.CFuncPtr):
        _flags_ = _ctypes.FUNCFLAG_CDECL
        _restype_ = Address

    own = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]
    load = Call(_ctypes.dlsym(own, "dlopen"))
    now = 2
    """RTLD_NOW, as an import does it."""
    found = importlib.machinery.PathFinder.find_spec("PySide6")
    loaded = []
    for folder in (found.submodule_search_locations or []) if found is not None else []:
        for names in (QT, BINDING):
            for name in names:
                if not load(f"{folder}/{name}".encode("utf-8", "surrogateescape"), now):
                    break
                loaded.append(name)
    fonts = load(FONTS.encode(), now)
    if fonts:
        # What Qt calls first when it is asked for a font; done once for the process.
        Call(_ctypes.dlsym(fonts, "FcInit"))()
        loaded.append(FONTS)
    return loaded
