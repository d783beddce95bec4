import { expect, test } from 'bun:test'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject, sh } from '../../../tests/support/project.ts'
import { readFacts } from '../facts.ts'
import { ask, findProgram } from './program.ts'

function find(name: string, cwd: string, PATH: string) {
  const env = { PATH }
  return findProgram(name, { cwd, env, facts: readFacts(env), needsClaude: true })
}

test('what is inside of the working directory is found as such, also by way of a link', () => {
  const cwd = makeProject({ 'bin/a': sh('exit') })
  const links = makeProject()
  symlinkSync(join(cwd, 'bin/a'), join(links, 'a'))
  expect(find('a', cwd, join(cwd, 'bin'))).toEqual({ kind: 'inside', path: join(cwd, 'bin/a') })
  expect(find('a', cwd, links).kind).toBe('inside')
  expect(find('a', links, join(cwd, 'bin')).kind).toBe('program')
  expect(find('b', cwd, links)).toEqual({ kind: 'missing' })
})

test('a folder whose name only begins alike is another one', () => {
  const cwd = makeProject({ 'a/x': '', 'ab/p': sh('exit') })
  expect(find('p', join(cwd, 'a'), join(cwd, 'ab')).kind).toBe('program')
})

const options = { cwd: '/', env: { PATH: '/usr/bin:/bin' }, limitMs: 20_000 }

test('a program is asked, and what it says on both sides is handed on', async () => {
  const answer = await ask(['/bin/sh', '-c', 'echo out; echo err >&2; exit 3'], options)
  expect(answer).toEqual({ code: 3, stdout: 'out\n', stderr: 'err\n' })
})

test('one that does not answer is ended in time, with what holds its output open', async () => {
  const script = 'trap "" TERM; sleep 1000 & sleep 1000'
  expect(await ask(['/bin/sh', '-c', script], { ...options, limitMs: 100 })).toBeUndefined()
})

test('one that cannot be started gives no answer', async () => {
  expect(await ask(['/no/such/program'], options)).toBeUndefined()
})
