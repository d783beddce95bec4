import { existsSync } from 'node:fs'
import type { ProcessLaunch } from '../engines/engine.ts'
import { errorCode, errorText } from '../base/errors.ts'
import { waitForOwn } from './own-children.ts'
import { makePlug, type Pipe } from './pipe.ts'
import { makeTempFiles, type TempFiles } from './temp-files.ts'

export type Exit =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'signalled'; readonly signal: string }

/** An agent's process, leader of a session and a group of its own. */
export interface Child {
  readonly pid: number
  readonly exited: Promise<Exit>
  readonly out: Pipe
  readonly err: Pipe
  /** To the whole group. */
  signal(signal: NodeJS.Signals): void
}

/** The process could not be started; the message says why in words. */
export class SpawnError extends Error {}

/** What it was to be given in files could not be written. */
export class FilesError extends SpawnError {}

export function startChild(launch: ProcessLaunch, cwd: string, env: Record<string, string>): Child {
  const files = prepareFiles(launch)
  const out = makePlug()
  const err = makePlug()
  try {
    const child = Bun.spawn([...files.argv], {
      cwd,
      env,
      detached: true,
      stdin: files.stdin,
      stdout: out.stdio,
      stderr: err.stdio,
    })
    return {
      pid: child.pid,
      exited: waitForOwn(child.pid, child.exited).then((code) => {
        files.remove()
        return child.signalCode === null
          ? { kind: 'exited', code }
          : { kind: 'signalled', signal: String(child.signalCode) }
      }),
      out: out.open(child.stdout),
      err: err.open(child.stderr),
      signal: (signal) => sendSignal(-child.pid, signal),
    }
  } catch (error) {
    files.remove()
    out.discard()
    err.discard()
    throw new SpawnError(explain(error, launch, cwd))
  } finally {
    files.closeStdin()
    out.releaseWriter()
    err.releaseWriter()
  }
}

function prepareFiles(launch: ProcessLaunch): TempFiles {
  try {
    return makeTempFiles(launch)
  } catch (error) {
    throw new FilesError(`its prompt could not be written to a file: ${errorText(error)}`)
  }
}

/** Signals a process or, below zero, a group; it may have gone in the meantime. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    const code = errorCode(error)
    if (code !== 'ESRCH' && code !== 'EPERM') throw error
  }
}

// The system blames the program for a missing working directory or interpreter too.
function explain(error: unknown, launch: ProcessLaunch, cwd: string): string {
  const program = launch.argv[0] ?? ''
  const code = errorCode(error)
  if (!existsSync(cwd)) return `the working directory ${cwd} is gone`
  if (code === 'ENOENT' && existsSync(program))
    return `the interpreter in the first line of ${program} was not found`
  if (code === 'ENOENT') return `${program} is gone`
  if (code === 'EACCES') return `${program} may not be executed by this user`
  if (code === 'ENOEXEC') return `${program} is not a program of this system`
  if (code === 'E2BIG') return 'its arguments and environment are longer than the system allows'
  return `${program} could not be started: ${errorText(error)}`
}
