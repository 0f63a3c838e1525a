import { assert, describe, it } from "@effect/vitest"
import { type Claimant, type Standing, standingOf } from "../src/internal/resetting.ts"

const claimant = (state: Claimant["state"], more: Partial<Claimant> = {}): Claimant => ({
  pid: 7,
  host: "here",
  lockInode: "1:2",
  state,
  elsewhere: false,
  ...more
})

describe("who stands in the way of a reset", () => {
  it.each<[string, Claimant, string | null, Standing]>([
    ["nobody who is dead", claimant("dead"), null, "gone"],
    ["who is dead, whatever lock it was recorded with", claimant("dead", { lockInode: "9:9" }), "1:2", "gone"],
    [
      "whoever runs, also without the lock, as under the policy fenced",
      claimant("alive", { lockInode: null }),
      "1:2",
      "runs"
    ],
    ["whoever runs, though its lock file was replaced and is ours", claimant("alive"), "1:2", "runs"],
    ["who cannot be seen, before the lock is ours", claimant("unknown"), null, "unproved"],
    ["nobody who was recorded with the lock that is ours: the kernel has spoken", claimant("unknown"), "1:2", "gone"],
    ["who cannot be seen and was recorded with another lock", claimant("unknown"), "3:4", "unproved"],
    ["who cannot be seen and had no lock", claimant("unknown", { lockInode: null }), "1:2", "unproved"],
    [
      "who is on another machine, whose lock may be one of its own",
      claimant("unknown", { elsewhere: true }),
      "1:2",
      "elsewhere"
    ]
  ])("%s", (_, one, heldInode, standing) => {
    assert.strictEqual(standingOf(one, heldInode), standing)
  })
})
