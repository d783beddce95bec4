import { expect, test } from 'bun:test'
import { findSpecs, specsMissing, type SpecsFolder } from './specs.ts'

const FORGE = 'forge/orch/specs'

test.each<[SpecsFolder, string[], SpecsFolder | undefined]>([
  [FORGE, [`${FORGE}/PLAN.md`], FORGE],
  [FORGE, [`${FORGE}/SPECS.md`, 'ralph/PLAN.md'], FORGE],
  [FORGE, ['ralph/PLAN.md'], 'ralph'],
  [FORGE, [`${FORGE}/AGENTS.md`, 'ralph/SPECS.md'], 'ralph'],
  [FORGE, [`${FORGE}/AGENTS.md`], undefined],
  [FORGE, ['PLAN.md'], undefined],
  [FORGE, [], undefined],
  ['ralph', ['ralph/SPECS.md'], 'ralph'],
  ['ralph', [`${FORGE}/PLAN.md`], undefined],
])('for %s, the files %j give the folder %p', (wanted, files, found) => {
  expect(findSpecs(wanted, (path) => files.includes(path))).toBe(found as SpecsFolder)
})

test.each<[string, SpecsFolder]>([
  ['planner', FORGE],
  ['fk:planner', 'ralph'],
])('without specs %s is refused with what to write where', (agent, folder) => {
  const { message, hint = '', exitCode } = specsMissing(agent, folder)
  expect(exitCode).toBe(2)
  expect(message).toContain(`'${agent}'`)
  for (const name of ['PLAN.md', 'SPECS.md']) expect(hint).toContain(`${folder}/${name}`)
  expect(hint).toContain('forkhestra init')
})
