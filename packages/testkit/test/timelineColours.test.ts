import { assert, describe, it } from "@effect/vitest"
import { dark, light } from "../src/internal/palette.ts"
import { contrast, difference, ofHex, sights } from "./colours.ts"

describe.each([
  ["light", light],
  ["dark", dark]
] as const)("the colours of a timeline, %s", (_, palette) => {
  it("every text has a contrast of 4.5 with its bar and with the bar's stripes", () => {
    for (const [name, { bar, stripe, text }] of Object.entries(palette.tones)) {
      for (const ground of [bar, stripe]) {
        assert.isAtLeast(contrast(ofHex(text), ofHex(ground)), 4.5, `${name}: ${text} on ${ground}`)
      }
    }
    for (const text of ["text", "quiet", "accent", "signal", "fault", "good", "bad"] as const) {
      for (const ground of ["page", "panel"] as const) {
        assert.isAtLeast(contrast(ofHex(palette[text]), ofHex(palette[ground])), 4.5, `${text} on ${ground}`)
      }
    }
  })

  it("nobody takes one status for another, whatever colours they see", () => {
    const statuses = ["starting", "ready", "stopping", "failed", "unresponsive", "unreachable"] as const
    for (const [sight, matrix] of Object.entries(sights)) {
      for (const one of statuses) {
        for (const other of statuses.slice(statuses.indexOf(one) + 1)) {
          const [a, b] = [palette.tones[one].bar, palette.tones[other].bar]
          assert.isAtLeast(difference(matrix, ofHex(a), ofHex(b)), 15, `${sight}: ${one} and ${other}`)
        }
      }
    }
  })
})
