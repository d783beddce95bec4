import { expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra, Running } from '../../support/forkhestra.ts'
import { makeProject, sh } from '../../support/project.ts'
import { problemsOf, tasksOf } from '../../support/queue.ts'
import { wrongEnds } from '../../support/queue-records.ts'
import { fileIn } from '../../support/until.ts'

const PROMPT = [
  'Work',
  '/push name=always on=always agent=./worker "Tidy up"',
  '/push name=failed on=failure agent=./worker "Look why"',
  '/push name=done agent=./worker "Go on"',
].join('\n')

function project(): string {
  return makeProject({
    'forge/.keep': '',
    worker: sh('echo "$1"'),
    sleeper: sh('touch up; [ -e awake ] || exec sleep 60'),
  })
}

async function statesIn(cwd: string): Promise<string[]> {
  return (await tasksOf(cwd)).map(({ name, state }) => `${name} ${state}`)
}

/** Kills the process that runs the queue once the agent is up. */
async function killAtWork(cwd: string): Promise<void> {
  const running = new Running(['run-queue'], { cwd })
  await fileIn(cwd, 'up')
  running.signal('SIGKILL')
  await running.finished
}

test('follow-up tasks of a failure are queued once after kill -9', async () => {
  const cwd = project()
  await forkhestra(['push', 'agent=./sleeper', 'name=lost', PROMPT], { cwd })
  await killAtWork(cwd)
  await forkhestra(['run-queue', '--kill-orphans'], { cwd })
  expect(await statesIn(cwd)).toEqual(['lost ended', 'always queued', 'failed queued'])
  await forkhestra(['run-queue'], { cwd })
  expect(await tasksOf(cwd)).toHaveLength(3)
  expect(await problemsOf(cwd)).toEqual([])
  expect(wrongEnds(cwd)).toEqual([])
})

test('after a retry, only the follow-up tasks of the last attempt are queued', async () => {
  const cwd = project()
  await forkhestra(['push', 'agent=./sleeper', 'name=night', 'retry=1', PROMPT], { cwd })
  await killAtWork(cwd)
  await Bun.write(`${cwd}/awake`, '')
  await forkhestra(['run-queue', '--kill-orphans'], { cwd })
  expect(await statesIn(cwd)).toEqual(['night ended', 'always queued', 'done queued'])
})

test('follow-up tasks of a failure are queued if the agent does not exist', async () => {
  const cwd = project()
  await forkhestra(['push', 'agent=./sleeper', 'name=odd', PROMPT], { cwd })
  rmSync(join(cwd, 'sleeper'))
  await forkhestra(['run-queue'], { cwd })
  expect(await statesIn(cwd)).toEqual(['odd ended', 'always queued', 'failed queued'])
})

test('a prompt with a mistake has no follow-up tasks', async () => {
  const cwd = project()
  await forkhestra(['push', 'agent=./worker', 'name=odd', `${PROMPT}\n/push colour=red x`], { cwd })
  await forkhestra(['run-queue'], { cwd })
  expect(await statesIn(cwd)).toEqual(['odd ended'])
})
