import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { writeFiles } from '../support/project.ts'
import { commands, openStage, type Stage } from './support/stage.ts'
import { bash, DONE, writes } from './support/writer.ts'

/** A variable and a hook, as users have them in their home. */
async function openWithSettings(agent: object): Promise<Stage> {
  const script = [{ tool: bash('echo "[$NAME_OF_USER][$NAME_OF_PROJECT]"') }, DONE]
  const files = {
    '.claude/settings.json': JSON.stringify({ env: { NAME_OF_PROJECT: 'ours' } }),
  }
  const stage = await openStage({ script, files, ...writes(agent) })
  const hook = { type: 'command', command: `touch "${stage.cwd}/hooked"` }
  writeFiles(stage.home, {
    '.claude/settings.json': JSON.stringify({
      env: { NAME_OF_USER: 'mine' },
      hooks: { SessionStart: [{ hooks: [hook] }] },
    }),
  })
  return stage
}

test.each([
  [{}, '[mine][ours]', true],
  [{ userSettings: false }, '[][ours]', false],
])('with %j a hook and a variable of the user apply or do not', async (agent, echo, isHooked) => {
  await using stage = await openWithSettings(agent)
  const result = await stage.runJson('--chain', 'w')
  expect(result.code).toBe(0)
  expect(stage.asks[1]?.results).toEqual([echo])
  expect(existsSync(join(stage.cwd, 'hooked'))).toBe(isHooked)
  const [argv = []] = commands(result)
  const sources = argv.includes('--setting-sources') && argv[argv.indexOf('--setting-sources') + 1]
  expect(sources).toBe(isHooked ? false : 'project,local')
})
