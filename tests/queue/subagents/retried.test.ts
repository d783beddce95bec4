import { expect, test } from 'bun:test'
import { forkhestra, Running } from '../../support/forkhestra.ts'
import { makeProject, sh } from '../../support/project.ts'
import { ask, problemsOf } from '../../support/queue.ts'
import { wrongEnds } from '../../support/queue-records.ts'
import { fileIn } from '../../support/until.ts'

const KID = sh('[ "$1" = attempt-1 ] && touch up && sleep 60; echo "answer to $1"')

function parent(options: string): string {
  return sh(
    `forkhestra push agent=./kid name=kid ${options} attempt-$FORKHESTRA_TASK_ATTEMPT >&2 || exit 7`,
    'forkhestra run-queue >&2',
    'forkhestra receive --from kid',
  )
}

const OVERLOADED = `echo 'API Error: 529 {"type":"error","error":{"type":"overloaded_error"}}'; exit 1`

/** Its first attempt fails while the task that it started is running. */
function failing(words: string): string {
  return sh(
    'forkhestra push agent=./kid name=kid attempt-$FORKHESTRA_TASK_ATTEMPT >&2 || exit 7',
    'forkhestra run-queue >&2',
    'if [ $FORKHESTRA_TASK_ATTEMPT = 1 ]; then',
    `until [ -e up ]; do sleep 0.05; done; ${words}`,
    'fi',
    'forkhestra receive --from kid',
  )
}

interface Messages {
  readonly messages: readonly {
    readonly from: string
    readonly attempt: number
    readonly success: boolean
    readonly output?: string
    readonly class?: string
    readonly error?: string
  }[]
}

test.each(['retry=0', 'retry=1', 'on_parent_end=cancel'])(
  'a sub-agent that is retried after a kill gets the result of the tasks that its new attempt queues (%s)',
  async (options) => {
    const cwd = makeProject({ 'forge/.keep': '', kid: KID, par: parent(options) })
    await forkhestra(['push', 'agent=./par', 'name=par', 'retry=2', 'Do it'], { cwd })
    const running = new Running(['run-queue'], { cwd })
    await fileIn(cwd, 'up')
    running.signal('SIGKILL')
    await running.finished
    const { code, stderr } = await forkhestra(['run-queue', '--kill-orphans'], { cwd })
    expect(`${code} ${stderr}`).toStartWith('0 ')
    const { messages } = await ask<Messages>(cwd, 'check')
    expect(messages).toMatchObject([
      { from: 'kid', class: 'cancelled', error: 'attempt 1 of par is over' },
      { from: 'par', attempt: 2, output: '[kid: done]\nanswer to attempt-2' },
    ])
    expect(await problemsOf(cwd)).toEqual([])
    expect(wrongEnds(cwd)).toEqual([])
  },
  60_000,
)

test.each([
  ['an overload', OVERLOADED],
  ['a usage limit', `echo "Claude AI usage limit reached|$(date +%s)"; exit 1`],
])(
  'after %s a sub-agent is retried at once: its own tasks are stopped, not awaited',
  async (_, words) => {
    const cwd = makeProject({ 'forge/.keep': '', kid: KID, par: failing(words) })
    await forkhestra(['push', 'agent=./par', 'name=par', 'retry=1', 'Do it'], { cwd })
    const { code, stderr } = await forkhestra(['run-queue'], { cwd })
    expect(`${code} ${stderr}`).toStartWith('0 ')
    const { messages } = await ask<Messages>(cwd, 'check')
    expect(messages).toMatchObject([
      { from: 'kid', class: 'cancelled', error: 'attempt 1 of par is over' },
      { from: 'par', attempt: 2, output: '[kid: done]\nanswer to attempt-2' },
    ])
    expect(await problemsOf(cwd)).toEqual([])
    expect(wrongEnds(cwd)).toEqual([])
  },
  30_000,
)

test('tasks that the prompt of a task queued are neither stopped nor awaited on a retry', async () => {
  const par = sh(
    `if [ $FORKHESTRA_TASK_ATTEMPT = 1 ]; then ${OVERLOADED}; fi`,
    'touch go; forkhestra receive --from kid',
  )
  const kid = sh('until [ -e go ]; do sleep 0.05; done; echo "went on"')
  const cwd = makeProject({ 'forge/.keep': '', kid, par })
  const prompt = '/push agent=./kid name=kid on_parent_end=cancel wait\n/run\nDo it'
  await forkhestra(['push', 'agent=./par', 'name=par', 'retry=1', prompt], { cwd })
  const { code, stderr } = await forkhestra(['run-queue'], { cwd })
  expect(`${code} ${stderr}`).toStartWith('0 ')
  const { messages } = await ask<Messages>(cwd, 'check')
  expect(messages).toMatchObject([{ from: 'par', attempt: 2, output: '[kid: done]\nwent on' }])
})
