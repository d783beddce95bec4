import { readFileSync, readlinkSync } from 'node:fs'
import { errorCode, tryOr } from '../errors.ts'
import { readProc, readStat } from './process-table.ts'

/** Identifies a process while it lives: a pid may be reused, but not with the same start time and namespace. */
export function processIdentity(pid: number): string | undefined {
  if (process.platform !== 'linux') return probe(pid) === 'ESRCH' ? undefined : String(pid)
  const stat = readStat(pid)
  return stat === undefined || stat.isDead
    ? undefined
    : `${pid}:${stat.startTime}:${readPidScope()}`
}

let own: { readonly identity: string | undefined } | undefined

export function ownIdentity(): string | undefined {
  own ??= { identity: processIdentity(process.pid) }
  return own.identity
}

/** Whether the process of that identity is alive; unknown if it cannot be seen from here. */
export function lifeOf(
  identity: string,
  here = process.platform === 'linux' ? readPidScope() : undefined,
): 'alive' | 'dead' | 'unknown' {
  const [pid = '', , place] = identity.split(':')
  if (place !== here) return isBeforeReboot(place, here) ? 'dead' : 'unknown'
  const found = processIdentity(Number(pid))
  if (found === identity) return 'alive'
  // The system may hide processes of other users.
  return found === undefined && probe(Number(pid)) === 'EPERM' ? 'unknown' : 'dead'
}

const SIGKILL_BIT = 1n << 8n
const EXITING_BIT = 4

/** Whether a process of this machine is being killed but has not ended yet. */
export function isBeingKilled(pid: number): boolean {
  const { flags = 0 } = readStat(pid) ?? {}
  const pending = readProc(pid, 'status')?.match(/(?<=Pnd:\s+)\w+/g) ?? []
  return (flags & EXITING_BIT) !== 0 || pending.some((set) => BigInt(`0x${set}`) & SIGKILL_BIT)
}

/** The pid namespace, boot and machine in which a pid is valid. */
function readPidScope(): string | undefined {
  ownScope ??= { name: findPidScope() }
  return ownScope.name
}

let ownScope: { readonly name: string | undefined } | undefined

function findPidScope(): string | undefined {
  try {
    const namespace = /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0]
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    const machine = tryOr('', () => readFileSync('/etc/machine-id', 'utf8').trim())
    return `${namespace}@${boot}@${machine}`
  } catch {
    return undefined
  }
}

/** The pid namespace of the machine itself. */
const OUTSIDE_OF_CONTAINERS = '4026531836'

/** Containers of one image may share a machine id, so only processes outside of containers are compared. */
function isBeforeReboot(place: string | undefined, here: string | undefined): boolean {
  const [namespace, boot, machine = ''] = place?.split('@') ?? []
  const [ownNamespace, ownBoot, ownMachine] = here?.split('@') ?? []
  const isOurs = namespace === OUTSIDE_OF_CONTAINERS && ownNamespace === OUTSIDE_OF_CONTAINERS
  const isNamed = /^[0-9a-f]{32}$/.test(machine)
  return isOurs && isNamed && machine === ownMachine && boot !== ownBoot
}

/** The error code of sending signal 0; undefined if the process exists. */
function probe(pid: number): string | undefined {
  try {
    process.kill(pid, 0)
    return undefined
  } catch (error) {
    return errorCode(error)
  }
}
