/**
 * The secret of a service and the proof of knowing it: both sides prove before anything else is said.
 *
 * **Details** The secret and its proofs (`load`, `establish`, `prove`, …) are for both sides; `attach`, `ask`, `health` and
 * `exchange` are the client's half of the session handshake. The server's half is the lifecycle shell's.
 *
 * Imports no Effect.
 *
 * @since 0.1.0
 */
export * from "./internal/address.ts"
export * from "./internal/exchange.ts"
export * from "./internal/handshake.ts"
export * from "./internal/secret.ts"
