"""What the scripts share. Modules of a virtual environment serve them too."""

import os
import site
import sys

INSTALLED = {"matplotlib", "numpy", "pandas", "scipy", "tomli"}


def _hook(kind, error, trace):
    if not (isinstance(error, ModuleNotFoundError) and (error.name or "").split(".")[0] in INSTALLED):
        return sys.__excepthook__(kind, error, trace)
    print(f"{os.path.basename(sys.argv[0])}: there is no Python module {error.name} for "
          f"{sys.executable}: `make deps JOB=demo` installs it; a virtual environment of the same "
          "Python serves too", file=sys.stderr)
    os._exit(2)


sys.excepthook = _hook
if "VIRTUAL_ENV" in os.environ and sys.prefix == sys.base_prefix:
    site.addsitedir(os.path.join(os.environ["VIRTUAL_ENV"], "lib",
                                 f"python{sys.version_info[0]}.{sys.version_info[1]}",
                                 "site-packages"))
try:
    import tomllib
except ModuleNotFoundError:  # before Python 3.11
    import tomli as tomllib
