"""The HTTP service: requests in, one queue counted in tokens, batches across requests, answers in the formats of the command line.

    protocol → edge (ids, keys, log) → routes → request → Job → JobQueue → lanes → Annotator → answer

All of HTTP runs on one event loop; a few threads (`lanes`) take batches from the queue and compute them. The answer about a document
does not depend on what else is in its batch: the engine guarantees that. Needs the extra `serve`; no torch.
"""
