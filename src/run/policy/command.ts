import { afterAwake, awakeMs } from '../../base/awake.ts'
import { formatDuration } from '../../base/durations.ts'
import type { EventBody } from '../../records/events/event.ts'
import { DEFAULT_GRACE, DEFAULT_POLICY } from '../../chain/plan/policy.ts'
import type { StepNode } from '../../chain/plan/plan.ts'
import { SpawnError, type Exit } from '../process/child.ts'
import type { Context } from '../context.ts'
import { runEnvironment, stepEnvironment } from '../process/environment.ts'
import { currentPlace } from '../place.ts'
import { timeOver } from './spending.ts'
import { shellLaunch, startProcess, type Cut } from '../process/process.ts'
import { Tail } from '../process/tail.ts'

/** A command of the configuration, and the place in the run that it belongs to. */
interface CommandRequest {
  readonly role: (EventBody & { type: 'command' })['role']
  readonly command: string
  /** Absent if it belongs to the whole chain. */
  readonly step?: StepNode | undefined
  readonly iteration?: number | undefined
  /** The scope of a group, if it belongs to one; then `step` is the group's first step. */
  readonly group?: readonly string[]
  /** Empty if absent. */
  readonly stdin?: string
}

export interface CommandEnd {
  /** `late`: the budget left no more time; `broken`: the command could not run. */
  readonly result: 'ok' | 'failed' | 'late' | 'broken' | 'stopped'
  readonly detail: string
  readonly tail: string
}

/** The shell's exit codes for a command that it could not run. */
const NOT_RUN: readonly number[] = [126, 127]

/** If a signal killed its command, the shell exits with this plus the signal's number. */
const KILLED = 128
const MOST_SIGNALS = 64

/** Runs a command in the shell, supervised like an agent, and emits its result. */
export async function runCommand(
  request: CommandRequest,
  context: Context,
  stop: AbortSignal = context.ports.stop,
): Promise<CommandEnd> {
  const { role, command } = request
  const began = awakeMs()
  const about = { ...placeIn(request, context), role, command }
  context.ports.emit({ type: 'command_started', ...about })
  const tail = new Tail(context.ports.maskStream)
  const end = await supervise(request, tail, context, stop)
  const { result, detail } = judge(end, role)
  const text = tail.end()
  if (result === 'stopped') return { result, detail, tail: text }
  context.ports.emit({
    type: 'command',
    ...about,
    result: result === 'late' ? 'failed' : result,
    detail,
    ms: Math.round(awakeMs() - began),
    ...(result === 'ok' || text === '' ? {} : { tail: text }),
  })
  return { result, detail, tail: text }
}

function placeIn({ step, iteration, group }: CommandRequest, { ports }: Context) {
  if (step === undefined || group !== undefined) return { scope: [...(group ?? [])] }
  const place = currentPlace(step, ports.state())
  return iteration === undefined
    ? place
    : { ...place, scope: [...place.scope, `i${iteration}`], iteration }
}

async function supervise(
  request: CommandRequest,
  tail: Tail,
  context: Context,
  stop: AbortSignal,
): Promise<Exit | Cut | SpawnError | undefined> {
  const { plan, ports, processes, spending } = context
  const { command, step, iteration = 1, group, stdin } = request
  const launch = { ...shellLaunch(command), ...(stdin === undefined ? {} : { stdin }) }
  // The remaining time budget limits gates, but not hooks.
  const isGate = request.role === 'verify' || request.role === 'until'
  const ms = isGate && step !== undefined ? spending.left(step).ms : undefined
  const over = new AbortController()
  const cancel = ms === undefined ? undefined : afterAwake(ms, () => over.abort(timeOver(ms)))
  try {
    const { finished } = startProcess(launch, {
      cwd: step?.cwd ?? plan.cwd,
      env:
        step === undefined
          ? { ...runEnvironment(plan.run, ports), PWD: plan.cwd }
          : {
              ...stepEnvironment(step, iteration, context),
              ...(group === undefined ? {} : { FORKHESTRA_SCOPE: group.join('/') }),
            },
      grace: step?.policy.grace ?? DEFAULT_GRACE,
      limits: { timeoutMs: (step?.policy ?? DEFAULT_POLICY).timeoutMs, budget: over.signal },
      stop,
      force: ports.force,
      take: (stream, bytes) => tail.add(stream, bytes),
    })
    return await processes.whileAlive(finished)
  } catch (error) {
    if (error instanceof SpawnError) return error
    throw error
  } finally {
    cancel?.()
  }
}

function judge(
  end: Exit | Cut | SpawnError | undefined,
  role: CommandRequest['role'],
): Pick<CommandEnd, 'result' | 'detail'> {
  // A killed condition has no answer: skipping the step could hide that nothing was done.
  const cut = role === 'when' ? 'broken' : 'failed'
  if (end === undefined) return { result: 'stopped', detail: 'stopped' }
  if (end instanceof SpawnError) return { result: 'broken', detail: end.message }
  switch (end.kind) {
    case 'exited':
      if (end.code === 0) return { result: 'ok', detail: 'exit 0' }
      if (NOT_RUN.includes(end.code)) return { result: 'broken', detail: `exit ${end.code}` }
      return { result: isKilled(end.code) ? cut : 'failed', detail: `exit ${end.code}` }
    case 'signalled':
      return { result: cut, detail: `killed by ${end.signal}` }
    case 'timed_out':
    case 'idle':
      return { result: cut, detail: `timed out after ${formatDuration(end.ms)}` }
    case 'budget':
      return { result: 'late', detail: end.error }
  }
}

function isKilled(code: number): boolean {
  return code > KILLED && code <= KILLED + MOST_SIGNALS
}
