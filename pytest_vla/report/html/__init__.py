"""The report: one HTML page that needs nothing else, made from one or two run files.

Read `views.py` first: the page is a list of views, each a function of `page.Page` and a template in `assets/`.
"""

from pytest_vla.report.errors import ReportError
from pytest_vla.report.html.build import build_report, check_report, report_path

__all__ = ["ReportError", "build_report", "check_report", "report_path"]
