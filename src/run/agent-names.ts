import { branchName } from '../records/events/branch-name.ts'
import { next } from '../records/events/fold.ts'
import { NO_EVENTS } from '../records/events/state.ts'
import { keyOf, type Located } from '../records/events/tree.ts'
import type { Plan } from '../chain/plan/plan.ts'
import { summarize } from '../chain/plan/summarize.ts'
import { MAIN } from '../queue/task.ts'

type Names = ReadonlyMap<string, string>

const known = new WeakMap<object, Names>()

/**
 * Names of the agents in branches, by step key: each step and copy has its own. Agents of all other steps are
 * `main`.
 */
export function agentsInBranches(plan: Pick<Plan, 'root' | 'recoveries'>): Names {
  const names = known.get(plan) ?? nameAgents(plan)
  known.set(plan, names)
  return names
}

/** The name of a step's agent, which others use to send it messages. */
export function agentNameOf(plan: Pick<Plan, 'root' | 'recoveries'>, step: Located): string {
  return agentsInBranches(plan).get(keyOf(step)) ?? MAIN
}

function nameAgents({ root, recoveries }: Pick<Plan, 'root' | 'recoveries'>): Names {
  const started = {
    type: 'run_started',
    schema: 1,
    version: '',
    pid: 0,
    cwd: '',
    plan: {},
  } as const
  const state = next(NO_EVENTS, { ...started, ...summarize({ root, recoveries }) })
  const names = new Map<string, string>()
  const taken = new Set([MAIN])
  for (const { key } of state.steps) {
    const wanted = branchName(state, key.split('/'))
    if (wanted === undefined) continue
    const name = notTaken(asAgentName(wanted), taken)
    taken.add(name)
    names.set(key, name)
  }
  return names
}

/** A step name may contain characters that lists of agents, or unquoted commands, do not allow. */
function asAgentName(name: string): string {
  return (
    name.replaceAll(/[^\p{L}\p{M}\p{N}.:#_-]+/gu, '-').replace(/^[^\p{L}\p{N}]+/u, '') || 'agent'
  )
}

function notTaken(wanted: string, taken: ReadonlySet<string>): string {
  let name = wanted
  for (let count = 2; taken.has(name); count += 1) name = `${wanted}.${count}`
  return name
}
