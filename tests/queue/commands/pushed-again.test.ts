import { expect, test } from 'bun:test'
import { forkhestra } from '../../support/forkhestra.ts'
import { makeProject, sh, writeFiles } from '../../support/project.ts'
import { ask } from '../../support/queue.ts'

interface Runs {
  readonly runs: readonly {
    readonly id: string
    readonly status: string
    readonly counts: { readonly failed: number; readonly done: number; readonly redone: number }
  }[]
}

const LONG = `cat ok #${'x'.repeat(5000)}`

/** A project whose queue holds tasks that have failed; they succeed once there is a file `ok`. */
async function failedQueue(...pushes: readonly string[][]) {
  const agent = sh('eval "$1"')
  const cwd = makeProject({ 'forge/.keep': '', agent, other: agent })
  const push = async (...words: string[]) => {
    const given = words.includes('--agent') ? [] : ['--agent', './agent']
    expect((await forkhestra(['push', ...given, ...words], { cwd })).code).toBe(0)
  }
  for (const words of pushes) await push(...words)
  expect((await forkhestra(['run-queue'], { cwd })).code).toBe(1)
  const newest = async () => (await ask<Runs>(cwd, 'runs')).runs[0]!
  const { id, status } = await newest()
  expect(status).toBe('failed')
  writeFiles(cwd, { ok: '' })
  const pushAgain = async (...words: string[]) => {
    await push('--run', id, ...words)
    await forkhestra(['run-queue', '--run', id], { cwd })
  }
  return { cwd, id, newest, pushAgain }
}

test.each([
  ['by its name', ['--name', 'one', 'cat ok'], ['--name', 'one', 'cat ok # try this']],
  ['by its prompt', ['cat ok'], ['cat ok']],
  ['by a long prompt', [LONG], [LONG]],
])(
  'a queue is complete once failed tasks were pushed again and succeeded: %s',
  async (_, first, again) => {
    const { cwd, id, newest, pushAgain } = await failedQueue(first)
    await pushAgain(...again)
    expect(await newest()).toMatchObject({
      status: 'complete',
      counts: { failed: 1, done: 1, redone: 1 },
    })
    const { stdout } = await forkhestra(['status'], { cwd })
    expect(stdout).toContain(`${id}  complete  queue: 1 failed (1 redone), 1 done`)
    expect(stdout).not.toContain('push what failed again')
    const { code, stderr } = await forkhestra(['resume', id], { cwd })
    expect(stderr).toBe(`[forkhestra] Run ${id} is complete: nothing to resume.\n`)
    expect(code).toBe(0)
  },
)

test.each([
  ['another task was done', ['--name', 'two', 'true']],
  ['the same prompt for another agent was done', ['--agent', './other', LONG]],
  ['another long prompt was done', [`${LONG}y`]],
  ['it failed again', ['--name', 'one', 'false']],
])('a queue stays failed if %s', async (_, again) => {
  const { newest, pushAgain } = await failedQueue(['--name', 'one', LONG])
  await pushAgain(...again)
  expect((await newest()).status).toBe('failed')
})

test('a copy that was queued before the failure does not make up for it', async () => {
  const { newest } = await failedQueue(['mkdir first'], ['mkdir first'])
  expect(await newest()).toMatchObject({
    status: 'failed',
    counts: { failed: 1, done: 1, redone: 0 },
  })
})

test('a cancelled task does not make its run failed', async () => {
  const cwd = makeProject({ 'forge/.keep': '', worker: sh('exit 0') })
  for (const name of ['a', 'b'])
    await forkhestra(['push', '--agent', './worker', '--name', name, 'hi'], { cwd })
  await forkhestra(['cancel', 'b'], { cwd })
  expect((await forkhestra(['run-queue'], { cwd })).code).toBe(0)
  const { stdout } = await forkhestra(['runs'], { cwd })
  expect(stdout).toContain('  complete  queue: 1 failed (1 cancelled), 1 done')
  const resumed = await forkhestra(['resume'], { cwd })
  expect([resumed.code, resumed.stderr]).toEqual([0, expect.not.stringContaining('failed task')])
})
