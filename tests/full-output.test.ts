import { expect, test } from 'bun:test'
import { shell } from './support/forkhestra.ts'
import { makeProject, sh } from './support/project.ts'

const LOST = /^\[forkhestra\] Error: The output cannot be written: (ENOSPC.*|stdout is closed)\n/

test('a result that cannot be written is an error', async () => {
  const cwd = makeProject({ 'forge/.keep': '', agent: sh('echo hello') })
  await shell('forkhestra ./agent', cwd)
  const verbs = ['runs', 'list', 'status', 'cost', 'show', 'validate', 'help', 'list --help']
  const all = [...verbs, 'runs --json', 'version', './agent --dry-run', 'validate x --json']
  for (const verb of all) {
    for (const place of ['/dev/full', '&-']) {
      const { code, stderr } = await shell(`forkhestra ${verb} >${place}`, cwd)
      expect([verb, place, code, LOST.test(stderr), stderr.includes('mistake')]).toEqual([
        verb,
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
