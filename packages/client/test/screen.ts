/** The smallest React renderer there is: what a component returns is text, and the text is the screen. */
import { createRequire } from "node:module"
import type { ReactElement } from "react"

const require = createRequire(import.meta.url)
const { DefaultEventPriority } = require("react-reconciler/constants") as { readonly DefaultEventPriority: number }

interface Text {
  text: string
}
interface Screen {
  children: Array<Text>
}

const context = {}
const nothing = () => undefined
const add = (screen: Screen, text: Text) => void screen.children.push(text)
const host = {
  supportsMutation: true,
  isPrimaryRenderer: true,
  rendererPackageName: "screen",
  rendererVersion: "0",
  getRootHostContext: () => context,
  getChildHostContext: () => context,
  getPublicInstance: (instance: unknown) => instance,
  prepareForCommit: () => null,
  resetAfterCommit: nothing,
  preparePortalMount: nothing,
  shouldSetTextContent: () => false,
  createInstance: () => {
    throw new Error("there is only text")
  },
  createTextInstance: (text: string): Text => ({ text }),
  commitTextUpdate: (instance: Text, _before: string, after: string) => void (instance.text = after),
  appendChildToContainer: add,
  insertInContainerBefore: add,
  removeChildFromContainer: (screen: Screen, text: Text) =>
    void (screen.children = screen.children.filter((child) => child !== text)),
  clearContainer: (screen: Screen) => void (screen.children = []),
  finalizeInitialChildren: () => false,
  hideTextInstance: nothing,
  unhideTextInstance: nothing,
  detachDeletedInstance: nothing,
  scheduleTimeout: nothing,
  cancelTimeout: nothing,
  noTimeout: -1,
  supportsMicrotasks: true,
  scheduleMicrotask: queueMicrotask,
  setCurrentUpdatePriority: nothing,
  getCurrentUpdatePriority: () => DefaultEventPriority,
  resolveUpdatePriority: () => DefaultEventPriority,
  getCurrentEventPriority: () => DefaultEventPriority,
  shouldAttemptEagerTransition: () => false,
  trackSchedulerEvent: nothing,
  resolveEventType: () => null,
  resolveEventTimeStamp: () => -1.1,
  requestPostPaintCallback: nothing,
  maySuspendCommit: () => false,
  preloadInstance: () => true,
  startSuspendingCommit: nothing,
  suspendInstance: nothing,
  waitForCommitToBeReady: () => null,
  NotPendingTransition: null,
  resetFormInstance: nothing,
  beforeActiveInstanceBlur: nothing,
  afterActiveInstanceBlur: nothing,
  getInstanceFromNode: () => null,
  prepareScopeUpdate: nothing,
  getInstanceFromScope: () => null
}

interface Reconciler {
  readonly createContainer: (...args: ReadonlyArray<unknown>) => object
  readonly updateContainerSync: (element: ReactElement | null, root: object, parent: null, done: null) => void
  readonly flushSyncWork: () => void
  readonly flushPassiveEffects: () => boolean
}

/** Shows an element, and what it throws goes to `onError`. */
export const show = (element: ReactElement, onError: (error: unknown) => void) => {
  const reconciler = (require("react-reconciler") as (host: object) => Reconciler)(host)
  const screen: Screen = { children: [] }
  const root = reconciler.createContainer(screen, 1, null, false, null, "", onError, onError, onError, nothing, null)
  const draw = (next: ReactElement | null) => {
    reconciler.updateContainerSync(next, root, null, null)
    reconciler.flushSyncWork()
    reconciler.flushPassiveEffects()
  }
  draw(element)
  return { text: () => screen.children.map(({ text }) => text).join(""), leave: () => draw(null) }
}
