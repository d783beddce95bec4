import { expect, test } from 'bun:test'
import { shell } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'

const LOST = /^\[forkhestra\] Error: Cannot write the output: (ENOSPC.*|stdout is closed)\n/

test('a result that cannot be written is an error', async () => {
  const cwd = makeProject({ 'forge/.keep': '', agent: sh('echo hello') })
  await shell('forkhestra ./agent', cwd)
  const commands = ['runs', 'list', 'status', 'cost', 'show', 'validate', 'help', 'list --help']
  const all = [...commands, 'runs --json', 'version', './agent --dry-run', 'validate x --json']
  for (const command of all) {
    for (const place of ['/dev/full', '&-']) {
      const { code, stderr } = await shell(`forkhestra ${command} >${place}`, cwd)
      expect([command, place, code, LOST.test(stderr), stderr.includes('mistake')]).toEqual([
        command,
        place,
        1,
        true,
        false,
      ])
    }
  }
  const { code, stderr } = await shell('forkhestra runs | head -c 0', cwd)
  expect([code, stderr]).toEqual([0, ''])
})

test.each(['', '--json', '--raw'])('logs %s says that a log cannot be written', async (option) => {
  const cwd = makeProject({ 'forge/.keep': '', agent: sh('echo hello') })
  await shell('forkhestra ./agent', cwd)
  const { code, stderr } = await shell(`forkhestra logs ${option} > /dev/full`, cwd)
  expect([code, LOST.test(stderr)]).toEqual([1, true])
  const read = await shell(`forkhestra logs ${option} | head -c 0; echo \${PIPESTATUS[0]}`, cwd)
  expect([Buffer.from(read.stdout).toString(), read.stderr]).toEqual(['0\n', ''])
})

test.each([
  ['forkhestra', '[forkhestra] Error'],
  ...['forge-tasks', 'forge-task-manager', 'forge-task-coordinator', 'task-worker'].map(
    (name) => [name, name] as const,
  ),
])('%s says that its version or its help cannot be written', async (program, who) => {
  const cwd = makeProject({})
  for (const option of ['--version', '-V', 'version', '--help', 'help']) {
    for (const place of ['/dev/full', '&-']) {
      const { code, stderr } = await shell(`${program} ${option} >${place}`, cwd)
      expect({ option, place, code }).toEqual({ option, place, code: 1 })
      expect(stderr).toStartWith(`${who}: Cannot write the output: `)
      expect(stderr).not.toMatch(/^ +at /m)
    }
    const read = await shell(`${program} ${option} | head -c 0; echo \${PIPESTATUS[0]}`, cwd)
    expect([Buffer.from(read.stdout).toString(), read.stderr]).toEqual(['0\n', ''])
  }
})
