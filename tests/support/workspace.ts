import { firstCause } from '../../src/base/first-cause.ts'
import { errorCode } from '../../src/base/errors.ts'
import type {
  ExecOptions,
  Executed,
  ToolAnswer,
  Workspace,
} from '../../src/engines/native/tools/tool.ts'
import { makeFileTools } from '../../src/engines/native/tools/file-tools.ts'
import { SeenFiles } from '../../src/engines/native/tools/seen.ts'
import { makeProject, type Files } from './project.ts'

/** A temporary project with real processes, whose stdin is a silent pipe. */
export function makeWorkspace(files: Files = {}, roots: readonly string[] = []): Workspace {
  const cwd = makeProject(files)
  return { cwd, roots, exec: (command, options) => exec(command, cwd, options) }
}

export type Call = (tool: string, input: unknown, signal?: AbortSignal) => Promise<ToolAnswer>

/** Calls tools like one conversation. */
export function callerIn(workspace: Workspace, seen: SeenFiles = new SeenFiles()): Call {
  const tools = makeFileTools(seen)
  const never = new AbortController().signal
  return (name, input, signal = never) =>
    tools.find((tool) => tool.name === name)!.call(input, workspace, signal)
}

async function exec(command: string, cwd: string, options: ExecOptions): Promise<Executed> {
  const child = Bun.spawn(['/bin/sh', '-c', command], {
    cwd,
    // The current environment of the test process.
    env: process.env,
    detached: true,
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const output = [child.stdout, child.stderr].map((stream) => drain(stream, options.take))
  const first = await firstCause({
    exited: child.exited,
    stopped: options.signal,
    late: options.timeoutMs,
  })
  endGroup(child.pid)
  await Promise.all([child.exited, ...output])
  await child.stdin.end()
  if (first === 'late') return { kind: 'timed_out' }
  if (first === 'stopped') return { kind: 'stopped' }
  return child.signalCode === null
    ? { kind: 'exited', code: child.exitCode ?? 0 }
    : { kind: 'signalled', signal: String(child.signalCode) }
}

async function drain(
  stream: ReadableStream<Uint8Array>,
  take: (bytes: Uint8Array) => void,
): Promise<void> {
  for await (const bytes of stream) take(bytes)
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error
  }
}
