import { expect, test } from 'bun:test'
import { chmodSync, lstatSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { environment, FORKHESTRA } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'

/** Runs a line of shell in which everybody may write what is made. */
function openly(line: string, cwd: string): void {
  const env = environment({ cwd })
  const path = { PATH: `${join(FORKHESTRA, '..')}:${env['PATH']}` }
  const { exitCode, stderr } = Bun.spawnSync(['sh', '-c', `umask 000; set -e; ${line}`], {
    cwd,
    env: { ...env, ...path },
  })
  expect([exitCode, stderr.toString()]).toEqual([0, ''])
}

/** What is in a folder, and itself, that others may write. */
function writableIn(path: string, bits: number): string[] {
  const stat = lstatSync(path)
  const names = stat.isDirectory() ? readdirSync(path) : []
  const own = (stat.mode & bits) === 0 ? [] : [`${path} ${modeOf(path)}`]
  return [...own, ...names.flatMap((name) => writableIn(join(path, name), bits))]
}

function modeOf(path: string): string {
  return (lstatSync(path).mode & 0o777).toString(8)
}

const WORK = [
  'forge-tasks create One --plain',
  'forge-tasks next --claim --as me --plain',
  'forge-tasks list --plain',
  'forkhestra ./agent',
  'forkhestra push --agent ./agent Go',
  'forkhestra run-queue 2>/dev/null',
].join(' >/dev/null; ')

test('with an open umask, only the owner can read records and local state', () => {
  const cwd = makeProject({ agent: sh('echo done') })
  openly(`${WORK} >/dev/null`, cwd)
  for (const folder of ['forge/orch/runs', 'forge/tasks/.local'].map((each) => join(cwd, each))) {
    expect(modeOf(folder)).toBe('700')
    // Other users cannot enter the folder, so files in it may have group permissions.
    expect(writableIn(folder, 0o002)).toEqual([])
  }
})

test('in a repository, only the owner can write them', () => {
  const cwd = makeProject({ agent: sh('echo done') })
  Bun.spawnSync(['git', 'init', '-q'], { cwd })
  openly(`${WORK} >/dev/null`, cwd)
  for (const folder of ['forge/orch/runs', '.git/forge-tasks', '.git/forkhestra'])
    expect(writableIn(join(cwd, folder), 0o002)).toEqual([])
})

test('records in the state folder are private, even in folders that were open before', () => {
  const cwd = makeProject({ agent: sh('echo done') })
  const state = join(cwd, '.state/forkhestra')
  mkdirSync(state, { recursive: true })
  chmodSync(state, 0o777)
  openly('forkhestra ./agent >/dev/null', cwd)
  const project = join(
    state,
    readdirSync(state).find((name) => name !== 'record-key')!,
  )
  expect([modeOf(state), modeOf(project), ...writableIn(state, 0o022)]).toEqual(['700', '700'])
  chmodSync(project, 0o777)
  openly('forkhestra ./agent >/dev/null', cwd)
  expect(modeOf(project)).toBe('700')
})
