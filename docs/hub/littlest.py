"""fluxlite on The Littlest JupyterHub: put this file into /opt/tljh/config/jupyterhub_config.d/fluxlite.py.

Then: sudo tljh-config reload. README.md next to this file says the rest.
"""

c = get_config()  # noqa: F821  JupyterHub defines it

# Each learner gets the lessons in my-course, and JupyterLab opens the first. Leave these two lines out if your class
# gets its lessons by a link of nbgitpuller.
c.Spawner.cmd = ["fluxlite", "lab", "--hub"]
c.Spawner.default_url = "/doc/tree/00-start-here.ipynb"

c.Spawner.environment.update(
    {
        # `handin` puts a copy here, in a folder of the learner's own. `fluxlite class /srv/hand-ins` reads them all.
        "FLUXLITE_HAND_INS": lambda spawner: f"/srv/hand-ins/{spawner.user.escaped_name}",
        # Otherwise each kernel computes on all cores at once, and thirty of them get in one another's way.
        "OPENBLAS_NUM_THREADS": "1",
    }
)
