import { expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { TaskProject } from '../support/forge-tasks.ts'
import { forkhestra, type Finished } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'
import { runsOf } from '../support/record.ts'

// JSON from outside may be nested so deeply that a recursive walk overflows the stack.

const DEPTH = 100_000
const DEEP = `${'{"a":'.repeat(DEPTH)}1${'}'.repeat(DEPTH)}`

function expectCalm({ stdout, stderr }: Finished): void {
  expect(stdout + stderr).not.toMatch(/^ +at |RangeError|internal error/m)
}

test.each([[[]], [['-v']], [['--json']]])(
  'deeply nested output of an agent does not end the run (%j)',
  async (options) => {
    const cwd = makeProject({
      'forge/orch/chains.json': JSON.stringify({
        agents: { helper: { systemPromptText: 'Help.', defaultPrompt: 'Go' } },
        chains: {},
      }),
      claude: sh(
        `case "$*" in *--version*) echo 2.1.0; exit;; esac
         cat deep; echo '{"type":"result","subtype":"success","result":"fine","is_error":false}'`,
      ),
      deep: [
        `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":${DEEP}}]}}`,
        `{"type":"user","message":${DEEP}}`,
        '['.repeat(DEPTH),
        '',
      ].join('\n'),
    })
    const env = { IS_SANDBOX: '1' }
    const finished = await forkhestra(['helper', ...options], { cwd, env })
    expectCalm(finished)
    expect(finished.code).toBe(0)
  },
)

const DAMAGES: readonly (readonly [string, (record: string) => void])[] = [
  ['plan.json', (record) => insert(join(record, 'plan.json'), '"plan":{')],
  ['events.ndjson', (record) => insert(join(record, 'events.ndjson'), '"plan":{')],
  ['a receipt', (record) => insert(join(record, 'steps/1/iterations/1.json'), '{')],
  ['checkpoint.json', (record) => insert(join(record, 'checkpoint.json'), '"state":{')],
]

function insert(path: string, place: string): void {
  const text = readFileSync(path, 'utf8')
  expect(text).toContain(place)
  writeFileSync(path, text.replace(place, `${place}"deep":${DEEP},`))
}

test.each(DAMAGES)(
  'a record with deeply nested JSON in %s can be shown and resumed',
  async (_, damage) => {
    const cwd = makeProject({ 'forge/.keep': '', agent: sh('[ -e go ]') })
    await forkhestra(['./agent'], { cwd })
    damage(join(cwd, 'forge/orch/runs', runsOf(cwd)[0]!))
    const views = [['show'], ['show', '--step', '1', '--iteration', '1'], ['runs'], ['cost']]
    for (const view of views) {
      const finished = await forkhestra([...view, '--json'], { cwd })
      expectCalm(finished)
      expect({ view, code: finished.code }).toEqual({ view, code: 0 })
    }
    writeFileSync(join(cwd, 'go'), '')
    const resumed = await forkhestra(['resume'], { cwd })
    expectCalm(resumed)
    expect(resumed.code).toBe(0)
  },
)

test('a deeply nested configuration is refused', async () => {
  for (const text of [DEEP, `{"agents":${DEEP}}`, '['.repeat(DEPTH)]) {
    const cwd = makeProject({ 'forge/orch/chains.json': text })
    const finished = await forkhestra(['validate'], { cwd })
    expectCalm(finished)
    expect(finished.code).toBe(2)
    expect(finished.stderr).toContain('nested too deeply')
  }
})

test('forge-tasks refuses a deeply nested batch or configuration', async () => {
  const project = new TaskProject({ 'config.json': `{"deep":${DEEP}}` })
  for (const stdin of [DEEP, `{"title":"x","deep":${DEEP}}`]) {
    const finished = await project.run(['create', '--batch'], { stdin: `${stdin}\n` })
    expectCalm(finished)
    expect(finished.code).toBe(2)
  }
  const finished = await project.run(['create', 'One'])
  expectCalm(finished)
  expect(finished.stderr).toContain('config.json is not valid JSON')
})
