"""The report: one HTML page that needs nothing else, made from one or two run files."""

from pytest_vla.report.html.page import ReportError, build_report, report_path

__all__ = ["ReportError", "build_report", "report_path"]
