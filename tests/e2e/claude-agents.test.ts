import { expect, test } from 'bun:test'
import { openStage } from './support/stage.ts'
import { DONE } from './support/writer.ts'

const REVIEWER = `---
name: reviewer
description: Use it when: something has changed.
tools: Read, Grep
model: haiku
color: red
---

You review changes.
`
const HELPER = '---\ntools:\n  - Read\nmodel: inherit\n---\nYou help.\n'

/** Otherwise `claude` holds tools back until the model searches for them. */
const env = { ENABLE_TOOL_SEARCH: 'false' }

const FILES = {
  'forge/.keep': '',
  '.claude/agents/reviewer.md': REVIEWER,
  '.claude/agents/helper.md': HELPER,
}

test('a Claude Code agent file runs in a loop with its prompt, tools and model', async () => {
  await using stage = await openStage({ script: [DONE], files: FILES, env })
  const { code, stdout } = await stage.run('reviewer:3', '-p', 'Review.')
  expect(stdout).toContain('Complete after 1 iteration')
  expect(code).toBe(0)
  const [ask] = stage.asks
  expect(ask?.system).toEndWith('\n\n---\n\nYou review changes.')
  expect(ask?.tools.toSorted()).toEqual(['Grep', 'Read'])
  expect(ask?.model).toContain('haiku')
}, 120_000)

test('as a sub-agent it has its own tools and can inherit the model of its parent', async () => {
  const lead = { systemPromptText: 'You lead.', model: 'opus' }
  await using stage = await openStage({
    script: {
      conversations: [
        { when: { system: 'You help' }, turns: [{ text: 'Helped.' }] },
        { when: { system: 'You lead' }, turns: [DONE] },
      ],
    },
    files: FILES,
    env,
    agents: { lead },
  })
  const { code, stdout } = await stage.run(
    'lead',
    '-p',
    '/push name=h agent=helper Help.\n/run\nGo.',
  )
  expect(stdout).toContain('Task h: done')
  expect(code).toBe(0)
  const help = stage.asks.find(({ system }) => system.includes('You help.'))
  expect(help?.prompt).toContain('Help.')
  expect(help?.model).toContain('opus')
  expect(help?.tools).toEqual(['Read'])
}, 120_000)
