"""Every plot by name.

Each returns ``(figure, axes)``, saves the figure to `output_path` if given, and raises a ValueError that says what to
switch on if its data is missing.
"""

# First of all: it says what to do where matplotlib is missing.
import roastcoffea.visualization._figure  # noqa: F401
from roastcoffea.visualization import PLOTS
from roastcoffea.visualization.plots.budget import *  # noqa: F403
from roastcoffea.visualization.plots.chunks import *  # noqa: F403
from roastcoffea.visualization.plots.cpu import *  # noqa: F403
from roastcoffea.visualization.plots.everything import *  # noqa: F403
from roastcoffea.visualization.plots.gantt import *  # noqa: F403
from roastcoffea.visualization.plots.io import *  # noqa: F403
from roastcoffea.visualization.plots.memory import *  # noqa: F403
from roastcoffea.visualization.plots.per_task import *  # noqa: F403
from roastcoffea.visualization.plots.runs import *  # noqa: F403
from roastcoffea.visualization.plots.scaling import *  # noqa: F403
from roastcoffea.visualization.plots.sections import *  # noqa: F403
from roastcoffea.visualization.plots.throughput import *  # noqa: F403
from roastcoffea.visualization.plots.workers import *  # noqa: F403

__all__ = ["Plots", "extract_per_task_metrics", "plot_all", "plot_scaling", *PLOTS]  # noqa: F405
