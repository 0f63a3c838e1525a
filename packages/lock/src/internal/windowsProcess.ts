/**
 * Windows: kernel32. A process's creation time is a date, so it tells processes of two boots apart by itself; what stands
 * for the boot is the machine. Not run by this repository's Linux tests.
 */
import { hashed, once, orElse } from "./memo.ts"
import { bunFfi, loadKoffi } from "./runtime.ts"
import type { Kernel, Sighting } from "./sighting.ts"

const PROCESS_QUERY_LIMITED_INFORMATION = 0x1000
const SYNCHRONIZE = 0x0010_0000
const WAIT_OBJECT_0 = 0
const ERROR_INVALID_PARAMETER = 87
const HKEY_LOCAL_MACHINE = 0x8000_0002
const RRF_RT_REG_SZ = 0x2
const RRF_SUBKEY_WOW6464KEY = 0x1_0000

type Call = (...values: ReadonlyArray<number | bigint | Buffer | null>) => number

interface Calls {
  readonly OpenProcess: Call
  readonly GetProcessTimes: Call
  readonly WaitForSingleObject: Call
  readonly CloseHandle: Call
  readonly GetLastError: Call
  readonly RegGetValueW: Call
}

const viaKoffi = (): Calls => {
  const koffi = loadKoffi()
  const [kernel, advapi] = [koffi.load("kernel32.dll"), koffi.load("advapi32.dll")]
  return {
    OpenProcess: kernel.func("intptr_t __stdcall OpenProcess(uint32, int, uint32)"),
    GetProcessTimes: kernel.func("int __stdcall GetProcessTimes(intptr_t, void *, void *, void *, void *)"),
    WaitForSingleObject: kernel.func("uint32 __stdcall WaitForSingleObject(intptr_t, uint32)"),
    CloseHandle: kernel.func("int __stdcall CloseHandle(intptr_t)"),
    GetLastError: kernel.func("uint32 __stdcall GetLastError()"),
    RegGetValueW: advapi.func("int __stdcall RegGetValueW(uintptr_t, void *, void *, uint32, void *, void *, void *)")
  }
}

const viaBun = (): Calls => {
  const { dlopen, ptr } = bunFfi()
  const kernel = dlopen("kernel32.dll", {
    OpenProcess: { args: ["u32", "i32", "u32"], returns: "i64" },
    GetProcessTimes: { args: ["i64", "ptr", "ptr", "ptr", "ptr"], returns: "i32" },
    WaitForSingleObject: { args: ["i64", "u32"], returns: "u32" },
    CloseHandle: { args: ["i64"], returns: "i32" },
    GetLastError: { args: [], returns: "u32" }
  }).symbols
  const advapi = dlopen("advapi32.dll", {
    RegGetValueW: { args: ["u64", "ptr", "ptr", "u32", "ptr", "ptr", "ptr"], returns: "i32" }
  }).symbols
  const call =
    (one: ((...values: Array<any>) => any) | undefined): Call =>
    (...values) =>
      Number(one!(...values.map((value) => (Buffer.isBuffer(value) ? ptr(value) : value))))
  return {
    OpenProcess: call(kernel["OpenProcess"]),
    GetProcessTimes: call(kernel["GetProcessTimes"]),
    WaitForSingleObject: call(kernel["WaitForSingleObject"]),
    CloseHandle: call(kernel["CloseHandle"]),
    GetLastError: call(kernel["GetLastError"]),
    RegGetValueW: call(advapi["RegGetValueW"])
  }
}

const calls = once(() =>
  orElse<Calls | undefined>(process.versions["bun"] === undefined ? viaKoffi : viaBun, undefined)
)

const look = (pid: number): Sighting => {
  const api = calls()
  if (api === undefined) return "hidden"
  const handle = Number(api.OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION | SYNCHRONIZE, 0, pid))
  if (handle === 0) return api.GetLastError() === ERROR_INVALID_PARAMETER ? "absent" : "hidden"
  try {
    const [created, exited, kernel, user] = [0, 0, 0, 0].map(() => Buffer.alloc(8)) as [Buffer, Buffer, Buffer, Buffer]
    if (api.GetProcessTimes(handle, created, exited, kernel, user) === 0) return "hidden"
    const ended = api.WaitForSingleObject(handle, 0) === WAIT_OBJECT_0 // ended, and somebody still has it open
    return { ended, start: String(created.readBigUInt64LE()), parent: 0 }
  } finally {
    api.CloseHandle(handle)
  }
}

const machineGuid = (): string => {
  const wide = (text: string) => Buffer.from(`${text}\0`, "utf16le")
  const [value, length] = [Buffer.alloc(256), Buffer.alloc(4)]
  length.writeUInt32LE(256)
  const failed = calls()?.RegGetValueW(
    HKEY_LOCAL_MACHINE,
    wide("SOFTWARE\\Microsoft\\Cryptography"),
    wide("MachineGuid"),
    RRF_RT_REG_SZ | RRF_SUBKEY_WOW6464KEY,
    null,
    value,
    length
  )
  return failed === 0 ? value.toString("utf16le", 0, Math.max(0, length.readUInt32LE() - 2)) : ""
}

const machine = once(() => hashed(orElse(machineGuid, "")))

export const windows: Kernel = {
  look: (pid) => orElse(() => look(pid), "hidden"),
  boot: machine,
  namespace: () => "1",
  machine
}
