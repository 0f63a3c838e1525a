/** The server's half of the session handshake: one-time nonces, bounded in number and in life. */
import * as Credential from "../Credential.ts"

const nonceLifeMs = 10_000
const nonceLimit = 256

export interface Sessions {
  /** First round: our nonce and our proof for the client's. */
  readonly challenge: (clientNonce: string) => { readonly serverNonce: string; readonly proof: string }
  /** Second round: the token, when the proof holds; every nonce is good for one try. */
  readonly redeem: (clientNonce: string, serverNonce: string, proof: string) => string | undefined
  readonly accepts: (token: string | undefined) => boolean
}

export const make = (options: {
  readonly secret: Credential.Secret
  readonly instanceID: string
  readonly endpoint: string
  readonly token: string
}): Sessions => {
  const { endpoint, instanceID, secret, token } = options
  const pending = new Map<string, { readonly clientNonce: string; readonly expires: number }>()
  const forgetOld = () => {
    const now = performance.now()
    for (const [nonce, { expires }] of pending) {
      if (expires > now && pending.size < nonceLimit) return // oldest first
      pending.delete(nonce)
    }
  }
  const proofOf = (role: "client" | "server", clientNonce: string, serverNonce: string) =>
    Credential.prove(secret, role, { instanceID, endpoint, clientNonce, serverNonce })
  return {
    challenge: (clientNonce) => {
      forgetOld()
      const serverNonce = Credential.random()
      pending.set(serverNonce, { clientNonce, expires: performance.now() + nonceLifeMs })
      return { serverNonce, proof: proofOf("server", clientNonce, serverNonce) }
    },
    redeem: (clientNonce, serverNonce, proof) => {
      const issued = pending.get(serverNonce)
      pending.delete(serverNonce)
      if (issued === undefined || issued.expires <= performance.now() || issued.clientNonce !== clientNonce)
        return undefined
      return Credential.same(proof, proofOf("client", clientNonce, serverNonce)) ? token : undefined
    },
    accepts: (given) => given !== undefined && Credential.same(given, token)
  }
}
