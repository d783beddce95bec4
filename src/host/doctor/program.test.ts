import { expect, test } from 'bun:test'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject, sh } from '../../../tests/support/project.ts'
import { readFacts } from '../facts.ts'
import { runBriefly, findProgram } from './program.ts'

function find(name: string, cwd: string, PATH: string) {
  const env = { PATH }
  return findProgram(name, { cwd, env, facts: readFacts(env), needsClaude: true })
}

test('programs inside the working directory are detected, even through a link', () => {
  const cwd = makeProject({ 'bin/a': sh('exit') })
  const links = makeProject()
  symlinkSync(join(cwd, 'bin/a'), join(links, 'a'))
  expect(find('a', cwd, join(cwd, 'bin'))).toEqual({ kind: 'inside', path: join(cwd, 'bin/a') })
  expect(find('a', cwd, links).kind).toBe('inside')
  expect(find('a', links, join(cwd, 'bin')).kind).toBe('program')
  expect(find('b', cwd, links)).toEqual({ kind: 'missing' })
})

test('a folder with the same prefix is another one', () => {
  const cwd = makeProject({ 'a/x': '', 'ab/p': sh('exit') })
  expect(find('p', join(cwd, 'a'), join(cwd, 'ab')).kind).toBe('program')
})

const options = { cwd: '/', env: { PATH: '/usr/bin:/bin' }, limitMs: 20_000 }

test('the output and the exit code of a program are returned', async () => {
  const answer = await runBriefly(['/bin/sh', '-c', 'echo out; echo err >&2; exit 3'], options)
  expect(answer).toEqual({ code: 3, stdout: 'out\n', stderr: 'err\n' })
})

test('a program that takes too long is killed with its children', async () => {
  const script = 'trap "" TERM; sleep 1000 & sleep 1000'
  expect(await runBriefly(['/bin/sh', '-c', script], { ...options, limitMs: 100 })).toBeUndefined()
})

test('a program that cannot start has no answer', async () => {
  expect(await runBriefly(['/no/such/program'], options)).toBeUndefined()
})
