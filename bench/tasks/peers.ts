import type { Figure } from '../figure.ts'
import type { Programs } from '../project.ts'
import { nameOf, SIZES } from './measure.ts'
import { makeBacklog } from './backlog.ts'
import { AT_ONCE, measureClaims, measureCreates, type Crowd } from './crowd.ts'
import { makeDex } from './dex.ts'
import { makeForge } from './forge.ts'
import { PEERS, Unavailable, type Peer } from './install.ts'
import { makeMaster } from './master.ts'
import { measureCommand, type Patience, type Timing } from './rounds.ts'
import { makeBench, COMMANDS, type Tool, type Command } from './tool.ts'
import { makeWarrior } from './warrior.ts'
import { makeOnly, makeWork } from './work.ts'

/** One command of all tools at one size. */
export interface Comparison {
  readonly command: Command
  readonly size: number
  readonly empty: number
  readonly timings: Readonly<Record<string, Timing>>
}

export interface PeerReport {
  readonly versions: Readonly<Record<string, string>>
  readonly missing: Readonly<Record<string, string>>
  readonly comparisons: readonly Comparison[]
  readonly crowds: Readonly<Record<string, Crowd>>
  /** The exit codes of eight processes that claim the same task. */
  readonly claims: Readonly<Record<string, readonly number[]>>
}

const MAKERS: readonly (readonly [Peer, () => Tool])[] = [
  [PEERS.backlog, makeBacklog],
  [PEERS.taskMaster, makeMaster],
  [PEERS.dex, makeDex],
  [PEERS.taskwarrior, makeWarrior],
]

const PATIENCE: Patience = { rounds: 21, budgetMs: 4_000 }
const QUICK: Patience = { rounds: 7, budgetMs: 1_000 }

/** Measures forge-tasks and its peers in turns, with the same work. */
export async function measurePeers(programs: Programs, isQuick: boolean): Promise<PeerReport> {
  const missing: Record<string, string> = {}
  const peers = MAKERS.flatMap(([peer, make]) => findPeer(peer, make, missing))
  const tools = [makeForge(programs), ...peers]
  const comparisons: Comparison[] = []
  for (const size of isQuick ? SIZES.slice(0, 2) : SIZES) {
    const patience = isQuick ? QUICK : PATIENCE
    for await (const row of compare(tools, size, programs.empty, patience)) comparisons.push(row)
  }
  const crowds: Record<string, Crowd> = {}
  const claims: Record<string, readonly number[]> = {}
  for (const tool of tools) {
    console.error(`  many at once: ${tool.name}`)
    crowds[tool.name] = await measureCreates(makeBench(tool, []), creates(tool, isQuick))
    claims[tool.name] = await measureClaims(makeBench(tool, [makeOnly()]))
  }
  const versions = Object.fromEntries(tools.map(({ name, version }) => [name, version]))
  return { versions, missing, comparisons, crowds, claims }
}

function findPeer(peer: Peer, make: () => Tool, missing: Record<string, string>): Tool[] {
  try {
    return [make()]
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    missing[`${peer.name} ${peer.version}`] = error.message
    return []
  }
}

async function* compare(
  tools: readonly Tool[],
  size: number,
  empty: string,
  patience: Patience,
): AsyncGenerator<Comparison> {
  const benches = tools.map((tool) => makeBench(tool, makeWork(size)))
  const commands = size === SIZES[0] ? COMMANDS : COMMANDS.slice(1)
  for (const command of commands) {
    // A measurement blocks, so Ctrl-C is only handled between two of them.
    await Bun.sleep(1)
    console.error(`  ${nameOf(command, size)}`)
    const result = measureCommand(command, benches, empty, patience)
    const named = result.timings.map((timing, index) => [tools[index]!.name, timing] as const)
    yield {
      command,
      size,
      empty: result.empty,
      timings: Object.fromEntries(named),
    }
  }
}

/** A tool that takes seconds per create gets fewer: lost tasks are counted, not time. */
function creates(tool: Tool, isQuick: boolean): number {
  if (tool.name === PEERS.taskMaster.name) return AT_ONCE
  return isQuick ? 40 : 200
}

/**
 * The time of forge-tasks relative to the fastest peer. Taskwarrior is a native program with one file
 * for all tasks: it is compared, but is not a target at the smallest size.
 */
export function leadFigures({ comparisons }: PeerReport): Figure[] {
  return comparisons.flatMap(({ command, size, timings }) => {
    const [own, best] = [timings['forge-tasks'], bestPeer(timings)]
    if (own?.kind !== 'measured' || best === undefined) return []
    const name = `${nameOf(command, size)}, against ${best.name}`
    const hasTarget = size > SIZES[0]! || best.name !== PEERS.taskwarrior.name
    const figure: Figure = {
      group: 'tasks-peers',
      name,
      measured: own.ms,
      unit: 'ms',
      base: best.ms,
    }
    return [hasTarget ? { ...figure, limit: 1 } : figure]
  })
}

export function bestPeer(timings: Comparison['timings']): { name: string; ms: number } | undefined {
  return Object.entries(timings)
    .flatMap(([name, timing]) =>
      timing.kind === 'measured' && name !== 'forge-tasks' ? [{ name, ms: timing.ms }] : [],
    )
    .toSorted((a, b) => a.ms - b.ms)[0]
}
