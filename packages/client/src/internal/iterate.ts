/** A stream as an async iterable that a signal ends. */
import type * as Context from "effect/Context"
import * as Stream from "effect/Stream"
import { abortable } from "./abortable.ts"
import { presentable } from "./presentable.ts"

export async function* iterate<A, R>(
  stream: Stream.Stream<A, unknown, R>,
  context: () => Promise<Context.Context<R>>,
  signal: AbortSignal
): AsyncGenerator<A> {
  signal.throwIfAborted()
  const source = Stream.catchCause(stream, (cause) => Stream.fail(presentable(cause)))
  const iterator = Stream.toAsyncIterableWith(source, await abortable(context(), signal))[Symbol.asyncIterator]()
  try {
    while (true) {
      signal.throwIfAborted()
      // a promise of its own for each item: one that lives as long as the iteration would keep every item that it raced
      const item = await abortable(iterator.next(), signal)
      if (item.done === true) return
      yield item.value
    }
  } finally {
    iterator.return?.().catch(() => undefined)
  }
}
