"""The live page: a run, shown by a small web server while it runs.

`page` is the observer, which keeps a history under a lock; `snapshot` copies it, and `plain_data` and the
charts are made of the copy, in the thread of the `server`. `app` answers requests, `guard` refuses those
that it shall not answer, `listening` opens its socket, and `recent_logs` has the last warnings.
"""

from headrace.sdk.observing.live.page import LivePage

__all__ = ["LivePage"]
