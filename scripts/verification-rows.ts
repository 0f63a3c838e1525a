/**
 * What docs/verification.md and docs/fault-kinds.md have to show, in the words of the design's seeds. The documents are
 * held against this list, so that a row cannot be lost with its line.
 */

/** By the document's headings: the cells of each row before the one with its test. */
export const tables: Readonly<Record<string, ReadonlyArray<ReadonlyArray<string>>>> = {
  "Election tests": [
    ["Ten contenders start simultaneously", "Exactly one crosses the application-boot boundary"],
    ["Winner pauses after lock acquisition", "No loser initializes or remains alive"],
    ["Winner event loop pauses beyond the old stale timeout", "Ownership is not displaced"],
    ["Winner crashes before bind", "Lock releases; a later attempt wins"],
    ["Winner crashes after bind but before registration", "Lock releases; a later attempt replaces stale discovery"],
    ["Registration is deleted while owner runs", "No second owner initializes"],
    ["Registration is malformed", "Lock still prevents a second owner"],
    ["Registration names a dead PID", "New contender can acquire the released lock"],
    ["Two installation channels start", "Each elects an independent owner"],
    ["Explicit configured port is foreign-owned", "Fail diagnostically; do not kill the foreign process"]
  ],
  "What the harness also asserts": [
    ["Every loser exits within a bounded interval"],
    ["A loser's peak RSS stays an order of magnitude below an application boot"]
  ],
  "Lifecycle tests": [
    ["Winner owns lock but application boot is paused", "Health reports `starting`"],
    ["Application request arrives during startup", "Immediate retryable `503`"],
    ["Application becomes ready", "Status changes once from `starting` to `ready`"],
    ["Graceful replacement begins", "Status reports `stopping` before disconnect"],
    ["Application initialization fails", "Actionable `failed` status; owner stays bound and holds the lock"],
    ["Registration is deleted while owner runs", "Owner republishes it within one assertion interval"],
    ["Owner exits", "Registration is removed only if it still names that owner"]
  ],
  "Update tests": [
    ["Background update installs vNext", "Running vOld service does not restart"],
    ["Fresh vNext launch finds vOld", "Exact old instance stops; vNext eventually becomes ready"],
    ["Two fresh vNext launches race", "One heavy successor; both clients attach"],
    ["Existing vOld TUI reconnects to vNext", "It never requests replacement"],
    ["Stale launcher observes a new instance", "It does not signal the new instance"]
  ],
  "Reconnect tests": [
    ["Endpoint disappears and changes port", "TUI rediscovers and rebuilds clients"],
    ["Service remains unavailable beyond old retry budget", "TUI remains alive"],
    ["Event stream reconnects", "Client performs authoritative state reconciliation"],
    ["Transport returns an unexpected defect", "TUI formats it; no raw stack escapes"],
    ["Owner remains unresponsive", "TUI waits and shows explicit restart guidance"]
  ],
  "Acceptance criteria": [
    ["Ten concurrent restart observers produce one application initialization."],
    ["No losing contender survives or builds a location graph."],
    ["A 30-second application boot remains continuously observable as `starting`."],
    ["A TUI remains alive through a service outage longer than the previous retry budget."],
    ["A service endpoint change does not require restarting an existing TUI."],
    ["Background installation alone does not restart the service."],
    ["A fresh mismatched TUI eventually attaches to the installed service version."],
    ["Existing reconnecting TUIs never replace the current owner."],
    ["Registration corruption cannot produce two owners."],
    ["A deleted registration heals without restarting the owner or any client."],
    ["An unresponsive owner is not killed without an explicit recovery command."],
    ["Raw transport defects never escape to the terminal."]
  ],
  "Wake recovery": [
    ["`renewServer`", "an expired-but-identity-matching re-arm succeeds and extends the lease"],
    ["`renewServer`", "a superseded epoch fails"],
    ["`renewServer`", "a wrong token fails"],
    ["`renewServer`", "a released row (null `server_id`) fails"],
    ["Heartbeat", "a superseded claim stops the server"],
    ["Heartbeat", "a superseded claim stops the server and logs the supersession reason"],
    ["Heartbeat", "an expired-but-ours claim does not stop it"],
    ["`acquireServerLock`", "a missing lock takes over without probing"],
    ["`acquireServerLock`", "a dead holder (identity mismatch) takes over without probing"],
    ["`acquireServerLock`", "a live serving holder keeps the `already running` error"],
    ["`acquireServerLock`", "a live deaf holder is taken over"],
    ["`acquireServerLock`", "a bound socket that accepts but stays silent yields takeover"],
    ["`probeServerServing`", "a hello-writing server is serving"],
    ["`probeServerServing`", "a silent bound socket is not serving"],
    ["`probeServerServing`", "a missing socket path is not serving without connecting"],
    [
      "`ensureAvailable`",
      "a failing first spawn followed by a healthy second spawn succeeds inside one call under the deadline"
    ],
    ["`ensureAvailable`", "every spawn failing throws with the last diagnostic"],
    ["`ensureAvailable`", "a serving holder short-circuits without extra spawns"]
  ]
}

/** Names of the seeds' own code, and what the tests say in their place. */
export const ours: ReadonlyArray<readonly [theirs: string, ours: string]> = [
  ["`renewServer`", "Lease renewal"],
  ["`acquireServerLock`", "Lock acquisition"],
  ["`probeServerServing`", "Serving probe"],
  ["`ensureAvailable`", "ensure"],
  [" (null `server_id`)", ""]
]

/** The kinds of fault that services like this one are reported to have. */
export const kinds: ReadonlyArray<string> = Array.from(
  { length: 31 },
  (_, index) => `K${String(index + 1).padStart(2, "0")}`
)
