import { awakeMs } from '../base/awake.ts'
import { durationWords } from '../base/durations.ts'
import type { EventBody } from '../events/event.ts'
import type { ProcessLaunch } from '../engines/engine.ts'
import { DEFAULT_GRACE, DEFAULT_POLICY } from '../plan/policy.ts'
import { stepAt } from '../events/state.ts'
import type { StepNode } from '../plan/plan.ts'
import { leftOver } from './budget.ts'
import { SpawnError, type Exit } from './child.ts'
import type { Context as WholeContext } from './context.ts'
import { runEnvironment, stepEnvironment } from './environment.ts'
import { placeOf } from './place.ts'
import { startProcess, type Cut } from './process.ts'
import { Tail } from './tail.ts'
import { watchTime } from './time-over.ts'

/** A command of the configuration, and the place it runs at. */
export interface Errand {
  readonly role: (EventBody & { type: 'command' })['role']
  readonly command: string
  /** Absent where it belongs to the whole chain. */
  readonly step?: StepNode | undefined
  readonly iteration?: number | undefined
  /** What it reads; nothing where it is absent. */
  readonly stdin?: string
}

export interface CommandEnd {
  /** `late`: the budget had no more time for it. */
  readonly result: 'ok' | 'failed' | 'late' | 'broken' | 'stopped'
  readonly detail: string
  readonly tail: string
}

/** What a command needs. */
type Context = Pick<WholeContext, 'plan' | 'ports' | 'family'>

/** What the shell says where it could not run a command at all. */
const NOT_RUN: readonly number[] = [126, 127]

/** Runs a command by the shell, watched over like an agent, and tells how it went. */
export async function runCommand(
  errand: Errand,
  context: Context,
  stop: AbortSignal = context.ports.stop,
): Promise<CommandEnd> {
  const { role, command, step, iteration } = errand
  const began = awakeMs()
  const tail = new Tail(context.ports.maskStream)
  const end = await supervise(errand, tail, context, stop)
  const { result, detail } = judge(end)
  const text = tail.end()
  if (result === 'stopped') return { result, detail, tail: text }
  context.ports.emit({
    type: 'command',
    ...placeIn(step, iteration, context),
    role,
    command,
    result: result === 'late' ? 'failed' : result,
    detail,
    ms: Math.round(awakeMs() - began),
    ...(result === 'ok' || text === '' ? {} : { tail: text }),
  })
  return { result, detail, tail: text }
}

function placeIn(step: StepNode | undefined, iteration: number | undefined, { ports }: Context) {
  if (step === undefined) return { scope: [] }
  const place = placeOf(step, stepAt(ports.state(), step.number).rounds)
  return iteration === undefined
    ? place
    : { ...place, scope: [...place.scope, `i${iteration}`], iteration }
}

async function supervise(
  errand: Errand,
  tail: Tail,
  context: Context,
  stop: AbortSignal,
): Promise<Exit | Cut | SpawnError | undefined> {
  const { plan, ports, family } = context
  const { command, step, iteration = 1, stdin } = errand
  const launch: ProcessLaunch = {
    kind: 'process',
    argv: ['/bin/sh', '-c', command],
    env: {},
    ...(stdin === undefined ? {} : { stdin }),
    decode: () => undefined,
  }
  const time = timeFor(errand, context)
  try {
    const { pid, finished } = startProcess(launch, {
      cwd: step?.cwd ?? plan.cwd,
      env:
        step === undefined
          ? { ...runEnvironment(plan.run, ports), PWD: plan.cwd }
          : stepEnvironment(step, iteration, context),
      grace: step?.policy.grace ?? DEFAULT_GRACE,
      limits: { timeoutMs: (step?.policy ?? DEFAULT_POLICY).timeoutMs, budget: time.over },
      stop,
      force: ports.force,
      take: (stream, bytes) => tail.add(stream, bytes),
    })
    return await family.whileAlive(pid, finished)
  } catch (error) {
    if (error instanceof SpawnError) return error
    throw error
  } finally {
    time.stop()
  }
}

/** Checks get no more than the budget leaves; hooks have their say in any case. */
function timeFor({ role, step }: Errand, { plan, ports }: Context) {
  const isCheck = step !== undefined && (role === 'verify' || role === 'until')
  const { ms } = isCheck ? leftOver(step, plan, ports.state()) : {}
  const over = new AbortController()
  return { over: over.signal, stop: watchTime(ms, (words) => over.abort(words)) }
}

function judge(end: Exit | Cut | SpawnError | undefined): Pick<CommandEnd, 'result' | 'detail'> {
  if (end === undefined) return { result: 'stopped', detail: 'stopped' }
  if (end instanceof SpawnError) return { result: 'broken', detail: end.message }
  switch (end.kind) {
    case 'exited':
      if (end.code === 0) return { result: 'ok', detail: 'exit 0' }
      return {
        result: NOT_RUN.includes(end.code) ? 'broken' : 'failed',
        detail: `exit ${end.code}`,
      }
    case 'signalled':
      return { result: 'failed', detail: `killed by ${end.signal}` }
    case 'timed_out':
    case 'idle':
      return { result: 'failed', detail: `timed out after ${durationWords(end.ms)}` }
    case 'budget':
      return { result: 'late', detail: end.error }
  }
}
