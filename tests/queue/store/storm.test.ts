import { expect, test } from 'bun:test'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Running, survivors, type Finished } from '../../support/forkhestra.ts'
import { sh } from '../../support/project.ts'
import { ask, makeQueueProject, problemsOf, startPrompt } from '../../support/queue.ts'
import { readStore, storeOf, wrongDeliveries, wrongEnds } from '../../support/queue-records.ts'
import { SEED, withSeed } from '../../support/random.ts'
import { journalOf, ofType, runsOf } from '../../support/record.ts'
import { until } from '../../support/until.ts'

// Each trial lets fifty sub-agents work, send and queue tasks, kills the process that
// runs them with SIGKILL several times, and resumes. The result is read from the records.

const TRIALS = 10
const AT_ONCE = 2
const MOST_KILLS = 6
/** Far more than any resume needs; anything longer is a hang. */
const HANGS_MS = 60_000

const NAMES = Array.from({ length: 40 }, (_, index) => `t${index}`)

/** Writes to another sub-agent, which may have ended, and to main; finally adds a line to `closing`. */
const TALKS = sh(
  'forkhestra send "$1" "from $FORKHESTRA_AGENT_NAME" 2>> late',
  'forkhestra send main "$FORKHESTRA_AGENT_NAME was here ($$)"',
  'echo "$FORKHESTRA_AGENT_NAME" >> closing',
  'echo "result of $FORKHESTRA_AGENT_NAME"',
)

/** Reads the result of its child, which may have been queued by an earlier attempt. */
const NESTS = sh(
  'forkhestra push name=child-of-$FORKHESTRA_AGENT_NAME retry=2 "talks main" >> pushed 2>&1',
  'forkhestra run-queue > /dev/null',
  'forkhestra receive --json --from child-of-$FORKHESTRA_AGENT_NAME >> got.ndjson',
  'echo "$FORKHESTRA_AGENT_NAME" >> closing',
  'echo "result of $FORKHESTRA_AGENT_NAME"',
)

/** Reads until there is nothing to wait for. */
const MAIN =
  'while forkhestra receive --json >> got.ndjson; do forkhestra check --json >> got.ndjson; done'

function makeTrial(random: () => number): string {
  const retries = ['', ' retry=2', ' retry=9']
  const pushes = NAMES.map((name, index) => {
    const retry = retries[Math.floor(random() * retries.length)]!
    const other = NAMES[Math.floor(random() * NAMES.length)]!
    return `/push name=${name}${retry} "${index % 4 === 0 ? 'nests' : `talks ${other}`}"`
  })
  return makeQueueProject([...pushes, '/run parallel=8', MAIN].join('\n'), {
    talks: TALKS,
    nests: NESTS,
  })
}

/** After a random time, right after a commit to the store, or right after an agent's last action. */
async function momentToKill(cwd: string, random: () => number): Promise<void> {
  const kind = random()
  if (kind < 0.4) return Bun.sleep(random() * 1500)
  if (kind < 0.7) {
    const log = `${storeOf(cwd)}-wal`
    for (let left = Math.ceil(random() * 80); left > 0; left--) {
      const before = sizeOf(log)
      const deadline = performance.now() + 100
      while (sizeOf(log) === before && performance.now() < deadline) await Bun.sleep(0)
    }
    return
  }
  const wanted = sizeOf(join(cwd, 'closing')) + 1 + random() * 30
  const deadline = performance.now() + 5000
  while (sizeOf(join(cwd, 'closing')) < wanted && performance.now() < deadline) await Bun.sleep(0)
  await Bun.sleep(random() * 12)
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

function isOver(cwd: string): boolean {
  return ofType(journalOf(cwd, runsOf(cwd)[0] ?? ''), 'run_ended').length > 0
}

/** Runs one run with kills until it ends; returns the number of kills. */
async function disturb(cwd: string, random: () => number): Promise<number> {
  let running = startPrompt(cwd)
  // Before that there is nothing to resume.
  await until(() => journalOf(cwd, runsOf(cwd)[0] ?? '').length > 0)
  let kills = 0
  for (let left = 1 + Math.floor(random() * MOST_KILLS); left > 0; left--) {
    const moment = momentToKill(cwd, random).then(() => 'kill' as const)
    if ((await Promise.race([moment, running.finished])) !== 'kill') break
    running.signal('SIGKILL')
    await running.finished
    if (isOver(cwd)) return kills
    kills += 1
    await Bun.sleep(random() * 50)
    running = new Running(['resume', '--kill-orphans'], { cwd })
  }
  const { code, stdout, stderr } = await inTime(running)
  if (code !== 0) throw new Error(`exit ${code}: ${stderr}${stdout.slice(-2000)}`)
  return kills
}

async function inTime(running: Running): Promise<Finished> {
  const late = Bun.sleep(HANGS_MS).then(() => undefined)
  const finished = await Promise.race([running.finished, late])
  if (finished !== undefined) return finished
  running.signal('SIGKILL')
  throw new Error(`it hangs: ${running.stdout.slice(-2000)}${running.stderr}`)
}

interface Handed {
  readonly messages: readonly { readonly kind: string; readonly task?: string }[]
}

/** Compares the results that readers recorded with the deliveries in the store. */
function wrongReadings(cwd: string): string[] {
  const path = join(cwd, 'got.ndjson')
  const lines = existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : []
  const seen = new Map<string, number>()
  for (const { messages } of lines.map((line) => JSON.parse(line) as Handed)) {
    for (const { task } of messages) {
      if (task !== undefined) seen.set(task, (seen.get(task) ?? 0) + 1)
    }
  }
  const leases = readStore<{ task: string; times: number }>(
    cwd,
    `select replace(subject, '.result', '') as task, count(*) as times from history
     where what = 'leased' and subject like '%.result' group by subject`,
  )
  return leases.flatMap(({ task, times }) => {
    const count = seen.get(task) ?? 0
    const isFine = count >= 1 && count <= times
    return isFine
      ? []
      : [`the result of ${task} was handed out ${times} times, seen ${count} times`]
  })
}

async function readTheRest(cwd: string): Promise<void> {
  const answer = await ask<Handed>(cwd, 'check', '--max', '1000')
  await Bun.write(
    join(cwd, 'got.ndjson'),
    `${readFileSync(join(cwd, 'got.ndjson'), 'utf8')}${JSON.stringify(answer)}\n`,
  )
}

async function wrongWith(cwd: string): Promise<string[]> {
  await readTheRest(cwd)
  const open = readStore<{ name: string; state: string }>(
    cwd,
    `select name, state from task where depth > 0 and state <> 'ended'`,
  )
  return [
    ...(await problemsOf(cwd)).map((problem) => `queue verify: ${problem}`),
    ...open.map(({ name, state }) => `${name} is ${state}`),
    ...wrongEnds(cwd),
    ...wrongDeliveries(cwd),
    ...wrongReadings(cwd),
  ]
}

test('fifty sub-agents in a run that is killed repeatedly: each ends and is delivered exactly once', async () => {
  let next = 0
  let kills = 0
  let tasks = 0
  const work = async () => {
    while (next < TRIALS) {
      await withSeed(SEED + next++, async (random) => {
        const cwd = makeTrial(random)
        const count = await disturb(cwd, random)
        kills += count
        expect(await wrongWith(cwd)).toEqual([])
        tasks += readStore(cwd, `select 1 from task where depth > 0`).length
      })
    }
  }
  const ends = await Promise.allSettled(Array.from({ length: AT_ONCE }, work))
  for (const end of ends) if (end.status === 'rejected') throw end.reason
  expect(survivors()).toEqual([])
  expect(kills).toBeGreaterThanOrEqual(TRIALS)
  expect(tasks).toBeGreaterThanOrEqual(TRIALS * 50)
}, 300_000)
