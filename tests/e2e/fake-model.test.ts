import { expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { must, openRepository } from './support/project-of-tasks.ts'

const PAGE = readFileSync(join(import.meta.dir, '../../docs/reference/fake-model.md'), 'utf8')

function scriptOf(name: string): string {
  const [, script] = new RegExp(`^\`\`\`json ${name}\\n([^]*?)^\`\`\``, 'm').exec(PAGE) ?? []
  if (script === undefined) throw new Error(`${name} is not on the page`)
  return script
}

test('the first documented example runs the built-in agents to completion', async () => {
  await using stage = await openRepository({})
  writeFileSync(join(stage.cwd, 'night.jsonc'), scriptOf('night.jsonc'))
  const result = await must(
    stage,
    'forkhestra fake-model night.jsonc -- forkhestra --chain build-all',
  )
  expect(result).toContain('[forkhestra] Chain complete (2/2 steps)')
  expect(await must(stage, 'forge-tasks list --plain')).toContain('| Done |')
  expect(await must(stage, 'git log --format=%s -1')).toBe('Built')
})

test('the documented limit is waited for with two lines of output', async () => {
  await using stage = await openRepository({})
  writeFileSync(join(stage.cwd, 'limit.jsonc'), scriptOf('limit.jsonc').replace('5h', '1s'))
  const result = await must(stage, 'forkhestra fake-model limit.jsonc -- forkhestra planner:1')
  expect(result).toContain("You've hit your 5-hour limit")
  expect(result).toContain('[forkhestra] The wait is over')
  expect(result).toContain('[forkhestra] Complete after 1 iteration')
})
