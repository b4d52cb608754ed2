"""The HTML report: a page of charts and tables that goes into pytest-html's file, with each episode's story in it."""
