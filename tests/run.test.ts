import { expect, test } from 'bun:test'
import { forkhestra } from './support/forkhestra.ts'
import { makeProject, sh } from './support/project.ts'

test('a pipeline runs each agent once and says so in the exact words', async () => {
  const cwd = makeProject({ manager: sh('echo planning'), coordinator: sh('echo building') })
  const { code, stdout, stderr } = await forkhestra(['manager -> coordinator'], { cwd })
  expect(stdout).toBe(`[forkhestra] Running: manager
planning
[forkhestra] Done: manager (exit 0)

[forkhestra] Running: coordinator
building
[forkhestra] Done: coordinator (exit 0)

  1. manager: complete (exit 0)
  2. coordinator: complete (exit 0)
[forkhestra] Pipeline complete (2/2 steps)
`)
  expect(stderr).toBe('')
  expect(code).toBe(0)
})
