import { expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra, Running } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'
import { runsOf } from '../support/record.ts'
import { RECORDS } from '../support/records.ts'
import { fileIn } from '../support/until.ts'

const INNER = 'forkhestra ./inner:2 -p nested >inner.txt 2>&1'

const project = (outer: string[], inner: string[] = ['echo ORCHESTRA_COMPLETE']) =>
  makeProject({ 'forge/.keep': '', outer: sh(...outer), inner: sh(...inner) })

test('after a failed run whose agent started another one, the failed run is the last', async () => {
  const cwd = project([INNER, 'exit 3'])
  expect((await forkhestra(['./outer'], { cwd })).code).toBe(1)
  const [outer, inner] = runsOf(cwd)
  const stdoutOf = async (...args: string[]) => (await forkhestra(args, { cwd })).stdout
  const status = await stdoutOf('status')
  expect(status).toMatch(new RegExp(`^Last run:\n.*${outer}.*failed`, 'm'))
  expect(status).toContain(`Next: forkhestra show ${outer}, then forkhestra resume ${outer}\n`)
  expect(status).not.toContain(inner!)
  expect(JSON.parse(await stdoutOf('status', '--json')).last.id).toBe(outer)
  expect(await stdoutOf('show')).toContain(`Run ${outer}: failed`)
  expect(await stdoutOf('logs')).toContain('Failed at step 1: ./outer')
  expect(await stdoutOf('doctor')).toContain(`last run ${outer}: failed`)
  expect(await stdoutOf('show', inner!)).toContain(`Run ${inner}: complete`)
  expect(await stdoutOf('runs')).toContain(inner!)
  rmSync(join(cwd, RECORDS, outer!), { recursive: true })
  expect(await stdoutOf('show')).toContain(`Run ${inner}: complete`)
})

test('resume continues the outer run, and nothing if that one is complete', async () => {
  const fails = project(['echo outer', INNER], ['exit 3'])
  expect((await forkhestra(['./outer'], { cwd: fails })).code).toBe(1)
  const resumed = await forkhestra(['resume'], { cwd: fails })
  expect(resumed.stdout).toContain('\nouter\n')
  const copes = project([`${INNER} || true`], ['exit 3'])
  expect((await forkhestra(['./outer'], { cwd: copes })).code).toBe(0)
  const { stderr } = await forkhestra(['resume'], { cwd: copes })
  expect(stderr).toContain(`${runsOf(copes)[0]} is complete`)
})

test('inside a run, the newest run is one that its agent has started', async () => {
  const cwd = project([INNER, 'forkhestra show'])
  const { stdout } = await forkhestra(['./outer'], { cwd })
  expect(stdout).toContain(`Run ${runsOf(cwd)[1]}: complete`)
})

test('stop stops the outer run', async () => {
  const cwd = project([INNER], ['echo up >up', 'while [ ! -e go ]; do sleep 0.05; done'])
  const running = new Running(['./outer:3'], { cwd })
  await fileIn(cwd, 'up')
  const { stdout } = await forkhestra(['stop'], { cwd })
  expect(stdout).toContain(runsOf(cwd)[0]!)
  await Bun.write(`${cwd}/go`, '')
  expect((await running.finished).stdout).toContain('(1/3 iterations, stopped by forkhestra stop)')
})

test('run-queue starts the tasks of the outer run; a nested run names itself', async () => {
  const nested = `forkhestra ./inner:2 -p 'go
/push agent=./inner name=own "Own"' >inner.txt 2>&1`
  const cwd = project([nested])
  const prompt = 'go\n/push agent=./inner name=later "Later"'
  const { stdout } = await forkhestra(['./outer', '-p', prompt], { cwd })
  expect(stdout).toContain('Left in the queue: later; to start: forkhestra run-queue\n')
  const inner = runsOf(cwd)[1]!
  const text = await Bun.file(`${cwd}/inner.txt`).text()
  expect(text).toContain(`Left in the queue: own; to start: forkhestra run-queue --run ${inner}\n`)
  const queue = await forkhestra(['run-queue'], { cwd })
  expect(queue.stdout).toContain('Task later: done')
})
