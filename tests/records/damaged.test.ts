import { describe, expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'
import { runsOf } from '../support/record.ts'

// Another program may write anything into a record: that ends in a message, never in a stack.

async function failOnce() {
  const cwd = makeProject({ agent: sh('exit 3'), 'forge/x': '' })
  expect((await forkhestra(['agent:2 -> agent', '-p', 'Hello'], { cwd })).code).toBe(1)
  const [id = ''] = runsOf(cwd)
  return { cwd, id, record: join(cwd, 'forge/orch/runs', id) }
}

/** Replaces a value in a file of JSON; undefined removes it. */
function damage(file: string, path: string, value: unknown): void {
  const content = JSON.parse(readFileSync(file, 'utf8'))
  const keys = path.split('.')
  const last = keys.pop()!
  const parent = keys.reduce((each, key) => each[key], content)
  parent[last] = value
  writeFileSync(file, JSON.stringify(content))
}

const DEEP = JSON.parse(`${'['.repeat(400)}${']'.repeat(400)}`)

const DAMAGED_PLANS: readonly (readonly [path: string, value: unknown, place: string])[] = [
  ['plan', 7, 'all of it'],
  ['plan', [], 'all of it'],
  ['plan.root', null, 'root'],
  ['plan.root.of', 5, 'root.of'],
  ['plan.root.of.0', null, 'root.of[0]'],
  ['plan.root.of.1', DEEP, 'root.of[1]'],
  ['plan.root.of.0.number', 1e308, 'root.of[0].number'],
  ['plan.root.of.0.number', 7, 'the number of step s1'],
  ['plan.root.of.0.agent', {}, 'root.of[0].agent.engine'],
  ['plan.root.of.0.agent.program', 5, 'root.of[0].agent.program'],
  ['plan.root.of.0.args', 'x'.repeat(1_000_000), 'root.of[0].args'],
  ['plan.root.of.0.prompt.0', 'x', 'root.of[0].prompt[0]'],
  ['plan.root.of.0.prompt.0.text', undefined, 'root.of[0].prompt[0]'],
  ['plan.root.of.0.policy', undefined, 'root.of[0].policy'],
  ['plan.root.of.0.policy.verify', null, 'root.of[0].policy.verify'],
  ['plan.root.of.0.policy.env', { A: 5 }, 'root.of[0].policy.env.A'],
  ['plan.root.of.0.policy.onFail', { kind: 'goto', step: 9, times: 1 }, 'onFail of step s1'],
  ['plan.recoveries', 'x', 'recoveries'],
  ['plan.cwd', 5, 'cwd'],
]

test.each(DAMAGED_PLANS)('a plan with a wrong %s is refused', async (path, value, place) => {
  const { cwd, id, record } = await failOnce()
  damage(join(record, 'plan.json'), path, value)
  for (const command of [
    `show ${id}`,
    `logs ${id}`,
    `resume ${id}`,
    `resume ${id} --trust-record`,
  ]) {
    const { code, stderr } = await forkhestra(command.split(' '), { cwd })
    expect([command, code, stderr]).toEqual([
      command,
      1,
      [
        `[forkhestra] Error: The plan of run ${id} is damaged: '${place}' has a wrong or missing value.`,
        `  Restore ${record}/plan.json from a backup, or start the run again.\n`,
      ].join('\n'),
    ])
  }
  for (const command of ['runs', 'status', 'cost', 'doctor', 'queue', 'clean --keep 1']) {
    const { stdout, stderr } = await forkhestra(command.split(' '), { cwd })
    expect([command, stdout + stderr]).not.toEqual([command, expect.stringContaining('    at ')])
  }
})

const DAMAGED_STATES: readonly (readonly [path: string, value: unknown])[] = [
  ['state', null],
  ['state.steps', 7],
  ['state.steps.0', 1e308],
  ['state.steps.0.iterations', 'x'],
  ['state.spent', []],
  ['state.cwd', 5],
  ['state.ended', null],
  ['state.ended.ok', 'x'],
  ['state.startedAt', undefined],
  ['state.steps.0.isSetUp', 'x'],
  ['offset', []],
]

test.each(DAMAGED_STATES)('a checkpoint with a wrong %s does no harm', async (path, value) => {
  const { cwd, id, record } = await failOnce()
  const before = await forkhestra(['show', id, '--json'], { cwd })
  damage(join(record, 'checkpoint.json'), path, value)
  const after = await forkhestra(['show', id, '--json'], { cwd })
  expect(JSON.parse(after.stdout)).toEqual(JSON.parse(before.stdout))
  expect((await forkhestra(['resume'], { cwd })).stdout).toContain('Failed at step 1')
})

describe('events with wrong values', () => {
  const CHANGES = [
    ['"steps":[', '"steps":[null,'],
    ['"cwd":"', '"record":5,"cwd":5,"x":"'],
    ['"agent":"agent"', '"agent":[[]]'],
  ] as const
  test.each(CHANGES)('%s: the record cannot be read', async (from, to) => {
    const { cwd, id, record } = await failOnce()
    const path = join(record, 'events.ndjson')
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll(from, to))
    writeFileSync(join(record, 'checkpoint.json'), '')
    for (const command of [`show ${id}`, `logs ${id}`, `resume ${id}`]) {
      const { code, stderr } = await forkhestra(command.split(' '), { cwd })
      expect([command, code, stderr]).toEqual([
        command,
        2,
        `[forkhestra] Error: The record of run ${id} cannot be read.\n  See ${record}.\n`,
      ])
    }
    expect((await forkhestra(['status'], { cwd })).stdout).toContain(`${id} cannot be read`)
    expect((await forkhestra(['runs'], { cwd })).stdout).toContain(`${id} cannot be read`)
  })
})
