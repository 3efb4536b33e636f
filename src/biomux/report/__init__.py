"""Reports: one page, as HTML and as Markdown, of runs, scores, studies and measurements.

`report` makes the page from what `report_inputs` finds; a page is made of `blocks`, written by `page_html` and `page_markdown`; pictures are SVG (`svg`, `charts`,
`rank_diagram`, `transfer_pictures`). Nothing here computes a score: see `biomux.evaluation` and `biomux.studies`.
"""
