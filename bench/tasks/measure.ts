import { join } from 'node:path'
import type { Figure } from '../figure.ts'
import type { Programs } from '../project.ts'
import { AT_ONCE, measureClaims, measureCreates } from './crowd.ts'
import { deleteIndex, hasIndex, makeForge } from './forge.ts'
import { measureCommand, median } from './rounds.ts'
import {
  argvOf,
  makeBench,
  timeOfCall,
  COMMANDS,
  type Bench,
  type Tool,
  type Command,
} from './tool.ts'
import { makeOnly, makeWork } from './work.ts'

export const SIZES = [100, 1_000, 10_000]
const ROUNDS = 31
const CREATES = 200

/** Limits as multiples of the empty program. */
const LISTS: Readonly<Record<number, number>> = { 100: 3.5, 1_000: 5.5, 10_000: 17 }
const ONE_TASK: Readonly<Record<number, number>> = { 1_000: 4.5 }

/** Measures forge-tasks alone: the time of a call, behaviour under concurrency, and memory. */
export async function measureTasks(programs: Programs): Promise<Figure[]> {
  const forge = makeForge(programs)
  const figures: Figure[] = []
  for (const size of SIZES) {
    const bench = makeBench(forge, makeWork(size))
    if (size === SIZES[0]) figures.push(measureCall(bench, 'start', programs, 1.5))
    for (const command of COMMANDS.slice(1)) {
      // A measurement blocks, so Ctrl-C is only handled between two of them.
      await Bun.sleep(1)
      const limits = command === 'list' || command === 'ready' ? LISTS : ONE_TASK
      figures.push(measureCall(bench, command, programs, limits[size]))
    }
    figures.push(measureListAfterEdit(bench, programs))
    if (size === SIZES.at(-1)) figures.push(measureLast(bench), ...measureMemory(bench))
  }
  return [...figures, ...(await measureCrowd(forge))]
}

/** The name of a measurement in every table. */
export function nameOf(command: Command, size: number): string {
  if (command === 'start') return 'start-up (--version)'
  const name = command === 'ready' ? 'list --ready' : command
  return `${name}, ${size.toLocaleString('en').replace(',', ' ')} tasks`
}

function measureCall(bench: Bench, command: Command, { empty }: Programs, limit?: number): Figure {
  const patience = { rounds: ROUNDS, budgetMs: Infinity }
  const result = measureCommand(command, [bench], empty, patience)
  const timing = result.timings[0]!
  if (timing.kind !== 'measured') throw new Error(`${command}: ${JSON.stringify(timing)}`)
  return {
    ...figure(nameOf(command, bench.tasks.length), timing.ms, 'ms', limit),
    base: result.empty,
  }
}

/** The index is then out of date by one file, as it usually is between two calls of an agent. */
function measureListAfterEdit(bench: Bench, { empty }: Programs): Figure {
  const [lists, empties]: number[][] = [[], []]
  for (let round = 0; round < ROUNDS; round++) {
    timeOfCall([empty], bench)
    empties!.push(timeOfCall([empty], bench))
    timeOfCall(argvOf(bench, 'edit', round), bench)
    lists!.push(timeOfCall(argvOf(bench, 'list', round), bench))
  }
  const name = `${nameOf('list', bench.tasks.length)}, one just edited`
  return { ...figure(name, median(lists!), 'ms'), base: median(empties!) }
}

/** A create at 10 000 tasks against the first one of an empty project. */
function measureLast(bench: Bench): Figure {
  const [firsts, lasts]: number[][] = [[], []]
  for (let round = 0; round < ROUNDS; round++) {
    const fresh = makeBench({ ...bench.tool, prepare: () => undefined }, [])
    timeOfCall(argvOf(fresh, 'start', 0), fresh)
    firsts!.push(timeOfCall(argvOf(fresh, 'create', 0), fresh))
    timeOfCall(argvOf(bench, 'start', 0), bench)
    lasts!.push(timeOfCall(argvOf(bench, 'create', 100 + round), bench))
  }
  const name = 'create at 10 000 tasks, against the first one'
  return { ...figure(name, median(lasts!), 'ms'), base: median(firsts!) }
}

function measureMemory(bench: Bench): Figure[] {
  const program = argvOf(bench, 'start', 0)[0]!
  const commands: Readonly<Record<string, (turn: number) => readonly string[]>> = {
    ...Object.fromEntries(
      COMMANDS.slice(1).map((command) => [
        command === 'ready' ? 'list --ready' : command,
        (turn: number) => argvOf(bench, command, 200 + turn),
      ]),
    ),
    'next --claim': (turn) => [program, 'next', '--claim', '--as', `agent-${turn}`, '--plain'],
  }
  return Object.entries(commands).flatMap(([name, argv]) => {
    const cold = [0, 1, 2].map((turn) => {
      deleteIndex(bench.project)
      return peakOf(argv(turn), bench)
    })
    if (!hasIndex(bench.project)) timeOfCall(argvOf(bench, 'list', 0), bench)
    const warm = [3, 4, 5].map((turn) => peakOf(argv(turn), bench))
    const peak = (values: number[]) => Math.max(...values) / 1_000_000
    return [
      figure(`peak memory at 10 000 tasks: ${name}`, peak(warm), 'MB', 100),
      figure(`peak memory at 10 000 tasks: ${name}, no index`, peak(cold), 'MB', 100),
    ]
  })
}

function peakOf(argv: readonly string[], { project, env }: Bench): number {
  const script = join(import.meta.dir, 'memory.ts')
  const { exitCode, stdout, stderr } = Bun.spawnSync([process.execPath, script, ...argv], {
    cwd: project,
    env,
    stdin: 'ignore',
  })
  if (exitCode === 0) return Number(stdout.toString())
  throw new Error(`\`${argv.join(' ')}\` ended with ${exitCode}: ${stderr.toString()}`)
}

async function measureCrowd(forge: Tool): Promise<Figure[]> {
  const crowd = await measureCreates(makeBench(forge, []), CREATES)
  const codes = await measureClaims(makeBench(forge, [makeOnly()]))
  const winners = codes.filter((code) => code === 0).length
  if (winners === 0) throw new Error('no process got the task')
  const losers = codes.filter((code) => code === 3).length
  const at = `${CREATES} creates, ${AT_ONCE} at a time`
  return [
    figure(at, crowd.seconds, 's', 3),
    figure(
      `${at}: without an id of its own`,
      CREATES - Math.min(crowd.ids, crowd.kept),
      'processes',
      0,
    ),
    figure(`${AT_ONCE} claim one task: winners`, winners, 'processes', 1),
    figure(
      `${AT_ONCE} claim one task: neither won nor told who did`,
      AT_ONCE - winners - losers,
      'processes',
      0,
    ),
  ]
}

function figure(name: string, measured: number, unit: Figure['unit'], limit?: number): Figure {
  return { group: 'tasks', name, measured, unit, ...(limit === undefined ? {} : { limit }) }
}
