"""``assistant report``: every benchmark on one page, against the last report.

``parts`` says what is measured and by which command, ``runner`` runs one, ``figures`` picks the
headline of what came out, ``last`` compares it with the report before, ``page`` shows it all.
"""
