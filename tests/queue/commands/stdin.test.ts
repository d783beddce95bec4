import { expect, test } from 'bun:test'
import { shell } from '../../support/forkhestra.ts'
import { makeProject, sh } from '../../support/project.ts'
import { ask, tasksOf } from '../../support/queue.ts'

function project(files = {}): string {
  return makeProject({ 'forge/.keep': '', worker: sh('echo "$1"'), ...files })
}

async function unread(cwd: string): Promise<unknown[]> {
  return (await ask<{ messages: unknown[] }>(cwd, 'inbox')).messages
}

test.each([
  ['push name=a -', 'A prompt of'],
  ['send main -', 'A message of'],
])(
  '%s stops reading stdin at the size limit',
  async (command, words) => {
    const cwd = project()
    await shell('forkhestra push name=first x', cwd)
    const { code, stderr } = await shell(`forkhestra ${command} < /dev/zero`, cwd)
    expect(code).toBe(2)
    expect(stderr).toContain(words)
    expect(stderr).toContain('is refused: the limit is 1048576.')
    expect(await tasksOf(cwd)).toHaveLength(1)
    expect(await unread(cwd)).toEqual([])
  },
  20_000,
)

test('the configured size limit applies to stdin, even for the first push', async () => {
  const cwd = project({
    'forge/orch/chains.json': '{"agents":{},"chains":{},"queueLimits":{"messageBytes":2000000}}',
  })
  const long = 'head -c 1500000 /dev/zero | tr "\\000" x | forkhestra'
  expect((await shell(`${long} push name=a -`, cwd)).code).toBe(0)
  expect((await shell(`${long} send main -`, cwd)).code).toBe(0)
})

test.each([
  ["printf 'a\\377b'", 'stdin is not UTF-8 text.'],
  ['true', 'stdin is empty.'],
])('stdin that is not text is refused: %s', async (source, words) => {
  const cwd = project()
  await shell('forkhestra push name=first x', cwd)
  for (const command of ['push name=a -', 'send main -']) {
    const { code, stderr } = await shell(`${source} | forkhestra ${command}`, cwd)
    expect(`${code} ${stderr}`).toStartWith(`2 [forkhestra] Error: ${words}\n`)
  }
  expect(await tasksOf(cwd)).toHaveLength(1)
  expect(await unread(cwd)).toEqual([])
})

test('a prompt with a NUL byte is refused when it is queued, not when its task starts', async () => {
  const cwd = project()
  const { code, stderr } = await shell(`printf 'a\\000b' | forkhestra push name=a -`, cwd)
  expect(`${code} ${stderr}`).toBe(
    '2 [forkhestra] Error: stdin is not text: it contains NUL bytes.\n',
  )
})
