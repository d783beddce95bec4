import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { leftovers, makeBranchProject } from '../../support/branches.ts'
import { makeChain, startChain } from '../../support/chains.ts'
import { Running, survivors } from '../../support/forkhestra.ts'
import { sh } from '../../support/project.ts'
import { ask, problemsOf } from '../../support/queue.ts'
import { wrongEnds } from '../../support/queue-records.ts'
import { SEED, withSeed } from '../../support/random.ts'
import { journalOf, ofType, runsOf } from '../../support/record.ts'
import { until } from '../../support/until.ts'

// Each trial lets four agents in parallel delegate tasks in two rounds, kills the run with SIGKILL several
// times, and resumes it. In every other trial they work in worktrees.

const TRIALS = 6
const MOST_KILLS = 5
const AGENTS = ['work#1', 'work#2', 'work#3', 'docs']

const FILES = {
  work: sh('eval "$1"'),
  talks: sh(
    'forkhestra send "$FORKHESTRA_PARENT_NAME" "from $FORKHESTRA_AGENT_NAME"',
    'forkhestra send docs "from $FORKHESTRA_AGENT_NAME"',
    'echo talked',
  ),
  nests: sh(
    'forkhestra push retry=99 talks',
    'forkhestra run-queue',
    'forkhestra receive',
    'echo nested',
  ),
}

/** Reads until nobody can send anything, which is so once all agents do that. */
const PROMPT = [
  '/push retry=99 talks',
  '/push retry=99 nests',
  '/run',
  'folder=$(git rev-parse --git-common-dir 2> /dev/null || echo .)',
  'while forkhestra receive --json >> "$folder/got-$FORKHESTRA_AGENT_NAME"; do :; done',
].join('\n')

const REVIEW = 'case $FORKHESTRA_SCOPE in */r2/*) echo ORCHESTRA_COMPLETE;; esac'

const CHAIN = [
  {
    sequence: [
      {
        parallel: [
          { agent: './work', copies: 3, prompt: PROMPT },
          { agent: './work', name: 'docs', prompt: PROMPT },
        ],
      },
      { agent: './work', name: 'review', iterations: 1, prompt: REVIEW },
    ],
    iterations: 3,
  },
]

/** Runs it with kills until it ends; returns the number of kills. */
async function disturb(cwd: string, random: () => number): Promise<number> {
  let running = startChain(cwd)
  await until(() => journalOf(cwd, runsOf(cwd)[0] ?? '').length > 0)
  let kills = 0
  for (let left = 1 + Math.floor(random() * MOST_KILLS); left > 0; left--) {
    const moment = Bun.sleep(random() * 2500).then(() => 'kill' as const)
    if ((await Promise.race([moment, running.finished])) !== 'kill') break
    running.signal('SIGKILL')
    await running.finished
    if (ofType(journalOf(cwd, runsOf(cwd)[0]!), 'run_ended').length > 0) return kills
    kills += 1
    running = new Running(['resume', '--kill-orphans'], { cwd })
  }
  const { code, stdout, stderr } = await running.finished
  if (code !== 0) throw new Error(`exit ${code}: ${stderr}${stdout.slice(-2000)}`)
  return kills
}

interface TaskJson {
  readonly id: string
  readonly name: string
  readonly parent: string
  readonly end: { readonly success: boolean } | null
}

/** The names of the tasks whose results an agent has read. */
function resultsOf(folder: string, agent: string): Set<string> {
  const path = join(folder, `got-${agent}`)
  const lines = existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : []
  const messages = lines.flatMap(
    (line) => (JSON.parse(line) as { messages: { kind: string; from: string }[] }).messages,
  )
  return new Set(messages.filter(({ kind }) => kind === 'result').map(({ from }) => from))
}

async function checkTrial(isRepository: boolean, random: () => number): Promise<number> {
  const cwd = isRepository ? makeBranchProject(CHAIN, FILES) : makeChain(CHAIN, FILES)
  const kills = await disturb(cwd, random)
  expect(survivors()).toEqual([])
  expect(await problemsOf(cwd)).toEqual([])
  expect(wrongEnds(cwd)).toEqual([])
  const { tasks } = await ask<{ tasks: TaskJson[] }>(cwd, 'queue', '--all')
  const ofAgents = AGENTS.map((agent) => tasks.filter(({ parent }) => parent === agent))
  expect(ofAgents.map(({ length }) => length)).toEqual([4, 4, 4, 4])
  expect(ofAgents.flat().filter(({ end }) => end?.success !== true)).toEqual([])
  const parents = new Map(tasks.map(({ name, parent }) => [name, parent]))
  for (const [index, agent] of AGENTS.entries()) {
    const read = resultsOf(isRepository ? join(cwd, '.git') : cwd, agent)
    const own = new Set(ofAgents[index]!.map(({ name }) => name))
    expect([...own].filter((name) => !read.has(name))).toEqual([])
    const others = [...read].filter((name) => !own.has(name) && !own.has(parents.get(name)!))
    expect(others).toEqual([])
  }
  if (isRepository) expect(leftovers(cwd)).toEqual([])
  return kills
}

test('kill -9 during parallel agents with tasks: nothing is lost, duplicated or mixed up', async () => {
  let kills = 0
  for (let trial = 0; trial < TRIALS; trial += 1) {
    const isRepository = trial % 2 === 1
    kills += await withSeed(SEED + trial, (random) => checkTrial(isRepository, random))
  }
  expect(kills).toBeGreaterThan(0)
}, 600_000)
