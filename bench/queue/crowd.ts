import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { openSqliteStore } from '../../src/queue/sqlite-store.ts'
import type { Figure } from '../figure.ts'
import { timeOf } from '../process.ts'
import { makeProject, type Programs } from '../project.ts'
import { median } from './median.ts'

const WIDTH = 16
const TASKS = 1000
const ROUNDS = 15
const MANY = 10_000
const MANY_ROUNDS = 3
const PROMPT = 'Do it'

/** Many queued tasks of an agent that exits at once, compared with `xargs` and the same command. */
export async function measureCrowd(programs: Programs): Promise<Figure[]> {
  const [ours, theirs] = [[] as number[], [] as number[]]
  for (let round = 0; round < ROUNDS; round += 1) {
    ours.push(await timeOfTasks(programs, TASKS))
    theirs.push(timeOfXargs())
  }
  const figure = (name: string, pick: (all: readonly number[]) => number): Figure => {
    return {
      group: 'queue',
      name,
      measured: pick(ours) / 1000,
      base: pick(theirs) / 1000,
      unit: 's',
    }
  }
  return [
    {
      ...figure('1 000 tasks, 16 at a time, against xargs -P 16', (all) => Math.min(...all)),
      limit: 3,
    },
    figure('the same, medians', median),
    await measureMany(programs),
  ]
}

/** The time per task must not grow with the length of the queue. */
async function measureMany(programs: Programs): Promise<Figure> {
  const [many, few] = [[] as number[], [] as number[]]
  for (let round = 0; round < MANY_ROUNDS; round += 1) {
    few.push((await timeOfTasks(programs, TASKS)) / TASKS)
    many.push((await timeOfTasks(programs, MANY)) / MANY)
  }
  return {
    group: 'queue',
    name: 'a task of 10 000, against a task of 1 000',
    measured: median(many),
    base: median(few),
    unit: 'ms',
    limit: 1.5,
  }
}

/** From the start of the program to its end, without the time to queue the tasks. */
async function timeOfTasks({ forkhestra }: Programs, count: number): Promise<number> {
  const cwd = makeProject({ agent: '#!/bin/sh\n' })
  timeOf([forkhestra, 'push', '--agent', 'agent', '--name', 'first', PROMPT], cwd)
  const { run, folder } = newestRun(cwd)
  const path = join(folder, 'queue.sqlite')
  const store = await openSqliteStore(path)
  await store.push(
    Array.from({ length: count - 1 }, (_, place) => ({
      id: `task-${place}`,
      run,
      parent: 'main',
      name: `n${place}`,
      prompt: PROMPT,
      options: { agent: 'agent' },
    })),
  )
  const ms = timeOf([forkhestra, 'run-queue', '--parallel', String(WIDTH)], cwd)
  const [{ ended }, problems] = [await store.counts(run), await store.verify(run)]
  await store.close()
  if (ended !== count || problems.length > 0) throw new Error(`${ended} of ${count} ended`)
  return ms
}

function newestRun(cwd: string): { readonly run: string; readonly folder: string } {
  const root = join(cwd, '.state/forkhestra')
  // Next to the folder of the project is the file with the key of the records.
  const [folder] = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const project = join(root, folder!.name)
  const run = readdirSync(project).find((name) => /^\d/.test(name))!
  return { run, folder: join(project, run) }
}

function timeOfXargs(): number {
  const cwd = makeProject({ agent: '#!/bin/sh\n' })
  const command = `seq ${TASKS} | xargs -P ${WIDTH} -I{} ./agent '${PROMPT}'`
  return timeOf(['sh', '-c', command], cwd)
}
