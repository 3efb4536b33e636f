"""The HTTP service: puts requests into one queue, computes batches across requests, and answers in the formats of the command line.

    protocol → edge (ids, keys, log) → app (routes) → requests → Job → JobQueue → lanes → Annotator → responses

The event loop handles all of HTTP; a few threads (`lanes`) take batches from the queue and compute them. The queue is limited by its number of tokens. The engine guarantees that the answer for a
document does not depend on what else is in its batch. Needs the extra `serve`; no torch.
"""
