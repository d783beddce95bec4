import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { TaskProject } from '../support/forge-tasks.ts'
import {
  addWorktrees,
  commitAll,
  createBatch,
  fieldOf,
  forgeTasks,
  git,
  inLanes,
  makeClone,
  mustTasks,
  numbered,
  readTaskFiles,
  shareOut,
  startRun,
  until,
  type TaskFile,
} from '../support/tasks-stress.ts'

const LANES = 16
const TIMEOUT = 300_000

/** The exit code of what was ended with `kill -9`. */
const KILLED = 137

/** Fewer killed processes among some fifty would prove little. */
const LEAST_KILLED = 5

/** One clone with these tasks, as one checkout or as three. */
type Layout = (titles?: readonly string[]) => Promise<string[]>

const oneCheckout: Layout = async (titles) => [await makeClone(titles)]
const threeWorktrees: Layout = async (titles) => {
  const root = await makeClone(titles)
  return [root, ...(await addWorktrees(root, 2))]
}

const LAYOUTS: readonly (readonly [string, Layout])[] = [
  ['in one checkout', oneCheckout],
  ['over three worktrees', threeWorktrees],
]

test('concurrent first creates of a project without git do not conflict', async () => {
  for (let round = 0; round < 10; round++) {
    const project = new TaskProject()
    const creates = numbered('Task', 8).map((title) => project.must('create', title, '--plain'))
    expect(new Set(await Promise.all(creates)).size).toBe(8)
  }
})

describe.each(LAYOUTS)('many agents %s', (_, layout) => {
  const place = (roots: readonly string[], lane: number) => roots[lane % roots.length]!

  test(
    '200 creates of 16 processes give 200 ids and 200 whole files',
    async () => {
      const roots = await layout()
      const ids = await shareOut(LANES, numbered('Task', 200), async (title, lane) => ({
        id: await mustTasks(place(roots, lane), ['create', title, '--plain']),
        title,
      }))
      expect(new Set(ids.map(({ id }) => id)).size).toBe(200)
      const files = roots.flatMap(readTaskFiles)
      expect(pairs(files)).toEqual(pairs(ids))
      await expectHealthy(roots)
    },
    TIMEOUT,
  )

  test(
    '200 tasks are each claimed by one of 16 agents, and finished',
    async () => {
      const roots = await layout(numbered('Task', 200))
      const logs = await inLanes(LANES, async (lane) =>
        workUntilNothingIsReady(place(roots, lane), `w${lane}`),
      )
      const claimed = logs.flat()
      expect(claimed).toHaveLength(200)
      expect(new Set(claimed).size).toBe(200)
      const done = roots.flatMap(readTaskFiles).filter(({ status }) => status === 'Done')
      expect(done.map(({ id }) => id).toSorted()).toEqual(claimed.toSorted())
      await expectMergesToDone(roots, 200)
    },
    TIMEOUT,
  )

  test(
    'no note and no label is lost when 16 processes edit one task',
    async () => {
      const roots = await layout(['The one'])
      const edited = roots[0]!
      const words = numbered('note', 96)
      let isOver = false
      const reader = readWhile(edited, () => !isOver)
      await shareOut(LANES, words, async (word, lane) => {
        // All checkouts edit the same file.
        const args = ['--append-notes', `<${word}>`, '--label', labelOf(word), '--cwd', edited]
        await mustTasks(place(roots, lane), ['edit', '1', ...args])
      })
      isOver = true
      expect(await reader).toBeGreaterThan(0)
      const [task] = readTaskFiles(edited)
      for (const word of words) expect(task!.text.split(`<${word}>`)).toHaveLength(2)
      expect(labelsOf(task!).toSorted()).toEqual(words.map(labelOf).toSorted())
    },
    TIMEOUT,
  )

  test(
    'creates that are killed leave no half file and no id twice',
    async () => {
      const roots = await layout()
      const given = await shareOut(LANES, numbered('Task', 160), async (title, lane) => {
        const options = maybeKilled(title)
        const ended = await forgeTasks(place(roots, lane), ['create', title, '--plain'], options)
        const id = ended.code === 0 ? ended.stdout.trim() : undefined
        return { id, title, isKilled: ended.code === KILLED }
      })
      const acknowledged = given.flatMap(({ id, title }) => (id === undefined ? [] : { id, title }))
      expect(given.filter(({ isKilled }) => isKilled).length).toBeGreaterThanOrEqual(LEAST_KILLED)
      expect(acknowledged.length).toBeGreaterThanOrEqual(80)
      const files = roots.flatMap(readTaskFiles)
      expect(new Set(files.map(({ id }) => id)).size).toBe(files.length)
      expect(pairs(files)).toEqual(expect.arrayContaining(pairs(acknowledged)))
      for (const root of roots) await forgeTasks(root, ['doctor', '--fix'])
      await expectHealthy(roots)
    },
    TIMEOUT,
  )

  test(
    'edits that were acknowledged survive the killed ones among them',
    async () => {
      const roots = await layout(['The one'])
      const edited = roots[0]!
      const given = await shareOut(LANES, numbered('note', 96), async (word, lane) => {
        const args = ['--append-notes', `<${word}>`, '--label', labelOf(word), '--cwd', edited]
        const { code } = await forgeTasks(
          place(roots, lane),
          ['edit', '1', ...args],
          maybeKilled(word),
        )
        return { word, isAcknowledged: code === 0, isKilled: code === KILLED }
      })
      expect(given.filter(({ isKilled }) => isKilled).length).toBeGreaterThanOrEqual(LEAST_KILLED)
      const [task] = readTaskFiles(edited)
      const labels = labelsOf(task!)
      for (const { word, isAcknowledged } of given) {
        const times = task!.text.split(`<${word}>`).length - 1
        expect(times).toBe(isAcknowledged || times > 0 ? 1 : 0)
        // Both changes of one call, or none.
        expect(labels.includes(labelOf(word))).toBe(times === 1)
      }
    },
    TIMEOUT,
  )

  test(
    'tasks of agents that are killed while they claim are finished by others',
    async () => {
      const roots = await layout(numbered('Task', 60))
      const doomed = inLanes(LANES / 2, async (lane) => {
        const args = ['next', '--claim', '--as', `doomed${lane}`, '--lease', '1s']
        await forgeTasks(place(roots, lane), args, { killAfterMs: 5 + Math.random() * 40 })
      })
      const logs = await inLanes(LANES / 2, async (lane) => {
        const log: string[] = []
        await until(async () => {
          log.push(...(await workUntilNothingIsReady(place(roots, lane), `w${lane}`)))
          return countDone(roots) === 60 ? true : undefined
        })
        return log
      })
      await doomed
      for (const root of roots) await forgeTasks(root, ['doctor', '--fix'])
      expect(logs.flat().toSorted()).toEqual(idsOf(readTaskFiles(roots[0]!)))
      await expectMergesToDone(roots, 60)
    },
    TIMEOUT,
  )

  test('one of 8 agents that claim a task wins, and the others get its name', async () => {
    const roots = await layout(['The one'])
    const ends = await inLanes(8, async (lane) =>
      forgeTasks(place(roots, lane), ['claim', '1', '--as', `agent${lane}`, '--plain']),
    )
    const winner = ends.findIndex(({ code }) => code === 0)
    expect(fieldOf(ends[winner]!.stdout, 'assignee')).toBe(`agent${winner}`)
    const losers = ends.filter((_end, lane) => lane !== winner)
    expect(losers.map(({ code }) => code)).toEqual(Array.from({ length: 7 }, () => 3))
    for (const { stdout, stderr } of losers) {
      expect(stdout).toBe('')
      expect(stderr).toContain(`TASK-001 is claimed by agent${winner} `)
    }
  })

  test('a claim outside a run ends when its lease expires', async () => {
    const roots = await layout(['The one'])
    await mustTasks(place(roots, 0), ['next', '--claim', '--as', 'dead', '--lease', '1m'])
    const early = await forgeTasks(place(roots, 1), ['next', '--claim', '--as', 'heir'])
    expect(early).toMatchObject({ code: 1, stdout: '' })
    await mustTasks(place(roots, 0), ['release', '1'])
    await mustTasks(place(roots, 0), ['next', '--claim', '--as', 'dead', '--lease', '1s'])
    const brief = await until(async () => {
      const { code, stdout } = await forgeTasks(place(roots, 1), [
        'next',
        '--claim',
        '--as',
        'heir',
      ])
      return code === 0 ? stdout : undefined
    })
    expect(fieldOf(brief, 'assignee')).toBe('heir')
    expect(brief).toMatch(/^attempt: dead, .*: failed, its lease expired$/m)
    expect(readTaskFiles(place(roots, 0))[0]!.text).toContain(
      'An attempt by dead ended without a result: its lease expired',
    )
  })

  test('claims of a run are free as soon as its process is dead', async () => {
    const roots = await layout(numbered('Task', 4))
    const run = startRun('run-1')
    const claimed = await inLanes(4, async (lane) => {
      const options = { env: run.env(lane) }
      return fieldOf(await mustTasks(place(roots, lane), ['next', '--claim'], options), 'id')
    })
    expect(new Set(claimed)).toEqual(new Set(['TASK-001', 'TASK-002', 'TASK-003', 'TASK-004']))
    const held = await forgeTasks(roots[0]!, ['next', '--claim', '--as', 'heir'])
    expect(held).toMatchObject({ code: 1, stdout: '' })
    await run.kill()
    const freed = await inLanes(4, async (lane) => {
      const args = ['next', '--claim', '--as', `heir${lane}`]
      const brief = await mustTasks(place(roots, lane), args)
      expect(fieldOf(brief, 'attempt')).toMatch(/^builder, .*: failed, run run-1 is gone$/)
      return fieldOf(brief, 'id')
    })
    expect(new Set(freed)).toEqual(new Set(claimed))
  })

  test('a task is Blocked with the reasons after three failed attempts', async () => {
    const roots = await layout(['The one'])
    for (const name of ['run-1', 'run-2', 'run-3']) {
      const run = startRun(name)
      const brief = await mustTasks(roots[0]!, ['next', '--claim'], { env: run.env(1) })
      expect(fieldOf(brief, 'id')).toBe('TASK-001')
      await run.kill()
    }
    const { code, stderr } = await forgeTasks(roots[0]!, ['next', '--claim', '--as', 'heir'])
    expect(code).toBe(1)
    expect(stderr).toStartWith('No task is ready:\n  TASK-001: status is Blocked\n')
    const [task] = readTaskFiles(roots[0]!)
    expect(task!.status).toBe('Blocked')
    expect(task!.text).toMatch(
      /\nBlocked after 3 attempts: builder at \S+ \(run run-1 is gone\); builder at \S+ \(run run-2 is gone\); builder at \S+ \(run run-3 is gone\)\n/,
    )
  })

  /** Everything that was done in any checkout is done in the first one once it is merged. */
  async function expectMergesToDone(roots: readonly string[], count: number): Promise<void> {
    const [first, ...others] = roots
    for (const root of roots) await commitAll(root, 'Work')
    for (const root of others) await git(first!, 'merge', '-q', '--no-edit', branchOf(root))
    expect(readTaskFiles(first!).map(({ status }) => status)).toEqual(
      Array.from({ length: count }, () => 'Done'),
    )
    await expectHealthy(roots)
  }
})

describe('worktrees of one clone', () => {
  test('a task that is claimed or done in one is not offered in another before the merge', async () => {
    const [first, second] = (await threeWorktrees(['The one'])) as [string, string]
    await mustTasks(first, ['claim', '1', '--as', 'a'])
    expect(await explain(second)).toBe(`TASK-001 | To Do | - | The one | claimed by a in ../main`)
    expect(await forgeTasks(second, ['next', '--claim', '--as', 'b'])).toMatchObject({ code: 1 })
    await mustTasks(first, ['edit', '1', '--status', 'done', '--as', 'a'])
    expect(await explain(second)).toMatch(/ \| done in \S+, not merged here$/)
    expect(await forgeTasks(second, ['next', '--claim', '--as', 'b'])).toMatchObject({ code: 1 })
    expect(await forgeTasks(second, ['claim', '1', '--as', 'b'])).toMatchObject({ code: 3 })
    await commitAll(first, 'Done')
    await git(second, 'merge', '-q', '--no-edit', 'main')
    expect(await explain(second)).toBe('')
    const { stderr } = await forgeTasks(second, ['next', '--claim', '--as', 'b'])
    expect(stderr).toBe('No open tasks.\n')
  })

  test('a task that an agent finished in one is not offered to it in another', async () => {
    const [first, second] = (await threeWorktrees(['The one'])) as [string, string]
    await mustTasks(first, ['claim', '1', '--as', 'a'])
    await mustTasks(first, ['edit', '1', '--status', 'done', '--as', 'a'])
    expect(await forgeTasks(second, ['claim', '1', '--as', 'a'])).toMatchObject({ code: 3 })
  })

  test('a reopened task can be claimed again', async () => {
    const [first] = (await threeWorktrees(['The one'])) as [string]
    await mustTasks(first, ['edit', '1', '--status', 'done', '--as', 'a'])
    await mustTasks(first, ['edit', '1', '--status', 'todo', '--as', 'a'])
    expect(await explain(first)).toBe('TASK-001 | To Do | - | The one | ready')
    expect(await forgeTasks(first, ['next', '--claim', '--as', 'b'])).toMatchObject({ code: 0 })
  })

  test('release makes a task available that was done in another one', async () => {
    const [first, second] = (await threeWorktrees(['The one'])) as [string, string]
    await mustTasks(second, ['edit', '1', '--status', 'done', '--as', 'a'])
    await mustTasks(first, ['release', '1'])
    expect(await forgeTasks(first, ['next', '--claim', '--as', 'b'])).toMatchObject({ code: 0 })
  })

  test('release from another one puts the task back where it was claimed', async () => {
    const [first, second] = (await threeWorktrees(['The one'])) as [string, string]
    await mustTasks(first, ['claim', '1', '--as', 'a'])
    await mustTasks(second, ['release', '1'])
    expect(readTaskFiles(first)[0]!.status).toBe('To Do')
  })

  test('a task done by hand is not offered elsewhere when the claim expires', async () => {
    const [first, second] = (await threeWorktrees(['The one', 'The other'])) as [string, string]
    const run = startRun('run-1')
    await mustTasks(first, ['claim', '1'], { env: run.env(1) })
    const path = join(first, 'forge/tasks/TASK-001 - The one.md')
    const text = readFileSync(path, 'utf8')
    await Bun.write(path, text.replace('status: In Progress', 'status: Done'))
    await run.kill()
    const brief = await mustTasks(second, ['next', '--claim', '--as', 'b'])
    expect(fieldOf(brief, 'id')).toBe('TASK-002')
  })

  test('a worktree added later is not offered tasks that are done but not committed', async () => {
    const first = await makeClone(['The one'])
    await mustTasks(first, ['claim', '1', '--as', 'a'])
    await mustTasks(first, ['edit', '1', '--status', 'done', '--as', 'a'])
    const [second] = (await addWorktrees(first, 1)) as [string]
    expect(await forgeTasks(second, ['next', '--claim', '--as', 'b'])).toMatchObject({ code: 1 })
  })

  test('a task that is Blocked after three attempts in one is not offered in another', async () => {
    const [first, second] = (await threeWorktrees(['The one'])) as [string, string]
    for (const name of ['run-1', 'run-2', 'run-3']) {
      const run = startRun(name)
      await mustTasks(first, ['next', '--claim'], { env: run.env(1) })
      await run.kill()
    }
    await forgeTasks(first, ['next', '--claim', '--as', 'heir'])
    expect(await forgeTasks(second, ['next', '--claim', '--as', 'b'])).toMatchObject({ code: 1 })
  })
})

describe('a claim', () => {
  test.each([
    [['edit', '1', '--append-notes', 'Still at it']],
    [['view', '1']],
    [['list']],
    [['list', '--ready']],
    [['next', '--claim']],
    [['search', 'one']],
    [['stats']],
    [['create', 'Another']],
  ])('is renewed by its owner with %j', async (args) => {
    const root = await makeClone(['The one', 'Next'])
    await mustTasks(root, ['claim', '1', '--as', 'a', '--lease', '20s'])
    const before = Date.parse(await leaseEnd(root))
    // A lease is renewed only after a tenth of it has passed.
    await until(async () => (Date.now() > before - 17_900 ? 'late enough' : undefined))
    await mustTasks(root, [...args, '--as', 'a'])
    expect(Date.parse(await leaseEnd(root))).toBeGreaterThan(before)
  })

  test('is not renewed by the commands of others', async () => {
    const root = await makeClone(['The one'])
    await mustTasks(root, ['claim', '1', '--as', 'a', '--lease', '1h'])
    const before = await leaseEnd(root)
    await mustTasks(root, ['edit', '1', '--append-notes', 'Seen', '--as', 'b'])
    expect(await leaseEnd(root)).toBe(before)
  })

  test('inside a run belongs to the run even if a name is given', async () => {
    const root = await makeClone(['The one'])
    const run = startRun('run-1')
    await mustTasks(root, ['next', '--claim', '--as', 'builder-2'], { env: run.env(1) })
    await run.kill()
    const brief = await mustTasks(root, ['next', '--claim', '--as', 'heir'])
    expect(fieldOf(brief, 'attempt')).toMatch(/^builder-2, .*: failed, run run-1 is gone$/)
  })

  test('is not visible in a nested repository, which has its own tasks', async () => {
    const root = await makeClone(['The one'])
    const inner = join(root, 'vendor/part')
    await git(root, 'init', '-q', inner)
    const { code, stderr } = await forgeTasks(inner, ['claim', '1', '--as', 'b'])
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('There are no tasks yet; create one: forge-tasks create "Title"'),
    ])
  })
})

test('readers see whole files and no warning while tasks are archived', async () => {
  const root = await makeClone()
  const ids = await createBatch(root, numbered('Task', 60))
  let isOver = false
  const readers = inLanes(4, async () => {
    const warnings: string[] = []
    while (!isOver) warnings.push((await forgeTasks(root, ['list', '--plain'])).stderr)
    return warnings.filter((text) => text !== '')
  })
  await shareOut(4, ids, async (id) => mustTasks(root, ['archive', id, '--force']))
  isOver = true
  expect((await readers).flat()).toEqual([])
})

/** Claims and finishes tasks; returns their ids in that order. */
async function workUntilNothingIsReady(root: string, name: string): Promise<string[]> {
  const log: string[] = []
  for (;;) {
    const next = await forgeTasks(root, ['next', '--claim', '--as', name, '--plain'])
    if (next.code === 1) return log
    const id = fieldOf(next.stdout, 'id')
    if (next.code !== 0 || id === undefined) throw new Error(`${next.code}: ${next.stderr}`)
    expect(fieldOf(next.stdout, 'assignee')).toBe(name)
    log.push(id)
    await mustTasks(root, ['edit', id, '--status', 'done', '--as', name])
  }
}

/** Kills every second job, at moments spread over the duration of a command. */
function maybeKilled(job: string): { killAfterMs?: number } {
  const isVictim = Number(job.split(' ')[1]) % 2 === 0
  return isVictim ? { killAfterMs: 2 + Math.random() * 40 } : {}
}

/** Reads the only task repeatedly; returns how often. */
async function readWhile(root: string, goesOn: () => boolean): Promise<number> {
  let times = 0
  while (goesOn()) {
    expect(readTaskFiles(root)).toHaveLength(1)
    times += 1
    await Bun.sleep(1)
  }
  return times
}

async function expectHealthy(roots: readonly string[]): Promise<void> {
  for (const root of roots) {
    expect(await forgeTasks(root, ['doctor'])).toEqual({
      code: 0,
      stdout: 'No problems found.\n',
      stderr: '',
    })
  }
}

async function explain(root: string): Promise<string> {
  return mustTasks(root, ['list', '--ready', '--explain', '--plain'])
}

async function leaseEnd(root: string): Promise<string> {
  const view = JSON.parse(await mustTasks(root, ['view', '1', '--json'])) as {
    claim: { until: string }
  }
  return view.claim.until
}

function pairs(tasks: readonly Pick<TaskFile, 'id' | 'title'>[]): string[] {
  return tasks.map(({ id, title }) => `${id} ${title}`).toSorted()
}

function idsOf(tasks: readonly TaskFile[]): string[] {
  return tasks.map(({ id }) => id).toSorted()
}

function countDone(roots: readonly string[]): number {
  return roots.flatMap(readTaskFiles).filter(({ status }) => status === 'Done').length
}

function labelsOf({ text }: TaskFile): string[] {
  return /^labels: \[(.*)\]$/m.exec(text)?.[1]?.split(', ') ?? []
}

function labelOf(word: string): string {
  return word.replace(' ', '-')
}

function branchOf(root: string): string {
  return root.split('/').at(-1)!
}
