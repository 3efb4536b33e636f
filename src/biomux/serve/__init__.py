"""The HTTP service: requests in, one queue counted in tokens, batches across requests, answers in the formats of the command line.

    protocol → edge (ids, keys, log) → routes → request → Job → JobQueue → lanes → Annotator → answer

Everything of HTTP happens on one event loop; a few threads (`lanes`) take batches from the queue and compute them. What a document's answer
is does not depend on what else is in its batch: the engine promises that. Needs the extra `serve`; no torch.
"""
